"""The one-file edition: alone in a folder, opened from the disk, with no way to a network."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import render
from playwright.sync_api import Browser, Request

from tests.browser.command_line import command_line, parts
from tests.browser.outage import FrailServer
from tests.browser.test_offline import INPUTS
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools.onefile import NAME

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}

ATTEMPTS = """async (address) => {
  const tried = [];
  document.addEventListener("securitypolicyviolation", (event) => tried.push(event.effectiveDirective));
  try { navigator.sendBeacon(address + "beacon", "x"); } catch {}
  try { new WebSocket(address.replace("http", "ws") + "socket"); } catch {}
  try { new EventSource(address + "events"); } catch {}
  await window.send(address + "fetch").catch(() => {});
  new Image().src = address + "image";
  const add = (name, values) => document.body.append(Object.assign(document.createElement(name), values));
  add("link", { rel: "prefetch", href: address + "prefetch" });
  add("link", { rel: "stylesheet", href: address + "style" });
  add("script", { src: address + "script" });
  add("iframe", { src: address + "frame" });
  add("form", { action: address + "form", method: "post", id: "planted" });
  document.getElementById("planted").submit();
  await new Promise((done) => setTimeout(done, 1000));
  return tried;
}"""

WORKER_ATTEMPTS = """async (address) => {
  try { new WebSocket(address.replace("http", "ws") + "worker-socket"); } catch {}
  try { importScripts(address + "worker-script"); } catch {}
  await import(address + "worker-module").catch(() => {});
  const request = new XMLHttpRequest();
  request.open("GET", address + "worker-xhr");
  await new Promise((done) => { request.onloadend = done; try { request.send(); } catch { done(); } });
}"""


class FileVisit(Visit):
    """A visit to a page of the file."""

    def __init__(self, browser: Browser, folder: Path, *, allowed: str = "") -> None:
        """Prepare the file; nothing but itself and what it makes may be loaded."""
        super().__init__(browser, folder.as_uri() + "/", "gpu", allowed=allowed)
        self.context.add_init_script("window.send = window.fetch.bind(window)")

    def _asked(self, request: Request) -> None:
        if request.url.split("#")[0] != self.site + NAME and not request.url.startswith(("blob:null/", "data:")):
            self._fault(f"request: {request.url}")

    def go(self, name: str, inputs: str = "") -> None:
        """Load the file at one of its pages and wait until it computes."""
        self.name = name
        self.page.goto("about:blank")
        self.page.goto(f"{self.site}{NAME}#/{name}{inputs}")
        self.wait_for_state("ready")

    def turn_to(self, name: str) -> None:
        """Follow the link to another page in the menu."""
        self.name = name
        self.page.locator(f'nav a[href="#/{name}"]').click()
        until(self.page, f"document.querySelector('nav a[aria-current]').hash === '#/{name}'")
        self.wait_for_state("ready")


@pytest.fixture
def file(browser: Browser, dist: Path, tmp_path: Path) -> Iterator[Callable[..., FileVisit]]:
    """Give visits to a copy of the file that has nothing beside it."""
    shutil.copy(dist / NAME, tmp_path / NAME)
    made: list[FileVisit] = []

    def give(**options: str) -> FileVisit:
        made.append(FileVisit(browser, tmp_path, **options))
        return made[-1]

    yield give
    for one in made:
        one.check()
        one.close()


def test_every_calculator_computes_from_a_file(file: Callable[..., FileVisit]) -> None:
    """One after the other and back again, each gives what the command line gives, and nothing is asked of anybody."""
    one = file()
    one.go("gpu")
    for name in (*INPUTS, "gpu"):
        one.turn_to(name)
        one.set_all(INPUTS[name])
        expected = parts(command_line(name, INPUTS[name]))
        assert one.wait_for_parts(expected)["parts"] == expected
        assert one.read()["state"] == "ready"


def test_the_pages_of_the_site_are_all_there(file: Callable[..., FileVisit]) -> None:
    """Every page has its title and its heading, and no link leads to a file that is not there."""
    one = file()
    one.go("gpu")
    for name in render.PAGES:
        one.turn_to(name)
        assert one.page.locator("h1").count() == 1
        links = one.page.evaluate(
            "[...document.querySelectorAll('body > :not(template) a[href]')].map((a) => a.getAttribute('href'))"
        )
        assert [link for link in links if not re.match(r"#|https://", link)] == []
        known = {f"#/{page}" for page in (*render.PAGES, "licencias")}
        assert {re.split(r"[?#]", link[1:])[0] for link in links if link.startswith("#/")} <= {k[1:] for k in known}
    one.page.locator('footer a[href="#/licencias"]').first.click()
    until(one.page, "document.querySelector('h1').textContent === 'Licencias'")


def test_the_state_is_in_the_fragment(file: Callable[..., FileVisit]) -> None:
    """An address with inputs opens with them; what is typed changes it; going back shows the page before."""
    one = file()
    one.go("inferencia", "?context=4096")
    assert one.page.locator("form [name=context]").input_value() == "4096"
    one.page.locator("form [name=context]").fill("6000")
    until(one.page, "location.hash === '#/inferencia?context=6000'")
    one.turn_to("lora")
    one.page.go_back()
    until(one.page, "document.querySelector('form [name=context]')?.value === '6000'")
    one.wait_for_state("ready")


def test_a_place_in_a_page_does_not_lose_the_state(file: Callable[..., FileVisit]) -> None:
    """The link that skips to the contents leaves the inputs in the address."""
    one = file()
    one.go("inferencia", "?context=4096")
    one.page.locator(".skip").focus()
    one.page.keyboard.press("Enter")
    until(one.page, "location.hash === '#/inferencia?context=4096'")
    assert one.page.locator("form [name=context]").input_value() == "4096"


def test_a_model_is_opened_and_carried_to_a_calculator(file: Callable[..., FileVisit], tmp_path: Path) -> None:
    """A config.json opens in the page of files, and its link fills in a calculator of the same file."""
    one = file()
    one.go("modelo")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA), encoding="utf-8")
    one.page.locator("[data-files]").set_input_files(config)
    card = one.page.locator("[data-card]:not([data-example])").first
    card.wait_for()
    assert "8030261248" in re.sub(r"\s", "", card.text_content() or "")
    card.locator('.carry a[href*="inferencia"]').click()
    until(one.page, "location.hash.startsWith('#/inferencia?')")
    one.wait_for_state("ready")
    assert one.read()["headline"]


def test_nothing_gets_out_of_the_file(file: Callable[..., FileVisit], dist: Path) -> None:
    """Whatever is planted in the page or its worker, the policy stops it before it reaches a server."""
    with FrailServer(dist) as listener:
        one = file(allowed=".")
        one.go("gpu")
        stopped = one.page.evaluate(ATTEMPTS, listener.url)
        one.page.workers[0].evaluate(WORKER_ATTEMPTS, listener.url)
        assert listener.site.asked == []
        assert {"connect-src", "img-src", "style-src-elem", "script-src-elem", "frame-src", "form-action"} <= set(
            stopped
        )


def test_the_policy_names_no_host(dist: Path) -> None:
    """The policy starts from nothing and allows no host, no scheme of the network and no unsafe word."""
    text = (dist / NAME).read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    assert re.findall(r"https?:|wss?:|\*|'self'|unsafe-inline|'unsafe-eval'", policy) == []
    assert text.index("Content-Security-Policy") < text.index("<style")


def test_the_page_about_privacy_offers_the_file_with_its_size_and_sum(dist: Path) -> None:
    """The size and the SHA-256 on the page are those of the file, and the link leads to it."""
    page = (dist / "privacidad/index.html").read_text(encoding="utf-8")
    data = (dist / NAME).read_bytes()
    assert hashlib.sha256(data).hexdigest() in page
    assert f"{round(len(data) / 1e5) / 10}\u00a0MB".replace(".", ",") in page
    assert f'href="../{NAME}" download' in page
