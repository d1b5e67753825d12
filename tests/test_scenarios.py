"""Scenarios side by side: a list that travels in an address, whatever comes back in its place, and what they say."""

from fractions import Fraction

import pytest
import render
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import change

from calc import es
from calc.calculators import CALCULATORS, Kind
from calc.decisions.scenarios import (
    MAX_LIST,
    MAX_SCENARIOS,
    Scenario,
    difference,
    differing,
    parts,
    read_scenarios,
    write_scenarios,
)
from calc.errors import InvalidInput
from calc.es.values import scenario_name, value_text

FEW = [
    Scenario.of("gpu", {"context": "4096", "model": "gpt2"}),
    Scenario.of("acumulacion", {"activation-per-sample": "0,25"}),
    Scenario.of("lora", {}),
    Scenario.of("inferencia", {"concurrency": "4"}),
]
HOSTILE = [
    "<script>alert(1)</script>",
    "gpu?model=%3Cimg%20src%3Dx%3E",
    "gpu?context=-1",
    "gpu?context=9999999999999999999999",
    "otra",
    "gpu%00",
    "%E2%80%AEgpu",
    "%",
    "%zz,%80,%25",
    "gpu?" + "x" * 9000,
    "?",
    "metodo",
    "gpu?model=file%26config=%7B%7D",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(FEW), unique=True))
def test_a_list_comes_back_as_it_was_written(items: list[Scenario]) -> None:
    """What is written for the address reads as the same scenarios in the same order, with nothing refused."""
    text = write_scenarios(items)
    assert not set(text) & set("&#\"'<> ")
    assert read_scenarios(text).items == tuple(items)
    assert read_scenarios(text).errors == ()


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_no_text_breaks_the_door(text: str) -> None:
    """Whatever stands in the address is a list or is refused with a sentence; nothing is raised."""
    read = read_scenarios(text)
    assert len(read.items) + len(read.errors) <= MAX_SCENARIOS + 1
    assert all(es.error_text(error) for error in read.errors)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_ours_is_refused_and_the_rest_stands(text: str) -> None:
    """A hostile item is left out with a sentence that repeats at most the beginning of it; its neighbour is shown."""
    read = read_scenarios(f"{text},lora?rank=8")
    assert [one.calculator for one in read.items] == ["lora"]
    assert read.errors
    shown = change(Scenario("gpu"), f"{text},lora?rank=8").comparison
    assert len(shown.columns) == 2
    html = render.partial("compare", comparison=shown)
    assert "<script" not in html
    assert "<img" not in html
    assert all(len(message) < 200 and message.isprintable() for message in shown.messages)


def test_a_list_has_its_bounds() -> None:
    """Neither a very long text nor too many scenarios are read, and one more than fits cannot be added."""
    assert [error.code for error in read_scenarios("x" * (MAX_LIST + 1)).errors] == ["list_too_long"]
    many = ",".join(f"gpu?context={1000 + i}" for i in range(MAX_SCENARIOS + 3))
    read = read_scenarios(many)
    assert (len(read.items), [error.code for error in read.errors]) == (MAX_SCENARIOS, ["too_many_scenarios"])
    with pytest.raises(InvalidInput):
        read.with_one(Scenario("lora"))
    assert change(Scenario("lora"), many, add=True).said == "full"


def test_the_same_question_is_kept_once() -> None:
    """However a number is written, a scenario that asks the same is not added again."""
    found = change(Scenario.of("gpu", {"context": "4.096"}), "gpu?context=4096", add=True)
    assert (found.said, found.text) == ("there", "gpu?context=4096")


def test_adding_and_taking_away() -> None:
    """A scenario is added at the end of the list, in any calculator, and any of them can be taken away."""
    one = change(Scenario("gpu"), "", add=True)
    two = change(Scenario.of("lora", {"rank": "8"}), one.text, add=True)
    assert (two.said, two.text) == ("added", "gpu,lora?rank=8")
    left = change(Scenario("gpu"), two.text, remove=0)
    assert (left.said, left.text) == ("removed", "lora?rank=8")
    assert change(Scenario("gpu"), left.text, remove=0).text == ""
    assert change(Scenario("gpu"), left.text, remove=7).text == left.text


