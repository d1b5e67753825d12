"""Serve ``dist/`` on this machine the way GitHub Pages does: from a sub-path, with gzip, with no headers of our own.

``python tools/site_server.py`` serves it for a person; the browser tests and the benchmark use :class:`SiteServer`.
"""

from __future__ import annotations

import argparse
import gzip
from collections import deque
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

DIST = Path(__file__).resolve().parent.parent / "dist"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".py": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".zip": "application/zip",
    ".pack": "application/octet-stream",
}
PACKED_ALREADY = {".zip", ".pack", ".png", ".ico"}


@lru_cache(maxsize=128)
def compressed(path: Path, modified_ns: int) -> bytes:
    """Return the file gzipped; ``modified_ns`` only makes a changed file a new entry of the cache."""
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)


class Site(ThreadingHTTPServer):
    """An HTTP server over one folder that knows what it must not serve, what it was asked and how much it sent."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, folder: Path, *, port: int = 0, prefix: str = "/", missing: frozenset[str] = frozenset()
    ) -> None:
        """Listen on 127.0.0.1; names in ``missing`` (paths under the folder) answer 404."""
        super().__init__(("127.0.0.1", port), Handler)
        self.folder, self.prefix, self.missing = folder.resolve(), prefix, missing
        self.bytes_sent = 0
        self.requests: deque[str] = deque(maxlen=10_000)
        self.lock = Lock()

    def find(self, target: str) -> Path | None:
        """Return the file that a request path names, or None."""
        path = unquote(urlsplit(target).path)
        if not path.startswith(self.prefix):
            return None
        name = path.removeprefix(self.prefix)
        name += "index.html" if name.endswith("/") or not name else ""
        found = (self.folder / name).resolve()
        inside = found.is_relative_to(self.folder) and found.is_file()
        return found if inside and name not in self.missing else None


class Handler(BaseHTTPRequestHandler):
    """Answer GET and HEAD for the files of one :class:`Site`."""

    protocol_version = "HTTP/1.1"
    server: Site

    def parse_request(self) -> bool:
        """Note what is asked, whatever the method."""
        understood = super().parse_request()
        if understood:
            self.server.requests.append(self.path)
        return understood

    def do_GET(self) -> None:
        """Send the file."""
        self.answer(send_body=True)

    def do_HEAD(self) -> None:
        """Send only the headers."""
        self.answer(send_body=False)

    def answer(self, *, send_body: bool) -> None:
        """Send status, headers and, if asked for, the body."""
        path = self.server.find(self.path)
        body = path.read_bytes() if path else b"404\n"
        self.send_response(200 if path else 404)
        if path and path.suffix not in PACKED_ALREADY and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = compressed(path, path.stat().st_mtime_ns)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream") if path else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600" if path else "no-store")
        self.end_headers()
        if send_body:
            self.wfile.write(body)
            with self.server.lock:
                self.server.bytes_sent += len(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


class SiteServer:
    """Run a :class:`Site` in a thread for as long as a ``with`` block lasts."""

    def __init__(self, folder: Path, *, prefix: str = "/", missing: frozenset[str] = frozenset()) -> None:
        """Take a free port."""
        self.site = Site(folder, prefix=prefix, missing=missing)
        self.url = f"http://127.0.0.1:{self.site.server_port}{prefix}"
        self.thread = Thread(target=self.site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop and give the port back."""
        self.site.shutdown()
        self.site.server_close()
        self.thread.join()


def main() -> None:
    """Serve ``dist/`` until interrupted."""
    parser = argparse.ArgumentParser(description="Sirve el sitio construido en esta máquina.")
    parser.add_argument("--port", type=int, default=8000, help="puerto (8000 si no se indica)")
    site = Site(DIST, port=parser.parse_args().port)
    print(f"Sitio en http://127.0.0.1:{site.server_port}/ (Ctrl+C para terminar)", flush=True)
    try:
        site.serve_forever()
    except KeyboardInterrupt:
        site.server_close()


if __name__ == "__main__":
    main()
