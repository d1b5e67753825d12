"""The door for ``.safetensors`` files and their index.

Format: eight bytes with the header's length (unsigned, little endian), then that many bytes of UTF-8 JSON that maps
each tensor's name to ``{"dtype", "shape", "data_offsets": [begin, end]}``, then the data. Offsets count from the end of
the header, cover the data without holes or overlap, and ``__metadata__`` maps text to text.

Source: https://github.com/huggingface/safetensors/blob/v0.6.2/README.md (format and its limits).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from calc.checkpoint import (
    MAX_HEADER_BYTES,
    Checkpoint,
    InvalidFile,
    StoredTensor,
    more_bytes,
    of_tensor,
    shown_name,
)
from calc.json_door import load_json

DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "C64": 64,
}  # fmt: skip
"""Bits of each type of the format (``Dtype`` in safetensors/src/tensor.rs, 0.8.0)."""

MAX_TENSORS: Final = 50_000
"""Most tensors in one file; the largest checkpoints spread theirs over a hundred."""
MAX_INDEXED: Final = 300_000
"""Most tensors in an index; a trillion parameters with FP8 scales have half as many."""
MAX_INDEX_BYTES: Final = MAX_HEADER_BYTES
MAX_DIMENSIONS: Final = 16


def read_header(data: bytes, file_bytes: int) -> Checkpoint:
    """Parse the header at the start of a safetensors file.

    Args:
        data: the first bytes of the file, as many as the host has read.
        file_bytes: the size of the whole file.

    Raises:
        NeedMoreBytes: the header is longer than ``data``.
        InvalidFile: with a code and the place of what is wrong.

    Example:
        >>> header = b'{"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}}'
        >>> read_header(len(header).to_bytes(8, "little") + header, 8 + len(header) + 12).bytes
        12
    """
    if file_bytes < 8:
        raise InvalidFile("file_too_short", place="header", bytes=file_bytes)
    if len(data) < 8:
        raise more_bytes(8, have=len(data), file_bytes=file_bytes)
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise InvalidFile("header_too_long", place="header", bytes=length, maximum=MAX_HEADER_BYTES)
    if 8 + length > file_bytes:
        raise InvalidFile("truncated", place="header", needed=8 + length, bytes=file_bytes)
    if len(data) < 8 + length:
        raise more_bytes(8 + length, have=len(data), file_bytes=file_bytes)
    header = load_json(data[8 : 8 + length], place="header")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise InvalidFile("not_text_map", place="__metadata__")
    if len(header) > MAX_TENSORS:
        raise InvalidFile("too_many_tensors", place="header", count=len(header), maximum=MAX_TENSORS)
    spans = [_tensor(name, entry) for name, entry in header.items()]
    _check_layout(spans, file_bytes - 8 - length)
    return Checkpoint(format="safetensors", tensors=tuple(tensor for tensor, _, _ in spans), metadata=metadata)


@dataclass(frozen=True, slots=True)
class Index:
    """What ``model.safetensors.index.json`` says: the declared bytes (None if absent) and the file of each tensor."""

    total_size: int | None
    weight_map: Mapping[str, str]


def read_index(data: bytes) -> Index:
    """Parse ``model.safetensors.index.json``.

    >>> read_index(b'{"metadata":{"total_size":12},"weight_map":{"a":"model-00001-of-00002.safetensors"}}').total_size
    12
    """
    return index_from(load_json(data, place="index"))


def index_from(value: Mapping[str, object]) -> Index:
    """The index in a parsed JSON object.

    Raises:
        InvalidFile: ``not_text_map``, ``too_many_tensors``, ``bad_number``.
    """
    weight_map = value.get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise InvalidFile("not_text_map", place="weight_map")
    if len(weight_map) > MAX_INDEXED:
        raise InvalidFile("too_many_tensors", place="weight_map", count=len(weight_map), maximum=MAX_INDEXED)
    metadata = value.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():  # written so by some tools
        total = int(total)
    if total is not None and not _is_size(total):
        raise InvalidFile("bad_number", place="metadata.total_size")
    return Index(total, weight_map)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _tensor(name: str, entry: object) -> tuple[StoredTensor, int, int]:
    place = of_tensor(name)
    if not isinstance(entry, dict):
        raise InvalidFile("not_object", place=place)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        named = shown_name(dtype) if isinstance(dtype, str) else type(dtype).__name__
        raise InvalidFile("unknown_dtype", place=place, dtype=named)
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(_is_size(size) for size in shape):
        raise InvalidFile("bad_shape", place=place)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_size(offset) for offset in offsets):
        raise InvalidFile("bad_offsets", place=place)
    begin, end = offsets
    bits = prod(shape) * DTYPE_BITS[dtype]
    if bits >= 2**63:
        raise InvalidFile("bad_shape", place=place)
    if end < begin or bits % 8 or (end - begin) * 8 != bits:
        raise InvalidFile("size_mismatch", place=place, declared=end - begin, expected=-(-bits // 8))
    return StoredTensor(name, tuple(shape), dtype, end - begin), begin, end


def _check_layout(spans: list[tuple[StoredTensor, int, int]], data_bytes: int) -> None:
    position = 0
    for tensor, begin, end in sorted(spans, key=lambda span: (span[1], span[2])):
        if begin < position:
            raise InvalidFile("overlap", place=of_tensor(tensor.name), offset=begin)
        if begin > position:
            raise InvalidFile("hole", place=of_tensor(tensor.name), offset=begin)
        position = end
    if position > data_bytes:
        raise InvalidFile("truncated", place="data", needed=position, bytes=data_bytes)
    if position < data_bytes:
        raise InvalidFile("trailing_bytes", place="data", expected=position, bytes=data_bytes)
