"""Find a Chromium for the browser tests and the benchmark, and start it so that it talks to nobody but this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
ADVICE = (
    "No Chromium found. Install one (apt-get install chromium, or python -m playwright install chromium) "
    "or name its program in the environment variable CHROMIUM."
)


class NoChromium(RuntimeError):
    """There is no Chromium and none could be installed; the message says what to do."""


def find(playwright: Playwright) -> str:
    """Return the path of a Chromium: the one named in CHROMIUM, an installed one, Playwright's, or one from Debian.

    Raises:
        NoChromium: when there is none and this user cannot install one.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    own = playwright.chromium.executable_path
    found = installed() or (own if Path(own).exists() else None)
    return found or from_debian()


def installed() -> str | None:
    """Return the first browser of the Chromium family on the path."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def from_debian() -> str:
    """Install Debian's Chromium, which takes root, and return its path."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    found = installed()
    if found is None:
        raise NoChromium(ADVICE)
    return found


def launch(playwright: Playwright) -> Browser:
    """Start a headless Chromium."""
    return playwright.chromium.launch(executable_path=find(playwright), args=ARGUMENTS)
