"""What training looks like on the page: its moments, its recipes, its ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import render

from calc import es
from tests.browser.command_line import command_line
from tests.browser.test_access import violations
from tests.browser.visit import Visit

CASES = [
    {"workload": "training"},
    {"workload": "training", "model": "mixtral-8x7b", "checkpointing": "full", "context": "4096"},
    {"workload": "training", "model": "llama-3-70b", "data-parallel": "16", "zero": "3", "gpu": "h100-80gb"},
]


@pytest.mark.parametrize("inputs", CASES, ids=lambda one: one.get("model", "llama-3-8b"))
def test_the_timeline_follows_the_inputs_and_marks_the_peak(
    inputs: dict[str, str], calculator: Callable[[str], Visit]
) -> None:
    """Changing to training draws the moments; the marked one has the total of the command line."""
    visit = calculator("gpu")
    assert not visit.page.locator(".moments").is_visible()
    visit.set_all(inputs)
    answer = command_line("gpu", inputs)
    total = es.bytes_text(answer["total_bytes"])
    table = visit.page.locator("[data-region=timeline] table")
    table.locator("tfoot td", has_text=total).first.wait_for()
    heads = table.locator("thead th").all_text_contents()
    marked = [index for index, text in enumerate(heads) if "pico" in text]
    totals = [one["total_bytes"] for one in answer["timeline"]]
    assert marked == [1 + totals.index(max(totals))]
    assert table.locator("tfoot td").all_text_contents() == [es.bytes_text(one) for one in totals]
    assert visit.page.locator(".moments").is_visible()


@pytest.mark.parametrize(
    ("name", "inputs", "region"),
    [
        ("gpu", {"workload": "training", "model": "qwen3-30b-a3b"}, "timeline"),
        ("entrenar", {"parameters": "13", "bytes-per-parameter": "18"}, "recipes"),
        ("lora", {"model": "llama-3-70b", "method": "qlora"}, "methods"),
    ],
)
def test_each_view_is_the_one_that_the_build_would_render(
    name: str, inputs: dict[str, str], region: str, calculator: Callable[[str], Visit]
) -> None:
    """The worker's HTML of a view is CPython's, to the byte."""
    answer = calculator(name).ask_worker(inputs)
    assert answer["html"][region] == render.regions(name, inputs).html[region]
    assert answer["html"][region]


def test_the_recipes_follow_the_choice(calculator: Callable[[str], Visit]) -> None:
    """The chosen recipe is marked and its states are those of the answer."""
    visit = calculator("entrenar")
    visit.set_all({"bytes-per-parameter": "18", "parameters": "70"})
    chosen = visit.page.locator("[data-region=recipes] tr.chosen", has_text="1260 GB".replace(" ", "\u00a0"))
    chosen.wait_for()
    assert "Megatron" in (chosen.text_content() or "")


def test_the_ways_to_fine_tune_are_compared_for_the_chosen_model(calculator: Callable[[str], Visit]) -> None:
    """Full, LoRA and QLoRA of the visitor's own model, with the totals of the command line."""
    visit = calculator("lora")
    inputs = {"model": "mistral-7b", "rank": "64"}
    visit.set_all(inputs)
    total = es.bytes_text(command_line("lora", inputs)["total_bytes"])
    chosen = visit.page.locator("[data-region=methods] tr.chosen", has_text=total)
    chosen.wait_for()
    assert visit.page.locator("[data-region=methods] tbody tr").count() == 3


def test_the_views_of_training_are_accessible(calculator: Callable[[str], Visit]) -> None:
    """axe finds nothing with the timeline on the page."""
    visit = calculator("gpu")
    visit.set("workload", "training")
    visit.page.wait_for_selector("[data-region=timeline] table")
    assert violations(visit) == []
