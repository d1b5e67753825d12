"""The budget as plain data: memory for every pair of two inputs, as a table in colours, and a curve along one.

The table and the curve come from ``calc.decisions.grid``: exact answers, most of them without an estimate of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from calc import es
from calc.calculators import Result, fragment
from calc.calculators.cards import chosen_gpu
from calc.decisions import SOLVABLE, Question, grid
from calc.fit import TIGHT_ABOVE

CONTEXTS = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
COUNTS = (1, 2, 4, 8, 16, 32, 64)
POINTS = 32
"""Steps of the curve."""
STEP = 256
"""Tokens that the curve's values are multiples of, so that few of them need an estimate (``calc.decisions.grid``)."""
WIDTH, HEIGHT = 100, 40
"""Of the drawing, in its own units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One pair: its memory, whether it fits, and the address of the calculator with it."""

    text: str
    verdict: str
    asked: bool
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the table."""

    value: str
    asked: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Memory along the tokens, drawn from 0 to ``far``; heights are from the top."""

    points: str
    area: str
    line: str
    here: tuple[str, str]
    far: str
    top: str
    crossing: str
    above: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The table and the curve."""

    gpu: str
    usable: str
    column: str
    heads: tuple[tuple[str, bool], ...]
    lines: tuple[Line, ...]
    curve: Curve
    count: str


def budget(result: Result, raw: Mapping[str, str], unit: str) -> Budget | None:
    """The budget of the chosen GPU; ``None`` for a calculator that knows no models."""
    if result.calculator not in SOLVABLE:
        return None
    question, capacity = Question(result.calculator, raw).resolved(), chosen_gpu(result.inputs).capacity
    column = SOLVABLE[result.calculator][1]
    context, count = _number(result, "context"), _number(result, column)
    rows, columns = _with(CONTEXTS, context), _with(COUNTS, count)
    table = grid(question, "context", rows, column, columns)
    return Budget(
        gpu=es.gpu_name(str(result.inputs["gpu"])),
        usable=es.bytes_text(capacity, unit),
        column=es.FIELD_LABELS[column],
        heads=tuple((es.number_text(value), value == count) for value in columns),
        lines=tuple(
            Line(
                value=es.number_text(tokens),
                asked=tokens == context,
                cells=tuple(
                    Cell(
                        text=es.bytes_text(total, unit),
                        verdict=_verdict(total, capacity),
                        asked=(tokens, many) == (context, count),
                        address="#" + fragment(question.calculator, {**raw, "context": str(tokens), column: str(many)}),
                    )
                    for many, total in zip(columns, totals, strict=True)
                ),
            )
            for tokens, totals in zip(rows, table.totals, strict=True)
        ),
        curve=_curve(question, column, result, capacity, unit),
        count=es.number_text(count),
    )


def _number(result: Result, name: str) -> int:
    return int(str(result.inputs[name]))


def _with(usual: tuple[int, ...], asked: int) -> tuple[int, ...]:
    """The usual values and the one that was asked for, rising."""
    return tuple(sorted({*usual, asked}))


def _verdict(total: int, capacity: int) -> str:
    if total > capacity:
        return "no_fit"
    return "tight" if Fraction(total, capacity) >= TIGHT_ABOVE else "fits"


def _curve(question: Question, column: str, result: Result, capacity: int, unit: str) -> Curve:
    """Memory from no tokens to twice as many as were asked for; to eight times as many where all that fits."""
    context, count = _number(result, "context"), _number(result, column)
    stride = max(STEP, -(-2 * context // POINTS // STEP) * STEP)
    values, totals = _along(question, column, count, stride)
    if totals[-1] < capacity:
        far = 4 * stride
        values, totals = _along(question, column, count, far)
    top = max(*totals, capacity) * 21 // 20
    reach = values[-1]
    points = [(Fraction(one, reach), Fraction(size, top)) for one, size in zip(values, totals, strict=True)]
    drawn = " ".join(f"{_x(x)},{_y(y)}" for x, y in points)
    return Curve(
        points=drawn,
        area=f"{_x(points[0][0])},{HEIGHT} {drawn} {WIDTH},{HEIGHT}",
        line=_y(Fraction(capacity, top)),
        here=(_x(min(Fraction(context, reach), Fraction(1))), _y(Fraction(result.estimate.total, top))),
        far=es.number_text(reach),
        top=es.bytes_text(top, unit),
        crossing=_crossing(values, totals, capacity),
        above=totals[0] > capacity,
    )


def _along(question: Question, column: str, count: int, stride: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    values = tuple(stride * step for step in range(1, POINTS + 1))
    table = grid(question, "context", values, column, (count,))
    return values, tuple(totals[0] for totals in table.totals)


def _crossing(values: tuple[int, ...], totals: tuple[int, ...], capacity: int) -> str:
    """The last value drawn that fits, in words; empty where all of them do, or none."""
    inside = [value for value, size in zip(values, totals, strict=True) if size <= capacity]
    return es.number_text(inside[-1]) if inside and len(inside) < len(values) else ""


def _x(share: Fraction) -> str:
    return f"{float(share) * WIDTH:.2f}"


def _y(share: Fraction) -> str:
    return f"{HEIGHT - float(share) * HEIGHT:.2f}"
