"""«Varias GPU»: fields under a heading of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.command_line import command_line, parts
from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit

CASES = [
    {"workload": "training", "model": "llama-3-8b", "data-parallel": "8", "zero": "3"},
    {"workload": "training", "model": "llama-3-70b", "tensor-parallel": "8", "data-parallel": "4", "zero": "1"},
    {"workload": "training", "model": "mixtral-8x7b", "data-parallel": "8", "expert-parallel": "8", "zero": "1"},
    {"workload": "training", "model": "llama-3.1-405b", "tensor-parallel": "8", "pipeline-parallel": "9"},
]


@pytest.mark.parametrize("inputs", CASES, ids=lambda one: one["model"])
def test_a_layout_chosen_on_the_page_is_that_of_the_command_line(
    inputs: dict[str, str], calculator: Callable[[str], Visit]
) -> None:
    """The memory of the fullest GPU follows the degrees of parallelism."""
    visit = calculator("gpu")
    visit.set_all(inputs)
    expected = parts(command_line("gpu", inputs))
    assert visit.wait_for_parts(expected)["parts"] == expected


def test_the_group_is_there_only_where_a_layout_applies(calculator: Callable[[str], Visit]) -> None:
    """Inference has no layout to choose; training has."""
    visit = calculator("gpu")
    group = visit.page.locator("#grupo-layout")
    group.wait_for(state="hidden")
    visit.set("workload", "training")
    group.wait_for(state="visible")


def test_an_impossible_layout_opens_the_group_and_says_why(fresh: Callable[..., Visit]) -> None:
    """A link to heads that cannot be shared out shows the reason at the field, in the opened group."""
    visit = fresh("gpu")
    visit.open("workload=training&tensor-parallel=3", wait=False)
    visit.page.wait_for_selector("[data-region=errors] a")
    assert "32 cabezas" in visit.error_of("tensor-parallel")
    visit.page.locator("[data-region=errors] a").click()
    assert visit.page.evaluate("document.activeElement.name") == "tensor-parallel"


def test_the_group_is_usable_with_the_keyboard_and_accessible(fresh: Callable[..., Visit]) -> None:
    """The heading opens with Enter, and axe finds nothing inside."""
    visit = fresh("gpu")
    visit.open("workload=training")
    press_until(visit, "#grupo-layout > summary")
    visit.page.keyboard.press("Enter")
    press_until(visit, "[name=data-parallel]")
    visit.page.keyboard.type("8")
    assert violations(visit) == []
