"""The moments of a step, as plain data: a stacked bar for each, and the same numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from comparison import percent as share_text
from picture import Mark, mark, percent

from calc import es
from calc.calculators import Result
from calc.es.labels import MOMENTS, SHORT_COMPONENTS
from calc.estimate import Note, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One part of a bar, by the first word of its component: the finer parts of one share a colour."""

    part: str
    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One moment: its words, its total, its bar; ``fullest`` for the one that decides."""

    label: str
    text: str
    bands: tuple[Band, ...]
    fullest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One component in the table, with a text for each moment; empty where it is not in memory then."""

    part: str
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The drawing and the table; ``capacity`` is the line of the chosen GPU.

    ``peak`` are the words of the fullest moment, ``largest`` those of its largest component, with its bytes and share;
    ``accumulated`` says that it is the second micro-batch, ``in_flight`` how many a stage of a pipeline holds.
    """

    moments: tuple[Moment, ...]
    lines: tuple[Line, ...]
    capacity: Mark | None
    peak: str
    largest: str
    largest_text: str
    largest_share: str
    accumulated: bool
    in_flight: str


def moments(result: Result, capacity: int | None, unit: str) -> Moments | None:
    """Lay the moments out; ``None`` where there is one moment or none, and so nothing to compare."""
    timeline = result.timeline
    if len(timeline) < 2:
        return None
    fullest = max(timeline, key=lambda one: one.total)
    scale = max(fullest.total, capacity or 0, 1)
    largest = max(_parts(fullest).items(), key=lambda pair: pair[1])
    names = dict.fromkeys(part.name for moment in timeline for part in moment.components)
    ordered = sorted(names, key=lambda name: list(SHORT_COMPONENTS).index(name.partition("/")[0]))
    return Moments(
        moments=tuple(_moment(one, scale, unit, fullest=one is fullest) for one in timeline),
        lines=tuple(_line(name, timeline, unit) for name in ordered),
        capacity=mark(capacity, scale) if capacity else None,
        peak=es.CHOICES["moment"][fullest.name],
        largest=SHORT_COMPONENTS[largest[0]].lower(),
        largest_text=es.bytes_text(largest[1], unit),
        largest_share=share_text(largest[1], fullest.total),
        accumulated=int(str(result.inputs.get("accumulation") or 1)) > 1,
        in_flight=_in_flight(result.notes),
    )


def _in_flight(notes: Sequence[Note]) -> str:
    """Micro-batches whose activations the fullest stage of a pipeline holds; empty without one."""
    return next(
        (es.number_text(int(note.params["micro_batches"])) for note in notes if note.code == "fullest_stage"), ""
    )


def _parts(moment: Phase) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for component in moment.components:
        name = component.name.partition("/")[0]
        sizes[name] = sizes.get(name, 0) + component.bytes
    return sizes


def _moment(moment: Phase, scale: int, unit: str, *, fullest: bool) -> Moment:
    sizes = _parts(moment)
    bands, edge = [], 0
    for name in filter(sizes.__contains__, SHORT_COMPONENTS):
        bands.append(Band(part=name, x=percent(edge, scale), width=percent(sizes[name], scale)))
        edge += sizes[name]
    text = es.bytes_text(moment.total, unit)
    return Moment(label=MOMENTS[moment.name], text=text, bands=tuple(bands), fullest=fullest)


def _line(name: str, timeline: Sequence[Phase], unit: str) -> Line:
    sizes = [sum(part.bytes for part in moment.components if part.name == name) for moment in timeline]
    return Line(
        part=name.partition("/")[0],
        label=es.component_name(name),
        cells=tuple(es.bytes_text(size, unit) if size else "" for size in sizes),
    )
