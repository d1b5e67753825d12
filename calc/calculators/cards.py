"""The GPU that the visitor compares with: one of the catalogue or one's own, less what is kept free."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

from calc import catalog
from calc.calculators.fields import Field, Kind, Value
from calc.gpu import Gpu
from calc.units import GIB

OWN_GPU: Final = "own-gpu"
"""Id of a GPU of one's own, of which only the memory is known."""

GPU: Final = Field(name="gpu", kind=Kind.GPU, default="rtx-4090", custom=True)
GPU_MEMORY: Final = Field(
    name="gpu-memory",
    kind=Kind.DECIMAL,
    default="24",
    unit="GiB",
    minimum=Fraction(1, 10),
    maximum=10**5,
    shown_when={"gpu": (OWN_GPU,)},
)
RESERVE: Final = Field(
    name="reserve", kind=Kind.DECIMAL, default="0", unit="GiB", minimum=0, maximum=10**5, advanced=True
)

GPU_FIELDS: Final = (GPU, GPU_MEMORY, RESERVE)
"""What the calculators ask of the GPU."""


def chosen_gpu(values: Mapping[str, Value]) -> Gpu:
    """The GPU that the inputs name, less the reserve.

    >>> own = chosen_gpu({"gpu": OWN_GPU, "gpu-memory": Fraction(20), "reserve": Fraction(1, 2)})
    >>> own.name, own.capacity == 39 * 2**29
    ('', True)
    """
    name = str(values["gpu"])
    card = _own(_bytes(values, "gpu-memory")) if name == OWN_GPU else catalog.gpu(name)
    return _less(card, _bytes(values, "reserve"))


def gpus_for(values: Mapping[str, Value]) -> tuple[Gpu, ...]:
    """Every GPU to compare with: those of the catalogue, and one's own where it is chosen; less the reserve."""
    reserve = _bytes(values, "reserve")
    own = (chosen_gpu(values),) if values["gpu"] == OWN_GPU else ()
    return (*_catalogue(reserve), *own)


@lru_cache(maxsize=8)
def _catalogue(reserve: int) -> tuple[Gpu, ...]:
    return tuple(_less(one, reserve) for one in catalog.gpus())


def _own(memory: int) -> Gpu:
    return Gpu(id=OWN_GPU, name="", kind="own", sold_bytes=memory, usable_bytes=memory, usable_is_reported=True)


def _less(gpu: Gpu, reserve: int) -> Gpu:
    return replace(gpu, reserve_bytes=reserve) if reserve else gpu


def _bytes(values: Mapping[str, Value], name: str) -> int:
    value = values.get(name)
    return ceil(value * GIB) if isinstance(value, Fraction) else 0
