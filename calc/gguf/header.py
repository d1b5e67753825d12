"""Reading the header of a GGUF file, versions 2 and 3, little and big endian.

Layout: magic ``GGUF``, version (u32), number of tensors and of metadata entries (u64 each), the entries (key, type,
value), then for each tensor its name, number of dimensions, dimensions (fastest first), type and offset, then padding
to ``general.alignment`` and the data.

Source: https://github.com/ggml-org/ggml/blob/v0.9.4/docs/gguf.md, and its readers' limits in ggml/src/gguf.cpp
(at most 4 dimensions, names shorter than 64 bytes, no arrays of arrays).
"""

import struct
from collections.abc import Callable
from math import prod

from calc.checkpoint import (
    MAX_HEADER_BYTES,
    ArrayLength,
    Checkpoint,
    InvalidFile,
    StoredTensor,
    more_bytes,
    of_tensor,
    shown_name,
)
from calc.gguf.types import BLOCK_TYPES

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32
KEPT_ARRAY = 4096
"""Arrays of numbers up to this length are kept (values per layer); longer ones and arrays of text are only counted."""
KEPT_NUMBERS = 2**18
"""Numbers that are kept of all arrays together."""
MAX_KEY = 2**16
MAX_TEXT = 2**24
MAX_NAME = 256
MAX_DIMENSIONS = 4
MAX_TENSORS = 32_768
"""llama.cpp stacks experts, so the largest models have two thousand."""
MAX_ENTRIES = 65_536
MAX_TEXTS = 2_000_000
"""Texts of one array; a vocabulary of 262,000 has as many tokens and twice as many merges."""

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9


class Cursor:
    """A position in the bytes read so far; every step past them raises instead of returning less."""

    def __init__(self, data: bytes, file_bytes: int) -> None:
        self.data = data
        self.file_bytes = file_bytes
        self.position = 0
        self.order = "<"
        self.kept = 0

    def need(self, count: int, place: str) -> int:
        """Make sure that ``count`` more bytes are at hand and step over them; return where they start."""
        start, end = self.position, self.position + count
        if end > self.file_bytes:
            raise InvalidFile("truncated", place=place, needed=end, bytes=self.file_bytes)
        if end > MAX_HEADER_BYTES:
            raise InvalidFile("header_too_long", place=place, bytes=end, maximum=MAX_HEADER_BYTES)
        if end > len(self.data):
            raise more_bytes(end, have=len(self.data), file_bytes=self.file_bytes)
        self.position = end
        return start

    def number(self, code: str, place: str) -> int | float | bool:
        """Read one number of a ``struct`` code."""
        start = self.need(struct.calcsize(code), place)
        value: int | float | bool = struct.unpack_from(self.order + code, self.data, start)[0]
        return value

    def integer(self, code: str, place: str) -> int:
        """Read one unsigned integer."""
        return int(self.number(code, place))

    def text(self, limit: int, place: str) -> str:
        """Read a length (u64) and that many bytes of UTF-8."""
        length = self.integer("Q", place)
        if length > limit:
            raise InvalidFile("text_too_long", place=place, bytes=length, maximum=limit)
        start = self.need(length, place)
        try:
            return self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidFile("not_utf8", place=place, offset=start + error.start) from None


