"""The GPUs against an estimate, as plain data: the table, and the card that the visitor compares with."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from calc import es
from calc.fit import Fit, Verdict
from calc.gpu import Gpu

USUAL = frozenset(
    (
        *("rtx-3060", "rtx-3090", "rtx-4060-ti-16gb", "rtx-4070-ti-super", "rtx-4080", "rtx-4090"),
        *("rtx-5070-ti", "rtx-5080", "rtx-5090", "rtx-a6000", "rtx-6000-ada", "rtx-pro-6000"),
        *("t4", "v100-32gb", "a10", "l4", "a40", "l40s", "a100-40gb", "a100-80gb", "h100-80gb", "h200", "b200"),
        *("rx-7900-xtx", "pro-w7900", "mi300x", "mi325x", "dgx-spark"),
        *("apple-m4-pro-24gb", "apple-m2-max-64gb", "apple-m4-max-128gb"),
    )
)
"""GPUs that the table always shows, few enough to compute on every key; any other enters it when it is chosen."""

_ORDER = {Verdict.FITS: 0, Verdict.TIGHT: 1, Verdict.NO_FIT: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """One GPU in the table: what it has, how full it gets, how many it takes."""

    id: str
    name: str
    group: str
    usable: str
    assumed: bool
    used: str
    level: str
    count: int
    verdict: str
    smallest: bool
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The GPU that the visitor compares with; ``smallest`` is the smallest one with room to spare, if any."""

    name: str
    usable: str
    verdict: str
    free: str
    missing: str
    count: int
    combines: bool
    smallest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The table, the chosen card (None where the calculator compares with none) and its capacity in bytes."""

    rows: tuple[GpuRow, ...]
    chosen: Chosen | None
    capacity: int | None


def compare(fits: Sequence[Fit], gpu: str, unit: str) -> Comparison:
    """Sort the GPUs: those that hold the estimate first, smallest on top, then by how many it takes."""
    ranked = sorted(fits, key=lambda one: (_ORDER[one.verdict], one.count or 10**9, one.gpu.capacity))
    smallest = next((one.gpu for one in ranked if one.verdict is Verdict.FITS and one.gpu.combines), None)
    chosen = next((one for one in fits if one.gpu.id == gpu), None)
    return Comparison(
        rows=tuple(
            _gpu_row(one, unit, smallest, chosen)
            for one in ranked
            if one.gpu.id in USUAL or one.gpu is smallest or one is chosen
        ),
        chosen=_chosen(chosen, unit, smallest) if chosen else None,
        capacity=chosen.gpu.capacity if chosen else None,
    )


def _chosen(one: Fit, unit: str, smallest: Gpu | None) -> Chosen:
    return Chosen(
        name=one.gpu.name,
        usable=es.bytes_text(one.gpu.capacity, unit),
        verdict=one.verdict.value,
        free=es.bytes_text(max(one.free, 0), unit),
        missing=es.bytes_text(max(-one.free, 0), unit),
        count=one.count,
        combines=one.gpu.combines,
        smallest=smallest.name if smallest and smallest.id != one.gpu.id else "",
    )


def _gpu_row(one: Fit, unit: str, smallest: Gpu | None, chosen: Fit | None) -> GpuRow:
    gpu = one.gpu
    return GpuRow(
        id=gpu.id,
        name=gpu.name,
        group=group_of(gpu),
        usable=_usable(gpu.capacity, unit),
        assumed=one.assumed_capacity,
        used=percent(one.used, gpu.capacity),
        level=f"{min(one.used * 100 / gpu.capacity, 100):.1f}",
        count=one.count,
        verdict=one.verdict.value,
        smallest=gpu is smallest,
        chosen=one is chosen,
    )


def group_of(gpu: Gpu) -> str:
    """The group under which a GPU is looked for: its kind, or AMD for all of that maker.

    >>> group_of(Gpu(id="x", name="X", kind="consumer", sold_bytes=1))
    'consumer'
    """
    return "amd" if getattr(gpu, "vendor", "") == "amd" else gpu.kind


@lru_cache(maxsize=512)
def _usable(capacity: int, unit: str) -> str:
    return es.bytes_text(capacity, unit)


def percent(part: int, whole: int) -> str:
    """A share with three figures at most: one decimal below a hundred, none above.

    >>> percent(1, 3), percent(5, 2)
    ('33,3\\xa0%', '250\\xa0%')
    """
    if not whole or part >= whole:
        return es.percent_text(Fraction(part, whole or 1), 0)
    return es.percent_text(Fraction(part, whole))
