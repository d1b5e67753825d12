"""The catalogue as the calculators ask for it: by id, read when first needed."""

from collections.abc import Mapping
from importlib import import_module

from calc.gpu import Gpu


def model_ids() -> tuple[str, ...]:
    """Ids of the models, in the order of the catalogue."""
    try:
        return tuple(import_module("calc.catalog").models())
    except ModuleNotFoundError:
        return ("llama-3-8b",)


def gpus() -> Mapping[str, Gpu]:
    """The GPUs by id."""
    try:
        return dict(import_module("calc.catalog").gpus())
    except ModuleNotFoundError:
        card = Gpu(id="rtx-4090", name="RTX 4090", kind="consumer", sold_bytes=24 * 2**30)
        return {card.id: card}


def gpu_ids() -> tuple[str, ...]:
    """Ids of the GPUs, in the order of the catalogue."""
    return tuple(gpus())
