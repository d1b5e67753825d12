"""The inverse questions agree with the forward one: what is said to fit does, and the next step does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators import InvalidInputs
from calc.decisions import SOLVABLE, Question, grid, solve
from calc.decisions.choices import finest_precision, fitting_models, precisions
from calc.decisions.solve import largest
from calc.dtypes import DTYPES
from calc.estimate import Estimate
from calc.units import GIB

MODELS = ("gpt2", "llama-3-8b", "gemma-3-12b", "mixtral-8x7b", "qwen3-next-80b-a3b", "deepseek-v3", "falcon-7b")
AXIS = {"gpu": "batch", "inferencia": "concurrency", "lora": "batch"}

questions = st.one_of(
    st.builds(
        lambda model, engine, kv: Question("inferencia", {"model": model, "engine": engine, "kv-precision": kv}),
        st.sampled_from(MODELS),
        st.sampled_from(("exact", "transformers", "transformers-legacy", "vllm", "llama.cpp")),
        st.sampled_from(("auto", "float32", "q8_0", "q4_0")),
    ),
    st.builds(
        lambda model, checkpointing, kernel, loss, layout: Question(
            "gpu",
            {
                "model": model,
                "workload": "training",
                "checkpointing": checkpointing,
                "attention-kernel": kernel,
                "loss": loss,
                **layout,
            },
        ),
        st.sampled_from(MODELS[:5]),
        st.sampled_from(("none", "selective", "full", "sqrt")),
        st.sampled_from(("flash", "eager")),
        st.sampled_from(("standard", "in-place", "chunked")),
        st.sampled_from(
            ({}, {"data-parallel": "8", "zero": "3"}, {"context-parallel": "3"}, {"pipeline-parallel": "4"})
        ),
    ),
    st.builds(
        lambda model, method: Question("lora", {"model": model, "method": method}),
        st.sampled_from(MODELS[:5]),
        st.sampled_from(("lora", "qlora")),
    ),
)


@settings(max_examples=60, deadline=None)
@given(questions, st.data(), st.integers(4, 2000))
def test_the_largest_value_fits_and_the_next_does_not(question: Question, data: st.DataObject, room_gib: int) -> None:
    """For any calculator, input and room, the solution fits and one more does not."""
    name = data.draw(st.sampled_from(SOLVABLE[question.calculator]))
    room = room_gib * GIB
    try:
        found = solve(question, name, room)
    except InvalidInputs:  # a rank above the smallest side, a layout that the model does not allow
        return
    ask = question.resolved()
    if found.value:
        assert ask.changed({name: str(found.value)}).estimate().total == found.total <= room
    if found.bound == "memory":
        assert ask.changed({name: str(found.value + 1)}).estimate().total > room


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 64), st.integers(0, 10**9))
def test_any_rising_law_is_inverted(base: int, slope: int, block: int, limit: int) -> None:
    """Steps, slopes and flat laws are all searched to the last value that fits."""

    def total(value: int) -> int:
        return base + slope * -(-value // block) + value // 1000

    value, taken = largest(total, 1, 10**6, limit)
    assert value == 0 or taken == total(value) <= limit
    assert value == 10**6 or total(value + 1) > limit


@settings(max_examples=40, deadline=None)
@given(
    questions,
    st.lists(st.integers(1, 200), min_size=2, max_size=9, unique=True).map(sorted),
    st.lists(st.integers(1, 64), min_size=2, max_size=9, unique=True).map(sorted),
    st.sampled_from((256, 1000)),
)
def test_every_cell_of_the_table_is_the_estimate_of_its_inputs(
    question: Question, rows: list[int], columns: list[int], unit: int
) -> None:
    """The short cut gives the same bytes as asking for each cell."""
    contexts = [unit * row for row in rows]
    table = grid(question, "context", contexts, AXIS[question.calculator], columns)
    asked = question.resolved()
    for context, totals in zip(contexts, table.totals, strict=True):
        for column, total in zip(columns, totals, strict=True):
            cell = asked.changed({"context": str(context), AXIS[question.calculator]: str(column)})
            assert total == cell.estimate().total


def test_neighbours_with_other_components_are_not_on_a_line() -> None:
    """A component that only one of two neighbouring cells has is no obstacle: both are asked for."""
    question = Question(
        "gpu",
        {"model": "gpt2", "workload": "training", "checkpointing": "sqrt", "loss": "chunked", "pipeline-parallel": "4"},
    )
    table = grid(question, "context", [256, 512, 49152], "batch", [56, 64])
    for context, totals in zip(table.rows, table.totals, strict=True):
        for batch, total in zip(table.columns, totals, strict=True):
            assert total == question.changed(context=str(context), batch=str(batch)).estimate().total


def test_a_table_of_1600_cells_asks_few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory is straight in both inputs, nine questions give 40 by 40 answers."""
    asked: list[Question] = []
    original = Question.estimate

    def counted(question: Question) -> Estimate:
        asked.append(question)
        return original(question)

    monkeypatch.setattr(Question, "estimate", counted)
    table = grid(
        Question("gpu", {"workload": "training"}), "context", [1024 * n for n in range(1, 41)], "batch", range(1, 41)
    )
    assert sum(len(row) for row in table.totals) == 1600
    assert len(asked) == 9


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("room", [8, 24, 80, 640])
def test_the_finest_precision_fits_and_no_finer_one_does(model: str, room: int) -> None:
    """All formats with more bits per weight need more than there is."""
    question = Question("inferencia", {"model": model})
    found = finest_precision(question, room * GIB)
    limit = DTYPES[found[0]].bits if found else 0
    assert found is None or found[1].total <= room * GIB
    for name in precisions(question):
        if DTYPES[name].bits > limit:
            assert question.changed(precision=name).estimate().total > room * GIB


def test_the_list_of_models_holds_each_against_the_gpu() -> None:
    """Every model of the catalogue is there, the largest first, with the verdict of its own estimate."""
    card = catalog.gpu("rtx-4090")
    question = Question("inferencia", {"precision": "int4"})
    found = fitting_models(question, card)
    assert [one.id for one in found[:1]] == [max(catalog.models(), key=lambda one: one.parameters).id]
    assert {one.id for one in found} == {one.id for one in catalog.models()}
    for one in found[::25]:
        assert one.fit.used == question.changed(model=one.id).estimate().total