def test_wrong_inputs_have_no_column() -> None:
    """With a wrong field the list is still shown, without differences, and nothing can be added."""
    wrong = Scenario.of("gpu", {"context": "mucho"})
    assert change(wrong, "lora", add=True).said == "stale"
    (column,) = change(wrong, "lora").comparison.columns
    assert (column.own, column.more) == (False, "")


def test_without_scenarios_there_is_no_table() -> None:
    """An empty list renders to nothing at all, so that the page as it was built stays."""
    assert render.partial("compare", comparison=change(Scenario("gpu"), "").comparison) == ""


def test_the_table_says_what_the_calculators_say() -> None:
    """Totals, parts and differences of the columns are those of the results, and the page's own column comes first."""
    current, other = Scenario("gpu"), Scenario.of("gpu", {"precision": "int8"})
    shown = change(current, write_scenarios([other, Scenario("lora")])).comparison
    own, first, _ = shown.columns
    results = [current.result(), other.result(), Scenario("lora").result()]
    assert own.own
    assert [one.total for one in shown.columns] == [es.bytes_text(one.estimate.total) for one in results]
    more = other.result().estimate.total - current.result().estimate.total
    assert first.more == "\u2212" + es.bytes_text(-more)
    assert first.more_share.startswith("\u2212")
    sizes = parts(results)
    for name, cells in sizes.items():
        assert [cell or 0 for cell in cells] == [one.estimate.component(name) for one in results]
    assert sum(cells[0] or 0 for cells in sizes.values()) == results[0].estimate.total


def test_every_part_of_an_estimate_has_its_line() -> None:
    """The lines of each calculator add up to its total: no component is left out."""
    for name in CALCULATORS:
        for raw in ({}, {"workload": "training"}, {"method": "qlora"}):
            result = Scenario.of(name, raw).result()
            assert sum(cells[0] or 0 for cells in parts([result]).values()) == result.estimate.total


def test_links_open_a_scenario_with_the_list_beside_it() -> None:
    """The link of a column holds its inputs and the whole list, and nothing of what was refused."""
    shown = change(Scenario("lora"), "gpu?context=4096,otra", root="../").comparison
    assert [one.href for one in shown.columns if not one.own] == ["../#context=4096&vs=gpu?context=4096"]


def test_names_say_what_differs() -> None:
    """A name holds what others of its calculator have otherwise, its calculator where there are several, its model."""
    pair = [Scenario.of("gpu", {"precision": "float16"}), Scenario.of("gpu", {"precision": "int8", "unit": "GB"})]
    assert differing(pair) == ((("precision", "float16"),), (("precision", "int8"),))
    shown = change(pair[0], write_scenarios([pair[1]])).comparison
    assert [one.name for one in shown.columns] == ["float16", "int8"]
    mixed = change(pair[0], "lora").comparison
    assert [one.name for one in mixed.columns] == ["VRAM de GPU: Llama 3 8B", "LoRA: Llama 3 8B"]


def test_every_value_of_every_field_has_words() -> None:
    """Each choice, flag, default and missing value of each field is named without an error."""
    for calculator in CALCULATORS.values():
        for field in calculator.fields:
            values = [True, False] if field.kind is Kind.FLAG else list(field.options())
            for value in [*values, None]:
                assert value_text(field, value) or value is None
                assert scenario_name(calculator.name, [(field.name, value)], of_many=True)


def test_a_difference_with_nothing_has_no_share() -> None:
    """Against a total of zero there are bytes and no percentage."""
    assert difference(5, 0) == (5, None)
    assert difference(5, 4) == (1, Fraction(1, 4))
