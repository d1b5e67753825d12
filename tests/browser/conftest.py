"""A built site, a server for it, a browser, and pages that fail their test when anything goes wrong in silence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visit import Visit
from tools.chromium import launch
from tools.site_server import DIST, SiteServer

PREFIX = "/usuario/calculadora/"
"""Where the tests serve the site: GitHub Pages serves a project from a sub-path too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, so that ``-m "not browser"`` leaves it out."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def dist() -> Path:
    """The site, freshly built."""
    subprocess.run([sys.executable, "build.py"], check=True, cwd=DIST.parent)
    return DIST


@pytest.fixture(scope="session")
def site(dist: Path) -> Iterator[str]:
    """The address of the built site."""
    with SiteServer(dist, prefix=PREFIX) as server:
        yield server.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def _kept(browser: Browser, site: str) -> Iterator[dict[str, Visit]]:
    visits: dict[str, Visit] = {}
    yield visits
    for visit in visits.values():
        visit.close()


@pytest.fixture
def calculator(browser: Browser, site: str, _kept: dict[str, Visit]) -> Iterator[Callable[[str], Visit]]:
    """Give the page of a calculator, started once and put back to its initial values for each test."""
    used: list[Visit] = []

    def give(name: str) -> Visit:
        if name not in _kept:
            _kept[name] = Visit(browser, site, name)
            _kept[name].open()
        visit = _kept[name]
        visit.reset()
        used.append(visit)
        return visit

    yield give
    for visit in used:
        visit.check()


@pytest.fixture
def fresh(browser: Browser, site: str) -> Iterator[Callable[..., Visit]]:
    """Give a new page in a new profile; it is not opened yet."""
    made: list[Visit] = []

    def give(name: str, **options: Any) -> Visit:
        visit = Visit(browser, site, name, **options)
        made.append(visit)
        return visit

    yield give
    for visit in made:
        visit.check()
        visit.close()
