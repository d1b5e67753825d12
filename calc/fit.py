"""Whether an estimate fits a GPU, and how many it takes.

With a ladder (``calc.ladder``) the number is that of a layout that was estimated. Without one, as for plain bytes, it
supposes that everything splits evenly over the GPUs but the runtime, which each of them has: the least that can work.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from calc.estimate import Estimate
from calc.gpu import Gpu
from calc.ladder import Ladder, Rung

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
        used: bytes of the whole estimate on one GPU, or on the fullest of a layout [B].
        free: what it would have left; negative where it does not fit [B].
        verdict: for one GPU, or for each of the layout that was estimated.
        assumed_capacity: True where no driver reading is known and the sold capacity stands in.
        parts: GPUs of the layout that was estimated.
        even: least number of these GPUs that hold the estimate if it splits evenly; 0 if no number does.
        ladder: finds the layout for a card that does not hold it; looked up when it is asked for.
    """

    gpu: Gpu
    used: int
    free: int
    verdict: Verdict
    assumed_capacity: bool
    parts: int = 1
    even: int = 1
    ladder: Ladder | None = None

    @property
    def used_fraction(self) -> Fraction:
        """Share of one GPU's capacity; above 1 where it does not fit."""
        return Fraction(self.used, self.gpu.capacity)

    @property
    def count(self) -> int:
        """Least number of these GPUs that hold the estimate.

        0 if no number does: the runtime alone fills each, several are not combined because their memory is the
        computer's, or none of the layouts that were tried fits.
        """
        if self.verdict is not Verdict.NO_FIT or self.ladder is None or not self.even:
            return self.even
        return self.rung.layout.gpus if self.rung else 0

    @property
    def rung(self) -> Rung | None:
        """How that many hold it and what the fullest has; ``None`` for one, or where no layout was looked for."""
        if self.verdict is not Verdict.NO_FIT or self.ladder is None or not self.even:
            return None
        return self.ladder(self.gpu.capacity)


def fit(
    estimate: Estimate | int, gpus: Iterable[Gpu], *, parts: int = 1, ladder: Ladder | None = None
) -> tuple[Fit, ...]:
    """Hold an estimate, or a number of bytes, against each GPU, in the order given.

    With ``parts`` the estimate is of one GPU of a layout of so many: the counts are of the whole layout.

    Example:
        >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=100)
        >>> [(one.verdict.value, one.count, one.free) for one in fit(95, [card])]
        [('tight', 1, 5)]
        >>> fit(250, [card])[0].count
        3
    """
    whole = Estimate(components=()) if isinstance(estimate, int) else estimate
    used, high = (estimate, estimate) if isinstance(estimate, int) else (estimate.total, estimate.high)
    runtime = whole.component("runtime")
    return tuple(
        Fit(
            gpu=gpu,
            used=used,
            free=gpu.capacity - used,
            verdict=_verdict(used, high, gpu.capacity),
            assumed_capacity=not gpu.usable_is_reported,
            parts=parts,
            even=parts * _even(gpu, used, runtime),
            ladder=ladder,
        )
        for gpu in gpus
    )


def _verdict(used: int, high: int, capacity: int) -> Verdict:
    if used > capacity:
        return Verdict.NO_FIT
    return Verdict.TIGHT if high > capacity or Fraction(used, capacity) >= TIGHT_ABOVE else Verdict.FITS


def _even(gpu: Gpu, used: int, runtime: int) -> int:
    room = gpu.capacity - runtime
    count = max(1, -(-(used - runtime) // room)) if room > 0 else 0
    return count if count == 1 or gpu.combines else 0
