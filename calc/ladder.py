"""From one GPU to many: the fewest GPUs of some room that hold a run, and the layout in which they do.

What a GPU holds depends on the layout and not on the card, so each layout is estimated once and every card is held
against it; of replicas, two estimates give all. Only layouts that people run are tried: to train, ZeRO over
data-parallel replicas, tensor parallelism inside a node, both, or stages of nodes; to run a model, tensor parallelism
inside a node, layers in stages, or both.
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

PIPELINES: Final = (2, 3, 4, 5, 6, 8, 9, 12, 16, 18, 24, 32, 48, 64)
"""Stages, a node each, that are tried to train."""

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

    def replicated(layout: Layout, room: int) -> Rung | None:
        return _first(family(layout), room)

    def smallest(room: int) -> Rung | None:
        if base.gpus > 1:
            wanted = [base] if base.zero else [replace(base, zero=zero) for zero in (1, 3)]
            return _fewest(replicated(layout, room) for layout in wanted)
        stages = (3,) if base.offload == "all" else (1, 2, 3)  # weights wait on the host only where they are shared out
        shared = _fewest(replicated(replace(base, zero=zero), room) for zero in stages)
        if shared and shared.layout.gpus == REPLICAS[0]:
            return shared
        split = [replace(base, tensor=parts, sequence=True) for parts in (2, 4, NODE)]  # inside a node
        found = [shared, *(_at(estimate, layout, room) for layout in split)]
        found += [replicated(replace(layout, zero=3), room) for layout in split]
        best = _fewest(found)
        if best and best.layout.gpus <= NODE:
            return best
        staged = replace(base, tensor=NODE, sequence=True)
        return _fewest([best, _staged(staged, estimate, room, most=len(architecture.layers))])

    return cache(smallest)


def _fewest(found: Iterable[Rung | None]) -> Rung | None:
    """The rung with fewest GPUs; of as many, the first."""
    return min(filter(None, found), key=lambda one: one.layout.gpus, default=None)


def _staged(layout: Layout, estimate: Callable[[Layout], Estimate], room: int, *, most: int) -> Rung | None:
    """The fewest stages of nodes that fit: each has fewer layers, and the first ones more micro-batches at a time."""
    sizes = [stages for stages in PIPELINES if stages <= most]
    start = bisect_left(
        sizes, True, key=lambda stages: _at(estimate, replace(layout, pipeline=stages), room) is not None
    )
    return _at(estimate, replace(layout, pipeline=sizes[start]), room) if start < len(sizes) else None


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


def _first(family: _Family | None, room: int) -> Rung | None:
    """The fewest replicas that fit."""
    if family is None:
        return None
    sizes = [family.layout.data * replicas for replicas in REPLICAS]
    start = bisect_left(sizes, True, key=lambda data: family.total(data) <= room)
    if start == len(sizes):
        return None
    return Rung(layout=replace(family.layout, data=sizes[start]), bytes=family.total(sizes[start]))


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
