"""Laws of vision-language models and encoder-decoders: where parts are, who decides about the head, what is cached.

Configurations and totals: ``golden/architectures.json`` (real ``config.json`` files, counted by Transformers 5.24).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.architecture import Architecture, MixtureOfExperts, TensorKind
from calc.errors import InvalidConfig, UnsupportedArchitecture
from calc.hf_config import architecture_from_hf_config
from calc.hf_config.composites import COMPOSITES
from calc.hf_config.more_composites import MORE_COMPOSITES
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes
from calc.lora import lora_parameters
from calc.parameters import count_parameters, named_tensors

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text())
TEXT = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "vocab_size": 320,
}


def config(name: str, **changes: Any) -> dict[str, Any]:
    """A real configuration, with some keys changed."""
    return {**GOLDEN[name]["config"], **changes}


def model(name: str, **changes: Any) -> Architecture:
    """The architecture of a real configuration, with some keys changed."""
    return architecture_from_hf_config(config(name, **changes))


def tower(architecture: Architecture, name: str) -> int:
    """Parameters of one tower."""
    (found,) = [one for one in architecture.towers if one.name == name]
    return sum(tensor.parameters for tensor in found.tensors)


@pytest.mark.parametrize(
    ("name", "part", "parameters"),
    [
        ("gemma3-27b-hubform", "vision_tower", 416_866_032),
        ("gemma3-4b-hubform", "multi_modal_projector", 2_950_272),
        ("llava-1.5-7b", "vision_tower", 303_507_456),
        ("llava-1.5-7b", "multi_modal_projector", 20_979_712),
        ("pixtral-12b", "vision_tower", 403_489_792),
        ("ministral3-3b-2512", "multi_modal_projector", 16_778_240),
        ("llama3.2-11b-vision", "vision_model", 863_567_379),
        ("llama3.2-11b-vision", "multi_modal_projector", 31_461_376),
        ("llama4-scout", "vision_model", 850_960_896),
        ("llama4-scout", "multi_modal_projector", 20_971_520),
        ("qwen2-vl-7b", "visual", 675_759_104),
        ("qwen2.5-vl-7b", "visual", 676_550_144),
        ("qwen3-vl-30b-a3b", "model.visual", 538_631_408),
        ("qwen3.5-35b-a3b", "model.visual", 446_571_248),
        ("gemma4-26b-a4b", "model.vision_tower", 569_548_080),
        ("gemma4-26b-a4b", "model.embed_vision", 3_244_032),
    ],
)
def test_each_part_counts_by_itself(name: str, part: str, parameters: int) -> None:
    """Towers and projectors have the parameters of Transformers' own modules."""
    assert tower(model(name), part) == parameters


def test_parts_have_the_names_of_the_published_checkpoints() -> None:
    """Gemma 3 and Llama 3.2 publish ``language_model.model``, Qwen2-VL ``model``, Qwen3-VL ``model.language_model``."""
    expected = {
        "gemma3-4b-hubform": "language_model.model.layers.0.self_attn.q_proj.weight",
        "llama3.2-11b-vision": "language_model.model.layers.3.cross_attn.q_proj.weight",
        "llama4-scout": "language_model.model.layers.0.feed_forward.experts.gate_up_proj",
        "qwen2-vl-7b": "model.layers.0.self_attn.q_proj.weight",
        "qwen3-vl-8b": "model.language_model.layers.0.self_attn.q_proj.weight",
        "t5-small": "decoder.block.0.layer.1.EncDecAttention.q.weight",
    }
    for name, tensor in expected.items():
        assert tensor in {one.name for one in named_tensors(model(name))}, name


def test_a_nested_text_without_sizes_takes_those_of_its_class() -> None:
    """Gemma 3 4B publishes no heads and no vocabulary: 8 heads, 4 of keys, 256 wide, 262,208 rows."""
    gemma = model("gemma3-4b-hubform")
    assert "num_attention_heads" not in GOLDEN["gemma3-4b-hubform"]["config"]["text_config"]
    assert (gemma.vocab_size, kv_bytes_per_token(gemma)) == (262_208, 34 * 2 * 4 * 256 * 2)


