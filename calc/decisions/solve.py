"""The inverse questions: how far one input can go before a GPU is full.

Memory never falls when a number of tokens, sequences or parameters grows, so the largest that fits is found between a
value that fits and one that does not. Memory is nearly a straight line in each of them: the next guess is where the
line through both ends crosses the capacity, and a halving now and then keeps the number of steps bounded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from calc.calculators import CALCULATORS, Field, Kind
from calc.decisions.question import Question
from calc.gpu import Gpu

SOLVABLE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"gpu": ("context", "batch"), "inferencia": ("context", "concurrency"), "lora": ("context", "batch", "rank")}
)
"""Inputs that can be asked for, by calculator. Memory never falls when one of them grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The largest value of an input that a GPU holds.

    Args:
        field: name of the input.
        value: the largest whole number that fits; 0 if not even the smallest does.
        total: memory with it [B]; with the smallest value where none fits.
        room: memory that it may take [B].
        gpu: id of the card whose memory that is; empty for plain bytes.
        bound: what stops it: ``memory``, or ``field`` where the largest value that may be typed still fits.
    """

    field: str
    value: int
    total: int
    room: int
    bound: str
    gpu: str = ""

    @property
    def free(self) -> int:
        """What is left with it, negative where nothing fits [B]."""
        return self.room - self.total

    def as_json(self) -> dict[str, int | str]:
        """Plain values, as ``python -m calc … --solve … --json`` prints them."""
        sizes = {"total_bytes": self.total, "usable_bytes": self.room, "free_bytes": self.free}
        return {"field": self.field, "value": self.value, "gpu": self.gpu, **sizes, "bound": self.bound}


def solve(question: Question, name: str, room: Gpu | int) -> Solution:
    """The largest value of one input with which the estimate takes no more than ``room``, all else as it is.

    Args:
        question: the inputs; what they say of ``name`` is not looked at.
        name: one of ``SOLVABLE[question.calculator]``.
        room: a GPU, or bytes.

    Example:
        >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=24 * 2**30)
        >>> found = solve(Question("inferencia", {"model": "llama-3-8b"}), "context", card)
        >>> found.value > 8192, found.free >= 0, found.bound
        (True, True, 'memory')

    Raises:
        InvalidInputs: for inputs that make no estimate.
        KeyError: for an input that cannot be asked for.
    """
    if name not in SOLVABLE[question.calculator]:
        raise KeyError(name)
    field = next(one for one in CALCULATORS[question.calculator].fields if one.name == name)
    limit = room if isinstance(room, int) else room.capacity
    asked = question.changed({name: str(_ends(field)[0])}).resolved()

    def total(value: int) -> int:
        return asked.changed({name: str(value)}).estimate().total

    value, taken = largest(total, *_ends(field), limit)
    bound = "field" if value == _ends(field)[1] else "memory"
    gpu = "" if isinstance(room, int) else room.id
    return Solution(field=name, value=value, total=taken, room=limit, bound=bound, gpu=gpu)


def _ends(field: Field) -> tuple[int, int]:
    assert field.kind is Kind.INTEGER
    assert field.minimum is not None
    assert field.maximum is not None
    return int(field.minimum), int(field.maximum)


def largest(total: Callable[[int], int], low: int, high: int, limit: int) -> tuple[int, int]:
    """The largest whole number from ``low`` to ``high`` whose total is within the limit, and that total.

    ``total`` never falls. If not even ``low`` is within the limit, 0 and the total of ``low``.

    >>> largest(lambda n: 7 + 3 * n, 1, 10**8, 100), largest(lambda n: 7 + 3 * n, 1, 20, 100)
    ((31, 100), (20, 67))
    >>> largest(lambda n: 200 + n, 1, 10, 100)
    (0, 201)
    """
    below, at_below = low, total(low)
    if at_below > limit:
        return 0, at_below
    above, at_above = _first_above(total, low, high, limit)
    if at_above <= limit:
        return above, at_above
    turn = 0
    while above - below > 1:
        turn += 1
        middle = (below + above) // 2
        if turn % 3:
            middle = below + (limit - at_below) * (above - below) // (at_above - at_below)
        middle = min(max(middle, below + 1), above - 1)
        at_middle = total(middle)
        if at_middle <= limit:
            below, at_below = middle, at_middle
        else:
            above, at_above = middle, at_middle
    return below, at_below


def _first_above(total: Callable[[int], int], low: int, high: int, limit: int) -> tuple[int, int]:
    """A number whose total is beyond the limit, found in strides that grow; ``high`` if there is none."""
    value = low
    while True:
        value = min(value * 8, high)
        taken = total(value)
        if taken > limit or value == high:
            return value, taken
