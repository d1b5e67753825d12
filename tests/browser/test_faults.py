"""The start fails in every part and in every way, and the page says so, keeps what it shows and what was typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Route

import build
from tests.browser.visit import Visit
from tests.browser.waiting import until

RUNTIME = "assets/runtime/"
PARTS = {
    "wasm": RUNTIME + "pyodide/pyodide.asm.wasm",
    "asm.mjs": RUNTIME + "pyodide/pyodide.asm.mjs",
    "interpreter": RUNTIME + "pyodide/interpreter.mjs",
    "application": "assets/app.pack",
    "PyScript": RUNTIME + "pyscript/" + build.core_name(),
    "MicroPython": RUNTIME + "micropython/micropython.mjs",
    "MicroPython's wasm": RUNTIME + "micropython/micropython.wasm",
}
"""Parts without which nothing is computed; the library has a stand-in of its own (test_no_python.py)."""

CAUSES = ("No ha llegado", "incompleto", "se ha detenido", "no ha podido arrancar")
"""How each sentence about a cause begins."""

WAYS = ("aborted", "404", "truncated", "wrong type", "stalled")

SHORT_SILENCE = (
    "document.addEventListener('readystatechange', () => (document.documentElement.dataset.silence = '2500'))"
)
"""What a visitor waits half a minute for, the tests wait less; the attribute is there before boot.mjs runs."""

BLOCKED_DATABASE = """Object.defineProperty(globalThis, 'indexedDB', {
  configurable: true,
  get() { throw new DOMException('denied', 'SecurityError'); },
});"""


def answer(way: str, file: Path, held: list[Route]) -> Callable[[Route], None]:
    """Return how the server misbehaves."""

    def broken(route: Route) -> None:
        data = file.read_bytes()
        if way == "aborted":
            route.abort()
        elif way == "404":
            route.fulfill(status=404, body="no")
        elif way == "truncated":
            route.fulfill(body=data[: len(data) // 2], content_type=TYPES.get(file.suffix, "application/octet-stream"))
        elif way == "wrong type":
            route.fulfill(body="<html>no</html>", content_type="text/html")
        else:
            held.append(route)  # never answered

    return broken


TYPES = {".wasm": "application/wasm", ".mjs": "text/javascript", ".js": "text/javascript"}


@contextmanager
def failing(browser: Browser, site: str, dist: Path, part: str, way: str) -> Iterator[Visit]:
    """Give a page whose start lacks a part."""
    held: list[Route] = []
    visit = Visit(browser, site, "gpu", allowed=".", service_workers="block")
    visit.page.add_init_script(SHORT_SILENCE)
    visit.page.route(f"**/{PARTS[part].rsplit('/', 1)[-1]}", answer(way, dist / PARTS[part], held))
    yield visit
    for route in held:
        with suppress(Error):  # let go already
            route.abort()
    visit.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", PARTS)
def test_every_fault_of_the_start_is_said_and_nothing_typed_is_lost(
    part: str, way: str, browser: Browser, site: str, dist: Path
) -> None:
    """Whatever part is aborted, missing, cut, of the wrong type or never comes: a cause, a button, the same answer."""
    with failing(browser, site, dist, part, way) as visit:
        visit.open(wait=False)
        shown = visit.page.locator("[data-region=answer]").inner_html()
        visit.set("context", "4096")
        visit.wait_for_state("failed")
        message = visit.page.locator("[data-status]").text_content() or ""
        assert "No se ha podido iniciar" in message
        assert any(cause in message for cause in CAUSES)
        assert visit.page.locator("[data-region=answer]").inner_html() == shown
        assert visit.page.locator("form [name=context]").input_value() == "4096"


@pytest.mark.parametrize("part", PARTS)
def test_trying_again_brings_back_what_was_typed(part: str, browser: Browser, site: str, dist: Path) -> None:
    """Once the part is there, the button starts the page with what was typed before it could compute."""
    with failing(browser, site, dist, part, "404") as visit:
        visit.open(wait=False)
        visit.set_all({"context": "4096", "workload": "training"})
        visit.wait_for_state("failed")
        visit.page.unroute_all(behavior="ignoreErrors")
        visit.page.locator("[data-action=retry]").click()
        visit.wait_for_state("ready")
        assert visit.page.locator("form [name=context]").input_value() == "4096"
        assert visit.page.locator("form [name=workload]:checked").input_value() == "training"


@pytest.mark.parametrize(
    ("part", "way", "cause"),
    [
        ("wasm", "404", "No ha llegado un archivo del cálculo: pyodide.asm.wasm."),
        ("wasm", "truncated", "incompleto o dañado: pyodide.asm.wasm."),
        ("application", "truncated", "incompleto o dañado: app.pack."),
        ("asm.mjs", "aborted", "No ha llegado un archivo del cálculo: pyodide.asm.mjs."),
        ("PyScript", "404", "core-"),
        ("MicroPython's wasm", "stalled", "micropython.wasm"),
    ],
)
def test_the_cause_names_the_file(  # noqa: PLR0917
    part: str, way: str, cause: str, browser: Browser, site: str, dist: Path
) -> None:
    """The message says which file and what is wrong with it."""
    with failing(browser, site, dist, part, way) as visit:
        visit.open(wait=False)
        visit.wait_for_state("failed")
        assert cause in (visit.page.locator("[data-status]").text_content() or "")


def test_a_blocked_database_is_no_obstacle(fresh: Callable[..., Visit], dist: Path) -> None:
    """Where sites may not store anything, on the page and in the worker, everything is computed all the same."""
    visit = fresh("gpu", service_workers="block", allowed="Service Worker")
    interpreter = (dist / PARTS["interpreter"]).read_text(encoding="utf-8")
    visit.page.add_init_script(BLOCKED_DATABASE)
    visit.page.add_init_script("delete window.localStorage; delete window.sessionStorage;")
    visit.page.route(
        "**/interpreter.mjs",
        lambda route: route.fulfill(body=BLOCKED_DATABASE + interpreter, content_type="text/javascript"),
    )
    visit.open()
    visit.set("context", "4096")
    until(visit.page, "location.hash.includes('context=4096')")


def test_a_browser_without_webassembly_is_told_so(fresh: Callable[..., Visit]) -> None:
    """The message names what is missing."""
    visit = fresh("gpu", service_workers="block", allowed=".")
    visit.page.add_init_script("delete globalThis.WebAssembly;")
    visit.open(wait=False)
    visit.wait_for_state("failed")
    assert "WebAssembly" in (visit.page.locator("[data-status]").text_content() or "")


def test_a_worker_that_is_killed_is_noticed_and_what_was_typed_stays(fresh: Callable[..., Visit]) -> None:
    """Without an answer for too long the page says so; trying again brings back the last input."""
    visit = fresh("gpu", service_workers="block", allowed=".")
    visit.page.add_init_script(SHORT_SILENCE)
    visit.open()
    visit.page.evaluate("document.querySelector('script[name=estimador]').xworker.terminate()")
    visit.set("context", "4096")
    visit.wait_for_state("failed")
    visit.page.locator("[data-action=retry]").click()
    visit.wait_for_state("ready")
    assert visit.page.locator("form [name=context]").input_value() == "4096"
