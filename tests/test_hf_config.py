"""The door for ``config.json``: what it accepts, and where exactly it says no."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.architecture import GroupedQueryAttention, MixtureOfExperts
from calc.errors import CalcError, InvalidConfig, UnsupportedArchitecture
from calc.es import error_text
from calc.hf_config import architecture_from_hf_config, families
from calc.hf_config.closest import closest
from calc.hf_config.decoders import decoders
from calc.parameters import count_parameters

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text())
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}


def refusal(config: Any) -> CalcError:
    """The error that a configuration gets; there is a Spanish sentence for it."""
    with pytest.raises(CalcError) as caught:
        architecture_from_hf_config(config)
    assert error_text(caught.value)
    return caught.value


def attention(config: dict[str, Any], layer: int = 0) -> GroupedQueryAttention:
    """The attention of one layer."""
    found = architecture_from_hf_config(config).layers[layer].attention
    assert isinstance(found, GroupedQueryAttention)
    return found


# what an absent or null key means


def test_head_dim_null_is_hidden_size_over_heads() -> None:
    """``head_dim: null`` is written by Transformers itself and means the quotient."""
    assert attention({**LLAMA, "head_dim": None}).head_dim == attention(LLAMA).head_dim == 128


def test_head_dim_given_need_not_be_the_quotient() -> None:
    """Mistral Nemo: 5120 / 32 is 160, the heads have 128."""
    assert attention({**LLAMA, "hidden_size": 5120, "head_dim": 128}).head_dim == 128


def test_key_value_heads_null_are_all_heads() -> None:
    """Llama 1 and 2 7B: multi-head attention."""
    assert attention({**LLAMA, "num_key_value_heads": None}).num_key_value_heads == 32


@pytest.mark.parametrize(
    ("name", "tied"),
    [("llama3-8b", False), ("qwen2-7b", False), ("gemma-7b", True), ("gpt2", True), ("aya-23-8b", True)],
)
def test_tying_follows_the_class_where_the_file_is_silent(name: str, tied: bool) -> None:
    """Absent ``tie_word_embeddings`` is true for GPT-2, Gemma and Cohere, false for Llama and Qwen 2."""
    config = {key: value for key, value in GOLDEN[name]["config"].items() if key != "tie_word_embeddings"}
    assert architecture_from_hf_config(config).tie_word_embeddings is tied


def test_a_window_of_qwen_is_inert_unless_switched_on() -> None:
    """``sliding_window`` counts only with ``use_sliding_window``, and then only from ``max_window_layers`` on."""
    config = {**GOLDEN["qwen2-7b"]["config"], "sliding_window": 4096, "max_window_layers": 20}
    assert {layer.window for layer in architecture_from_hf_config(config).layers} == {None}
    on = architecture_from_hf_config({**config, "use_sliding_window": True})
    assert [layer.window for layer in on.layers] == [None] * 20 + [4096] * 8


def test_gemma_3_has_a_window_in_five_layers_of_six() -> None:
    """The sixth, twelfth … layer sees everything."""
    windows = [layer.window for layer in architecture_from_hf_config(GOLDEN["gemma3-1b"]["config"]).layers]
    assert windows[:7] == [512] * 5 + [None, 512]


def test_the_pattern_of_exaone_may_be_letters() -> None:
    """``LLLG`` repeats, and the last layer is always global."""
    config = {**GOLDEN["exaone-4.0-32b"]["config"], "num_hidden_layers": 6, "sliding_window_pattern": "LLLG"}
    config.pop("layer_types")
    windows = [layer.window for layer in architecture_from_hf_config(config).layers]
    assert windows == [4096, 4096, 4096, None, 4096, None]


def test_first_layers_of_deepseek_are_dense() -> None:
    """DeepSeek V3: three dense layers, then 58 mixtures."""
    layers = architecture_from_hf_config(GOLDEN["deepseek-v3"]["config"]).layers
    assert [isinstance(layer.feed_forward, MixtureOfExperts) for layer in layers] == [False] * 3 + [True] * 58


def test_equal_layers_are_one_object() -> None:
    """A model of 126 layers is built once: it must be quick in the browser."""
    layers = architecture_from_hf_config(GOLDEN["llama3.1-405b"]["config"]).layers
    assert len({id(layer) for layer in layers}) == 1


# what is refused, and where


def test_an_unknown_architecture_is_named_with_the_closest_known() -> None:
    """Nothing is guessed from the other keys."""
    error = refusal({**LLAMA, "model_type": "llama5"})
    assert isinstance(error, UnsupportedArchitecture)
    assert error.params == {"model_type": "llama5", "closest": "llama"}


@pytest.mark.parametrize(
    "key", ["model_type", "hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers", "num_attention_heads"]
)
def test_a_missing_size_is_refused_by_its_key(key: str) -> None:
    """A top-level file without one of its sizes is damaged, whatever the class's default."""
    error = refusal({name: value for name, value in LLAMA.items() if name != key})
    assert (type(error), error.code, error.place) == (InvalidConfig, "missing_key", key)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (-1, "out_of_range"),
        (0, "out_of_range"),
        (10**30, "out_of_range"),
        pytest.param(10**6000, "out_of_range", id="6001 digits"),
        (True, "not_an_integer"),
        (32.0, "not_an_integer"),
        (float("nan"), "not_an_integer"),
        (float("inf"), "not_an_integer"),
        ("32", "not_an_integer"),
        ("<script>alert(1)</script>" * 1000, "not_an_integer"),
        (None, "not_an_integer"),
        ([32], "not_an_integer"),
        ({"32": 32}, "not_an_integer"),
    ],
)
@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_an_absurd_size_is_refused_by_its_key(key: str, value: object, code: str) -> None:
    """Negative, zero, huge, Boolean, fractional, text, null, list and object."""
    error = refusal({**LLAMA, key: value})
    assert (type(error), error.code, error.place) == (InvalidConfig, code, key)
    assert len(str(error.params)) < 300


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"num_key_value_heads": 5}, "not_a_divisor", "num_key_value_heads"),
        ({"num_attention_heads": 31, "num_key_value_heads": 31}, "not_a_divisor", "num_attention_heads"),
        ({"tie_word_embeddings": "yes"}, "not_a_boolean", "tie_word_embeddings"),
        ({"attention_bias": 1}, "not_a_boolean", "attention_bias"),
        ({"head_dim": 0}, "out_of_range", "head_dim"),
        ({"num_hidden_layers": 10_001}, "out_of_range", "num_hidden_layers"),
        ({"model_type": ["llama"]}, "not_a_text", "model_type"),
        ({"model_type": "llama" * 1000}, "not_a_text", "model_type"),
        ({"model_type": "mistral", "sliding_window": 0}, "out_of_range", "sliding_window"),
        ({"model_type": "mistral", "layer_types": ["full_attention"]}, "wrong_length", "layer_types"),
        ({"model_type": "mistral", "layer_types": ["moon"] * 32}, "not_a_choice", "layer_types[0]"),
        ({"model_type": "mistral", "layer_types": "full_attention"}, "not_a_list", "layer_types"),
        ({"model_type": "mistral", "layer_types": ["x"] * 10**5}, "wrong_length", "layer_types"),
        ({"model_type": "exaone4", "sliding_window_pattern": "LLX"}, "not_a_choice", "sliding_window_pattern"),
        ({"model_type": "mixtral", "num_experts_per_tok": 9}, "out_of_range", "num_experts_per_tok"),
        ({"model_type": "mixtral", "num_local_experts": 10**9}, "out_of_range", "num_local_experts"),
    ],
)
def test_a_wrong_key_is_refused_by_its_path(change: dict[str, Any], code: str, place: str) -> None:
    """Values that contradict each other count as wrong."""
    error = refusal({**LLAMA, **change})
    assert (type(error), error.code, error.place) == (InvalidConfig, code, place)


