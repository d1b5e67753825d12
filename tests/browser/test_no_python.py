"""When Python cannot start the page says so, says what to do, and keeps the answer that it was built with."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools.site_server import SiteServer

RUNTIME = "assets/runtime/"


@pytest.mark.parametrize(
    "missing",
    [
        RUNTIME + "pyodide/pyodide.asm.wasm",
        RUNTIME + "pyodide/pyodide.asm.mjs",
        RUNTIME + "pyodide/interpreter.mjs",
        "assets/app.pack",
        "assets/py/worker.py",
    ],
)
def test_a_missing_file_is_said_and_the_answer_stays(missing: str, browser: Browser, dist: Path) -> None:
    """Without one of the files of Pyodide or of ours, the page says that it cannot compute and offers to retry."""
    with SiteServer(dist, missing=frozenset({missing})) as server:
        visit = Visit(browser, server.url, "gpu", allowed=".")
        visit.open(wait=False)
        answer = visit.page.locator("[data-region=answer]").inner_html()
        visit.wait_for_state("failed")
        assert "No se ha podido" in (visit.page.locator("[data-status]").text_content() or "")
        assert visit.page.locator("[data-action=retry]").is_visible()
        assert visit.page.locator("[data-region=answer]").inner_html() == answer
        visit.check()
        visit.close()


def test_the_plain_library_stands_in_for_ours(browser: Browser, dist: Path) -> None:
    """Without the compiled library the page starts with the one that Pyodide ships, and computes."""
    with SiteServer(dist, missing=frozenset({RUNTIME + "pyodide/library.pack"})) as server:
        visit = Visit(browser, server.url, "gpu", allowed=".")
        visit.open()
        assert any(path.endswith("python_stdlib.zip") for path in server.site.requests)
        visit.close()


@pytest.mark.parametrize("missing", [RUNTIME + "micropython/micropython.wasm", "assets/boot.mjs"])
def test_a_page_without_scripts_of_ours_says_so_too(missing: str, browser: Browser, dist: Path) -> None:
    """When not even MicroPython or PyScript arrive, a sentence appears all the same: at once, or after a while."""
    with SiteServer(dist, missing=frozenset({missing})) as server:
        visit = Visit(browser, server.url, "gpu", allowed=".")
        visit.open(wait=False)
        notice = visit.page.locator(".no-start")
        assert not notice.is_visible()
        visit.page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        status = visit.page.locator("[data-status]")
        until(visit.page, lambda: notice.is_visible() or "No se ha podido" in (status.text_content() or ""))
        visit.check()
        visit.close()


def test_retrying_starts_again(browser: Browser, dist: Path) -> None:
    """The retry button loads the page again, and it computes if the file is there now."""
    with SiteServer(dist, missing=frozenset({"assets/app.pack"})) as server:
        visit = Visit(browser, server.url, "entrenar", allowed=".")
        visit.open(wait=False)
        visit.wait_for_state("failed")
        server.site.missing = frozenset()
        visit.page.locator("[data-action=retry]").click()
        visit.wait_for_state("ready")
        visit.close()
