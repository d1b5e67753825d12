"""Everybody can use it: axe, the keyboard alone, a narrow screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import render

from tests.browser.command_line import command_line, parts
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools.site_server import DIST

AXE = DIST.parent / "node_modules/axe-core/axe.min.js"


def violations(visit: Visit) -> list[str]:
    """Return what axe finds wrong on the page as it is now."""
    visit.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = visit.page.evaluate("axe.run(document).then((result) => result.violations)")
    return [f"{one['id']}: {one['help']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", render.PAGES)
def test_axe_finds_nothing(name: str, scheme: str, fresh: Callable[..., Visit]) -> None:
    """No page has an accessibility fault that axe knows, in light and in dark, with everything open."""
    visit = fresh(name, color_scheme=scheme, reduced_motion="reduce")
    visit.open(wait=False)
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert violations(visit) == []


def test_axe_finds_nothing_in_a_form_with_errors(calculator: Callable[[str], Visit]) -> None:
    """A page that asks for corrections is as accessible as one that does not."""
    visit = calculator("gpu")
    visit.set_all({"context": "mucho", "batch": "-1"})
    visit.page.wait_for_selector("[data-region=errors] a")
    assert violations(visit) == []


@pytest.mark.parametrize("name", render.PAGES)
def test_a_phone_of_320_pixels_scrolls_only_down(name: str, fresh: Callable[..., Visit]) -> None:
    """At 320 px no page is wider than the screen, with everything open."""
    visit = fresh(name, viewport={"width": 320, "height": 640})
    visit.open(wait=False)
    visit.page.wait_for_load_state("load")  # the styles too
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    width = visit.page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    assert width <= 320


def press_until(visit: Visit, selector: str, key: str = "Tab") -> None:
    """Press a key until the focus is on an element that matches."""
    for _ in range(120):
        if visit.page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        visit.page.keyboard.press(key)
    raise AssertionError(f"the keyboard never reached {selector}")


def test_the_keyboard_is_enough(fresh: Callable[..., Visit]) -> None:
    """With the keyboard alone: skip to the content, change inputs, open a row of the breakdown, copy the link."""
    visit = fresh("gpu", permissions=["clipboard-read", "clipboard-write"])
    visit.open()
    keyboard = visit.page.keyboard
    keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.matches('.skip')")
    keyboard.press("Enter")
    press_until(visit, "[name=context]")
    keyboard.press("Control+A")
    keyboard.type("4096")
    expected = parts(command_line("gpu", {"context": "4096"}))
    assert visit.wait_for_parts(expected)["parts"] == expected
    press_until(visit, "[name=workload]", "Shift+Tab")
    keyboard.press("ArrowRight")
    until(visit.page, "location.hash.includes('workload=training')")
    press_until(visit, "[data-region=breakdown] summary")
    keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.parentElement.open")
    press_until(visit, "[data-action=copy-link]", "Shift+Tab")
    keyboard.press("Enter")
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('copiado')")
