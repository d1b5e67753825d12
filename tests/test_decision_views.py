"""What the page says of the inverse questions, of the changes that help and of the budget is what the answers say."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
import render
from budget import Budget, budget
from limits import Limits, limits, models
from suggestions import suggestions
from view import view

from calc import es
from calc.calculators import from_fragment, run
from calc.calculators.cards import chosen_gpu
from calc.fit import Verdict

CASES = [
    ("gpu", {}),
    ("gpu", {"workload": "training", "model": "llama-3.2-1b", "context": "2048"}),
    ("gpu", {"model": "llama-3-70b", "precision": "int4", "gpu": "own-gpu", "gpu-memory": "32", "reserve": "1"}),
    ("inferencia", {"engine": "llama.cpp", "precision": "q4_k_m", "concurrency": "4"}),
    ("inferencia", {"context": "20000", "gpu": "h100-80gb"}),
    ("lora", {"gpu": "rtx-3060"}),
]


def answer(calculator: str, address: str) -> tuple[int, int]:
    """Return the total of the answer at an address and the memory of the GPU there."""
    result = run(calculator, from_fragment(calculator, address))
    return result.estimate.total, chosen_gpu(result.inputs).capacity


def shown(calculator: str, raw: dict[str, str]) -> Limits:
    """Return the inverse answers of a calculator."""
    found = limits(run(calculator, raw), raw, "GiB")
    assert found is not None
    return found


@pytest.mark.parametrize(("calculator", "raw"), CASES)
def test_each_limit_leads_to_an_answer_that_fits_and_says_what_is_left(calculator: str, raw: dict[str, str]) -> None:
    """Opening the address of a limit gives an answer within the GPU, with the free memory that was said."""
    found = shown(calculator, raw)
    rows = [*found.rows, found.precision, found.model]
    told = [one for one in rows if one is not None and one.address]
    assert told
    for one in told:
        total, capacity = answer(calculator, one.address)
        assert total <= capacity
        assert es.bytes_text(capacity - total, "GiB") == one.left


@pytest.mark.parametrize(("calculator", "raw"), CASES)
def test_no_larger_model_fits(calculator: str, raw: dict[str, str]) -> None:
    """The largest model is the first of the list of all that fit, which was found without leaving any out."""
    found, every = shown(calculator, raw).model, models(run(calculator, raw), raw, "GiB")
    assert (found.value if found else None) == (every[0].name if every else None)
    for one in every[:3]:
        total, capacity = answer(calculator, one.address)
        assert total <= capacity


def test_a_limit_beyond_the_model_is_told_with_what_the_model_declares() -> None:
    """Llama 3 8B declares 8,192 tokens and the GPU holds more."""
    (context, *_) = shown("gpu", {}).rows
    assert context.note == "8192"
    assert not shown("gpu", {"model": "llama-3.1-8b"}).rows[0].note


def test_the_margin_is_said_in_memory_and_percent() -> None:
    """What is free, or missing, of the memory less the reserve."""
    raw = {"gpu": "own-gpu", "gpu-memory": "24", "reserve": "2"}
    total = run("gpu", raw).estimate.total
    found = shown("gpu", raw)
    assert (found.usable, found.reserve) == ("22\u00a0GiB", "2\u00a0GiB")
    assert found.free == es.bytes_text(22 * 2**30 - total, "GiB")
    assert found.share == es.percent_text(Fraction(22 * 2**30 - total, 22 * 2**30), 0)
    less = shown("gpu", {**raw, "gpu-memory": "10"})
    assert less.missing == es.bytes_text(total - 8 * 2**30, "GiB")


@pytest.mark.parametrize(
    ("calculator", "raw"),
    [
        ("gpu", {"model": "llama-3-70b"}),
        ("gpu", {"workload": "training"}),
        ("inferencia", {"model": "qwen3-14b", "gpu": "rtx-3060"}),
        ("lora", {"gpu": "own-gpu", "gpu-memory": "8"}),
    ],
)
def test_each_suggestion_leads_to_an_answer_that_fits(calculator: str, raw: dict[str, str]) -> None:
    """Opening the address of a suggestion, on its own page, gives what was said: it fits, with that total."""
    found = suggestions(run(calculator, raw), raw, "GiB")
    assert found
    for one in found:
        assert one.text
        assert one.costs
        if one.address:
            total, capacity = answer(one.page or calculator, one.address)
            assert total <= capacity
            assert es.bytes_text(total, "GiB") == one.total


def test_nothing_is_suggested_where_it_fits() -> None:
    """An answer that fits needs no change, and a calculator without models has none to offer."""
    assert suggestions(run("gpu", {}), {}, "GiB") == ()
    assert suggestions(run("entrenar", {}), {}, "GB") == ()
    assert limits(run("entrenar", {}), {}, "GB") is None
    assert budget(run("acumulacion", {}), {}, "GB") is None


def table(calculator: str, raw: dict[str, str]) -> Budget:
    """Return the budget of a calculator."""
    found = budget(run(calculator, raw), raw, "GiB")
    assert found is not None
    return found


@pytest.mark.parametrize(("calculator", "raw"), CASES)
def test_each_cell_of_the_budget_is_the_answer_at_its_address(calculator: str, raw: dict[str, str]) -> None:
    """Memory and verdict are those of the calculator with the two inputs of the cell."""
    found = table(calculator, raw)
    cells = [cell for line in found.lines for cell in line.cells]
    assert sum(cell.asked for cell in cells) == 1
    for cell in cells[::5]:
        total, capacity = answer(calculator, cell.address)
        assert cell.text == es.bytes_text(total, "GiB")
        assert (cell.verdict == Verdict.NO_FIT) == (total > capacity)


def test_the_curve_rises_and_crosses_the_line_where_it_says() -> None:
    """Heights never fall along the tokens, and the crossing is the last drawn value within the GPU."""
    found = table("gpu", {}).curve
    heights = [float(point.split(",")[1]) for point in found.points.split()]
    assert heights == sorted(heights, reverse=True)
    inside = [height >= float(found.line) for height in heights]
    reach = int(re.sub(r"\D", "", found.far))
    assert int(re.sub(r"\D", "", found.crossing)) == sum(inside) * reach // len(heights)


def test_the_stages_render_every_region_once() -> None:
    """First answer and stages together are the live regions; what is opened later is apart."""
    names = [*render.FIRST, *(name for stage in render.STAGES for name in stage)]
    assert sorted(names) == sorted(render.LIVE)
    assert set(render.LATER).isdisjoint(names)
    html = render.regions("gpu", {"model": "llama-3-70b"}, ("advice", "limits", "budget", "models")).html
    assert html["advice"].count("<li>") >= 1
    assert html["limits"].count("<dt>") >= 3
    assert html["budget"].count("<td") == html["budget"].count("cell--")
    assert not render.regions("entrenar", {}, ("advice", "limits", "budget")).html["budget"].strip()


def test_the_view_keeps_what_was_asked() -> None:
    """The texts of the form reach the decisions."""
    raw = {"model": "llama-3-70b", "gpu": "h200"}
    assert view(run("gpu", raw), raw).limits == shown("gpu", raw)
