"""Turn a zip of Python sources into a zip of compiled modules.

Runs inside Pyodide (see ``pack.mjs``), because a ``.pyc`` only serves the Python that wrote it.
The output is the same to the byte for the same input: names sorted, times fixed, hash-based and
unchecked ``.pyc`` files whose recorded path is the name inside the archive. Docstrings stay.
"""

import importlib.util
import json
import marshal
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)
UNCHECKED_HASH = 0b01
"""Flags word of a hash-based ``.pyc`` that the importer does not compare with a source (PEP 552)."""


def pack(source: str, target: str, modules_json: str = "null") -> None:
    """Write ``target`` with the modules of ``source`` compiled and its other files as they are."""
    wanted = json.loads(modules_json)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in sorted(old.namelist()):
            if name.endswith("/") or (wanted is not None and not keeps(name, wanted)):
                continue
            data = old.read(name)
            if name.endswith(".py"):
                name, data = name + "c", compiled(name, data)  # noqa: PLW2901
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, data)


def keeps(name: str, wanted: list[str]) -> bool:
    """Say whether the file ``name`` of the library belongs to one of the ``wanted`` modules."""
    if not name.endswith(".py"):
        return False
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return module in wanted


def compiled(name: str, source: bytes) -> bytes:
    """Return the bytes of the ``.pyc`` of a source file."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    header = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH.to_bytes(4, "little") + importlib.util.source_hash(source)
    return header + marshal.dumps(code)
