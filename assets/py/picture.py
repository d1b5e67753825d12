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
    """One part as drawn; ``row`` is None where the label is inside."""

    part: Part
    x: str
    width: str
    middle: str
    row: int | None
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line and the side of it on which its label stands."""

    x: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The drawing: parts, the line of the capacity, the range of the total, and how many rows of labels it needs."""

    segments: tuple[Segment, ...]
    rows: int
    capacity: Mark | None
    low: str
    high: str
    room: str
    room_inside: bool


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
    rows = _rows(parts, middles, scale)
    segments = tuple(
        Segment(
            part=part,
            x=percent(edges[i], scale),
            width=percent(part.size, scale),
            middle=percent(middles[i]),
            row=rows.get(i),
            anchor=_anchor(middles[i]) if i in rows else "middle",
        )
        for i, part in enumerate(parts)
    )
    room = max((capacity or 0) - total, 0)
    return Bar(
        segments=segments,
        rows=len(rows),
        capacity=None if capacity is None else Mark(x=percent(capacity, scale), anchor=_anchor(capacity / scale)),
        low=percent(low, scale),
        high=percent(high, scale),
        room=percent(room, scale),
        room_inside=_holds(Fraction(room, scale), 16),
    )


def percent(part: int | Fraction, whole: int = 1) -> str:
    """A share as an SVG length.

    >>> percent(1, 3)
    '33.33%'
    """
    return f"{float(part / Fraction(whole)) * 100:.2f}%"


def _rows(parts: Sequence[Part], middles: Sequence[Fraction], scale: int) -> dict[int, int]:
    """The row of each label that does not fit inside its part."""
    outside = [
        i
        for i, part in enumerate(parts)
        if not _holds(Fraction(part.size, scale), max(len(part.label), len(part.text)))
    ]
    left = [i for i in reversed(outside) if _anchor(middles[i]) == "start"]
    right = [i for i in outside if _anchor(middles[i]) == "end"]
    return {i: row for row, i in enumerate(left + right)}


def _holds(share: Fraction, characters: int) -> bool:
    return share * NARROWEST >= characters * CHARACTER + PADDING


def _anchor(position: Fraction | float) -> str:
    return "start" if position <= 0.5 else "end"
