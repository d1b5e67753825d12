"""Open bytes as a host opens a file: the first bytes, then as many as the door asks for."""

from dataclasses import dataclass, field

from calc.checkpoint import FIRST_READ, NeedMoreBytes
from calc.model_file import Piece, read_file


@dataclass
class Sparse:
    """A file of ``size`` bytes that holds ``data`` at its start and nothing after it.

    Only what is read is made, and ``read`` tells how much that was.
    """

    data: bytes
    size: int
    read: int = field(default=0)

    def first(self, length: int) -> bytes:
        """The first bytes, zeros where the file holds nothing."""
        length = min(length, self.size)
        self.read = max(self.read, length)
        return self.data[:length] + bytes(max(length - len(self.data), 0))


def open_bytes(name: str, data: bytes, size: int | None = None) -> Piece:
    """Read a whole file of these bytes."""
    return open_sparse(name, Sparse(data, len(data) if size is None else size))


def open_sparse(name: str, file: Sparse) -> Piece:
    """Read a file; a door that asks for no more than it has is a door that never ends."""
    have = file.first(FIRST_READ)
    while True:
        try:
            return read_file(name, have, file.size)
        except NeedMoreBytes as more:
            wanted = more.length
        if not len(have) < wanted <= file.size:
            raise AssertionError(wanted)
        have = file.first(wanted)