def read_header(data: bytes, file_bytes: int) -> Checkpoint:
    """Parse the header at the start of a GGUF file.

    Args:
        data: the first bytes of the file, as many as the host has read.
        file_bytes: the size of the whole file.

    Raises:
        NeedMoreBytes: the header is longer than ``data``.
        InvalidFile: with a code and the place of what is wrong.

    Example:
        >>> read_header(b"GGUF" + (3).to_bytes(4, "little") + bytes(16), 24).tensors
        ()
    """
    cursor = Cursor(data, file_bytes)
    start = cursor.need(4, "magic")
    if data[start : start + 4] != MAGIC:
        raise InvalidFile("wrong_magic", place="magic")
    _version(cursor)
    tensor_count = _count(cursor, "tensor_count", MAX_TENSORS)
    entry_count = _count(cursor, "metadata_kv_count", MAX_ENTRIES)
    metadata = _metadata(cursor, entry_count)
    entries = _tensor_table(cursor, tensor_count)
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or isinstance(alignment, bool) or alignment < 1 or alignment & (alignment - 1):
        raise InvalidFile("bad_alignment", place="general.alignment")
    data_start = -(-cursor.position // alignment) * alignment
    _check_layout(entries, alignment, file_bytes - data_start)
    return Checkpoint(
        format="gguf",
        tensors=tuple(tensor for tensor, _ in entries),
        metadata=metadata,
        part=_small(metadata, "split.no", 0),
        parts=_small(metadata, "split.count", 1) or 1,
    )


def _version(cursor: Cursor) -> None:
    version = cursor.integer("I", "version")
    if version & 0xFFFF == 0 and version:
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in (2, 3):
        raise InvalidFile("unsupported_version", place="version", version=version)


def _count(cursor: Cursor, place: str, maximum: int) -> int:
    count = cursor.integer("Q", place)
    if count > maximum:
        raise InvalidFile("impossible_count", place=place, count=count)
    return count


def _metadata(cursor: Cursor, count: int) -> dict[str, object]:
    metadata: dict[str, object] = {}
    for index in range(count):
        key = cursor.text(MAX_KEY, f"metadata[{index}]")
        if key in metadata:
            raise InvalidFile("repeated_key", place=shown_name(key))
        metadata[key] = _value(cursor, cursor.integer("I", shown_name(key)), shown_name(key))
    return metadata


def _value(cursor: Cursor, kind: int, place: str) -> object:
    if kind == TEXT:
        return cursor.text(MAX_TEXT, place)
    if kind == ARRAY:
        return _array(cursor, place)
    if kind in NUMBERS:
        return cursor.number(NUMBERS[kind], place)
    raise InvalidFile("unknown_value_type", place=place, type=kind)


def _array(cursor: Cursor, place: str) -> object:
    kind = cursor.integer("I", place)
    count = cursor.integer("Q", place)
    if kind == TEXT:
        _skip_texts(cursor, count, place)
        return ArrayLength(count)
    if kind not in NUMBERS:
        raise InvalidFile("unknown_value_type", place=place, type=kind)
    width = struct.calcsize(NUMBERS[kind])
    start = cursor.need(count * width, place)
    cursor.kept += min(count, KEPT_ARRAY)
    if count > KEPT_ARRAY or cursor.kept > KEPT_NUMBERS:
        return ArrayLength(count)
    return struct.unpack_from(f"{cursor.order}{count}{NUMBERS[kind]}", cursor.data, start)


def _skip_texts(cursor: Cursor, count: int, place: str) -> None:
    """Step over ``count`` texts: a vocabulary has 250,000 of them, so this loop does nothing else."""
    if count > MAX_TEXTS:
        raise InvalidFile("impossible_count", place=place, count=count)
    cursor.position = cursor.need(count * 8, place)
    length_of: Callable[..., tuple[int]] = struct.Struct(cursor.order + "Q").unpack_from
    data, position, end = cursor.data, cursor.position, len(cursor.data)
    for done in range(count):
        if position + 8 > end:
            position += (count - done) * 8
            break
        position += 8 + length_of(data, position)[0]
    cursor.need(position - cursor.position, place)


def _tensor_table(cursor: Cursor, count: int) -> list[tuple[StoredTensor, int]]:
    entries: list[tuple[StoredTensor, int]] = []
    names: set[str] = set()
    for index in range(count):
        name = cursor.text(MAX_NAME, f"tensor[{index}]")
        place = of_tensor(name)
        if name in names:
            raise InvalidFile("repeated_key", place=place)
        names.add(name)
        dimensions = cursor.integer("I", place)
        if dimensions > MAX_DIMENSIONS:
            raise InvalidFile("bad_shape", place=place)
        shape = tuple(cursor.integer("Q", place) for _ in range(dimensions))[::-1]
        entries.append((_stored(name, shape, cursor.integer("I", place), place), cursor.integer("Q", place)))
    return entries


def _stored(name: str, shape: tuple[int, ...], kind: int, place: str) -> StoredTensor:
    block = BLOCK_TYPES.get(kind)
    if block is None:
        raise InvalidFile("unknown_dtype", place=place, dtype=kind)
    if any(size == 0 for size in shape) or prod(shape) >= 2**63:
        raise InvalidFile("bad_shape", place=place)
    if (shape[-1] if shape else 1) % block.elements:
        raise InvalidFile("partial_block", place=place, row=shape[-1] if shape else 1, block=block.elements)
    return StoredTensor(name, shape, block.name, prod(shape) // block.elements * block.bytes)


def _check_layout(entries: list[tuple[StoredTensor, int]], alignment: int, data_bytes: int) -> None:
    position = 0
    for tensor, offset in sorted(entries, key=lambda entry: entry[1]):
        place = of_tensor(tensor.name)
        if offset % alignment:
            raise InvalidFile("misaligned", place=place, offset=offset, alignment=alignment)
        if offset < position:
            raise InvalidFile("overlap", place=place, offset=offset)
        position = offset + tensor.bytes
        if position > data_bytes:
            raise InvalidFile("truncated", place=place, needed=position, bytes=max(data_bytes, 0))


def _small(metadata: dict[str, object], key: str, default: int) -> int:
    value = metadata.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**16:
        raise InvalidFile("bad_number", place=key)
    return value
