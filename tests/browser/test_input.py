"""Whatever is typed, the page answers in words and stays whole."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.browser.command_line import command_line, parts
from tests.browser.visit import Visit
from tests.browser.waiting import until

MARKUP = "<img src=x onerror=alert(1)><b id=intruso>"
BAD = ["", "texto", "-1", "1e308", "NaN", "Infinity", "9" * 60, "1,2,3", "0.5.5", "--4", MARKUP]
FIELDS = {
    "gpu": ["batch", "context"],
    "entrenar": ["parameters", "activations"],
    "acumulacion": ["micro-batch", "activation-per-sample"],
    "inferencia": ["context", "concurrency"],
    "lora": ["rank", "batch"],
}
ZERO_IS_FINE = {"activations", "activation-per-sample"}


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in FIELDS.items() for field in fields])
def test_bad_input_gets_a_sentence_and_breaks_nothing(
    name: str, field: str, calculator: Callable[[str], Visit]
) -> None:
    """Each bad value leaves a message at the field and in the summary, keeps the text, and marks the last result."""
    visit = calculator(name)
    answer = visit.page.locator("[data-region=answer]").inner_html()
    for value in BAD if field in ZERO_IS_FINE else [*BAD, "0"]:
        visit.set(field, value)
        visit.page.wait_for_selector("[data-region=answer][data-stale]")
        until(
            visit.page,
            f"document.querySelector('[data-field={field}] [data-error]').textContent.length > 8",
        )
        assert visit.error_of(field).endswith("."), value
        assert visit.page.locator(f"[data-region=errors] a[href='#campo-{field}']").count() == 1
        control = visit.page.locator(f'form [name="{field}"]')
        assert control.input_value() == value
        assert control.get_attribute("aria-invalid") == "true"
        assert visit.page.locator("[data-region=answer]").inner_html() == answer
        assert visit.page.locator("#intruso, img").count() == 0
        visit.set(field, "3")
        visit.page.wait_for_selector("[data-region=answer]:not([data-stale])")
        assert visit.error_of(field) == ""
        visit.reset()
        until(visit.page, lambda: visit.page.locator("[data-region=answer]").inner_html() == answer)
    visit.check()


def test_the_summary_leads_to_the_field(calculator: Callable[[str], Visit]) -> None:
    """A link of the summary of errors puts the focus in the field that must be corrected."""
    visit = calculator("gpu")
    visit.set("context", "mucho")
    visit.page.locator("[data-region=errors] a").click()
    assert visit.page.evaluate("document.activeElement.name") == "context"


def test_comma_and_point_are_both_decimal_signs(calculator: Callable[[str], Visit]) -> None:
    """«0,25» and «0.25» give the same result, shown with a comma."""
    visit = calculator("acumulacion")
    expected = parts(command_line("acumulacion", {"activation-per-sample": "0,25"}))
    assert expected == [("activations", 10**9)]
    for value in ("0,25", "0.25"):
        visit.set("activation-per-sample", value)
        assert visit.wait_for_parts(expected)["parts"] == expected
        visit.set("activation-per-sample", "3")
    visit.set("activation-per-sample", "0,3")
    until(visit.page, "/1,2\\sGB/.test(document.querySelector('.second').textContent)")


@pytest.mark.parametrize(
    "fragment",
    [
        "x" * 100_000,
        "context=" + "9" * 100_000,
        "&".join(f"clave{i}=1" for i in range(9_000)),
        "utm_source=x&__proto__=1&context",
        "%E0%A4%A=%&&==&=",
    ],
    ids=["no keys", "one long value", "many keys", "unknown keys", "broken escapes"],
)
def test_a_hostile_address_leaves_the_initial_values(fragment: str, fresh: Callable[..., Visit]) -> None:
    """An address of 100 kB, or with keys that no field has, gives the page with its initial values and no error."""
    visit = fresh("gpu")
    visit.open(fragment)
    visit.page.wait_for_timeout(300)
    assert visit.page.locator('form [name="context"]').input_value() in {"8192", "9" * 200}
    assert visit.read()["headline"]


def test_wrong_values_in_the_address_are_explained(fresh: Callable[..., Visit]) -> None:
    """An unknown model, and markup in a value, come back as sentences at their fields and never as markup."""
    visit = fresh("gpu")
    visit.open(f"batch={quote(MARKUP)}&context={quote('1,5')}&model=modelo-de-nadie", wait=False)
    visit.page.wait_for_selector("[data-region=errors] a")
    assert "modelo-de-nadie" in visit.error_of("model")
    assert visit.error_of("batch")
    assert visit.error_of("context")
    assert visit.page.locator('form [name="batch"]').input_value() == MARKUP
    assert visit.page.locator("#intruso, img").count() == 0
    visit.set_all({"batch": "1", "context": "8192", "model": "llama-3-8b"})
    visit.page.wait_for_selector("[data-region=answer]:not([data-stale])")
    visit.page.wait_for_selector("[data-region=errors] a", state="detached")
