"""The moments of a step as they are drawn."""

from fractions import Fraction

import pytest
from moments import moments
from view import view

from calc import es
from calc.calculators import run
from calc.fit import fit
from calc.units import GIB

TRAINING = {"workload": "training", "model": "llama-3-8b"}


@pytest.mark.parametrize("model", ["gpt2", "llama-3-8b", "mixtral-8x7b", "gemma-3-12b", "qwen3-30b-a3b"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_the_marked_moment_is_the_answer(model: str, checkpointing: str) -> None:
    """One moment is marked, no other is larger, and its total is the answer in big."""
    result = run("gpu", {"workload": "training", "model": model, "checkpointing": checkpointing})
    drawn = moments(result, None, "GiB")
    assert drawn is not None
    (fullest,) = [one for one in drawn.moments if one.fullest]
    assert fullest.text == es.bytes_text(result.estimate.total)
    assert max(float(one.bands[-1].x[:-1]) + float(one.bands[-1].width[:-1]) for one in drawn.moments) == (
        pytest.approx(100, abs=0.02)
    )
    assert float(fullest.bands[-1].x[:-1]) + float(fullest.bands[-1].width[:-1]) == pytest.approx(100, abs=0.02)


def test_the_table_has_every_component_of_every_moment() -> None:
    """Each component is a line, with a text exactly where it is in memory."""
    result = run("gpu", TRAINING | {"data-parallel": "8", "zero": "3"})
    drawn = moments(result, None, "GiB")
    assert drawn is not None
    assert {line.label for line in drawn.lines} == {
        es.component_name(part.name) for moment in result.timeline for part in moment.components
    }
    for index, moment in enumerate(result.timeline):
        there = {es.component_name(part.name) for part in moment.components}
        assert {line.label for line in drawn.lines if line.cells[index]} == there


def test_the_capacity_is_a_line_through_the_bars() -> None:
    """The larger of peak and capacity is the whole width."""
    result = run("gpu", TRAINING)
    small, large = moments(result, 24 * GIB, "GiB"), moments(result, 2 * result.estimate.total, "GiB")
    assert small is not None
    assert large is not None
    assert small.capacity is not None
    assert large.capacity is not None
    assert large.capacity.x == "100.00%"
    assert float(small.capacity.x[:-1]) == pytest.approx(24 * GIB * 100 / result.estimate.total, abs=0.01)


def test_accumulation_and_pipelines_are_told_apart() -> None:
    """Accumulation shows its second micro-batch; a pipeline says how many are in flight."""
    alone, stages = run("gpu", TRAINING | {"accumulation": "1"}), run("gpu", TRAINING | {"pipeline-parallel": "4"})
    one, two = moments(alone, None, "GiB"), moments(stages, None, "GiB")
    assert one is not None
    assert two is not None
    assert (one.accumulated, one.in_flight) == (False, "")
    assert two.accumulated
    assert two.in_flight == "2"


def test_inference_with_one_moment_draws_none() -> None:
    """Where nothing happens after anything else there is nothing to draw."""
    assert moments(run("gpu", {}), None, "GiB") is None


def test_the_recipes_stand_side_by_side_with_one_chosen_and_three_usual() -> None:
    """All bytes add up; the chosen recipe's states are the answer without activations."""
    result = run("entrenar", {"bytes-per-parameter": "18", "activations": "20"})
    rows = view(result, {}).recipes
    assert [one.label for one in rows if one.chosen] == ["Adam, gradientes en 32 bits (Megatron)"]
    assert [one.each for one in rows if one.usual] == ["16", "12", "8"]
    (chosen,) = [one for one in rows if one.chosen]
    assert chosen.total == es.bytes_text(result.estimate.total - 20 * 10**9, "GB")
    for row in result.tables["recipes"]:
        parts = (Fraction(row[part]) for part in ("weight", "gradient", "master", "optimizer"))
        assert row["bytes_per_parameter"] == sum(parts)


def test_states_that_depend_on_shapes_are_those_of_the_model_of_reference() -> None:
    """Adafactor, Muon and GaLore take per parameter what they take for the whole of Llama 3 8B."""
    rows = {str(row["recipe"]): row["optimizer"] for row in run("entrenar", {}).tables["recipes"]}
    for name in ("adafactor", "muon", "galore"):
        whole = run("gpu", TRAINING | {"optimizer": name})
        assert rows[name] == Fraction(whole.estimate.component("optimizer"), int(whole.figures["parameters"]))


def test_the_methods_stand_side_by_side_and_add_up_to_their_alternatives() -> None:
    """Full, LoRA and QLoRA: each row is the estimate of its method, and names the smallest card that holds it."""
    result = run("lora", {"method": "qlora"})
    table = view(result, {}).methods
    assert table is not None
    assert [one.label for one in table.rows if one.chosen] == ["QLoRA"]
    for row, estimate in zip(table.rows, result.alternatives.values(), strict=True):
        assert row.total == es.bytes_text(estimate.total)
        parts = ("weights", "adapters", "gradients", "optimizer", "master_weights", "activations", "logits", "runtime")
        assert sum(estimate.component(name) for name in parts) == estimate.total
        fits = {one.gpu.name: one for one in fit(estimate, [one.gpu for one in result.fits])}
        assert fits[row.gpu].verdict == "fits"
        smaller = [one for one in fits.values() if one.gpu.capacity < fits[row.gpu].gpu.capacity and one.gpu.combines]
        assert all(one.verdict != "fits" for one in smaller)
