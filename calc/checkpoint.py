"""What a weight file declares in its header, whatever its format.

The doors (``calc.safetensors``, ``calc.gguf``) never read a file. They take the bytes that their host has read so far
and answer with a parsed header, or raise ``NeedMoreBytes`` with the length from the start of the file that they need.
A 100 GB file therefore costs its header only, and the same door works on a disk, on ``File.slice`` and in a test.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Final

from calc.errors import CalcError

MAX_HEADER_BYTES: Final = 32 * 2**20
"""Longest header that is read: twice the longest in use (the token list of a large vocabulary; 100,000 tensors). The
format of safetensors allows 100 MB, which no model comes near."""

FIRST_READ: Final = 2**18
"""Bytes that a host reads of a file before it asks a door for the first time."""

_SHOWN: Final = 80


class InvalidFile(CalcError):
    """A file is not what it says; ``place`` is the part (``header``, ``tensor x``), ``params`` hold the numbers."""


class NeedMoreBytes(Exception):
    """The header goes on past the bytes given: read ``length`` bytes from the start of the file and call again.

    ``length`` is at least what is missing, and at least double what was given while the file has as much, so that a
    long header takes few rounds.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(f"{length} bytes from the start are needed")


def more_bytes(needed: int, *, have: int, file_bytes: int) -> NeedMoreBytes:
    """What to raise when ``needed`` bytes from the start are not all there.

    >>> more_bytes(100, have=80, file_bytes=10**9).length, more_bytes(2**20, have=2**18, file_bytes=2**20).length
    (262144, 1048576)
    """
    wanted = max(needed, min(2 * have, MAX_HEADER_BYTES), FIRST_READ)
    return NeedMoreBytes(min(wanted, file_bytes))


def shown_name(name: str) -> str:
    """A name from a file as it may be shown: short, and with what cannot be printed written as an escape.

    Markup stays as it is: it is data, and whoever shows it escapes it there.

    >>> shown_name("a" + chr(10) + "b") == "a" + chr(92) + "nb", shown_name("<b>"), len(shown_name("x" * 1000))
    (True, '<b>', 80)
    """
    short = name if len(name) <= _SHOWN else f"{name[: _SHOWN - 2]} …"
    if short.isprintable():
        return short
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in short
    )


def of_tensor(name: str) -> str:
    """The place of an error about a tensor.

    >>> of_tensor("blk.0.attn_q.weight")
    'tensor blk.0.attn_q.weight'
    """
    return f"tensor {shown_name(name)}"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file: its name there, its shape (rows first), its type as the format names it, and its bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers are stored.

        >>> StoredTensor("a", (2, 3), "F16", 12).elements
        6
        """
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The header of one file, or of all parts of a split one.

    Args:
        format: ``safetensors`` or ``gguf``.
        tensors: in the order of the file.
        metadata: what the header says of itself; long arrays are replaced by their length (``ArrayLength``).
        parts: how many files the whole has, as far as the header tells, and which of them this is (from 0).
    """

    format: str
    tensors: tuple[StoredTensor, ...]
    metadata: Mapping[str, object]
    part: int = 0
    parts: int = 1

    @property
    def bytes(self) -> int:
        """Bytes of all tensors, without the header."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def elements(self) -> int:
        """Stored numbers in all tensors (packed integers count as stored)."""
        return sum(tensor.elements for tensor in self.tensors)

    def by_dtype(self) -> dict[str, tuple[int, int, int]]:
        """Tensors, elements and bytes of each type, most bytes first.

        >>> Checkpoint(format="gguf", tensors=(StoredTensor("a", (2, 3), "F16", 12),), metadata={}).by_dtype()
        {'F16': (1, 6, 12)}
        """
        tensors: Counter[str] = Counter()
        elements: Counter[str] = Counter()
        size: Counter[str] = Counter()
        for tensor in self.tensors:
            tensors[tensor.dtype] += 1
            elements[tensor.dtype] += tensor.elements
            size[tensor.dtype] += tensor.bytes
        return {dtype: (tensors[dtype], elements[dtype], size[dtype]) for dtype, _ in size.most_common()}

    @property
    def bits_per_weight(self) -> Fraction:
        """Mean bits per stored element; 0 for an empty file."""
        return Fraction(self.bytes * 8, self.elements) if self.elements else Fraction(0)


@dataclass(frozen=True, slots=True)
class ArrayLength:
    """Stands in metadata for an array that was skipped: nobody needs 150,000 token strings to know their number."""

    length: int


def joined(parts: Sequence[Checkpoint]) -> Checkpoint:
    """The parts of one model as one checkpoint, in their order; the first part's metadata stands for all.

    Raises:
        InvalidFile: ``repeated_tensor`` for a name that two parts hold.
    """
    seen: set[str] = set()
    for part in parts:
        for tensor in part.tensors:
            if tensor.name in seen:
                raise InvalidFile("repeated_tensor", place=of_tensor(tensor.name))
            seen.add(tensor.name)
    first = parts[0]
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    return replace(first, tensors=tensors, part=0, parts=len(parts))