@pytest.mark.parametrize(
    ("name", "change", "place"),
    [
        ("gemma3-12b", {"hidden_size": -1}, "text_config.hidden_size"),
        ("gemma3-12b", {"num_hidden_layers": "48"}, "text_config.num_hidden_layers"),
    ],
)
def test_the_path_of_a_nested_key_is_whole(name: str, change: dict[str, Any], place: str) -> None:
    """The visitor is told in which object of the file to look."""
    config = json.loads(json.dumps(GOLDEN[name]["config"]))
    config["text_config"].update(change)
    assert refusal(config).place == place


@pytest.mark.parametrize("config", [None, [], "llama", 7, True])
def test_what_is_no_object_is_refused(config: object) -> None:
    """A configuration is a JSON object."""
    assert refusal(config).code == "not_an_object"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(name=st.sampled_from(sorted(GOLDEN)), data=st.data())
def test_any_damage_is_read_or_refused_but_never_crashes(name: str, data: st.DataObject) -> None:
    """One key of a real configuration replaced by anything gives a model or an error of our own."""
    config = dict(GOLDEN[name]["config"])
    config[data.draw(st.sampled_from(sorted(config)))] = data.draw(VALUES)
    words, total = "", 0
    try:
        total = count_parameters(architecture_from_hf_config(config)).total
    except CalcError as error:
        words = error_text(error)
    assert words or total > 0


@settings(deadline=None)
@given(model_type=st.sampled_from(sorted(decoders())), config=st.dictionaries(st.text(max_size=12), VALUES, max_size=6))
def test_an_arbitrary_object_is_refused(model_type: str, config: dict[str, Any]) -> None:
    """Nonsense under the name of a decoder never becomes a model by way of defaults."""
    with pytest.raises(CalcError):
        architecture_from_hf_config({**config, "model_type": model_type})


def test_no_similar_name_means_none() -> None:
    """The closest name is offered only where it helps."""
    assert closest("zzzzzz", families()) is None
