"""From the total to a decision on the page: what fits, how far, what to change; by keyboard and with one press."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calc import es
from tests.browser.command_line import command_line
from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit
from tests.browser.waiting import until

NO_FIT = {"model": "llama-3-70b"}


def wait_for(visit: Visit, region: str, text: str) -> None:
    """Wait until a region says something, and everything else has followed."""
    visit.page.locator(f"[data-region={region}]", has_text=text).wait_for()
    visit.wait_for_state("ready")


def test_a_change_that_helps_is_applied_with_one_press(calculator: Callable[[str], Visit]) -> None:
    """The first suggestion, reached and pressed by keyboard, changes the form, and then it fits."""
    visit = calculator("gpu")
    visit.set_all({**NO_FIT, "gpu": "rtx-4090"})
    wait_for(visit, "advice", "Ahorra")
    assert "No cabe" in (visit.page.locator("[data-region=answer] .verdict").text_content() or "")
    press_until(visit, "[data-region=advice] a.apply")
    visit.page.keyboard.press("Enter")
    until(visit.page, "document.querySelector('.verdict').textContent.trim().startsWith('Cabe')")
    visit.wait_for_state("ready")
    assert visit.page.locator("form [name=precision]").input_value() != "bfloat16"
    assert not visit.page.locator("[data-region=advice] li").count()


def test_going_back_undoes_what_was_applied(calculator: Callable[[str], Visit]) -> None:
    """An applied change is a step of the history, so that the browser's back button takes it away."""
    visit = calculator("gpu")
    visit.set_all(NO_FIT)
    wait_for(visit, "advice", "Ahorra")
    until(visit.page, "location.hash.includes('llama-3-70b')")
    visit.page.locator("[data-region=advice] a.apply").first.click()
    until(visit.page, "!!document.querySelector('.verdict--fits, .verdict--tight')")
    visit.page.go_back()
    until(visit.page, "!!document.querySelector('.verdict--no_fit')")
    assert visit.page.locator("form [name=precision]").input_value() == "bfloat16"


@pytest.mark.parametrize(
    ("name", "inputs", "field"),
    [
        ("gpu", {"model": "llama-3.2-3b"}, "context"),
        ("inferencia", {"engine": "llama.cpp"}, "concurrency"),
        ("lora", {"model": "llama-3.2-1b"}, "rank"),
    ],
)
def test_the_limit_is_that_of_the_command_line(
    name: str, inputs: dict[str, str], field: str, calculator: Callable[[str], Visit]
) -> None:
    """The largest value that is shown is what ``--solve`` prints, and «Usar» puts it into the form."""
    visit = calculator(name)
    visit.set_all(inputs)
    found = command_line(name, {**inputs, "solve": field})["solution"]["value"]
    wait_for(visit, "limits", es.number_text(found))
    visit.page.locator(f"[data-region=limits] dt:text-is('{es.FIELD_LABELS[field]}') + dd a.apply").click()
    until(visit.page, lambda: visit.page.locator(f"form [name={field}]").input_value() == str(found))
    until(visit.page, "!document.querySelector('.verdict--no_fit')")


def test_a_gpu_of_ones_own_is_asked_for_its_memory(calculator: Callable[[str], Visit]) -> None:
    """Choosing another GPU shows the field; margin and line follow the memory and the reserve; bad text is refused."""
    visit = calculator("gpu")
    memory = visit.page.locator("[data-field=gpu-memory]")
    assert not memory.is_visible()
    visit.set("gpu", "own-gpu")
    memory.wait_for()
    visit.set_all({"gpu-memory": "40", "reserve": "4"})
    wait_for(visit, "limits", "36\u00a0GiB")
    assert "GPU propia" in (visit.page.locator("[data-region=answer] .verdict").text_content() or "")
    visit.set("gpu-memory", "mucha")
    until(visit.page, lambda: bool(visit.error_of("gpu-memory")))
    visit.set("gpu-memory", "40")
    until(visit.page, lambda: not visit.error_of("gpu-memory"))


def test_the_budget_is_a_table_whose_cells_lead_to_their_answer(calculator: Callable[[str], Visit]) -> None:
    """The cell of 4,096 tokens and 2 sequences puts both into the form; the answer has its memory."""
    visit = calculator("gpu")
    cell = visit.page.locator("[data-region=budget] tbody tr", has_text="4096").locator("td a").nth(1)
    said = cell.text_content()
    cell.click()
    until(visit.page, lambda: visit.page.locator("form [name=batch]").input_value() == "2")
    until(
        visit.page,
        lambda: said == f"{visit.read()['headline']}\u00a0{visit.read()['unit']}",
    )
    assert visit.page.locator("form [name=context]").input_value() == "4096"


def test_the_models_that_fit_are_listed_when_asked_for(calculator: Callable[[str], Visit]) -> None:
    """Opening the list works it out; it follows the form while it is open."""
    visit = calculator("gpu")
    rows = visit.page.locator("[data-region=models] tbody tr")
    visit.page.locator("details[data-later=models] > summary").click()
    rows.first.wait_for()
    many = rows.count()
    visit.set("gpu", "rtx-3060")
    until(visit.page, lambda: 0 < rows.count() < many)
    visit.page.locator("details[data-later=models] > summary").click()


def test_the_decisions_are_accessible_and_fit_a_phone(calculator: Callable[[str], Visit]) -> None:
    """axe finds nothing with suggestions, budget and models on the page, also at 320 px, where nothing overflows."""
    visit = calculator("inferencia")
    visit.set_all({"model": "llama-3-70b", "gpu": "h100-80gb"})
    wait_for(visit, "advice", "Ahorra")
    visit.page.locator("details[data-later=models] > summary").click()
    visit.page.locator("[data-region=models] tbody tr").first.wait_for()
    assert violations(visit) == []
    visit.page.set_viewport_size({"width": 320, "height": 720})
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert violations(visit) == []
    visit.page.set_viewport_size({"width": 1280, "height": 720})
    visit.page.locator("details[data-later=models] > summary").click()


def test_the_servers_own_numbers_are_shown(calculator: Callable[[str], Visit]) -> None:
    """vLLM's tokens of KV cache and concurrency are those of the command line; llama.cpp says what it leaves out."""
    visit = calculator("inferencia")
    visit.set("gpu", "h100-80gb")
    tokens = command_line("inferencia", {"gpu": "h100-80gb"})["serving"]["tokens"]
    wait_for(visit, "serving", es.number_text(tokens))
    visit.set_all({"engine": "llama.cpp", "gpu-layers": "10"})
    wait_for(visit, "serving", "memoria del sistema")
