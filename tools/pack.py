"""Turn a zip of Python sources into one compressed archive of compiled modules.

Runs inside Pyodide (see ``pack.mjs``), because a ``.pyc`` only serves the Python that wrote it.
The output is the same to the byte for the same input: names sorted, times fixed, hash-based and
unchecked ``.pyc`` files whose recorded path is the name inside the archive.

Bytes are what a visitor waits for. The zip inside is not compressed, so that one gzip around it sees what the files
have in common; and what only a programmer reads is left out: docstrings, assertions and the tables that map
instructions to lines (so a traceback names functions, and no lines). On 2026-12-01 the library took 0.89 MB so, 1.85
as one deflated file for each module.
"""

import gzip
import importlib.util
import io
import marshal
import types
import zipfile
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)
UNCHECKED_HASH = 0b01
"""Flags word of a hash-based ``.pyc`` that the importer does not compare with a source (PEP 552)."""


def pack(source: str, target: str, *, solid: bool = True) -> None:
    """Write ``target`` with the modules of ``source`` compiled and its other files as they are.

    ``solid`` is one gzip around everything; otherwise a zip of files that are each compressed alone.
    """
    inside = io.BytesIO()
    method = zipfile.ZIP_STORED if solid else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(inside, "w", method, compresslevel=9) as new:
        for name in sorted(old.namelist()):
            if name.endswith("/"):
                continue
            data = old.read(name)
            if name.endswith(".py"):
                name, data = name + "c", compiled(name, data)  # noqa: PLW2901
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = method
            new.writestr(entry, data)
    data = inside.getvalue()
    Path(target).write_bytes(gzip.compress(data, compresslevel=9, mtime=0) if solid else data)


def compiled(name: str, source: bytes) -> bytes:
    """Return the bytes of the ``.pyc`` of a source file."""
    code = without_lines(compile(source, name, "exec", dont_inherit=True, optimize=2))
    header = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH.to_bytes(4, "little") + importlib.util.source_hash(source)
    return header + marshal.dumps(code)


def without_lines(code: types.CodeType) -> types.CodeType:
    """Return the code, and all code inside it, without the tables of line numbers."""
    inner = (without_lines(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=tuple(inner), co_linetable=no_lines(len(code.co_code) // 2))


def no_lines(units: int) -> bytes:
    """Return the shortest table that gives every instruction a place, and to each the place «nowhere».

    An entry is a byte, 1 (a first byte), 1111 (no location) and three bits for its length less one, up to 8 code units
    (CPython, ``InternalDocs/code_objects.md``). Without a place for each, ``traceback`` itself fails.
    """
    whole, part = divmod(units, 8)
    return b"\xff" * whole + (bytes([0xF8 | part - 1]) if part else b"")
