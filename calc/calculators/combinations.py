"""Ways to the same effective batch: micro-batch, steps and GPUs whose product is the same, each with its memory.

Memory follows the micro-batch. From the second accumulation step on, gradients are there during the forward pass, and
more steps add nothing; a second replica brings the buffers in which gradients are exchanged, and more replicas add
nothing, unless ZeRO shares the states out among them.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import log2
from typing import Final

from calc.architecture import Architecture
from calc.estimate import Estimate, Workload
from calc.layout import Layout
from calc.memory import estimate_training

Combination = tuple[int, int, int]
"""Micro-batch, accumulation steps and data-parallel GPUs."""

MOST_GPUS: Final = 256
"""Largest number of GPUs that is proposed, unless a larger one was asked for."""

MOST_SAMPLES: Final = 1024
"""Largest micro-batch that is proposed, unless a larger one was asked for."""

MOST_ROWS: Final = 24
"""Rows of the comparison: those nearest to what was asked for."""


def combinations(asked: Combination) -> tuple[Combination, ...]:
    """Every way to the effective batch of this one within the limits above, the nearest of them if they are many.

    Near is in doublings: twice the GPUs is as far as half the micro-batch. By GPUs, then from the largest micro-batch.

    >>> combinations((2, 2, 1))
    ((4, 1, 1), (2, 2, 1), (1, 4, 1), (2, 1, 2), (1, 2, 2), (1, 1, 4))
    """
    found = sorted(_all(asked), key=lambda one: (_distance(one, asked), one))[:MOST_ROWS]
    return tuple(sorted(found, key=lambda one: (one[2], -one[0])))


def count(asked: Combination) -> int:
    """How many there are within the limits, shown or not.

    >>> count((2, 2, 1)), count((4, 6, 1))
    (6, 30)
    """
    return sum(1 for _ in _all(asked))


def _all(asked: Combination) -> Iterator[Combination]:
    batch, steps, gpus = asked
    whole = batch * steps * gpus
    for some in _divisors(whole, MOST_GPUS, gpus):
        each = whole // some
        wanted = batch if some == gpus else 1
        yield from ((one, each // one, some) for one in _divisors(each, MOST_SAMPLES, wanted))


def _divisors(number: int, most: int, wanted: int) -> list[int]:
    """The divisors up to a bound, and the one that is wanted whatever its size."""
    return sorted({wanted, *(one for one in range(1, min(most, number) + 1) if number % one == 0)})


def _distance(one: Combination, other: Combination) -> float:
    return abs(log2(one[0]) - log2(other[0])) + abs(log2(one[2]) - log2(other[2]))


def memory(architecture: Architecture, workload: Workload, one: Combination) -> Estimate:
    """What one GPU needs to train so; ``workload.layout`` says what the GPUs share out.

    Raises:
        InvalidInput: the model cannot be trained so.
    """
    batch, steps, gpus = one
    layout = workload.layout or Layout()
    same = replace(layout, data=gpus if layout.zero else min(gpus, 2))
    return _memory(_Model(architecture), replace(workload, batch=batch, accumulation_steps=min(steps, 2), layout=same))


class _Model:
    """An architecture that compares by identity: comparing its layers takes longer than estimating."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Model) and other.architecture is self.architecture

    def __hash__(self) -> int:
        return id(self.architecture)


@lru_cache(maxsize=256)
def _memory(model: _Model, workload: Workload) -> Estimate:
    return estimate_training(model.architecture, workload)
