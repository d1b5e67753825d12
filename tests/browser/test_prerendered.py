"""The answer is on the page before any script runs, and it is the one that Python gives there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import render
from playwright.sync_api import Browser

import build
from tests.browser.visit import Visit

CALCULATORS = [name for name, page in render.PAGES.items() if page.calculator]
INNER = """() => Object.fromEntries(
  [...document.querySelectorAll('[data-region]')].map((region) => [region.dataset.region, region.innerHTML])
)"""


@pytest.mark.parametrize("name", CALCULATORS)
def test_the_built_page_and_the_live_answer_are_equal_to_the_byte(
    name: str, calculator: Callable[[str], Visit], dist: Path
) -> None:
    """Each region that the worker renders from the initial inputs stands in the built file, byte for byte."""
    built = (dist / render.PAGES[name].path / "index.html").read_text(encoding="utf-8")
    answer = calculator(name).ask_worker({})
    assert answer["ok"]
    for region, html in answer["html"].items():
        if html:
            assert f'data-region="{region}"' in built
            assert f">{html}</div>" in built, region


@pytest.mark.parametrize("name", CALCULATORS)
def test_without_scripts_the_page_shows_the_same_result(
    name: str, browser: Browser, site: str, calculator: Callable[[str], Visit]
) -> None:
    """With JavaScript off, every region reads as on the live page with its initial inputs."""
    live = calculator(name).page.evaluate(INNER)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + render.PAGES[name].path)
    for region in live.keys() - {*render.LATER, "pasted"}:  # what other tests have opened or pasted stays
        html = live[region]
        assert page.locator(f"[data-region={region}]").inner_html() == html, region
    context.close()


def contents(folder: Path) -> dict[Path, bytes]:
    """Return every file of a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_gives_the_same_bytes_again(dist: Path, tmp_path: Path) -> None:
    """Building twice from the same sources writes the same files with the same bytes."""
    build.build(tmp_path)
    first, again = contents(dist), contents(tmp_path)
    assert first.keys() == again.keys()
    assert [name for name in first if first[name] != again[name]] == []


def test_every_address_of_the_site_is_there_and_relative(dist: Path) -> None:
    """Every link and file that a built page names exists in the site, and none starts at the root of the host."""
    for page in dist.rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r'(?:href|src)="([^"]*)"', text):
            if address.startswith(("https://", "http://", "#")) or not address:
                continue
            assert not address.startswith("/"), address
            target = (page.parent / address.partition("#")[0]).resolve()
            path = address.partition("#")[0]
            assert (target / "index.html").is_file() if path.endswith("/") else target.is_file(), address


def test_only_links_to_sources_leave_the_site(dist: Path) -> None:
    """No page names a file of another origin to load: outside addresses are only where a person may click."""
    for page in dist.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?!a\b)[^>]*(?:href|src|action|data)="https?://', text) == []
        assert "cdn." not in text
