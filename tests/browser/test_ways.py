"""The comparison of the page of accumulation."""

from __future__ import annotations

from collections.abc import Callable

import render

from calc import es
from tests.browser.command_line import command_line
from tests.browser.test_access import violations
from tests.browser.visit import Visit


def test_the_comparison_follows_the_numbers_and_the_model(calculator: Callable[[str], Visit]) -> None:
    """Every row is a way of the command line, with its memory; the one typed is marked."""
    visit = calculator("acumulacion")
    inputs = {"micro-batch": "2", "gpus": "3", "model": "gpt2", "zero": "2"}
    visit.set_all(inputs)
    rows = command_line("acumulacion", inputs)["tables"]["combinations"]
    table = visit.page.locator("[data-region=combinations] tbody")
    chosen = next(row for row in rows if row["chosen"])
    table.locator("tr.chosen", has_text=es.bytes_text(chosen["total_bytes"], "GB")).wait_for()
    shown = table.locator("tr").evaluate_all("(rows) => rows.map((r) => r.children[3].textContent)")
    assert shown == [es.bytes_text(row["total_bytes"], "GB") for row in rows]
    answer = visit.ask_worker(inputs)
    assert answer["html"]["combinations"] == render.regions("acumulacion", inputs).html["combinations"]


def test_a_wrong_number_keeps_the_comparison_and_says_where(calculator: Callable[[str], Visit]) -> None:
    """With an empty field the last good comparison stays."""
    visit = calculator("acumulacion")
    before = visit.page.locator("[data-region=combinations] tbody tr").count()
    visit.set("steps", "")
    visit.page.wait_for_selector("[data-region=errors] a")
    assert visit.error_of("steps") == "Introduce un valor para ver los resultados."
    assert visit.page.locator("[data-region=combinations] tbody tr").count() == before > 10


def test_the_comparison_is_accessible(calculator: Callable[[str], Visit]) -> None:
    """axe finds nothing with the group of the comparison open."""
    assert violations(calculator("acumulacion")) == []
