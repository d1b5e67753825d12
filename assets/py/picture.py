"""The picture of an estimate: one stacked bar against the capacity of a GPU, with a label at each part.

Positions are percentages, so that the drawing fits any width while its texts keep their size. A part that is wide
enough even on the narrowest screen carries its label inside; the others get a leader to a label below. Leaders never
cross a label of their own half: on the left, labels stand right of their leaders and the rightmost comes first; on the
right, labels stand left of theirs and the leftmost comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

NARROWEST = 288
"""Width of the bar on a screen of 320 px [px]."""
WIDE = 620
"""Width of the bar on a usual screen [px]."""
SLIVER = Fraction(1, 400)
"""Parts below this share of the bar are drawn without a label: the table has them."""
CHARACTER = 7
"""Width allowed for a character of a label [px]."""
PADDING = 14
"""Room around a label inside its part [px]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the caller knows of one part: an id, its words, its size."""

    name: str
    label: str
    text: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part as drawn; ``row`` counts the lines of labels below; ``place`` is ``inside``, ``below`` or ``none``."""

    part: Part
    x: str
    width: str
    middle: str
    place: str
    row: int
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line and the side of it on which its label stands."""

    x: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The drawing: parts, line of the capacity, range of the total, rows of labels, and where the room can be named.

    ``spread`` is the two ends of the range, None for an exact total; ``room`` is ``always``, ``wide`` or ``none``.
    """

    segments: tuple[Segment, ...]
    rows: int
    capacity: Mark | None
    spread: tuple[str, str] | None
    room: str


def draw(parts: Sequence[Part], *, low: int, high: int, capacity: int | None) -> Bar:
    """Lay the bar out.

    >>> bar = draw([Part(name="weights", label="Pesos", text="3 GiB", size=3)], low=3, high=3, capacity=4)
    >>> bar.segments[0].width, bar.capacity.x, bar.rows
    ('75.00%', '100.00%', 0)
    """
    total = sum(part.size for part in parts)
    scale = max(total, high, capacity or 0, 1)
    edges = [0]
    for part in parts:
        edges.append(edges[-1] + part.size)
    middles = [Fraction(edges[i] + edges[i + 1], 2 * scale) for i in range(len(parts))]
    places = [_place(part, scale) for part in parts]
    rows = _rows(places, middles)
    segments = tuple(
        Segment(
            part=part,
            x=percent(edges[i], scale),
            width=percent(part.size, scale),
            middle=percent(middles[i]),
            place=places[i],
            row=rows.get(i, 0),
            anchor=_anchor(middles[i]),
        )
        for i, part in enumerate(parts)
    )
    return Bar(
        segments=segments,
        rows=len(rows),
        capacity=mark(capacity, scale) if capacity else None,
        spread=(percent(low, scale), percent(high, scale)) if low < high else None,
        room=_room(Fraction((capacity or 0) - max(total, high), scale)),
    )


def mark(size: int, scale: int) -> Mark:
    """The line at a size, its label on the side that has more room.

    >>> mark(3, 4)
    Mark(x='75.00%', anchor='end')
    """
    return Mark(x=percent(size, scale), anchor=_anchor(Fraction(size, scale)))


def percent(part: int | Fraction, whole: int = 1) -> str:
    """A share as an SVG length.

    >>> percent(1, 3)
    '33.33%'
    """
    return f"{float(part / Fraction(whole)) * 100:.2f}%"


def _place(part: Part, scale: int) -> str:
    share = Fraction(part.size, scale)
    if _holds(share, max(len(part.label), len(part.text)), NARROWEST):
        return "inside"
    return "below" if share >= SLIVER else "none"


def _rows(places: Sequence[str], middles: Sequence[Fraction]) -> dict[int, int]:
    """The row of each label that stands below."""
    below = [i for i, place in enumerate(places) if place == "below"]
    left = [i for i in reversed(below) if _anchor(middles[i]) == "start"]
    right = [i for i in below if _anchor(middles[i]) == "end"]
    return {i: row for row, i in enumerate(left + right)}


def _room(share: Fraction) -> str:
    """Whether «6,24 GiB libres» can be written where nothing is used."""
    if _holds(share, 16, NARROWEST):
        return "always"
    return "wide" if _holds(share, 16, WIDE) else "none"


def _holds(share: Fraction, characters: int, width: int) -> bool:
    return share * width >= characters * CHARACTER + PADDING


def _anchor(position: Fraction) -> str:
    return "start" if position <= Fraction(1, 2) else "end"
