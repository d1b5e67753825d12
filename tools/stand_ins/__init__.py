"""What takes the place, in the browser, of modules that are imported there and never used.

Pyodide, asyncio, jinja2 and PyYAML import at once all that they might need: processes, files to unpack, colours for a
terminal, a compiler of templates that are compiled already, a writer of YAML. Each module here has the names that are
asked for while importing, and says no when one of them is used. On 2026-12-01 they spared some 100 of the 1500 ms of a
start.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent

DROPPED = frozenset(("_compression", "bz2", "compression", "lzma", "ssl"))
"""Modules, with all inside them, whose absence the library expects: it asks ``try: import … except ImportError``."""


def of_library() -> dict[str, bytes]:
    """The modules that stand in for those of Python's library, by name."""
    return {path.stem: path.read_bytes() for path in sorted(HERE.glob("*.py")) if path.stem != "__init__"}


def of_package(name: str) -> dict[str, bytes]:
    """The files that stand in for those of an installed package, by their path inside it."""
    return {path.name: path.read_bytes() for path in sorted((HERE / name).glob("*.py"))}


def dropped(module: str) -> bool:
    """Say whether a module is left out.

    >>> dropped("compression.zstd"), dropped("zlib")
    (True, False)
    """
    return module.partition(".")[0] in DROPPED
