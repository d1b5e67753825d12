"""The visitor's state: the address, what is typed before Python is there, focus, scroll, what is open."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.command_line import command_line, parts
from tests.browser.visit import Visit
from tests.browser.waiting import until


def test_the_address_holds_what_differs_and_restores_it(
    calculator: Callable[[str], Visit], fresh: Callable[..., Visit]
) -> None:
    """A result is a link: the fragment has the changed inputs, keys sorted, and opens to the same result elsewhere."""
    visit = calculator("gpu")
    inputs = {"model": "mistral-7b", "context": "4096", "precision": "int8"}
    visit.set_all(inputs)
    until(visit.page, "location.hash === '#context=4096&model=mistral-7b&precision=int8'")
    other = fresh("gpu")
    other.open("context=4096&model=mistral-7b&precision=int8")
    expected = parts(command_line("gpu", inputs))
    assert other.wait_for_parts(expected)["parts"] == expected
    assert other.page.locator('form [name="context"]').input_value() == "4096"
    assert other.page.locator('form [name="model"]').input_value() == "mistral-7b"


def test_a_change_of_the_fragment_is_followed(calculator: Callable[[str], Visit]) -> None:
    """Writing another fragment, or going back from it, changes form and result without a reload."""
    visit = calculator("acumulacion")
    visit.page.evaluate("location.hash = '#steps=16&gpus=2'")
    until(visit.page, "document.querySelector('.headline__number').textContent === '128'")
    assert visit.page.locator('form [name="steps"]').input_value() == "16"
    visit.page.go_back()
    until(visit.page, "document.querySelector('.headline__number').textContent === '32'")
    assert visit.page.locator('form [name="steps"]').input_value() == "8"


def test_a_link_inside_the_page_does_not_lose_the_state(calculator: Callable[[str], Visit]) -> None:
    """Jumping to a section keeps the inputs and puts their fragment back."""
    visit = calculator("acumulacion")
    visit.set("steps", "16")
    until(visit.page, "location.hash === '#steps=16'")
    visit.page.evaluate("location.hash = '#calculo'")
    until(visit.page, "location.hash === '#steps=16'")
    assert visit.page.locator('form [name="steps"]').input_value() == "16"


def test_what_is_typed_before_python_is_ready_counts(fresh: Callable[..., Visit]) -> None:
    """Inputs made while Python starts are honoured when it is ready, on top of those of the address."""
    visit = fresh("gpu")
    visit.open("batch=2&context=4096", wait=False)
    assert visit.page.get_attribute("html", "data-state") == "loading"
    visit.set("context", "1024")
    visit.wait_for_state("ready")
    expected = parts(command_line("gpu", {"batch": "2", "context": "1024"}))
    assert visit.wait_for_parts(expected)["parts"] == expected
    assert visit.page.locator('form [name="context"]').input_value() == "1024"
    assert visit.page.locator('form [name="batch"]').input_value() == "2"


def test_the_latest_input_wins(calculator: Callable[[str], Visit]) -> None:
    """After a burst of inputs faster than the answers, the screen shows the last one."""
    visit = calculator("gpu")
    visit.page.evaluate("""() => {
      const field = document.querySelector('form [name=context]');
      for (let i = 1; i <= 300; i++) {
        field.value = String(i * 64);
        field.dispatchEvent(new Event('input', {bubbles: true}));
      }
    }""")
    expected = parts(command_line("gpu", {"context": "19200"}))
    assert visit.wait_for_parts(expected)["parts"] == expected
    visit.page.wait_for_timeout(200)
    assert visit.read()["parts"] == expected


def test_focus_scroll_and_open_rows_stay(calculator: Callable[[str], Visit]) -> None:
    """A new answer moves neither the focus nor the page, and the rows that were open stay open."""
    visit = calculator("gpu")
    page = visit.page
    row = page.locator("[data-region=breakdown] details").nth(1)
    row.locator("summary").click()
    row.locator("summary").focus()
    before = page.evaluate("[scrollY, document.activeElement.textContent]")
    page.evaluate("""() => {
      const field = document.querySelector('form [name=context]');
      field.value = '12345'; field.dispatchEvent(new Event('input', {bubbles: true}));
    }""")
    expected = parts(command_line("gpu", {"context": "12345"}))
    assert visit.wait_for_parts(expected)["parts"] == expected
    assert page.evaluate("[scrollY, document.activeElement.textContent]") == before
    assert row.evaluate("(d) => d.open")


def test_the_unit_switch_changes_the_words_and_not_the_bytes(calculator: Callable[[str], Visit]) -> None:
    """GB and GiB are two readings of the same bytes."""
    visit = calculator("gpu")
    before = visit.read()
    visit.set("unit", "GB")
    until(visit.page, "document.querySelector('.headline__unit').textContent === 'GB'")
    after = visit.read()
    assert (before["unit"], after["unit"]) == ("GiB", "GB")
    assert before["parts"] == after["parts"]
    assert before["headline"] != after["headline"]


def test_copying_the_link_gives_this_state(fresh: Callable[..., Visit]) -> None:
    """The button puts the address with the current inputs on the clipboard, and says so."""
    visit = fresh("acumulacion", permissions=["clipboard-read", "clipboard-write"])
    visit.open()
    visit.set("gpus", "4")
    until(visit.page, "document.querySelector('.headline__number').textContent === '128'")
    visit.page.locator("[data-action=copy-link]").click()
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('copiado')")
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.url + "#gpus=4"
