"""``import calc`` offers what the design promises, with the promised names and keywords."""

import inspect

import pytest

import calc

LLAMA_3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
}
"""``config.json`` of meta-llama/Meta-Llama-3-8B, the keys that decide its size."""


def test_the_promised_names_are_there() -> None:
    """Every name in ``__all__`` exists and has a docstring."""
    for name in calc.__all__:
        assert inspect.getdoc(getattr(calc, name)), name


@pytest.mark.parametrize(
    ("function", "first", "keywords"),
    [
        (calc.kv_cache_bytes, "architecture", {"context_tokens", "sequences", "dtype", "value_dtype", "engine"}),
        (calc.lora_parameters, "architecture", {"rank", "target_modules", "packed"}),
    ],
)
def test_all_past_the_first_argument_is_by_keyword(function: object, first: str, keywords: set[str]) -> None:
    """Options are given by name, so that they can grow without breaking anyone."""
    assert callable(function)
    parameters = inspect.signature(function).parameters
    by_name = {name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert next(iter(parameters)) == first
    assert by_name == keywords


def test_a_whole_model_is_read_counted_estimated_and_fitted() -> None:
    """The fixed points of the design hold for a configuration given by hand."""
    model = calc.architecture_from_hf_config(LLAMA_3_8B)
    assert calc.count_parameters(model).total == 8_030_261_248
    assert calc.kv_cache_bytes(model, context_tokens=8192, sequences=1, dtype="bfloat16") == 2**30
    assert calc.lora_parameters(model, rank=16, target_modules="all-linear") == 41_943_040
    estimate = calc.estimate_inference(model, calc.Workload(context_tokens=8192))
    card = calc.Gpu(id="small", name="Small", kind="consumer", sold_bytes=12 * 2**30)
    (one,) = calc.fit(estimate, [card])
    assert one.verdict is calc.Verdict.NO_FIT
    assert one.count == 2


def test_errors_carry_code_and_place() -> None:
    """A refusal names the exact key."""
    with pytest.raises(calc.InvalidConfig) as caught:
        calc.architecture_from_hf_config({**LLAMA_3_8B, "hidden_size": -1})
    assert (caught.value.code, caught.value.place) == ("out_of_range", "hidden_size")
    with pytest.raises(calc.UnsupportedArchitecture) as unknown:
        calc.architecture_from_hf_config({**LLAMA_3_8B, "model_type": "lama"})
    assert unknown.value.params["closest"] == "llama"
