"""Several sets of inputs side by side: the list as a text for an address, what tells them apart, and their parts.

A list comes back from anywhere, so nothing in it is trusted: what no calculator of ours could have written is refused
with a reason and the rest stands.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final
from urllib.parse import quote, unquote

from calc.calculators import CALCULATORS, InvalidInputs, Result, Value, fragment, from_fragment, parse, run
from calc.calculators.link import MAX_FRAGMENT
from calc.errors import InvalidInput

MAX_SCENARIOS: Final = 8
"""Most scenarios in a list: a table of more says nothing."""

MAX_LIST: Final = 65_536
"""Longest list that is looked at; ours have some hundred characters, and eight described models fit."""

PLACE: Final = "vs"
"""Key of the list in an address, and place of what is wrong in it."""

SHOWN: Final = 40
"""Characters of a refused item that are repeated to the visitor."""

APART: Final = frozenset(("unit",))
"""Inputs that change how an answer is read and not what it is."""

ORDER: Final = (
    *("weights", "gradients", "optimizer", "master_weights", "kv_cache"),
    *("activations", "logits", "adapters", "runtime"),
)
"""Components by their first word, as they stand in an estimate."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One calculator with its inputs, as the fragment of its address.

    >>> Scenario.of("acumulacion", {"steps": "16", "gpus": "1"})
    Scenario(calculator='acumulacion', fragment='steps=16')
    """

    calculator: str
    fragment: str = ""

    @classmethod
    def of(cls, calculator: str, raw: Mapping[str, str]) -> "Scenario":
        """The scenario of these texts."""
        return cls(calculator, fragment(calculator, raw))

    @property
    def raw(self) -> dict[str, str]:
        """The text of the inputs that differ from their defaults."""
        return from_fragment(self.calculator, self.fragment)

    @property
    def values(self) -> Mapping[str, Value]:
        """The inputs that apply, as values."""
        return parse(CALCULATORS[self.calculator].fields, self.raw).values

    def same(self, other: "Scenario") -> bool:
        """Whether it asks the same, however its numbers are written.

        >>> Scenario("lora", "context=2.048").same(Scenario("lora", "context=2048"))
        True
        """
        return self.calculator == other.calculator and self.values == other.values

    def result(self) -> Result:
        """The answer.

        Raises:
            InvalidInputs: with one error for each input that cannot be used.
        """
        return run(self.calculator, self.raw)


@dataclass(frozen=True, slots=True)
class Scenarios:
    """A list as it was read: what stands, and why the rest does not."""

    items: tuple[Scenario, ...] = ()
    errors: tuple[InvalidInput, ...] = ()

    def with_one(self, one: Scenario) -> "Scenarios":
        """The list with another at its end; the same list if it is there already.

        Raises:
            InvalidInput: ``too_many_scenarios``.
        """
        if any(one.same(other) for other in self.items):
            return Scenarios(self.items)
        if len(self.items) >= MAX_SCENARIOS:
            raise InvalidInput("too_many_scenarios", place=PLACE, maximum=MAX_SCENARIOS)
        return Scenarios((*self.items, one))

    def without(self, index: int) -> "Scenarios":
        """The list without the one at a place, which need not exist."""
        return Scenarios(tuple(one for place, one in enumerate(self.items) if place != index))


def write_scenarios(items: Iterable[Scenario]) -> str:
    """The list as a text that may stand in a fragment after ``vs=``.

    >>> write_scenarios([Scenario("gpu"), Scenario("lora", "batch=2&rank=8")])
    'gpu,lora?batch=2%26rank=8'
    """
    texts = (f"{one.calculator}?{one.fragment}" if one.fragment else one.calculator for one in items)
    return ",".join(quote(text, safe="?=") for text in texts)


def read_scenarios(text: str) -> Scenarios:
    """The list that a text holds, each once; whatever cannot be calculated is left out, and why.

    The codes are ``list_too_long``, ``too_many_scenarios``, ``unknown_scenario`` and ``wrong_scenario``.

    >>> read = read_scenarios("lora?rank=8%26x=1,otra?rank=8,gpu?context=-1")
    >>> read.items, [error.code for error in read.errors]
    ((Scenario(calculator='lora', fragment='rank=8'),), ['unknown_scenario', 'wrong_scenario'])
    """
    if len(text) > MAX_LIST:
        return Scenarios(errors=(InvalidInput("list_too_long", place=PLACE, maximum=MAX_LIST),))
    items: dict[Scenario, None] = {}
    errors: list[InvalidInput] = []
    for part in filter(None, text.split(",")):
        if len(items) + len(errors) >= MAX_SCENARIOS:
            errors.append(InvalidInput("too_many_scenarios", place=PLACE, maximum=MAX_SCENARIOS))
            break
        try:
            items[_item(unquote(part, errors="replace"))] = None
        except InvalidInput as error:
            errors.append(error)
    return Scenarios(tuple(items), tuple(errors))


def _item(text: str) -> Scenario:
    calculator, _, inputs = text.partition("?")
    if calculator not in CALCULATORS or len(inputs) > MAX_FRAGMENT:
        raise InvalidInput("unknown_scenario", place=PLACE, value=_shown(text))
    one = Scenario.of(calculator, from_fragment(calculator, inputs))
    try:
        one.result()
    except InvalidInputs as problem:
        (first, *_) = problem.errors
        raise InvalidInput("wrong_scenario", place=PLACE, value=_shown(text), field=first.place) from None
    return one


def _shown(text: str) -> str:
    """The beginning of what came, without what a screen would obey."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text[:SHOWN])


def differing(items: Sequence[Scenario]) -> tuple[tuple[tuple[str, Value], ...], ...]:
    """What tells each scenario apart, by name, in the order of its form.

    That is its model if the list has several, and what others of the same calculator have otherwise.

    >>> differing([Scenario("lora", "rank=8"), Scenario("lora"), Scenario("inferencia", "context=2048")])
    ((('rank', 8),), (('rank', 16),), ())
    """
    found: dict[tuple[str, str], set[Value]] = {}
    for one in items:
        for name, value in one.values.items():
            found.setdefault(_owner(one, name), set()).add(value)
    told = {key for key, values in found.items() if len(values) > 1}
    return tuple(
        tuple((name, value) for name, value in one.values.items() if _owner(one, name) in told and name not in APART)
        for one in items
    )


def _owner(one: Scenario, name: str) -> tuple[str, str]:
    """Among which values one of an input is compared: those of its calculator, or of all for the model."""
    return ("" if name == "model" else one.calculator, name)


def parts(results: Sequence[Result | None]) -> dict[str, tuple[int | None, ...]]:
    """Bytes of each component by its first word, one for each result, ``None`` where it has no such part.

    >>> parts([run("acumulacion", {}), None])
    {'activations': (2000000000, None)}
    """
    sizes: list[dict[str, int]] = []
    for result in results:
        own: dict[str, int] = {}
        for component in result.estimate.components if result else ():
            first = component.name.partition("/")[0]
            own[first] = own.get(first, 0) + component.bytes
        sizes.append(own)
    names = [name for name in ORDER if any(name in own for own in sizes)]
    return {name: tuple(own.get(name) for own in sizes) for name in names}


def difference(total: int, base: int) -> tuple[int, Fraction | None]:
    """How far a total is from another one: bytes, and its share of that one unless there is nothing to share.

    >>> difference(3, 4), difference(3, 0)
    ((-1, Fraction(-1, 4)), (3, None))
    """
    return total - base, Fraction(total - base, base) if base else None
