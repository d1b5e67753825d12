"""The calculators give the fixed points of the design, and the laws between their inputs and answers hold."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators import CALCULATORS, InvalidInputs, Result, run, to_json
from calc.calculators.entrenar import RECIPES
from calc.estimate import Estimate
from calc.units import GB


def part(result: Result, name: str) -> int:
    """Bytes of one component."""
    return result.estimate.component(name)


def test_the_calculators_are_the_five_of_the_design() -> None:
    """Five calculators, in the order of the site, each under its name."""
    assert list(CALCULATORS) == ["gpu", "entrenar", "acumulacion", "inferencia", "lora"]
    assert all(name == one.name for name, one in CALCULATORS.items())


@pytest.mark.parametrize("name", CALCULATORS)
def test_an_answer_is_the_sum_of_its_parts(name: str) -> None:
    """The total is the sum of the components, within its range, and every formula gives its component."""
    estimate = run(name, {}).estimate
    assert estimate.total == sum(one.bytes for one in estimate.components)
    assert estimate.low <= estimate.total <= estimate.high
    assert all(one.derivation.bytes == one.bytes for one in estimate.components)


@pytest.mark.parametrize("name", ["gpu", "entrenar", "inferencia", "lora"])
def test_every_gpu_is_compared(name: str) -> None:
    """The answer is held against the whole catalogue of GPUs."""
    assert [one.gpu.id for one in run(name, {}).fits] == [gpu.id for gpu in catalog.gpus()]


def test_training_by_the_simple_law() -> None:
    """M = N · B and V = M + A: 112 GB, and 132 GB with 20 GB of activations."""
    plain = run("entrenar", {"parameters": "7", "bytes-per-parameter": "16"})
    assert plain.estimate.total == plain.figures["model_states_bytes"] == 112 * GB
    more = run("entrenar", {"activations": "20"})
    assert (more.estimate.total, more.figures["model_states_bytes"]) == (132 * GB, 112 * GB)
    assert part(more, "activations") == 20 * GB
    assert {note.code for note in plain.notes} - {note.code for note in more.notes} == {"activations_not_counted"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_told_by_its_bytes(name: str) -> None:
    """The bytes in the id of a recipe are the sum of its parts, and so is the memory of a parameter."""
    recipe = RECIPES[name]
    assert int(name.partition("-")[0]) == recipe.total
    assert run("entrenar", {"parameters": "1", "bytes-per-parameter": name}).estimate.total == recipe.total * GB


@given(
    parameters=st.integers(min_value=1, max_value=10**9),
    activations=st.integers(min_value=0, max_value=10**9),
    recipe=st.sampled_from(sorted(RECIPES)),
)
@settings(max_examples=40, deadline=None)
def test_training_memory_is_linear(parameters: int, activations: int, recipe: str) -> None:
    """For any parameters in thousandths of 10^9 and activations in MB, V = N · B + A to the byte."""
    raw = {
        "parameters": f"{parameters // 1000},{parameters % 1000:03d}",
        "activations": f"{activations // 1000},{activations % 1000:03d}",
        "bytes-per-parameter": recipe,
    }
    total = run("entrenar", raw).estimate.total
    assert total == parameters * 10**6 * RECIPES[recipe].total + activations * 10**6


@settings(deadline=None)
@given(
    b=st.integers(min_value=1, max_value=10**6),
    a=st.integers(min_value=1, max_value=10**6),
    g=st.integers(min_value=1, max_value=10**6),
    megabytes=st.integers(min_value=1, max_value=10**6),
)
def test_accumulation_multiplies_the_batch_and_not_the_memory(b: int, a: int, g: int, megabytes: int) -> None:
    """E = b · a · g and M = b · A, whatever the numbers."""
    size = f"{megabytes // 1000},{megabytes % 1000:03d}"
    result = run("acumulacion", {"micro-batch": str(b), "steps": str(a), "gpus": str(g), "activation-per-sample": size})
    assert result.figures["effective_batch"] == b * a * g
    assert result.estimate.total == b * megabytes * 10**6


def test_accumulation_says_what_it_saves() -> None:
    """Without accumulation the same batch would need the activations of all steps at once."""
    notes = {note.code: note.params for note in run("acumulacion", {}).notes}
    assert notes["steps_add_no_activations"] == {"steps": 8, "without_bytes": 16 * GB}
    assert "each_gpu_holds_its_own" not in notes
    single = {note.code for note in run("acumulacion", {"steps": "1"}).notes}
    assert "gradients_stay_allocated" not in single


def test_a_preset_is_counted_exactly() -> None:
    """Llama 3 8B: its parameters, 1 GiB of KV cache at 8192 tokens in 16 bits, 4 GiB by the simple formula."""
    result = run("gpu", {"model": "llama-3-8b", "precision": "bfloat16", "context": "8.192", "batch": "1"})
    assert result.figures["parameters"] == 8_030_261_248
    assert part(result, "weights") == 2 * 8_030_261_248
    assert part(result, "kv_cache") == result.figures["kv_cache_bytes"] == 2**30
    assert result.figures["simple_kv_cache_bytes"] == 4 * 2**30


@given(
    b=st.integers(min_value=1, max_value=64),
    s=st.integers(min_value=1, max_value=32768),
    h=st.integers(min_value=1, max_value=16384),
    layers=st.integers(min_value=1, max_value=128),
    precision=st.sampled_from([("float32", 4), ("bfloat16", 2), ("fp8", 1)]),
)
@settings(max_examples=40, deadline=None)
def test_a_custom_model_follows_the_simple_formula(
    b: int, s: int, h: int, layers: int, precision: tuple[str, int]
) -> None:
    """Personalizado without KV heads: the KV cache is 2 · b · s · h · L · bytes."""
    result = run(
        "gpu",
        {
            "model": "custom",
            "parameters": "7",
            "hidden-size": str(h),
            "layers": str(layers),
            "batch": str(b),
            "context": str(s),
            "kv-precision": precision[0],
        },
    )
    assert part(result, "kv_cache") == 2 * b * s * h * layers * precision[1]
    assert part(result, "weights") == 14 * GB
    assert "simple_kv_cache_agrees" in {note.code for note in result.notes}


def test_a_custom_model_with_kv_heads_caches_less() -> None:
    """Eight KV heads of 128 in place of 32 shrink the cache to a quarter."""
    plain = run("gpu", {"model": "custom"})
    grouped = run("gpu", {"model": "custom", "kv-heads": "8", "head-dim": "128"})
    assert part(plain, "kv_cache") == 4 * part(grouped, "kv_cache")


@pytest.mark.parametrize(("optimizer", "bytes_each"), [("adamw", 8), ("sgd-momentum", 4), ("sgd", 0), ("lion", 4)])
def test_optimizers_keep_their_bytes(optimizer: str, bytes_each: int) -> None:
    """AdamW keeps 8 bytes per parameter, SGD with momentum 4, plain SGD none."""
    result = run("gpu", {"workload": "training", "optimizer": optimizer, "context": "512"})
    assert part(result, "optimizer") == bytes_each * 8_030_261_248


def test_mixed_precision_adds_a_master_copy() -> None:
    """The float32 copy is 4 bytes per parameter, and goes away with mixed precision."""
    with_copy = run("gpu", {"workload": "training", "context": "512"})
    without = run("gpu", {"workload": "training", "context": "512", "mixed-precision": "no"})
    assert part(with_copy, "master_weights") == 4 * 8_030_261_248
    assert part(without, "master_weights") == 0


def test_checkpointing_keeps_less() -> None:
    """At the end of the forward pass full checkpointing keeps one input a layer, √layers fewer, nothing all of them."""
    kept = []
    for mode in ("sqrt", "full", "none"):
        found = run("gpu", {"workload": "training", "context": "2048", "checkpointing": mode})
        forward = next(moment for moment in found.timeline if moment.name == "forward")
        kept.append(sum(one.bytes for one in forward.components if one.name.startswith("activations")))
    assert kept == sorted(kept)
    assert len(set(kept)) == 3


def test_what_is_given_for_the_runtime_is_taken() -> None:
    """A runtime given by the visitor replaces the measured one and has no range; zero takes it away."""
    own = run("gpu", {"runtime": "1,5"}).estimate
    (runtime,) = (one for one in own.components if one.name == "runtime")
    assert (runtime.bytes, runtime.exact) == (3 * 2**29, True)
    assert run("gpu", {"runtime": "0"}).estimate.component("runtime") == 0


def test_the_unit_and_the_gpu_change_no_byte() -> None:
    """Unit and GPU are how the answer is read, not what it is."""
    assert run("gpu", {"unit": "GB", "gpu": "h200"}).estimate == run("gpu", {}).estimate


def test_a_context_beyond_the_model_is_remarked() -> None:
    """More tokens than the configuration declares are computed and remarked."""
    assert "context_over_limit" in {note.code for note in run("gpu", {"context": "100.000"}).notes}
    assert "context_over_limit" not in {note.code for note in run("gpu", {}).notes}


def test_quantized_weights_leave_the_cache_alone() -> None:
    """Four-bit weights shrink the weights and not the KV cache, and the answer says so."""
    plain, small = run("gpu", {}), run("gpu", {"precision": "int4"})
    assert part(small, "weights") * 2 < part(plain, "weights")
    assert part(small, "kv_cache") == part(plain, "kv_cache")
    assert "cache_not_quantized" in {note.code for note in small.notes}
    assert "cache_not_quantized" not in {
        note.code for note in run("gpu", {"precision": "int4", "kv-precision": "fp8"}).notes
    }


def test_concurrency_multiplies_the_cache() -> None:
    """Each request in course has its own cache."""
    one, eight = run("inferencia", {}), run("inferencia", {"concurrency": "8"})
    assert part(eight, "kv_cache") == 8 * part(one, "kv_cache")
    assert part(eight, "weights") == part(one, "weights")
    assert eight.figures["request_bytes"] == part(one, "kv_cache")


@pytest.mark.parametrize("engine", ["exact", "transformers", "vllm", "llama.cpp"])
def test_every_engine_holds_at_least_the_exact_cache(engine: str) -> None:
    """Engines round the cache of a model without windows up, never down."""
    raw = {"context": "1001", "engine": engine}
    assert part(run("inferencia", raw), "kv_cache") >= part(run("inferencia", raw | {"engine": "exact"}), "kv_cache")


def test_lora_counts_adapters_from_exact_shapes() -> None:
    """Llama 3 8B, rank 16, all linear layers: 41,943,040 parameters, 80 MiB in 16 bits, half a percent of the model."""
    result = run("lora", {"model": "llama-3-8b", "rank": "16", "targets": "all-linear"})
    assert result.figures["trainable_parameters"] == 41_943_040
    assert result.figures["file_bytes"] == 2 * 41_943_040
    assert result.figures["share"] == Fraction(41_943_040, 8_030_261_248)
    assert part(result, "adapters") == 2 * 41_943_040


def test_lora_and_qlora_need_less_than_full_training() -> None:
    """The three ways are estimated for the same step, and the method chosen is the answer."""
    result = run("lora", {})
    assert [one for one in ("full", "lora", "qlora") if one in result.alternatives] == ["full", "lora", "qlora"]
    totals = [result.alternatives[name].total for name in ("full", "lora", "qlora")]
    assert totals == sorted(totals, reverse=True)
    assert result.estimate == result.alternatives["lora"]
    quantized = run("lora", {"method": "qlora"})
    assert quantized.estimate == quantized.alternatives["qlora"] == result.alternatives["qlora"]


@pytest.mark.parametrize(
    ("model", "targets", "code"),
    [
        ("mixtral-8x7b", "all-linear", {"lora_packed_experts"}),
        ("gpt-oss-20b", "all-linear", {"lora_stacked_experts"}),
        ("mixtral-8x7b", "attention", set()),
        ("llama-3-8b", "all-linear", set()),
    ],
)
def test_lora_says_how_it_counts_experts(model: str, targets: str, code: set[str]) -> None:
    """The number of adapters of a mixture depends on the versions of Transformers and PEFT: which one is said."""
    notes = {note.code for note in run("lora", {"model": model, "targets": targets}).notes}
    assert notes & {"lora_packed_experts", "lora_separate_experts", "lora_stacked_experts"} == code


@pytest.mark.parametrize(
    ("gpu", "context", "limit"),
    [
        ("h100-80gb", "8192", 8192),
        ("h100-80gb", "3000", 8192),
        ("h100-80gb", "2048", None),
        ("a100-80gb", "8192", 2048),
        ("rtx-4090", "8192", 2048),
    ],
)
def test_vllm_says_how_long_its_chunks_are(gpu: str, context: str, limit: int | None) -> None:
    """The default is 8192 tokens on GPUs of 70 GiB and more other than A100s, else 2048 (EngineArgs)."""
    notes = run("inferencia", {"gpu": gpu, "context": context, "engine": "vllm"}).notes
    found = [(note.params["limit"], note.params["smaller"]) for note in notes if note.code == "vllm_prefill_chunk"]
    assert found == ([] if limit is None else [(limit, 2048)])


def test_a_target_that_a_model_lacks_is_an_error_of_its_field() -> None:
    """A model without attention has no query and value matrices to adapt."""
    with pytest.raises(InvalidInputs) as caught:
        run("lora", {"model": "mamba-2.8b", "targets": "q-v"})
    assert [(error.place, error.code) for error in caught.value.errors] == [("targets", "no_linear_modules")]


@pytest.mark.parametrize("model", [model.id for model in catalog.models()])
def test_every_model_of_the_catalogue_is_answered(model: str) -> None:
    """No model of the catalogue makes a calculator fail, to run or to train, and its parameters are those stored."""
    for name, raw in (("gpu", {}), ("gpu", {"workload": "training"}), ("inferencia", {}), ("lora", {})):
        result = run(name, raw | {"model": model})
        assert isinstance(result.estimate, Estimate)
        assert result.estimate.total > 0
        assert result.figures["parameters"] == catalog.model(model).parameters
        assert to_json(result)["total_bytes"] == result.estimate.total


def test_all_wrong_fields_are_told_at_once() -> None:
    """Every field that cannot be used is an error, in the order of the form."""
    with pytest.raises(InvalidInputs) as caught:
        run("gpu", {"model": "<b>", "batch": "", "context": "1e308"})
    found = [(error.place, error.code) for error in caught.value.errors]
    assert found == [("model", "unknown_model"), ("batch", "empty"), ("context", "exponent")]
