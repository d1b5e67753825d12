"""What makes the built site work without a network: the service worker with the list of every file, and the sums."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

SERVICE_WORKER = "service-worker.js"
SUMS = "SHA256SUMS"
NO_PAGE_ASKS_FOR = (SERVICE_WORKER, SUMS)
"""Left out of what the service worker keeps, besides what the build names."""

WORKBOX = ("core", "routing", "strategies", "precaching")
"""Parts of Workbox, in the order in which each finds those that it needs."""


def service_worker(dist: Path, source: Path, node: Path, without: Sequence[str] = ()) -> str:
    """Return the service worker for the files that ``dist`` holds now, less those that a visitor only downloads."""
    parts = [(node / f"workbox-{name}/build/workbox-{name}.prod.js").read_text(encoding="utf-8") for name in WORKBOX]
    library = "\n".join(re.sub(r"^//# sourceMappingURL=.*$", "", part, flags=re.MULTILINE).strip() for part in parts)
    files = [entry(dist, name) for name in names(dist) if name not in {*NO_PAGE_ASKS_FOR, *without}]
    ours = source.read_text(encoding="utf-8").replace('"PRECACHE"', json.dumps(files, indent=0))
    return f"{library}\n{ours}"


def entry(dist: Path, name: str) -> dict[str, str]:
    """Return what Workbox has to know of one file: its address, its version, and the hash that the browser checks."""
    digest = hashlib.sha256((dist / name).read_bytes()).digest()
    address = name.removesuffix("index.html") if name.endswith("index.html") else name
    integrity = "sha256-" + base64.b64encode(digest).decode()
    return {"url": address or "./", "revision": digest.hex()[:16], "integrity": integrity}


def sums(dist: Path) -> str:
    """Return the SHA-256 of every file, as ``sha256sum -c`` reads it."""
    hashes = ((hashlib.sha256((dist / name).read_bytes()).hexdigest(), name) for name in names(dist) if name != SUMS)
    return "".join(f"{digest}  {name}\n" for digest, name in hashes)


def names(dist: Path) -> Iterator[str]:
    """Yield the path of every file under ``dist``, in an order that depends on nothing else."""
    yield from sorted(path.relative_to(dist).as_posix() for path in dist.rglob("*") if path.is_file())
