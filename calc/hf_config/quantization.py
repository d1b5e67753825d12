"""What the weights take as a configuration says they are stored: by type, scales and zero points counted.

``quantization_config`` names a method; each method says what one matrix ``(out, in)`` is stored as and which matrices
it leaves alone. The rest keeps the ``dtype`` of the configuration (16 bits where a quantized one does not say). Where a
method's files cannot be told from its configuration, nothing is said: an empty tuple, never a guess.

Types have the names of safetensors, so the result can be held against the header of a real file, type by type.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from calc.architecture import Architecture, StoredType, Tensor
from calc.hf_config.packing import PLAIN_BITS, Piece, packer
from calc.hf_config.reader import Reader
from calc.inventory import distinct_layers

DTYPES: Final[Mapping[str, str]] = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
"""Names of types in ``dtype`` (``torch_dtype``) and in safetensors."""


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor with its full name, how often it occurs, and whether it is in a layer of the decoder."""

    tensor: Tensor
    name: str
    times: int
    in_layer: bool


def stored_types(config: Mapping[str, object], architecture: Architecture) -> tuple[StoredType, ...]:
    """Elements and bytes of the loaded tensors by type, most bytes first; empty where the configuration does not tell.

    Raises:
        InvalidConfig: a key of ``quantization_config`` is absurd.

    Source: README_WEIGHTS of DeepSeek-V3; AutoGPTQ and AutoAWQ ``qlinear`` modules; ``QuantState.as_dict`` of
    bitsandbytes; compressed-tensors ``compressors``; ``integrations/mxfp4.py`` of Transformers.

    Example:
        >>> from calc import catalog
        >>> [(one.name, one.bytes) for one in catalog.architecture("gpt-oss-20b").stored]
        [('U8', 10152345600), ('BF16', 3608919168)]
    """
    reader = Reader(config)
    kept = _kept_type(reader)
    if not isinstance(config.get("quantization_config"), Mapping):
        section = config.get("text_config")
        if isinstance(section, Mapping) and isinstance(section.get("quantization_config"), Mapping):
            return stored_types({**section, "dtype": section.get("dtype") or config.get("dtype")}, architecture)
        return _summed(_pieces(architecture, kept, None)) if kept else ()
    found = packer(reader.section("quantization_config"), kept or "BF16")
    if found is None:
        return ()
    applies, pack = found
    chosen = {place for place in _places(architecture) if applies(place.name, place.tensor, place.in_layer)}
    if any(_is_stacked(place.tensor) for place in chosen) and not pack.stacked:
        return ()  # experts that share one tensor: how they are stored depends on who quantized them
    return _summed(_pieces(architecture, kept or "BF16", lambda place: pack(place.tensor) if place in chosen else None))


def _kept_type(reader: Reader) -> str | None:
    for holder in (reader.mapping, reader.mapping.get("text_config")):
        if isinstance(holder, Mapping):
            for key in ("dtype", "torch_dtype"):
                value = holder.get(key)
                if isinstance(value, str) and value.removeprefix("torch.") in DTYPES:
                    return DTYPES[value.removeprefix("torch.")]
    return None


def _places(architecture: Architecture) -> Iterator[Place]:
    for layer, times in distinct_layers(architecture):
        for tensor in layer.tensors:
            name = f"{architecture.layer_prefix}.{tensor.name}"
            yield Place(tensor, name, times * tensor.count, in_layer=True)
    towers = (tensor for tower in architecture.towers if tower.loaded for tensor in tower.tensors)
    for tensor in (*towers, *architecture.shared, *architecture.tensors):
        yield Place(tensor, tensor.name, tensor.count, in_layer=False)


def _pieces(
    architecture: Architecture, kept: str, pack: Callable[[Place], list[Piece] | None] | None
) -> Iterator[tuple[str, int, int]]:
    for place in _places(architecture):
        packed = pack(place) if pack else None
        if packed is None:
            elements = prod(place.tensor.shape)
            packed = [Piece(kept, elements, elements * PLAIN_BITS[kept] // 8)]
        for piece in packed:
            yield piece.type, piece.elements * place.times, piece.bytes * place.times


def _summed(pieces: Iterator[tuple[str, int, int]]) -> tuple[StoredType, ...]:
    elements: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for name, count, taken in pieces:
        elements[name] += count
        size[name] += taken
    return tuple(StoredType(name, elements[name], taken) for name, taken in size.most_common())


def _is_stacked(tensor: Tensor) -> bool:
    return tensor.active is not None and "*" not in tensor.name
