"""The same promises in Firefox and WebKit: it starts, computes, reads files, works offline and alone, and keeps quiet.

What their drivers cannot do is done by events made on the page: a person's drop of a file, and choosing in a form.
"""

from __future__ import annotations

import json
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
from tools.site_server import SiteServer

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

WHOLE = "document.querySelector('html:not([data-partial])')?.dataset.state"


@pytest.fixture(scope="module", params=PROGRAMS)
def page(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """A page of each engine, or the reason why there is none."""
    try:
        with engine(request.param) as driver:
            yield driver
    except Missing as reason:
        pytest.skip(str(reason))


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


def test_no_attempt_to_send_anything_leaves(page: Driver, site: str, tmp_path: Path) -> None:
    """What reaches another origin from a page without a policy does not from ours."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Sin política</title>", encoding="utf-8")
    attempts = {name: attempt for name, attempt in PAGE.items() if name != "form"}
    with SiteServer(tmp_path) as elsewhere:

        def attempted(address: str) -> set[str]:
            page.open(address)
            elsewhere.site.requests.clear()
            for name, attempt in attempts.items():
                page.run(f"({attempt})('{elsewhere.url}robo-{name.replace(' ', '-')}');")
            page.run("await new Promise((done) => setTimeout(done, 700));")
            return {one.strip("/") for one in elsewhere.site.requests if "robo-" in one}

        assert attempted(elsewhere.url) >= {"robo-fetch", "robo-image", "robo-beacon", "robo-XMLHttpRequest"}
        assert attempted(site) <= page.lets_through


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
