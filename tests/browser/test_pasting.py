"""What is pasted is read on the page, shown beside the answer, and applied with one press."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit
from tests.browser.waiting import until

OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB "
    "of which 1.20 GiB is free. Process 1234 has 22.44 GiB memory in use. Of the allocated memory 21.50 GiB is "
    "allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated."
)


def paste(visit: Visit, text: str) -> str:
    """Paste a text, have it read, and return what the page says."""
    visit.page.locator("#pegado").fill(text)
    visit.page.evaluate("document.querySelector('[data-region=pasted]').replaceChildren()")
    visit.page.locator("[data-action=paste]").click()
    until(visit.page, "document.querySelector('[data-region=pasted]').children.length > 0")
    return visit.page.locator("[data-region=pasted]").text_content() or ""


def test_a_command_fills_the_form_by_keyboard(calculator: Callable[[str], Visit]) -> None:
    """The button reads the command; the link that appears puts its inputs into the form; the rest is listed."""
    visit = calculator("inferencia")
    visit.page.locator("#pegado").fill("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 16384 --inventada 3")
    visit.page.locator("#pegado").press("Tab")
    visit.page.keyboard.press("Enter")
    visit.page.locator("[data-region=pasted] h3", has_text="Orden de vLLM").wait_for()
    assert "--inventada 3" in (visit.page.locator("[data-region=pasted]").text_content() or "")
    press_until(visit, "[data-region=pasted] a.apply")
    visit.page.keyboard.press("Enter")
    until(visit.page, lambda: visit.page.locator("form [name=context]").input_value() == "16384")
    assert visit.page.locator("form select[name=model]").input_value() == "qwen2.5-7b"


def test_a_configuration_leads_to_its_own_calculator(calculator: Callable[[str], Visit]) -> None:
    """A LoRA configuration pasted on the flagship links to the calculator of LoRA with its inputs."""
    visit = calculator("gpu")
    paste(visit, "base_model: meta-llama/Meta-Llama-3-8B\nadapter: qlora\nlora_r: 64\n")
    link = visit.page.locator("[data-region=pasted] a.apply").get_attribute("href") or ""
    assert link.startswith("lora/#")
    assert "rank=64" in link


def test_a_log_stands_beside_the_answer_and_calibrates_the_runtime(calculator: Callable[[str], Visit]) -> None:
    """The measured overhead is offered, and following it changes the field and the total."""
    visit = calculator("gpu")
    said = paste(visit, OUT_OF_MEMORY)
    assert "Error de memoria de PyTorch" in said
    assert "Medido" in said
    visit.page.locator("[data-region=pasted] a.apply", has_text="Usar este valor").click()
    until(visit.page, lambda: visit.page.locator("form [name=runtime]").input_value() == "0,648")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hola", "No se reconoce"),
        ("", "Introduce un valor"),
        ("vllm serve 'x", "comillas"),
        ("a: &x [1]\nb: *x\n", "YAML"),
    ],
)
def test_what_cannot_be_read_is_said_and_stays_in_the_box(
    text: str, said: str, calculator: Callable[[str], Visit]
) -> None:
    """A sentence under the box; the text and the form are as they were."""
    visit = calculator("lora")
    paste(visit, "| 1MiB / 2MiB |")
    assert said in paste(visit, text)
    assert visit.page.locator("#pegado").input_value() == text
    assert visit.page.locator("form [name=rank]").input_value() == "16"


def test_what_is_pasted_is_text_and_nothing_else(calculator: Callable[[str], Visit]) -> None:
    """Markup in a pasted option is shown as it was written."""
    visit = calculator("gpu")
    said = paste(visit, "vllm serve '<img src=x onerror=alert(1)>'")
    assert "<img src=x onerror=alert(1)>" in said
    assert not visit.page.locator("[data-region=pasted] img").count()
    assert violations(visit) == []


def test_the_settings_follow_the_form_and_can_be_copied(fresh: Callable[..., Visit]) -> None:
    """The text of each tool is what the form says now; the button puts it on the clipboard."""
    visit = fresh("inferencia", permissions=["clipboard-read", "clipboard-write"])
    visit.open()
    visit.set_all({"context": "4096", "concurrency": "8"})
    details = visit.page.locator("[data-region=settings] details", has_text="vLLM")
    until(visit.page, lambda: "--max-model-len 4096 --max-num-seqs 8" in (details.text_content() or ""))
    visit.wait_for_state("ready")
    details.locator("summary").click()
    details.locator("[data-action=copy-settings]").click()
    until(visit.page, lambda: visit.page.evaluate("navigator.clipboard.readText()").startswith("vllm serve "))
    assert violations(visit) == []
