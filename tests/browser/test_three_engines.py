"""The same promises in Firefox and WebKit: it starts, computes, reads files, works offline and alone, and keeps quiet.

What their drivers cannot do is done by events made on the page: a person's drop of a file, and choosing in a form.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import render

from tests.browser.command_line import command_line, parts
from tests.browser.leaks import PAGE
from tests.browser.outage import FrailServer
from tests.browser.test_model_page import CONFIG
from tests.browser.visit import READ
from tools.engines import PROGRAMS, Driver, Missing, engine
from tools.onefile import NAME
from tools.site_server import DIST, SiteServer

PATIENCE_S = 60.0

CASES = {
    "gpu": {"workload": "training", "model": "mistral-7b", "context": "4096", "checkpointing": "full"},
    "entrenar": {"parameters": "1,5", "activations": "2,25"},
    "acumulacion": {"micro-batch": "7", "gpus": "3"},
    "inferencia": {"engine": "llama.cpp", "precision": "q4_k", "concurrency": "3"},
    "lora": {"model": "gemma-3-12b", "method": "qlora", "rank": "64"},
}
"""A calculation on every calculator."""

SET = """for (const [name, value] of Object.entries(INPUTS)) {
  const form = document.querySelector('form[data-calculator]');
  const radio = form.querySelector(`input[type=radio][name="${name}"][value="${value}"]`);
  if (radio) radio.click();
  else {
    const control = form.querySelector(`[name="${name}"]`);
    control.value = value;
    control.dispatchEvent(new Event('input', { bubbles: true }));
    control.dispatchEvent(new Event('change', { bubbles: true }));
  }
}"""
"""Fill the form in: text as if typed, a choice as if clicked."""

ATTEMPTS_OF_THE_WORKER = """

def attempt(to: str) -> str:
    import js
    from pyodide.code import run_js

    def ask_by_request() -> None:
        request = js.XMLHttpRequest.new()
        request.open("GET", to + "robo-XMLHttpRequest")
        request.send()

    for send in (
        lambda: js.fetch(to + "robo-fetch"),
        ask_by_request,
        lambda: js.WebSocket.new(to.replace("http", "ws") + "robo-WebSocket"),
        lambda: js.EventSource.new(to + "robo-EventSource"),
        lambda: js.navigator.sendBeacon(to + "robo-beacon"),
        lambda: js.importScripts(to + "robo-importScripts"),
        lambda: js.Worker.new(to + "robo-worker"),
        lambda: run_js(f"import('{to}robo-import').catch(() => null)"),
    ):
        try:
            send()
        except Exception:
            pass
    return "null"


__export__.append("attempt")
"""
"""Each way out that JavaScript has in a worker, taken from Python. Where there is no such function nothing happens."""

ENTER = "\ue007"
"""WebDriver's character for the key."""

ACTIVE = (
    "document.getElementById(document.querySelector('#campo-model').getAttribute('aria-activedescendant'))"
    "?.textContent ?? ''"
)

WATCH = """if (!window.violations) {
  window.violations = [];
  addEventListener('securitypolicyviolation', (event) =>
    violations.push(`${event.effectiveDirective} ${event.blockedURI}`));
}"""

QUIET = frozenset({"test_no_attempt_to_send_anything_leaves", "test_no_attempt_of_the_worker_to_send_anything_leaves"})
"""Tests that do what the policy stops."""

PROBE = ("data:text/javascript,", "script-src-elem data")
"""What Pyodide tries to import, and is refused, to know whether its worker is a classic one."""

WHOLE = "document.querySelector('html:not([data-partial])')?.dataset.state"


