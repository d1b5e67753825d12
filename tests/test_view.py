"""Results as plain data for the templates."""

from fractions import Fraction

import pytest
from comparison import USUAL, chosen_card, compare, group_of, percent
from picture import Part, draw
from view import view

from calc import catalog, es
from calc.calculators import run
from calc.es.labels import SHORT_COMPONENTS, UNCERTAINTY, date_text
from calc.fit import Verdict, fit

GIB = 2**30


def part(size: int, name: str = "weights", label: str = "Pesos") -> Part:
    """A part of a bar."""
    return Part(name=name, label=label, text=es.bytes_text(size), size=size)


def test_the_parts_of_a_bar_follow_each_other_without_gaps() -> None:
    """Each part begins where the one before ends, and together they measure the total."""
    bar = draw([part(30), part(50), part(20)], low=100, high=100, capacity=None)
    assert [one.x for one in bar.segments] == ["0.00%", "30.00%", "80.00%"]
    assert [one.width for one in bar.segments] == ["30.00%", "50.00%", "20.00%"]
    assert bar.capacity is None
    assert bar.spread is None


def test_the_bar_is_scaled_to_the_largest_of_total_range_and_capacity() -> None:
    """Neither the line of the capacity nor the end of the range ever leaves the drawing."""
    bar = draw([part(50)], low=40, high=60, capacity=100)
    assert bar.capacity is not None
    assert (bar.segments[0].width, bar.capacity.x, bar.spread) == ("50.00%", "100.00%", ("40.00%", "60.00%"))
    assert draw([part(50)], low=40, high=200, capacity=100).spread == ("20.00%", "100.00%")


def test_a_wide_part_carries_its_label_and_a_narrow_one_gets_a_line_below() -> None:
    """Labels go inside where they fit on the narrowest screen; slivers have none."""
    bar = draw([part(990), part(10), part(1)], low=1001, high=1001, capacity=None)
    assert [one.place for one in bar.segments] == ["inside", "below", "none"]


def test_labels_below_never_share_a_line() -> None:
    """On the left the rightmost label is on top, on the right the leftmost: no leader crosses a label of its half."""
    bar = draw([part(10)] * 10, low=100, high=100, capacity=None)
    assert [one.row for one in bar.segments] == [4, 3, 2, 1, 0, 5, 6, 7, 8, 9]
    assert bar.rows == 10


def test_an_empty_estimate_draws_an_empty_bar() -> None:
    """No part, no division by zero."""
    assert draw([], low=0, high=0, capacity=None).segments == ()


def test_the_gpus_that_hold_the_estimate_come_first_and_the_smallest_of_them_is_marked() -> None:
    """Fits, then tight fits, then the rest by how many it takes; exactly one mark."""
    fits = fit(20 * GIB, catalog.gpus())
    rows, card = compare(fits, "rtx-4090", "GiB"), chosen_card(fits, "rtx-4090", "GiB")
    order = [one.verdict for one in rows]
    assert order == sorted(order, key=[one.value for one in Verdict].index)
    marked = [one for one in rows if one.smallest]
    assert len(marked) == 1
    assert marked[0].verdict == "fits"
    assert card is not None
    assert card.name == "RTX 4090"
    assert [one.name for one in rows if one.chosen] == ["RTX 4090"]


def test_unified_memory_is_never_the_smallest_that_fits() -> None:
    """A share of the memory of the whole machine is no card to recommend."""
    fits = fit(5 * GIB, catalog.gpus())
    assert all(one.group not in {"apple", "integrated"} for one in compare(fits, "", "GiB") if one.smallest)
    assert chosen_card(fits, "", "GiB") is None


def test_the_table_holds_the_usual_gpus_and_the_chosen_one() -> None:
    """The cards that the design names are always there; any other enters the table when it is chosen."""
    rows = compare(fit(1, catalog.gpus()), "", "GiB")
    names = {one.id for one in rows}
    assert {"rtx-4060-ti-16gb", "rtx-4090", "rtx-5090", "l40s", "a100-80gb", "h100-80gb", "h200", "b200"} <= names
    assert 25 <= len(rows) <= 36
    assert names >= USUAL
    assert "gtx-1080-ti" in {one.id for one in compare(fit(1, catalog.gpus()), "gtx-1080-ti", "GiB")} - names


def test_every_group_of_gpus_has_a_name() -> None:
    """The filter can word each group."""
    assert {group_of(gpu) for gpu in catalog.gpus()} <= es.GPU_KINDS.keys()


@pytest.mark.parametrize(
    ("share", "text"), [((1, 3), "33,3\u00a0%"), ((1, 1), "100\u00a0%"), ((71, 10), "710\u00a0%"), ((0, 0), "0\u00a0%")]
)
def test_shares_show_one_decimal_below_a_hundred(share: tuple[int, int], text: str) -> None:
    """More figures would claim more than is known."""
    assert percent(*share) == text


def test_the_answer_of_the_simple_laws_is_in_decimal_gigabytes() -> None:
    """7 and 16 give 112 GB, with 20 GB of activations 132 GB."""
    assert (view(run("entrenar", {}), {}).answer.total, view(run("entrenar", {}), {}).answer.unit) == ("112", "GB")
    assert view(run("entrenar", {"activations": "20"}), {"activations": "20"}).answer.total == "132"


def test_the_effective_batch_shown_is_the_one_that_its_formula_gives() -> None:
    """The equation on the page and the figure of the core agree."""
    result = run("acumulacion", {"gpus": "4", "micro-batch": "3"})
    shown = view(result, {})
    assert shown.batch is not None
    assert shown.batch.text == shown.answer.effective_batch == es.number_text(int(result.figures["effective_batch"]))


def test_rows_add_up_to_the_total() -> None:
    """The table states the bytes of each component and of their sum."""
    shown = view(run("entrenar", {"activations": "20"}), {"activations": "20"})
    digits = [int(row.bytes.replace(es.NARROW, "")) for row in shown.rows]
    assert sum(digits) == int(shown.total_bytes.replace(es.NARROW, "")) == 132 * 10**9


def test_an_exact_total_has_no_range() -> None:
    """Where nothing is estimated, nothing is said to lie between two numbers."""
    shown = view(run("entrenar", {}), {})
    assert shown.range is None
    assert (shown.answer.low, shown.answer.high) == ("", "")


def test_sources_are_named_once() -> None:
    """A source that several rows share stands once at the foot."""
    shown = view(run("entrenar", {}), {})
    titles = [(one.origin.title, one.origin.note) for one in shown.sources]
    assert len(titles) == len(set(titles)) > 0


def test_every_component_has_a_short_name() -> None:
    """The picture can word each component, and reasons are given only for components that exist."""
    parts = {name.partition("/")[0] for name in es.COMPONENTS}
    assert parts == SHORT_COMPONENTS.keys() >= UNCERTAINTY.keys()


def test_dates_are_words() -> None:
    """A reader sees the day, the month by its name, the year."""
    assert date_text("2026-12-01") == "1\u00a0de\u00a0diciembre\u00a0de\u00a02026"


def test_shares_are_exact_before_they_are_rounded() -> None:
    """A third of a bar is 33.33 %, whatever its size in bytes."""
    bar = draw([part(10**15), part(2 * 10**15)], low=0, high=0, capacity=None)
    assert bar.segments[0].width == "33.33%"
    assert Fraction(bar.segments[1].width.rstrip("%")) == Fraction("66.67")
