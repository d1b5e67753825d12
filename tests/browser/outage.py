"""A site whose server can die, come back and publish another version, as hosts do."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Thread
from typing import Self

from tests.browser.conftest import PREFIX
from tools import offline
from tools.site_server import Site, SiteServer

MARK = "otra versión"
"""What the next version says in the title of its pages and in a comment of its Python."""


class Frail(Site):
    """A server that closes the connection without a word while it is dead, from a given file on if told so."""

    dead = False
    dies_at: str | None = None
    replaced_at: tuple[str, Path] | None = None

    def __init__(self, *args: object, **options: object) -> None:
        """Remember what is asked for."""
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.asked: list[str] = []

    def find(self, target: str) -> Path | None:
        """Look the file up as usual, unless the server is dead by now."""
        name = target.removeprefix(self.prefix)
        if self.replaced_at and name == self.replaced_at[0]:
            self.folder = self.replaced_at[1]
        self.dead = self.dead or name == self.dies_at
        if self.dead:
            raise ConnectionAbortedError(name)
        self.asked.append(name)
        return super().find(target)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a connection that was closed on purpose."""

    def revive(self) -> None:
        """Answer again, and forget what was asked."""
        self.dies_at, self.dead = None, False
        self.asked.clear()


class FrailServer(SiteServer):
    """A running :class:`Frail` site."""

    site: Frail

    def __init__(self, folder: Path) -> None:
        """Take a free port."""
        self.site = Frail(folder, prefix=PREFIX)
        self.url = f"http://127.0.0.1:{self.site.server_port}{PREFIX}"
        self.thread = Thread(target=self.site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self.thread.start()
        return self


def next_version(dist: Path, folder: Path) -> Path:
    """Make another version of the site in ``folder``: other pages and other Python, with their service worker."""
    shutil.copytree(dist, folder)
    for page in folder.rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<title>", f"<title>{MARK}: "), encoding="utf-8")
    worker = folder / "assets/py/worker.py"
    worker.write_text(worker.read_text(encoding="utf-8") + f"# {MARK}\n", encoding="utf-8")
    own = folder / offline.SERVICE_WORKER
    old, new = (list_of(root) for root in (dist, folder))
    text = own.read_text(encoding="utf-8")
    for before, after in zip(old, new, strict=True):
        text = text.replace(before["integrity"], after["integrity"]).replace(before["revision"], after["revision"])
    own.write_text(text, encoding="utf-8")
    return folder


def list_of(root: Path) -> list[dict[str, str]]:
    """Return what the service worker is told of each file of a version."""
    return [offline.entry(root, name) for name in offline.names(root)]
