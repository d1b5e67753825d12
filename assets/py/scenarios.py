"""The comparison as plain data for its template: one column for the page's own inputs and one for each scenario."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from comparison import percent as share
from view import unit_of

from calc import es
from calc.calculators import InvalidInputs, Result
from calc.decisions.scenarios import (
    MAX_SCENARIOS,
    PLACE,
    Scenario,
    Scenarios,
    difference,
    differing,
    parts,
    read_scenarios,
    write_scenarios,
)
from calc.errors import InvalidInput
from calc.es.values import scenario_name
from calc.fit import Fit, Verdict

MINUS, PLUS = "\u2212", "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The chosen GPU of a column: its name, the verdict, and what is left or missing."""

    name: str
    verdict: str
    room: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One scenario; ``own`` where it is the page's inputs, and ``index`` is its place in the list, -1 for none."""

    name: str
    href: str
    index: int
    own: bool
    total: str
    range: tuple[str, str] | None
    more: str
    more_share: str
    card: Card | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One component across the columns; an empty cell where a scenario has no such part."""

    part: str
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The whole table; without columns there is none, and ``messages`` say what was refused."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    messages: tuple[str, ...]
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A list after what was asked of it: its text, what to say (``added``, ``there``, ``full``, ``removed`` or
    ``stale``), and the table."""

    text: str
    said: str
    comparison: Comparison


def change(current: Scenario, text: str, *, add: bool = False, remove: int | None = None, root: str = "") -> Changed:
    """Do what was asked of a list and lay it out beside the inputs of the page.

    Args:
        current: the inputs of the page; with wrong ones there is no column for them.
        text: the list, as it stands in the address.
        add: put the inputs of the page at the end.
        remove: place of a scenario to leave out.
        root: the way from the page to the root of the site.
    """
    found, said = read_scenarios(text), ""
    if add:
        found, said = _added(found, current)
    if remove is not None:
        found, said = found.without(remove), "removed"
    listed = write_scenarios(found.items)
    changed = said in ("added", "removed")
    return Changed(text=listed if changed else text, said=said, comparison=_comparison(current, found, root))


def _added(found: Scenarios, current: Scenario) -> tuple[Scenarios, str]:
    if _result(current) is None:
        return found, "stale"
    try:
        longer = found.with_one(current)
    except InvalidInput:
        return found, "full"
    return (longer, "added") if len(longer.items) > len(found.items) else (found, "there")


def _comparison(current: Scenario, found: Scenarios, root: str) -> Comparison:
    messages = tuple(dict.fromkeys(es.error_text(error) for error in found.errors))
    if not found.items:
        return Comparison(columns=(), lines=(), messages=messages, maximum=MAX_SCENARIOS)
    own = _result(current)
    listed = [(index, one, _result(one)) for index, one in enumerate(found.items)]
    if own is not None and not any(one.same(current) for one in found.items):
        listed.append((-1, current, own))
    listed.sort(key=lambda column: not column[1].same(current))
    shown = [(index, one, result) for index, one, result in listed if result is not None]
    results = [result for _, _, result in shown]
    frame = _Frame(current, own, unit_of(own or results[0]), write_scenarios(found.items), root)
    names = _names([one for _, one, _ in shown])
    lines = tuple(
        Line(
            part=part,
            label=es.component_name(part),
            cells=tuple("" if size is None else es.bytes_text(size, frame.unit) for size in sizes),
        )
        for part, sizes in parts(results).items()
    )
    return Comparison(
        columns=tuple(
            _column(frame, index, one, result, name) for (index, one, result), name in zip(shown, names, strict=True)
        ),
        lines=lines,
        messages=messages,
        maximum=MAX_SCENARIOS,
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all columns share: the inputs of the page and their answer, the unit, the list, the way to the root."""

    current: Scenario
    own: Result | None
    unit: str
    text: str
    root: str


@lru_cache(maxsize=2 * MAX_SCENARIOS)
def _result(one: Scenario) -> Result | None:
    """The answer to a scenario, kept: a key of the visitor changes one column only."""
    try:
        return one.result()
    except InvalidInputs:
        return None


def _names(items: Sequence[Scenario]) -> list[str]:
    """A name for each by what tells it apart; the model where nothing does."""
    many = len({one.calculator for one in items}) > 1
    names = []
    for one, told in zip(items, differing(items), strict=True):
        model = one.values.get("model")
        values = told or ((("model", model),) if model is not None else ())
        names.append(scenario_name(one.calculator, values, of_many=many))
    return names


def _column(frame: _Frame, index: int, one: Scenario, result: Result, name: str) -> Column:
    estimate, unit = result.estimate, frame.unit
    own = frame.own is not None and one.same(frame.current)
    base = frame.own.estimate.total if frame.own and not own else None
    more, more_share = _difference(estimate.total, base, unit)
    ends = (es.bytes_text(estimate.low, unit), es.bytes_text(estimate.high, unit))
    return Column(
        name=name,
        href=_href(one, frame.text, frame.root),
        index=index,
        own=own,
        total=es.bytes_text(estimate.total, unit),
        range=ends if estimate.low < estimate.high else None,
        more=more,
        more_share=more_share,
        card=_card(result, unit),
    )


def _difference(total: int, base: int | None, unit: str) -> tuple[str, str]:
    if base is None:
        return "", ""
    more, part = difference(total, base)
    sign = PLUS if more > 0 else MINUS if more < 0 else ""
    words = "" if part is None else sign + share(abs(part.numerator), part.denominator)
    return sign + es.bytes_text(abs(more), unit), words


def _card(result: Result, unit: str) -> Card | None:
    chosen: Fit | None = next((one for one in result.fits if one.gpu.id == result.inputs.get("gpu")), None)
    if chosen is None:
        return None
    return Card(name=chosen.gpu.name, verdict=Verdict(chosen.verdict).value, room=es.bytes_text(abs(chosen.free), unit))


def _href(one: Scenario, text: str, root: str) -> str:
    """The address that opens a scenario with the whole list beside it."""
    path = "" if one.calculator == "gpu" else f"{one.calculator}/"
    inputs = f"{one.fragment}&" if one.fragment else ""
    return f"{root or './'}{path}#{inputs}{PLACE}={text}"
