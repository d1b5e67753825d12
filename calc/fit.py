"""Whether an estimate fits a GPU, and how many it takes.

The count supposes that weights, states, caches and activations split evenly over the GPUs and that the runtime does not
split at all: each GPU has its own context. Real layouts lose a little more (uneven layers, gathered layers, buffers),
so the count is the least that can work.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from calc.estimate import Estimate
from calc.gpu import Gpu

TIGHT_ABOVE = Fraction(9, 10)
"""Share of the usable memory from which a fit is called tight: our choice, as fragmentation and peaks need room.
Reserved over allocated memory was 1.00-1.33 in published inference runs and 1.03-1.24 in Megatron training."""


class Verdict(StrEnum):
    """``fits``; ``tight``: the estimate fits, but nearly fills the GPU or its high end does not; ``no_fit``."""

    FITS = "fits"
    TIGHT = "tight"
    NO_FIT = "no_fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One GPU against one estimate.

    Args:
        gpu: the GPU.
        count: least number of these GPUs that hold the estimate, split evenly; 0 if no number does: the runtime
            alone fills each, or it is integrated in a computer and several are not combined.
        used: bytes of the whole estimate on one GPU [B].
        free: what one GPU would have left; negative where it does not fit [B].
        verdict: for one GPU.
        assumed_capacity: True where no driver reading is known and the sold capacity stands in.
    """

    gpu: Gpu
    count: int
    used: int
    free: int
    verdict: Verdict
    assumed_capacity: bool

    @property
    def used_fraction(self) -> Fraction:
        """Share of one GPU's capacity; above 1 where it does not fit."""
        return Fraction(self.used, self.gpu.capacity)


def fit(estimate: Estimate | int, gpus: Iterable[Gpu], *, parts: int = 1) -> tuple[Fit, ...]:
    """Hold an estimate, or a number of bytes, against each GPU, in the order given.

    With ``parts`` the estimate is of one GPU of a layout of so many: the counts are of the whole layout.

    Example:
        >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=100)
        >>> [(one.verdict.value, one.count, one.free) for one in fit(95, [card])]
        [('tight', 1, 5)]
        >>> fit(250, [card])[0].count
        3
    """
    if isinstance(estimate, int):
        return tuple(_fit(gpu, estimate, estimate, 0, parts) for gpu in gpus)
    runtime = estimate.component("runtime")
    return tuple(_fit(gpu, estimate.total, estimate.high, runtime, parts) for gpu in gpus)


def _fit(gpu: Gpu, used: int, high: int, runtime: int, parts: int) -> Fit:
    capacity = gpu.capacity
    if used > capacity:
        verdict = Verdict.NO_FIT
    elif high > capacity or Fraction(used, capacity) >= TIGHT_ABOVE:
        verdict = Verdict.TIGHT
    else:
        verdict = Verdict.FITS
    room = capacity - runtime
    count = max(1, -(-(used - runtime) // room)) if room > 0 else 0
    if count > 1 and not gpu.combines:
        count = 0
    return Fit(
        gpu=gpu,
        count=count * parts,
        used=used,
        free=capacity - used,
        verdict=verdict,
        assumed_capacity=not gpu.usable_is_reported,
    )
