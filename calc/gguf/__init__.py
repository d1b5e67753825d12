"""The door for ``.gguf`` files: the header (``header``), block types (``types``), keys (``keys``), parts."""

from calc.gguf.header import MAGIC, read_header
from calc.gguf.split import join_parts

__all__ = ["MAGIC", "join_parts", "read_header"]
