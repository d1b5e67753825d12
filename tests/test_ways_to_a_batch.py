"""The ways to the same effective batch."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators import run
from calc.calculators.combinations import MOST_ROWS, combinations, count, memory
from calc.estimate import Workload
from calc.layout import Layout
from calc.memory import estimate_training

numbers = st.integers(1, 10**6)


@settings(deadline=None)
@given(numbers, numbers, numbers)
def test_every_way_reaches_the_same_batch_and_the_one_asked_for_is_there(batch: int, steps: int, gpus: int) -> None:
    """The product never changes, no way is there twice, and there are never more than fit a page."""
    asked = (batch, steps, gpus)
    found = combinations(asked)
    assert {prod(one) for one in found} == {prod(asked)}
    assert asked in found
    assert len(set(found)) == len(found) <= MOST_ROWS
    assert len(found) == min(count(asked), MOST_ROWS)


def test_a_small_batch_is_shown_in_all_its_ways() -> None:
    """24 samples can be had with each of their divisors of GPUs, and each of what is left as the micro-batch."""
    found = set(combinations((4, 6, 1)))
    every = {(b, a, g) for b in range(1, 25) for a in range(1, 25) for g in range(1, 25) if b * a * g == 24}
    assert found <= every
    assert count((4, 6, 1)) == len(every) == 30
    assert {g for _, _, g in found} >= {1, 2, 3, 4, 6}


def test_a_comparison_is_not_worked_out_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a key does not wait for it."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("calc.calculators.acumulacion.memory", never)
    result = run("acumulacion", {"steps": "7"})
    assert result.figures["effective_batch"] == 28
    with pytest.raises(AssertionError):
        result.tables["combinations"]


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("model", "asked"), [("llama-3.2-1b", {}), ("mixtral-8x7b", {}), ("gpt2", {"steps": "1", "gpus": "6"})]
)
def test_each_way_has_the_memory_of_its_own_estimate(model: str, asked: dict[str, str], zero: int) -> None:
    """Nothing is estimated by proportion: every row is the training estimate of its numbers."""
    architecture = catalog.architecture(model)
    raw = {"model": model, "zero": str(zero), "checkpointing": "full", **asked}
    rows = run("acumulacion", raw).tables["combinations"]
    for row in rows:
        layout = Layout(data=int(row["gpus"]), zero=zero)
        workload = Workload(
            context_tokens=2048,
            batch=int(row["micro_batch"]),
            accumulation_steps=int(row["steps"]),
            checkpointing="full",
            layout=layout,
        )
        assert row["total_bytes"] == estimate_training(architecture, workload).total
    assert [row["micro_batch"] for row in rows if row["chosen"]] == [4]


def test_steps_and_plain_replicas_beyond_the_second_change_nothing() -> None:
    """From one step to two, and from one GPU to two, memory may grow; after that neither moves it."""
    architecture, workload = catalog.architecture("llama-3.2-1b"), Workload(context_tokens=2048)
    ways = [(4, 1, 1), (4, 2, 1), (4, 100, 1), (4, 2, 2), (4, 2, 64)]
    totals = {one: memory(architecture, workload, one).total for one in ways}
    assert totals[4, 1, 1] < totals[4, 2, 1] == totals[4, 100, 1]
    assert totals[4, 2, 1] <= totals[4, 2, 2] == totals[4, 2, 64]


def test_sharing_the_states_out_makes_more_gpus_need_less_each() -> None:
    """With ZeRO, memory falls with the GPUs."""
    architecture = catalog.architecture("llama-3.2-1b")
    workload = Workload(context_tokens=2048, layout=Layout(zero=1))
    totals = [memory(architecture, workload, (1, 4, gpus)).total for gpus in (1, 2, 4, 8)]
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == 4


def test_the_simple_answer_does_not_depend_on_the_model() -> None:
    """The fixed points hold whatever the comparison is about."""
    for model in ("gpt2", "llama-3-70b"):
        result = run("acumulacion", {"model": model, "gpus": "4", "zero": "3"})
        assert (result.figures["effective_batch"], result.estimate.total) == (128, 2 * 10**9)