def test_an_absent_section_is_the_default_of_the_composite_and_not_of_its_class() -> None:
    """Llava without ``vision_config`` has CLIP's large tower (303,507,456); an empty one is CLIP's base."""
    text = {"model_type": "llama", **TEXT}
    absent = architecture_from_hf_config({"model_type": "llava", "text_config": text})
    empty = architecture_from_hf_config({"model_type": "llava", "text_config": text, "vision_config": {}})
    assert tower(absent, "vision_tower") == 303_507_456
    assert tower(empty, "vision_tower") == 87_456_000


@pytest.mark.parametrize(
    ("changes", "tied"),
    [
        ({}, True),
        ({"tie_word_embeddings": False}, False),
        ({"text_config": {**TEXT, "tie_word_embeddings": False}}, False),
        ({"transformers_version": "4.50.0.dev0"}, False),
        ({"transformers_version": "5.0.0"}, True),
    ],
)
def test_who_decides_whether_the_head_of_mistral_small_is_tied(changes: dict[str, Any], tied: bool) -> None:
    """The composite's key, else the text's where written or by Transformers 4, else the class (tied since 5)."""
    base = {"model_type": "mistral3", "text_config": TEXT, "vision_config": {"num_hidden_layers": 1}}
    built = architecture_from_hf_config({**base, **changes})
    heads = [tensor for tensor in built.tensors if tensor.kind is TensorKind.HEAD]
    assert (built.tie_word_embeddings, bool(heads)) == (tied, not tied)


def test_llava_is_tied_when_either_configuration_says_so() -> None:
    """A Qwen inside Llava ties its head although the outer file says false."""
    text = {"model_type": "qwen2", **TEXT, "tie_word_embeddings": True}
    built = architecture_from_hf_config({"model_type": "llava", "text_config": text, "tie_word_embeddings": False})
    assert built.tie_word_embeddings


def test_layers_that_look_at_an_image_cache_nothing_of_the_text() -> None:
    """Llama 3.2 11B: 8 of 40 layers attend to the image; the other 32 cache 131,072 bytes a token."""
    llama = model("llama3.2-11b-vision")
    crossing = [index for index, layer in enumerate(llama.layers) if layer.cross_attention]
    assert crossing == [3, 8, 13, 18, 23, 28, 33, 38]
    assert kv_bytes_per_token(llama) == 32 * 2 * 8 * 128 * 2


def test_llama_4_looks_at_chunks_in_three_layers_of_four() -> None:
    """Scout: 36 chunked layers stop at 8192 tokens, 12 see everything; Maverick has experts in every second layer."""
    scout, maverick = model("llama4-scout"), model("llama4-maverick")
    assert [layer.window for layer in scout.layers[:4]] == [8192, 8192, 8192, None]
    assert kv_cache_bytes(scout, context_tokens=8292, engine="transformers") == 1_615_380_480
    sparse = [isinstance(layer.feed_forward, MixtureOfExperts) for layer in maverick.layers]
    assert sparse == [False, True] * 24


def test_adapters_reach_the_towers() -> None:
    """Llama 4 Scout, rank 16: PEFT 0.21 gives 74,034,368 parameters to all linears, the image's included."""
    scout = model("llama4-scout")
    assert lora_parameters(scout, rank=16, target_modules="all-linear") == 74_034_368
    assert lora_parameters(scout, rank=16, target_modules="attention") == 31_293_440
    assert lora_parameters(scout, rank=16, target_modules="q-v") == 15_646_720


def test_full_attention_of_gemma_4_has_heads_of_its_own() -> None:
    """26B-A4B: 25 windowed layers of 8 x 256, 5 full ones of 2 x 512 whose keys, cached twice, are the values too."""
    gemma = model("gemma4-26b-a4b")
    assert kv_bytes_per_token(gemma) == (25 * 2 * 8 * 256 + 5 * 2 * 2 * 512) * 2
    names = {tensor.name for tensor in gemma.layers[5].tensors}
    assert "self_attn.k_proj.weight" in names
    assert "self_attn.v_proj.weight" not in names


