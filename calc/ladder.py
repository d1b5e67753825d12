"""From one GPU to many: the fewest GPUs of some room that hold a run, and the layout in which they do.

What a GPU holds depends on the layout and not on the card, so each layout is estimated once and every card is held
against it. Only layouts that people run are tried: to train, ZeRO over data-parallel replicas, alone or with tensor
parallelism inside a node; to run a model, tensor parallelism inside a node, layers in stages, or both.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Final

from calc.architecture import Architecture
from calc.errors import InvalidInput
from calc.estimate import Estimate, Workload
from calc.inference import estimate_inference
from calc.layout import Layout
from calc.parallelism import check_layout, distinct_stages, part
from calc.training import estimate_training

NODE: Final = 8
"""GPUs that share a fast link in the usual server: tensor parallelism stays inside."""

REPLICAS: Final = (2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Data-parallel ranks that are tried: all within a node, then whole nodes."""

STAGES: Final = 64
"""Most stages of layers that are tried to run a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One layout and what its fullest GPU holds [B]."""

    layout: Layout
    bytes: int


Ladder = Callable[[int], Rung | None]
"""The rung with fewest GPUs that each have so many bytes; ``None`` if none of those tried fits."""


def training_ladder(architecture: Architecture, workload: Workload) -> Ladder:
    """The ladder of a training run. A layout already chosen is only replicated, not changed.

    Example:
        >>> from calc.catalog import architecture
        >>> rung = training_ladder(architecture("llama-3-8b"), Workload(context_tokens=2048))(80 * 2**30)
        >>> rung.layout == Layout(data=2, zero=3), rung.bytes < 80 * 2**30
        (True, True)
    """
    base = workload.layout or Layout()

    @cache
    def estimate(layout: Layout) -> Estimate:
        return estimate_training(architecture, replace(workload, layout=layout))

    @cache
    def family(layout: Layout) -> "_Family | None":
        return _Family.of(layout, estimate)

    def smallest(room: int) -> Rung | None:
        if base.gpus > 1:
            return _first(family(base), estimate, room) if base.zero else None
        shared = _first(family(Layout(zero=3)), estimate, room)
        if shared:
            for zero in (1, 2):  # the least that has to be shared out among as many
                simpler = _at(estimate, Layout(data=shared.layout.data, zero=zero), room)
                if simpler:
                    return simpler
        if shared and shared.layout.gpus <= NODE:
            return shared
        wide = _first(family(Layout(zero=3, tensor=NODE, sequence=True)), estimate, room, alone=True)
        return min(filter(None, (shared, wide)), key=lambda one: one.layout.gpus, default=None)

    return cache(smallest)


@dataclass(frozen=True, slots=True)
class _Family:
    """One layout with any number of replicas ``n``: each moment of a step takes ``a + b / n`` bytes.

    Two estimates give all the others: what ZeRO shares out is divided by ``n``, the rest does not change.
    """

    layout: Layout
    moments: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, layout: Layout, estimate: Callable[[Layout], Estimate]) -> "_Family | None":
        first, second = (layout.data * replicas for replicas in (2, 8))
        try:
            few, many = (estimate(replace(layout, data=data)).timeline for data in (first, second))
        except InvalidInput:
            return None
        lines = []
        for one, other in zip(few, many, strict=True):
            slope = Fraction(one.total - other.total) / (Fraction(1, first) - Fraction(1, second))
            lines.append((one.total - slope / first, slope))
        return cls(layout, tuple(lines))

    def total(self, data: int) -> int:
        """Bytes of the fullest moment with so many replicas, to within a byte for each component."""
        return max(ceil(fixed + slope / data) for fixed, slope in self.moments)


def _first(
    family: _Family | None, estimate: Callable[[Layout], Estimate], room: int, *, alone: bool = False
) -> Rung | None:
    """The fewest replicas that fit, confirmed by their own estimate; ``alone`` tries one replica first."""
    if family is None:
        return None
    if alone:
        rung = _at(estimate, replace(family.layout, zero=0), room)
        if rung:
            return rung
    sizes = [family.layout.data * replicas for replicas in REPLICAS]
    start = bisect_left(sizes, True, key=lambda data: family.total(data) <= room)
    candidates = (_at(estimate, replace(family.layout, data=data), room) for data in sizes[start : start + 2])
    return next(filter(None, candidates), None)


def _at(estimate: Callable[[Layout], Estimate], layout: Layout, room: int) -> Rung | None:
    try:
        total = estimate(layout).total
    except InvalidInput:
        return None
    return Rung(layout=layout, bytes=total) if total <= room else None


def inference_ladder(architecture: Architecture, workload: Workload) -> Ladder:
    """The ladder of a model that is run, every request on all the GPUs.

    Tensor parallelism gives each GPU its heads, its part of every width and of the cache (as many copies of a KV head
    as there are GPUs beyond the heads: vLLM, Megatron-LM); stages give each some of the layers with their cache.

    Example:
        >>> from calc.catalog import architecture
        >>> ladder = inference_ladder(architecture("llama-3-70b"), Workload())
        >>> ladder(80 * 2**30).layout.tensor, ladder(24 * 2**30).layout.gpus, ladder(10**9)
        (2, 8, None)
    """

    @cache
    def total(layout: Layout) -> int | None:
        try:
            check_layout(architecture, layout)
            parts = [part(architecture, layout, one) for one in distinct_stages(architecture, layout.pipeline)]
            return max(estimate_inference(one, workload).total for one in parts)
        except InvalidInput:
            return None

    def smallest(room: int) -> Rung | None:
        for layout in _inference_layouts(total, room):
            found = total(layout)
            if found is not None and found <= room:
                return Rung(layout=layout, bytes=found)
        return None

    return cache(smallest)


def _inference_layouts(total: Callable[[Layout], int | None], room: int) -> Iterable[Layout]:
    """Layouts by the number of GPUs, of as many GPUs tensor parallelism first; hopeless ones are left out."""
    whole = total(Layout()) or 0
    for gpus in (*range(2, NODE + 1), *range(2 * NODE, NODE * STAGES + 1, NODE)):
        if gpus * room < whole:  # even a perfect division would not fit
            continue
        if gpus in (2, 4, NODE):
            yield Layout(tensor=gpus)
        if gpus <= NODE:
            yield Layout(pipeline=gpus)
        else:
            yield Layout(tensor=NODE, pipeline=gpus // NODE)
            if gpus <= STAGES:
                yield Layout(pipeline=gpus)
