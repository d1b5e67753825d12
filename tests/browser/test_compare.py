"""Scenarios side by side on the page: added, kept in the address, carried to other calculators, taken away."""

from __future__ import annotations

from collections.abc import Callable

from calc import es
from tests.browser.command_line import command_line
from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit
from tests.browser.waiting import until

COLUMNS = "[data-region=compare] thead th"
HOSTILE = "vs=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E,gpu?context=-1,gpu?context=2048"


def totals(visit: Visit) -> list[str]:
    """Return the totals in the table, from left to right."""
    return visit.page.locator("[data-region=compare] tr.sum td strong").all_text_contents()


def columns(visit: Visit, count: int) -> None:
    """Wait until the table has so many columns."""
    until(visit.page, f"document.querySelectorAll('{COLUMNS}').length === {count}")


def total_of(name: str, inputs: dict[str, str]) -> str:
    """Return the total of the command line in words."""
    return es.bytes_text(command_line(name, inputs)["total_bytes"])


def test_a_page_without_scenarios_shows_no_comparison(calculator: Callable[[str], Visit]) -> None:
    """Until something is added there is neither a table nor its heading."""
    visit = calculator("gpu")
    assert visit.page.locator("[data-region=compare]").inner_html() == ""
    assert not visit.page.locator("#comparacion").is_visible()


def test_scenarios_of_two_calculators_stand_side_by_side(fresh: Callable[..., Visit]) -> None:
    """What is added stays while inputs change, survives a reload, and goes along to another calculator and back."""
    visit = fresh("gpu")
    visit.open()
    page = visit.page
    page.locator("[data-action=add-scenario]").click()
    columns(visit, 1)
    visit.set("precision", "int8")
    columns(visit, 2)
    assert totals(visit) == [total_of("gpu", {"precision": "int8"}), total_of("gpu", {})]
    until(page, "location.hash === '#precision=int8&vs=gpu'")
    page.locator("nav a", has_text="Inferencia").click()
    visit.wait_for_state("ready")
    assert page.url.endswith("inferencia/#vs=gpu")
    visit.set("concurrency", "4")
    page.locator("[data-action=add-scenario]").click()
    until(page, "location.hash === '#concurrency=4&vs=gpu,inferencia?concurrency=4'")
    columns(visit, 2)
    page.reload()
    visit.wait_for_state("ready")
    columns(visit, 2)
    assert totals(visit) == [total_of("inferencia", {"concurrency": "4"}), total_of("gpu", {})]
    page.locator(f"{COLUMNS} a").click()
    visit.wait_for_state("ready")
    columns(visit, 2)
    assert page.url == visit.url + "#vs=gpu,inferencia?concurrency=4"
    assert totals(visit) == [total_of("gpu", {}), total_of("inferencia", {"concurrency": "4"})]


def test_a_link_of_the_table_restores_its_inputs(fresh: Callable[..., Visit]) -> None:
    """The name of a column opens that scenario in the same page, with the list beside it."""
    visit = fresh("lora")
    visit.open("rank=8&vs=lora?rank=64%26method=qlora")
    columns(visit, 2)
    visit.page.locator(f"{COLUMNS} a").click()
    until(visit.page, "document.querySelector('form [name=rank]').value === '64'")
    columns(visit, 1)
    until(visit.page, "location.hash === '#method=qlora&rank=64&vs=lora?method=qlora%26rank=64'")


def test_the_initial_values_keep_the_list_and_the_link_holds_it(fresh: Callable[..., Visit]) -> None:
    """«Volver a los valores iniciales» clears the inputs alone; the copied link has both."""
    visit = fresh("acumulacion", permissions=["clipboard-read", "clipboard-write"])
    visit.open("steps=16&vs=acumulacion?gpus=4")
    columns(visit, 2)
    visit.page.locator("button[type=reset]").click()
    until(visit.page, "location.hash === '#vs=acumulacion?gpus=4'")
    visit.set("gpus", "8")
    until(visit.page, "location.hash === '#gpus=8&vs=acumulacion?gpus=4'")
    visit.page.locator("[data-action=copy-link]").click()
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('copiado')")
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.url + "#gpus=8&vs=acumulacion?gpus=4"


def test_a_hostile_list_is_refused_and_the_page_works(fresh: Callable[..., Visit]) -> None:
    """What is no scenario of ours is named as text and left out; the good one is shown, and the form computes."""
    visit = fresh("gpu")
    visit.open(HOSTILE)
    columns(visit, 2)
    refused = visit.page.locator(".refused li").all_text_contents()
    assert len(refused) == 2
    assert "<img" in refused[0]
    assert visit.page.locator("[data-region=compare] img").count() == 0
    assert violations(visit) == []
    visit.page.locator("[data-action=remove-scenario]").first.click()
    until(visit.page, "location.hash === '' && document.querySelector('[data-region=compare]').innerHTML === ''")
    assert visit.page.locator("nav a[href*='vs=']").count() == 0


def test_the_keyboard_adds_and_removes(fresh: Callable[..., Visit]) -> None:
    """With the keyboard alone a scenario is added and taken away, and the focus is never lost."""
    visit = fresh("entrenar")
    visit.open()
    keyboard = visit.page.keyboard
    press_until(visit, "[data-action=add-scenario]")
    keyboard.press("Enter")
    columns(visit, 1)
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('Añadido')")
    press_until(visit, "[data-action=remove-scenario]")
    keyboard.press("Enter")
    until(visit.page, "document.querySelector('[data-region=compare]').innerHTML === ''")
    assert visit.page.evaluate("document.activeElement.matches('[data-action=add-scenario]')")


def test_many_columns_scroll_inside_the_table_on_a_phone(fresh: Callable[..., Visit]) -> None:
    """With eight scenarios the page of 320 px scrolls only down, axe finds nothing, and a ninth is refused."""
    many = ",".join(f"gpu?context={1024 * count}" for count in range(1, 8)) + ",gpu?model=gpt2"
    for scheme in ("light", "dark"):
        visit = fresh("gpu", viewport={"width": 320, "height": 640}, color_scheme=scheme, reduced_motion="reduce")
        visit.open(f"vs={many}")
        columns(visit, 9)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 320
        assert violations(visit) == []
        visit.page.locator("[data-action=add-scenario]").click()
        until(visit.page, "document.querySelector('[data-status]').textContent.includes('llena')")
        columns(visit, 9)


def test_wrong_inputs_leave_the_list_alone(fresh: Callable[..., Visit]) -> None:
    """A field to correct takes the page's own column away, and adding says why it cannot be."""
    visit = fresh("gpu")
    visit.open("vs=gpu?model=gpt2")
    columns(visit, 2)
    visit.set("context", "mucho")
    columns(visit, 1)
    visit.page.locator("[data-action=add-scenario]").click()
    until(visit.page, "document.querySelector('[data-status]').textContent.includes('por revisar')")
    columns(visit, 1)
