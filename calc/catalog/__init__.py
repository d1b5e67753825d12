"""Models and GPUs that people use, each value with its origin.

The rows are data (``models.json``, ``gpus.json``), read on the first question and kept. ``models.json`` is written by
``tools/make_catalog.py``; how to add a row is in the README.
"""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pkgutil import get_data
from types import MappingProxyType
from typing import Any

from calc.architecture import Architecture
from calc.catalog.entries import GpuEntry, ModelEntry
from calc.errors import InvalidInput
from calc.provenance import Provenance
from calc.units import GIB

__all__ = ["GpuEntry", "ModelEntry", "architecture", "gpu", "gpus", "model", "models"]

_ORIGINS = {"github": "repository", "transformers": "class_defaults", "hub": "memory"}
_SHOWN = 80  # characters of an unknown id that an error repeats


def models() -> tuple[ModelEntry, ...]:
    """Every model: the presets first, in their order, then the rest by family and size.

    Example:
        >>> models()[0].id
        'gpt2'
    """
    return tuple(_models().values())


def model(id: str) -> ModelEntry:
    """The model of an id.

    Args:
        id: lower-case public name with hyphens.

    Raises:
        InvalidInput: code ``unknown_model``, with ``closest``: up to three ids that resemble it.

    Example:
        >>> model("qwen2.5-7b").hub_id
        'Qwen/Qwen2.5-7B'
        >>> model("lama-3-8b")
        Traceback (most recent call last):
        ...
        calc.errors.InvalidInput: unknown_model at model: {'value': 'lama-3-8b', 'closest': ('llama-3-8b', ...)}
    """
    found = _models().get(id)
    if found is None:
        raise _unknown("model", id, _models())
    return found


def architecture(id: str) -> Architecture:
    """The architecture of a model of the catalogue, built once.

    Raises:
        InvalidInput: code ``unknown_model``.

    Example:
        >>> architecture("llama-3-8b").hidden_size
        4096
    """
    return _architecture(model(id).id)


def gpus() -> tuple[GpuEntry, ...]:
    """Every GPU, grouped by vendor and kind, smallest first within each.

    Example:
        >>> {gpu.vendor for gpu in gpus()} == {"nvidia", "amd", "apple"}
        True
    """
    return tuple(_gpus().values())


def gpu(id: str) -> GpuEntry:
    """The GPU of an id.

    Raises:
        InvalidInput: code ``unknown_gpu``, with ``closest``: up to three ids that resemble it.

    Example:
        >>> gpu("h200").usable_bytes // 2**20
        143771
    """
    found = _gpus().get(id)
    if found is None:
        raise _unknown("gpu", id, _gpus())
    return found


def _unknown(kind: str, value: str, known: Mapping[str, object]) -> InvalidInput:
    wanted = value[:_SHOWN].strip().lower().replace(" ", "-").replace("_", "-")
    closest = tuple(get_close_matches(wanted, known, n=3, cutoff=0.5))
    return InvalidInput(f"unknown_{kind}", place=kind, value=value[:_SHOWN], closest=closest)


@cache
def _architecture(id: str) -> Architecture:
    # Imported on use: the list of names needs no builder of architectures.
    from calc.hf_config import architecture_from_hf_config  # noqa: PLC0415

    return architecture_from_hf_config(model(id).config)


@cache
def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(get_data(__name__, name) or b"{}")
    return data


@cache
def _models() -> Mapping[str, ModelEntry]:
    data = _read("models.json")
    sources: dict[str, str] = data["sources"]
    entries = [_model(row, sources, data["retrieved"]) for row in data["models"]]
    return MappingProxyType({entry.id: entry for entry in entries})


def _model(row: Mapping[str, Any], sources: Mapping[str, str], retrieved: str) -> ModelEntry:
    source, place = row["source"]
    provenance = Provenance(
        title=row["hub_id"],
        url=sources[source].format(place),
        retrieved=row.get("retrieved", retrieved),
        note=row["note"],
    )
    return ModelEntry(
        id=row["id"],
        name=row["name"],
        hub_id=row["hub_id"],
        family=row["family"],
        config=MappingProxyType(row["config"]),
        parameters=row["parameters"],
        verified=row.get("verified", True),
        featured=row.get("featured"),
        origin=_ORIGINS[source],
        provenance=provenance,
    )


@cache
def _gpus() -> Mapping[str, GpuEntry]:
    data = _read("gpus.json")
    entries = [_gpu(row, data["sources"], data["retrieved"]) for row in data["gpus"]]
    return MappingProxyType({entry.id: entry for entry in entries})


def _gpu(row: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]], retrieved: str) -> GpuEntry:
    def origin(key: str, note: str = "") -> Provenance:
        return Provenance(**sources[key], retrieved=retrieved, note=note)

    reading: int | None = row["usable_bytes"]
    return GpuEntry(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        kind=row["kind"],
        sold_bytes=row["sold_gb"] * GIB,
        usable_bytes=reading,
        usable_is_reported=reading is not None,
        sources=("nvidia-smi-readings",) if row["vendor"] == "nvidia" else (),
        sold_provenance=origin(*row["sold"]),
        usable_provenance=None if reading is None else origin(*row["usable"]),
    )
