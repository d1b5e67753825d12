"""The GPUs against an estimate, as plain data: the table, and the card that the visitor compares with."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from calc import es
from calc.es.labels import layout_text
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
    """One GPU in the table: what it has, how full it gets, how many it takes and in which layout."""

    id: str
    name: str
    group: str
    usable: str
    assumed: bool
    used: str
    level: str
    count: str
    layout: str
    verdict: str
    smallest: bool
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The GPU that the visitor compares with; ``smallest`` is the smallest one with room to spare, if any.

    ``parts`` is the number of GPUs of the layout that was asked for, empty for one; ``count``, ``layout`` and ``each``
    say how many would hold it where one does not, empty where no number is known.
    """

    name: str
    usable: str
    verdict: str
    free: str
    missing: str
    parts: str
    count: str
    layout: str
    each: str
    combines: bool
    smallest: str


def compare(fits: Sequence[Fit], gpu: str, unit: str) -> tuple[GpuRow, ...]:
    """The table: the GPUs that hold the estimate first, smallest on top, then by how many it takes."""
    smallest, chosen = smallest_fit(fits), _of(fits, gpu)
    rows = [one for one in fits if one.gpu.id in USUAL or one is smallest or one is chosen]
    rows.sort(key=lambda one: (_ORDER[one.verdict], one.count or 10**9, one.gpu.capacity))
    return tuple(
        GpuRow(
            id=one.gpu.id,
            name=es.gpu_name(one.gpu.id),
            group=group_of(one.gpu),
            usable=_usable(one.gpu.capacity, unit),
            assumed=one.assumed_capacity,
            used=percent(one.used, one.gpu.capacity),
            level=f"{min(one.used * 100 / one.gpu.capacity, 100):.1f}",
            count=es.number_text(one.count) if one.count else "",
            layout=layout_text(one.rung.layout) if one.rung else "",
            verdict=one.verdict.value,
            smallest=one is smallest,
            chosen=one is chosen,
        )
        for one in rows
    )


def chosen_card(fits: Sequence[Fit], gpu: str, unit: str) -> Chosen | None:
    """The card that was chosen against the estimate; ``None`` where the calculator compares with none."""
    one, smallest = _of(fits, gpu), smallest_fit(fits)
    if one is None:
        return None
    return Chosen(
        name=es.gpu_name(one.gpu.id),
        usable=es.bytes_text(one.gpu.capacity, unit),
        verdict=one.verdict.value,
        free=es.bytes_text(max(one.free, 0), unit),
        missing=es.bytes_text(max(-one.free, 0), unit),
        parts=es.number_text(one.parts) if one.parts > 1 else "",
        count=es.number_text(one.count) if one.count > 1 else "",
        layout=layout_text(one.rung.layout) if one.rung else "",
        each=es.bytes_text(one.rung.bytes, unit) if one.rung else "",
        combines=one.gpu.combines,
        smallest=es.gpu_name(smallest.gpu.id) if smallest and smallest is not one else "",
    )


def capacity_of(fits: Sequence[Fit], gpu: str) -> int | None:
    """Usable bytes of the card that was chosen, if one was."""
    one = _of(fits, gpu)
    return one.gpu.capacity if one else None


def smallest_fit(fits: Sequence[Fit]) -> Fit | None:
    """The card with least memory that holds the estimate with room to spare, if any does."""
    roomy = [one for one in fits if one.verdict is Verdict.FITS and one.gpu.combines]
    return min(roomy, key=lambda one: one.gpu.capacity, default=None)


def _of(fits: Sequence[Fit], gpu: str) -> Fit | None:
    return next((one for one in fits if one.gpu.id == gpu), None)


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
