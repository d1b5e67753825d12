"""The list of models can be searched, with keyboard, pointer or finger, and is a plain list without script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator

from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit
from tests.browser.waiting import until

CHOSEN = "document.querySelector('form [name=model]').value"


@pytest.fixture
def visit(calculator: Callable[[str], Visit]) -> Iterator[Visit]:
    """The flagship page with the combobox closed."""
    page = calculator("gpu")
    yield page
    page.page.keyboard.press("Escape")


def box(visit: Visit) -> Locator:
    """Return the text box of the combobox."""
    return visit.page.locator("#campo-model")


def options(visit: Visit) -> list[str]:
    """Return the names in the list that is open."""
    return visit.page.locator("[data-field=model] [role=option]:visible").all_text_contents()


def active(visit: Visit) -> str:
    """Return the name of the option that a screen reader would read, empty if none."""
    name: str = visit.page.evaluate(
        "document.getElementById(document.querySelector('#campo-model').getAttribute('aria-activedescendant'))"
        "?.textContent ?? ''"
    )
    return name


def write(visit: Visit, text: str) -> None:
    """Write over what the combobox holds."""
    box(visit).press("Control+A")
    visit.page.keyboard.insert_text(text)


@pytest.mark.parametrize(
    ("text", "first", "absent"),
    [
        ("qwen 14", "Qwen1.5 14B", "Qwen2.5 7B"),
        ("14b QWEN3", "Qwen3 14B", "Qwen2.5 14B"),
        ("llama3 70", "Llama 3 70B", "Llama 3 8B"),
        ("llama-3.1-8b", "Llama 3.1 8B", "Llama 3.1 70B"),
        ("pythia 1,4", "Pythia 1.4B", "Pythia 410M"),
        ("míxtrál", "Mixtral 8x7B", "Mistral 7B"),
        ("gptoss", "gpt-oss 20B", "GPT-2"),
        ("personal", "Personalizado", "Llama 3 8B"),
    ],
)
def test_words_find_models_in_any_order_by_name_id_or_family(visit: Visit, text: str, first: str, absent: str) -> None:
    """Each word narrows the list, whatever its case and accents; the best match is the active option."""
    box(visit).focus()
    write(visit, text)
    until(visit.page, lambda: active(visit) == first)
    assert first in options(visit)
    assert absent not in options(visit)


def test_a_number_is_found_only_where_a_number_begins(visit: Visit) -> None:
    """«4b» finds neither 14B nor 1.4B."""
    box(visit).focus()
    write(visit, "4b")
    names = options(visit)
    assert names
    assert not [name for name in names if "14B" in name or "1.4B" in name]


def test_the_keyboard_searches_moves_and_chooses(visit: Visit) -> None:
    """Typing opens the list, arrows, Home and End move in it, Enter chooses, and the answer follows."""
    box(visit).focus()
    assert box(visit).get_attribute("aria-expanded") == "false"
    write(visit, "qwen3 b")
    assert box(visit).get_attribute("aria-expanded") == "true"
    names = options(visit)
    best = names.index(active(visit))
    visit.page.keyboard.press("ArrowDown")
    assert active(visit) == names[best + 1]
    visit.page.keyboard.press("End")
    assert active(visit) == names[-1]
    visit.page.keyboard.press("ArrowDown")
    assert active(visit) == names[0]
    visit.page.keyboard.press("ArrowUp")
    assert active(visit) == names[-1]
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press("Enter")
    assert (box(visit).input_value(), box(visit).get_attribute("aria-expanded")) == (names[0], "false")
    wanted = visit.page.evaluate(CHOSEN)
    until(visit.page, f"location.hash === '#model={wanted}'")


def test_the_arrow_opens_the_whole_list_at_the_chosen_model(visit: Visit) -> None:
    """With nothing typed the list is complete and its active option, in view, is the chosen one."""
    visit.set("model", "qwen3-14b")
    box(visit).focus()
    visit.page.keyboard.press("ArrowDown")
    assert len(options(visit)) == visit.page.locator("form [name=model] option").count()
    assert active(visit) == "Qwen3 14B"
    assert visit.page.evaluate("""() => {
      const list = document.querySelector('#campo-model-lista').getBoundingClientRect();
      const one = document.querySelector('#campo-model-lista [aria-selected=true]').getBoundingClientRect();
      return one.top > list.top - 1 && one.bottom < list.bottom + 1;
    }""")


def test_escape_gives_back_the_chosen_model(visit: Visit) -> None:
    """Escape closes the list, forgets what was typed and asks nothing."""
    box(visit).focus()
    write(visit, "falcon")
    visit.page.keyboard.press("Escape")
    assert (box(visit).input_value(), visit.page.evaluate(CHOSEN)) == ("Llama 3 8B", "llama-3-8b")
    assert options(visit) == []


def test_tab_takes_what_was_found_and_leaving_with_the_pointer_does_not(visit: Visit) -> None:
    """Tab accepts the active option and moves on; a click elsewhere leaves the model as it was."""
    box(visit).focus()
    write(visit, "gpt-2")
    visit.page.locator("h1").click()
    assert (box(visit).input_value(), options(visit)) == ("Llama 3 8B", [])
    box(visit).focus()
    write(visit, "gpt2")
    visit.page.keyboard.press("Tab")
    assert (box(visit).input_value(), visit.page.evaluate(CHOSEN)) == ("GPT-2", "gpt2")
    assert visit.page.evaluate("document.activeElement.name") == "workload"


def test_the_pointer_opens_and_chooses(visit: Visit) -> None:
    """A click opens the list with its groups, the button closes it, a click on an option chooses it."""
    box(visit).click()
    group = visit.page.get_by_role("group", name="Mistral", exact=True)
    assert group.get_by_role("option").count() > 1
    visit.page.locator("[data-field=model] button").click()
    assert options(visit) == []
    visit.page.locator("[data-field=model] button").click()
    visit.page.get_by_role("option", name="Mixtral 8x7B", exact=True).click()
    until(visit.page, "location.hash === '#model=mixtral-8x7b'")
    assert box(visit).input_value() == "Mixtral 8x7B"


def test_the_number_of_results_is_read_aloud(visit: Visit) -> None:
    """A polite live region says how many models match, and that none does."""
    said = "document.querySelector('[data-part=status]').textContent"
    box(visit).focus()
    write(visit, "mixtral 8x7b")
    until(visit.page, f"{said} === '1 resultado'")
    write(visit, "mixtral")
    until(visit.page, f"/^\\d+ resultados$/.test({said})")
    write(visit, "zzz")
    until(visit.page, f"{said}.startsWith('Nada en la lista')")
    assert visit.page.locator("[data-part=none]").is_visible()
    assert box(visit).get_attribute("aria-expanded") == "false"
    visit.page.keyboard.press("Enter")
    assert box(visit).input_value() == "Llama 3 8B"


def test_the_text_follows_the_address_the_reset_and_other_changes(visit: Visit) -> None:
    """A restored fragment, the reset button and a change of the native list all show in the text."""
    visit.page.evaluate("location.hash = '#model=gemma-3-12b'")
    until(visit.page, "document.querySelector('#campo-model').value === 'Gemma 3 12B'")
    visit.page.evaluate("location.hash = '#model=file'")
    until(visit.page, "document.querySelector('#campo-model').value === 'Archivo propio'")
    visit.set("model", "custom")
    assert box(visit).input_value() == "Personalizado"
    visit.reset()
    until(visit.page, "document.querySelector('#campo-model').value === 'Llama 3 8B'")


def test_axe_finds_nothing_in_the_open_list(visit: Visit) -> None:
    """Open and narrowed, the combobox has no accessibility fault that axe knows; its name is the label of the field."""
    assert visit.page.get_by_role("combobox", name="Modelo", exact=True).count() == 1
    box(visit).focus()
    write(visit, "llama")
    assert violations(visit) == []
    write(visit, "zzz")
    assert violations(visit) == []


def test_a_finger_on_a_screen_of_320_pixels_is_enough(fresh: Callable[..., Visit]) -> None:
    """On a small phone the list fits, a tap on the button calls no keyboard, and a tap chooses an option 40 px high."""
    visit = fresh("gpu", viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)
    visit.open()
    visit.page.locator("[data-field=model] button").tap()
    assert visit.page.evaluate("document.activeElement.id") != "campo-model"
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 320
    option = visit.page.get_by_role("option", name="Llama 3 70B", exact=True)
    place = option.bounding_box()
    assert place is not None
    assert place["height"] >= 40
    option.tap()
    until(visit.page, "location.hash === '#model=llama-3-70b'")


def test_without_script_the_native_list_is_there(browser: Browser, site: str) -> None:
    """With JavaScript off the field is the native list, under its label."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    native = page.get_by_label("Modelo", exact=True)
    assert native.evaluate("(e) => e.tagName") == "SELECT"
    assert native.is_visible()
    assert page.locator("[data-field=model] input").count() == 0
    context.close()


def test_the_keyboard_reaches_the_text_and_not_the_hidden_list(visit: Visit) -> None:
    """Tab stops once in the field."""
    visit.page.evaluate("document.querySelector('.skip').focus()")
    press_until(visit, "#campo-model")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.name") == "workload"
