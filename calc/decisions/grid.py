"""The budget table: memory for every pair of two inputs, as exact as asking for each, and many times faster.

Along either input a component is a straight line, or one that bends where a ``min`` or a ``max`` changes sides (a chunk
of tokens is full, one layer overtakes another), or a parabola. Such a component is convex or concave, so if its value
in the middle lies on the line between both ends, all between them do. A piece that is not straight is halved until it
is, or until all of it has been asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from calc.decisions.question import Question
from calc.estimate import Estimate

BLOCK = 256
"""Tokens that llama.cpp's cache grows by at once; vLLM's blocks of 16 are a part of it (``calc.kv_cache``)."""

Parts = dict[tuple[str, str], Fraction | int]
"""Exact bytes by moment and component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Memory for every pair of values [B]: ``totals[i][j]`` is that of ``rows[i]`` and ``columns[j]``."""

    row: str
    rows: tuple[int, ...]
    column: str
    columns: tuple[int, ...]
    totals: tuple[tuple[int, ...], ...]


def grid(question: Question, row: str, rows: Sequence[int], column: str, columns: Sequence[int]) -> Grid:
    """Memory for every pair of two inputs, all else as it is.

    Args:
        question: the inputs; what they say of the two is not looked at.
        row: name of the input that changes from row to row.
        rows: its values, rising.
        column: name of the input that changes along a row.
        columns: its values, rising. Not tokens: those are rounded up to blocks.

    Example:
        >>> asked = Question("inferencia", {"model": "llama-3-8b"})
        >>> table = grid(asked, "context", (4096, 8192), "concurrency", (1, 2, 4))
        >>> table.totals[1][2] == asked.changed(context="8192", concurrency="4").estimate().total
        True

    Raises:
        InvalidInputs: for inputs that make no estimate.
    """
    down, across = tuple(rows), tuple(columns)
    asked = question.changed({row: str(down[0]), column: str(across[0])}).resolved()
    totals = tuple(_totals(line, across) for line in _rows(asked, row, down, column, across))
    return Grid(row=row, rows=down, column=column, columns=across, totals=totals)


@dataclass(frozen=True, slots=True)
class _Line:
    """One row, known where it bends: between two neighbouring knots each part is a straight line."""

    knots: tuple[int, ...]
    parts: tuple[Parts, ...]


def _rows(question: Question, row: str, rows: tuple[int, ...], column: str, columns: tuple[int, ...]) -> list[_Line]:
    """Every row, most of them found between two others that bend in the same places.

    Tokens are also rounded up to whole blocks and parts: only rows that are whole multiples of them are on a line.
    """
    known: dict[int, _Line] = {}
    parts = question.parsed().values.get("context-parallel", 1)
    block = BLOCK * (parts if isinstance(parts, int) else 1) if row == "context" else 1

    def line(index: int) -> _Line:
        if index not in known:
            known[index] = _line(question.changed({row: str(rows[index])}), column, columns)
        return known[index]

    pieces = [] if any(value % block for value in rows) else [(0, len(rows) - 1)]
    while pieces:
        first, last = pieces.pop()
        middle = (first + last) // 2
        start, end, half = line(first), line(last), line(middle)
        if middle in (first, last):
            continue
        if start.knots == half.knots == end.knots and half == _blend(start, end, rows, (first, middle, last)):
            for index in range(first + 1, last):
                known.setdefault(index, _blend(start, end, rows, (first, index, last)))
        else:
            pieces += [(first, middle), (middle, last)]
    return [line(index) for index in range(len(rows))]


def _blend(start: _Line, end: _Line, values: tuple[int, ...], at: tuple[int, int, int]) -> _Line:
    pairs = zip(start.parts, end.parts, strict=True)
    return _Line(start.knots, tuple(_between(first, last, values, at) for first, last in pairs))


def _line(question: Question, column: str, values: tuple[int, ...]) -> _Line:
    """One row: asked for at both ends and in the middle, and in the halves of every piece that is not straight."""
    known: dict[int, Parts] = {}

    def parts(index: int) -> Parts:
        if index not in known:
            known[index] = _parts(question.changed({column: str(values[index])}).estimate())
        return known[index]

    knots = {0, len(values) - 1}
    pieces = [(0, len(values) - 1)]
    while pieces:
        first, last = pieces.pop()
        middle = (first + last) // 2
        start, end, half = parts(first), parts(last), parts(middle)
        if middle not in (first, last) and _between(start, end, values, (first, middle, last)) != half:
            knots.add(middle)
            pieces += [(first, middle), (middle, last)]
    ordered = tuple(sorted(knots))
    return _Line(ordered, tuple(parts(index) for index in ordered))


def _parts(estimate: Estimate) -> Parts:
    return {
        (moment.name, part.name): part.derivation.value for moment in estimate.timeline for part in moment.components
    }


def _between(first: Parts, last: Parts, values: tuple[int, ...], at: tuple[int, int, int]) -> Parts:
    """Each part on the straight line between two known ones; a part that only one end has breaks the line."""
    if first.keys() != last.keys():
        return {}
    start, middle, end = (values[index] for index in at)
    done, whole = middle - start, end - start
    return {name: value + _share((last[name] - value) * done, whole) for name, value in first.items()}


def _share(value: Fraction | int, whole: int) -> Fraction | int:
    """An exact quotient, as an integer where it is one: integers are many times faster."""
    if isinstance(value, int):
        quotient, rest = divmod(value, whole)
        return Fraction(value, whole) if rest else quotient
    return value / whole


def _totals(line: _Line, values: tuple[int, ...]) -> tuple[int, ...]:
    """The largest moment at each value [B]."""
    totals = [_total(line.parts[0])]
    for first, last, start, end in zip(line.knots, line.knots[1:], line.parts, line.parts[1:], strict=False):
        straight = _straight(start, end, values[last] - values[first]) if last - first > 1 else []
        for index in range(first + 1, last):
            if straight:
                done = values[index] - values[first]
                totals.append(max(base + slope * done for base, slope in straight))
            else:
                totals.append(_total(_between(start, end, values, (first, index, last))))
        totals.append(_total(end))
    return tuple(totals[: len(values)])


def _straight(start: Parts, end: Parts, whole: int) -> list[tuple[int, int]]:
    """Each moment as a line of whole bytes, base and slope; empty where a part has fractions of a byte on the way."""
    lines: dict[str, tuple[int, int]] = {}
    for (moment, part), value in start.items():
        slope = _share(end[moment, part] - value, whole)
        if not isinstance(value, int) or not isinstance(slope, int):
            return []
        base, sum_of_slopes = lines.get(moment, (0, 0))
        lines[moment] = base + value, sum_of_slopes + slope
    return list(lines.values())


def _total(parts: Parts) -> int:
    """The largest moment [B], each part rounded up to a byte as the estimate rounds it."""
    moments: dict[str, int] = {}
    for (moment, _), value in parts.items():
        moments[moment] = moments.get(moment, 0) + ceil(value)
    return max(moments.values())