def test_a_decoder_caches_what_it_reads_of_the_encoder_too() -> None:
    """T5 small: six layers of 8 x 64, once for the decoder's tokens and once for the encoder's."""
    t5 = model("t5-small")
    assert kv_bytes_per_token(t5) == 2 * (6 * 2 * 8 * 64 * 2) == 24_576
    assert tower(t5, "encoder") == 18_881_280


def test_the_head_of_flan_is_its_own() -> None:
    """Flan-T5 XL publishes 2,849,757,184 parameters; Transformers 5.24 ties its head against the file."""
    flan = {
        "model_type": "t5",
        "d_ff": 5120,
        "d_kv": 64,
        "d_model": 2048,
        "feed_forward_proj": "gated-gelu",
        "num_heads": 32,
        "num_layers": 24,
        "tie_word_embeddings": False,
        "vocab_size": 32128,
    }
    assert count_parameters(architecture_from_hf_config(flan)).total == 2_849_757_184
    assert count_parameters(architecture_from_hf_config({**flan, "tie_word_embeddings": True})).total == 2_783_959_040


def test_an_unknown_tower_is_refused_with_its_place() -> None:
    """A vision encoder that nobody wrote down is named, with the closest that is known."""
    with pytest.raises(UnsupportedArchitecture) as caught:
        model("llava-1.5-7b", vision_config={"model_type": "siglip_vision"})
    assert caught.value.place == "vision_config.model_type"
    assert caught.value.params == {"model_type": "siglip_vision", "closest": "siglip_vision_model"}


@pytest.mark.parametrize(
    ("changes", "code", "place"),
    [
        ({"text_config": []}, "not_an_object", "text_config"),
        (
            {"text_config": {"model_type": "llama", "num_hidden_layers": -1}},
            "out_of_range",
            "text_config.num_hidden_layers",
        ),
        ({"vision_config": {"patch_size": 300}}, "inconsistent", "vision_config.patch_size"),
        ({"vision_config": {"num_hidden_layers": 10**9}}, "out_of_range", "vision_config.num_hidden_layers"),
        ({"vision_feature_layer": []}, "wrong_length", "vision_feature_layer"),
    ],
)
def test_an_absurd_key_is_refused_by_its_path(changes: dict[str, Any], code: str, place: str) -> None:
    """Nested keys are named from the top of the file."""
    with pytest.raises(InvalidConfig) as caught:
        model("llava-1.5-7b", **changes)
    assert (caught.value.code, caught.value.place) == (code, place)


@pytest.mark.parametrize(
    ("changes", "stored"),
    [
        ({"text_config": {}}, 7_849_978_192),
        (
            {"text_config": {"num_hidden_layers": 30, "intermediate_size": [8192] * 30, "num_kv_shared_layers": 10}},
            5_439_438_272,
        ),
    ],
)
def test_gemma_3n_is_published_with_its_towers(changes: dict[str, Any], stored: int) -> None:
    """E4B and E2B: the Hugging Face API gives 7,849,978,192 and 5,439,438,272 elements, idle projections included."""
    gemma = architecture_from_hf_config({"model_type": "gemma3n", **changes})
    assert count_parameters(gemma).stored == stored
    assert tower(gemma, "model.vision_tower") == 294_126_912


def test_another_network_of_timm_is_refused() -> None:
    """Gemma 3n names its image tower; only one such network is written down."""
    with pytest.raises(InvalidConfig) as caught:
        architecture_from_hf_config(
            {"model_type": "gemma3n", "text_config": {}, "vision_config": {"architecture": "resnet50"}}
        )
    assert (caught.value.code, caught.value.place) == ("not_a_choice", "vision_config.architecture")


@pytest.mark.parametrize("name", sorted({**COMPOSITES, **MORE_COMPOSITES}))
def test_a_composite_of_nothing_but_defaults_is_refused(name: str) -> None:
    """Published files have a ``text_config`` (or the text's sizes, in the first Qwen2-VL); without it, no model."""
    with pytest.raises(InvalidConfig) as caught:
        architecture_from_hf_config({"model_type": name})
    flat = name in ("qwen2_vl", "qwen2_5_vl")
    assert caught.value.code == "missing_key"
    assert caught.value.place == ("num_hidden_layers" if flat else "text_config")
