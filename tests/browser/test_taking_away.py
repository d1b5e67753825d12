"""What leaves the page by the visitor's hand: clipboard, files, one sheet of paper, with and without a network."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import render
from playwright.sync_api import Browser

from tests.browser.command_line import command_line
from tests.browser.test_access import press_until
from tests.browser.test_onefile import FileVisit
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools.onefile import NAME
from tools.site_server import DIST

CALCULATORS = [name for name, page in render.PAGES.items() if page.calculator]
CLIPBOARD = ["clipboard-read", "clipboard-write"]
LARGEST = "data-parallel=8&model=mixtral-8x7b&offload=optimizer&tensor-parallel=2&workload=training&zero=3"


def take(visit: Visit, kind: str) -> tuple[str, bytes]:
    """Press the button of a kind of file and return the name and the bytes that are saved."""
    with visit.page.expect_download() as caught:
        visit.page.locator(f"[data-kind={kind}]").click()
    return caught.value.suggested_filename, Path(caught.value.path()).read_bytes()


def told(visit: Visit, words: str) -> None:
    """Wait until the line under the buttons says something."""
    until(visit.page, f"document.querySelector('[data-taken]').textContent.includes('{words}')")


def size_of_png(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG: https://www.w3.org/TR/png-3/#11IHDR."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.parametrize("name", CALCULATORS)
def test_the_json_file_is_what_the_command_line_prints(name: str, fresh: Callable[..., Visit]) -> None:
    """The JSON that is saved is that of ``python -m calc … --json``, to the byte."""
    visit = fresh(name)
    visit.open()
    command = [sys.executable, "-m", "calc", name, "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, cwd=DIST.parent).stdout
    assert take(visit, "json") == (f"calculo-{name}.json", printed)


def test_files_hold_what_the_form_says(fresh: Callable[..., Visit]) -> None:
    """CSV, SVG and PNG are of the inputs on the page, and the PNG is the SVG with twice the points."""
    visit = fresh("gpu")
    visit.open()
    visit.set_all({"context": "4096", "model": "mistral-7b"})
    expected = command_line("gpu", {"context": "4096", "model": "mistral-7b"})
    lines = take(visit, "csv")[1].decode().split("\r\n")
    assert [line.split(",")[0] for line in lines[1:-2]] == [one["name"] for one in expected["components"]]
    assert lines[-2].split(",")[2] == str(expected["total_bytes"])
    svg = take(visit, "svg")[1].decode()
    assert "Mistral 7B" in svg
    (width, height) = re.findall(r'<svg [^>]*?width="(\d+)" height="(\d+)"', svg)[0]
    name, png = take(visit, "png")
    assert name == "calculo-gpu.png"
    assert size_of_png(png) == (2 * int(width), 2 * int(height))
    assert len(png) > 10_000


def test_texts_go_to_the_clipboard(fresh: Callable[..., Visit]) -> None:
    """Text and Markdown are copied with the address of this state, by keyboard too."""
    visit = fresh("inferencia", permissions=CLIPBOARD)
    visit.open("concurrency=4")
    press_until(visit, "[data-kind=text]")
    visit.page.keyboard.press("Enter")
    told(visit, "Copiado")
    text = visit.page.evaluate("navigator.clipboard.readText()")
    assert "VRAM para inferencia" in text
    assert visit.url + "#concurrency=4" in text
    visit.page.evaluate("document.querySelector('[data-taken]').replaceChildren()")
    visit.page.locator("[data-kind=markdown]").click()
    told(visit, "Copiado")
    assert visit.page.evaluate("navigator.clipboard.readText()").startswith("# VRAM para inferencia")


def test_without_a_clipboard_the_text_is_shown(fresh: Callable[..., Visit]) -> None:
    """Where the browser refuses to copy, the text is on the page, selected."""
    visit = fresh("lora")
    visit.context.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    visit.open()
    visit.page.locator("[data-kind=text]").click()
    told(visit, "a mano")
    shown = visit.page.evaluate("""() => {
      const area = document.activeElement;
      return [area.id, area.value.slice(area.selectionStart, area.selectionEnd)];
    }""")
    assert shown[0] == "copia-a-mano"
    assert shown[1].startswith("LoRA y QLoRA")
    visit.page.locator("[data-action=copy-link]").click()
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('no permite copiar')")


def test_wrong_inputs_give_nothing(calculator: Callable[[str], Visit]) -> None:
    """With a field to correct nothing is saved, and the page says why."""
    visit = calculator("gpu")
    visit.set("context", "mucho")
    visit.page.wait_for_selector("[data-region=errors] a")
    visit.page.locator("[data-kind=json]").click()
    told(visit, "por revisar")


@pytest.mark.parametrize(("name", "fragment"), [*((name, "") for name in CALCULATORS), ("gpu", LARGEST)])
def test_a_calculator_prints_one_sheet(name: str, fragment: str, fresh: Callable[..., Visit]) -> None:
    """On A4 there is one page, with the inputs, the answer, the parts, the date and the address, and no controls."""
    for width in (390, 1280):
        visit = fresh(name, viewport={"width": width, "height": 800}, color_scheme="dark")
        visit.open(fragment)
        pdf = visit.page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
        visit.page.emulate_media(media="print")
        shown = [".headline", ".inputs", "[data-region=breakdown] table", ".bar", ".origin"]
        assert all(visit.page.locator(selector).is_visible() for selector in shown)
        for selector in ("nav", "button", ".controls", ".prose", ".site-footer", "[data-region=how]"):
            assert not any(one.is_visible() for one in visit.page.locator(selector).all()), selector
        printed = visit.page.locator(".origin").inner_text()
        assert visit.url + (f"#{fragment}" if fragment else "") in printed
        assert re.search(r"\d de \w+ de \d{4}", printed)


def test_everything_is_taken_without_a_network(fresh: Callable[..., Visit]) -> None:
    """Offline, a file and a comparison are made as before, and nothing is asked of anybody."""
    visit = fresh("gpu")
    visit.open()
    visit.keep_offline()
    asked: list[str] = []
    visit.context.set_offline(True)
    visit.context.on("request", lambda request: asked.append(request.url))
    assert json.loads(take(visit, "json")[1])["calculator"] == "gpu"
    assert take(visit, "png")[1]
    visit.page.locator("[data-action=add-scenario]").click()
    until(visit.page, "document.querySelectorAll('[data-region=compare] thead th').length === 1")
    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == []


def test_the_one_file_edition_compares_and_hands_over(browser: Browser, dist: Path, tmp_path: Path) -> None:
    """From a file alone: a scenario is carried to another calculator, and files are saved."""
    (tmp_path / NAME).write_bytes((dist / NAME).read_bytes())
    visit = FileVisit(browser, tmp_path)
    visit.page.goto((tmp_path / NAME).as_uri())
    visit.wait_for_state("ready")
    visit.page.locator("[data-action=add-scenario]").click()
    until(visit.page, "location.hash === '#/gpu?vs=gpu'")
    visit.page.locator("nav a", has_text="LoRA").click()
    until(visit.page, "location.hash === '#/lora?vs=gpu'")
    until(visit.page, "document.querySelectorAll('[data-region=compare] thead th').length === 2")
    assert visit.page.locator("nav a[aria-current]").inner_text() == "LoRA"
    assert json.loads(take(visit, "json")[1])["calculator"] == "lora"
    assert size_of_png(take(visit, "png")[1])[0] == 1920
    visit.page.locator("[data-region=compare] thead a").click()
    until(visit.page, "location.hash === '#/gpu?vs=gpu'")
    until(visit.page, "document.querySelectorAll('[data-region=compare] thead th').length === 1")
    visit.check()
    visit.close()