@pytest.fixture(scope="module", params=PROGRAMS)
def page(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """A page of each engine, or the reason why there is none."""
    try:
        with engine(request.param) as driver:
            driver.watch(WATCH)
            yield driver
    except Missing as reason:
        pytest.skip(str(reason))


@pytest.fixture(autouse=True)
def nothing_wrong(page: Driver, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which the page logged an error, or asked for what the policy stops."""
    page.told()
    yield
    wrong = [*page.told(), *(page.run("return window.violations ?? [];"))]
    wrong = [one for one in wrong if not any(text in str(one) for text in PROBE)]
    if request.node.originalname not in QUIET:
        assert wrong == []


def wait_for(page: Driver, script: str, expected: Any) -> None:
    """Wait until an expression has a value.

    Raises:
        AssertionError: with what it has instead.
    """
    limit = time.monotonic() + PATIENCE_S
    while (found := page.run(f"return {script};")) != expected:
        assert time.monotonic() < limit, found
        time.sleep(0.1)


def computed(page: Driver) -> list[tuple[str, int]]:
    """Return the components that the page shows."""
    return [(name, int(digits)) for name, digits in page.run(f"return ({READ})();")["parts"]]


@pytest.mark.parametrize("name", CASES)
def test_every_calculator_computes_what_the_command_line_computes(name: str, page: Driver, site: str) -> None:
    """It starts, and an input changes the answer to that of the command line; nothing comes from elsewhere."""
    page.open(site + render.PAGES[name].path)
    wait_for(page, WHOLE, "ready")
    page.run(SET.replace("INPUTS", json.dumps(CASES[name])))
    expected = parts(command_line(name, CASES[name]))
    wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", [list(one) for one in expected])
    elsewhere = "performance.getEntriesByType('resource').filter((one) => new URL(one.name).origin !== location.origin)"
    assert page.run(f"return {elsewhere}.map((one) => one.name);") == []


def test_an_address_brings_its_inputs_back(page: Driver, site: str) -> None:
    """A link fills the form in and gives its answer."""
    inputs = {"model": "llama-3-70b", "context": "16384"}
    page.open(f"{site}inferencia/#context=16384&model=llama-3-70b")
    wait_for(page, WHOLE, "ready")
    expected = parts(command_line("inferencia", inputs))
    wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", [list(one) for one in expected])
    assert page.run("return document.querySelector('[name=context]').value;") == "16384"


def test_a_dropped_file_becomes_a_card(page: Driver, site: str) -> None:
    """A config.json that is dropped is read here, and its parameters are shown."""
    page.open(f"{site}modelo/")
    wait_for(page, WHOLE, "ready")
    page.run(f"""const carried = new DataTransfer();
      carried.items.add(new File([{json.dumps(json.dumps(CONFIG))}], "config.json"));
      document.querySelector("[data-drop]").dispatchEvent(
        new DragEvent("drop", {{ bubbles: true, cancelable: true, dataTransfer: carried }}));""")
    wait_for(page, "document.querySelectorAll('[data-card]:not([data-example])').length", 1)
    assert "124\u202f439\u202f808" in page.run("return document.querySelector('[data-card]').innerText;")


def test_a_chosen_file_becomes_a_card(page: Driver, site: str, tmp_path: Path) -> None:
    """A file that is chosen in the dialog is read as a dropped one is."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    page.open(f"{site}modelo/")
    wait_for(page, WHOLE, "ready")
    page.choose_file("[data-files]", tmp_path / "config.json")
    wait_for(page, "document.querySelectorAll('[data-card]:not([data-example])').length", 1)


def test_the_keyboard_finds_and_chooses_a_model(page: Driver, site: str) -> None:
    """Letters narrow the list of models, and Enter takes the first of it."""
    page.open(site)
    wait_for(page, WHOLE, "ready")
    wait_for(page, "document.querySelector('#campo-model')?.getAttribute('role')", "combobox")
    page.run("const box = document.querySelector('#campo-model'); box.focus(); box.select();")
    page.press(*"mixtral")
    wait_for(page, "document.querySelector('#campo-model').getAttribute('aria-expanded')", "true")
    wait_for(page, ACTIVE, "Mixtral 8x7B")
    page.press(ENTER)
    wait_for(page, "document.querySelector('form [name=model]').value", "mixtral-8x7b")
    expected = [list(one) for one in parts(command_line("gpu", {"model": "mixtral-8x7b"}))]
    wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", expected)


@pytest.mark.parametrize(("written", "shown"), [("0,35", "5,6"), ("0.35", "5,6"), ("1234,5", "19\u202f752")])
def test_numbers_are_read_and_shown_in_spanish(written: str, shown: str, page: Driver, site: str) -> None:
    """A comma or a point comes in, a comma and groups of three come out, whatever the language of the browser."""
    page.open(f"{site}entrenar/")
    wait_for(page, WHOLE, "ready")
    page.run(SET.replace("INPUTS", json.dumps({"parameters": written})))
    wait_for(page, "document.querySelector('.headline__number').textContent", shown)


def test_computing_asks_nobody_anything(page: Driver, dist: Path) -> None:
    """Once the site is kept, no calculation makes a request: the server itself hears nothing."""
    with SiteServer(dist) as server:
        page.open(server.url)
        wait_for(page, WHOLE, "ready")
        page.run("await navigator.serviceWorker.ready;")
        server.site.requests.clear()
        for context in ("1024", "2048", "16384"):
            page.run(SET.replace("INPUTS", json.dumps({"context": context})))
            expected = [list(one) for one in parts(command_line("gpu", {"context": context}))]
            wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", expected)
        assert [one for one in server.site.requests if "icon" not in one] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(width: int, page: Driver, site: str, request: pytest.FixtureRequest) -> None:
    """Nothing has to be scrolled sideways, on a phone or a desk; pictures are left in ``build/screens`` to look at."""
    folder = DIST.parent / "build/screens"
    folder.mkdir(parents=True, exist_ok=True)
    page.size(width, 900)
    try:
        for name, one in render.PAGES.items():
            page.open(site + one.path)
            if one.calculator or name == "modelo":  # left while it starts, it would say that its loading failed
                wait_for(page, WHOLE, "ready")
            (folder / f"{request.node.callspec.params['page']}-{name}-{width}.png").write_bytes(page.picture())
            assert page.run("return document.documentElement.scrollWidth <= innerWidth;"), name
            assert 0 <= page.run("return innerWidth;") - width < 60  # MiniBrowser's window is never under 447 pixels
    finally:
        page.size(1280, 900)


def test_no_attempt_to_send_anything_leaves(page: Driver, site: str, tmp_path: Path) -> None:
    """What reaches another origin from a page without a policy does not from ours."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Sin política</title>", encoding="utf-8")
    form = PAGE["form"].replace("'nueva'", "'_self'")  # a new window may be stopped for being one
    attempts = {**{name: one for name, one in PAGE.items() if name != "form"}, "form": form}
    names = {f"robo-{name.replace(' ', '-')}" for name in attempts}
    with SiteServer(tmp_path) as free, SiteServer(tmp_path) as elsewhere:

        def attempted(address: str, awaited: set[str]) -> set[str]:
            page.open(address)
            elsewhere.site.requests.clear()
            for name, attempt in attempts.items():
                if name == "form":  # it leaves the page, and calls off what is under way
                    arrive(elsewhere, awaited - {"robo-form"})
                page.run(f"try {{ ({attempt})('{elsewhere.url}robo-{name.replace(' ', '-')}'); }} catch {{}}")
            arrive(elsewhere, awaited)
            witness(page, elsewhere)
            return {one.strip("/") for one in elsewhere.site.requests if "robo-" in one}

        assert attempted(free.url, names - page.never_tries) == names - page.never_tries
        assert attempted(site, set()) <= page.lets_through


def test_no_attempt_of_the_worker_to_send_anything_leaves(page: Driver, dist: Path, tmp_path: Path) -> None:
    """Python in the worker, which has the visitor's numbers, reaches another origin only without the policy."""
    folder = shutil.copytree(dist, tmp_path / "dist")
    with (folder / "assets/py/worker.py").open("a", encoding="utf-8") as worker:
        worker.write(ATTEMPTS_OF_THE_WORKER)
    (folder / "service-worker.js").unlink()
    free = folder / "entrenar/index.html"
    text, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", free.read_text(encoding="utf-8"))
    assert removed == 1
    free.write_text(text, encoding="utf-8")
    (tmp_path / "index.html").write_text("<!doctype html><title>Sin política</title>", encoding="utf-8")
    with SiteServer(folder) as ours, SiteServer(tmp_path) as elsewhere:

        def attempted(address: str, awaited: set[str]) -> set[str]:
            page.open(address)
            wait_for(page, WHOLE, "ready")
            elsewhere.site.requests.clear()
            page.run(
                "const { attempt } = document.querySelector('script[name=estimador]').xworker.sync;"
                f"await attempt('{elsewhere.url}');"
            )
            arrive(elsewhere, awaited)
            witness(page, elsewhere)
            return {one.strip("/") for one in elsewhere.site.requests if "robo-" in one}

        wanted = {"robo-fetch", "robo-XMLHttpRequest", "robo-WebSocket", "robo-EventSource", "robo-import"}
        assert attempted(f"{ours.url}entrenar/", wanted) == wanted
        assert attempted(ours.url, set()) == set()


def witness(page: Driver, server: SiteServer) -> None:
    """Ask for a page that is in no cache: what left before that has arrived by the time it does."""
    name = f"?testigo={time.monotonic_ns()}"
    page.open(server.url + name)
    arrive(server, {name})


def arrive(server: SiteServer, names: set[str]) -> None:
    """Wait until a server has been asked for some names."""
    limit = time.monotonic() + PATIENCE_S / 4
    while missing := names - {one.strip("/") for one in server.site.requests}:
        assert time.monotonic() < limit, missing
        time.sleep(0.05)


def test_after_one_visit_every_page_works_without_the_server(page: Driver, dist: Path) -> None:
    """The server is gone, and pages that were never opened start and compute."""
    with FrailServer(dist) as server:
        page.open(server.url)
        wait_for(page, WHOLE, "ready")
        page.run("await navigator.serviceWorker.ready;")
        server.site.dead = True  # connections that are still open get no answer either
        for name in ("lora", "gpu"):
            page.open(server.url + render.PAGES[name].path)
            wait_for(page, WHOLE, "ready")
            page.run(SET.replace("INPUTS", json.dumps({"context": "1024"})))
            expected = [list(one) for one in parts(command_line(name, {"context": "1024"}))]
            wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", expected)


def test_the_one_file_edition_computes_from_a_disk(page: Driver, dist: Path) -> None:
    """Opened from file://, without any server, the calculators compute."""
    page.open((dist / NAME).as_uri() + "#/entrenar")
    wait_for(page, WHOLE, "ready")
    page.run(SET.replace("INPUTS", json.dumps({"activations": "20"})))
    wait_for(page, "document.querySelector('.headline__number').textContent", "132")
    page.run("location.hash = '#/gpu?context=4096';")
    expected = [list(one) for one in parts(command_line("gpu", {"context": "4096"}))]
    wait_for(page, f"({READ})().parts.map(([name, bytes]) => [name, Number(bytes)])", expected)
