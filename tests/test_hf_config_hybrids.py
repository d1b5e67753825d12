"""Laws of hybrids, state-space models and linear attention that totals alone do not prove.

Configurations and totals: ``golden/architectures.json`` (real ``config.json`` files, counted by Transformers 5.24).
Stored totals: elements of the published safetensors, as the Hugging Face API gives them (read 2026-12-01).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, MixtureOfExperts, TensorKind
from calc.errors import InvalidConfig
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, state_bytes
from calc.lora import lora_parameters
from calc.parameters import count_parameters

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text())


def config(name: str, **changes: Any) -> dict[str, Any]:
    """A real configuration, with some keys changed."""
    return {**GOLDEN[name]["config"], **changes}


def model(name: str, **changes: Any) -> Architecture:
    """The architecture of a real configuration, with some keys changed."""
    return architecture_from_hf_config(config(name, **changes))


def test_a_state_space_model_has_no_growing_cache() -> None:
    """Mamba 370M keeps 7,077,888 bytes per sequence at 64 tokens and at 4096 alike."""
    mamba = model("mamba-370m")
    assert kv_bytes_per_token(mamba) == 0
    assert {kv_cache_bytes(mamba, context_tokens=tokens) for tokens in (64, 4096)} == {7_077_888}


def test_the_written_width_of_a_mamba_block_wins_over_its_expansion() -> None:
    """Falcon Mamba 7B says ``expand`` 16 and ``intermediate_size`` 8192; its blocks are 8192 wide."""
    state = model("falcon-mamba-7b").layers[0].state
    assert state is not None
    assert (state.inner_size, state.state_elements) == (8192, 8192 * 16)


def test_an_automatic_rank_is_a_sixteenth_of_the_width_rounded_up() -> None:
    """``time_step_rank: auto`` of a model 1000 wide is 63."""
    tensors = {tensor.name: tensor.shape for tensor in model("mamba-370m", hidden_size=1000).layers[0].tensors}
    assert tensors["mixer.dt_proj.weight"] == (2000, 63)


def test_jamba_attends_once_in_eight_layers_and_has_experts_in_every_second() -> None:
    """Layers 4, 12, 20 and 28 attend; odd layers hold sixteen experts."""
    layers = model("jamba-v0.1").layers
    assert [index for index, layer in enumerate(layers) if layer.attention] == [4, 12, 20, 28]
    assert all(
        isinstance(layer.feed_forward, MixtureOfExperts) == (index % 2 == 1) for index, layer in enumerate(layers)
    )
    assert len({id(layer) for layer in layers}) == 3


def test_a_jamba_with_one_expert_is_dense() -> None:
    """``num_experts`` 1 means no router and no experts, as in AI21 Jamba 3B."""
    dense = model("jamba-v0.1", num_experts=1)
    assert all(isinstance(layer.feed_forward, DenseMLP) for layer in dense.layers)


def test_a_shared_block_is_stored_once_and_cached_at_each_depth() -> None:
    """Zamba 7B runs one attention block at 13 depths; Zamba 2 2.7B runs two at nine."""
    for name, blocks, depths in (("zamba-7b-v1", 1, 13), ("zamba2-2.7b", 2, 9)):
        zamba = model(name)
        queries = [tensor for tensor in zamba.shared if tensor.name.endswith("self_attn.q_proj.weight")]
        assert [tensor.count for tensor in queries] == [blocks]
        assert sum(layer.attention is not None for layer in zamba.layers) == depths
        assert all(layer.state is not None for layer in zamba.layers)


def test_falcon_h1_has_both_memories_in_every_layer() -> None:
    """Each of the 44 layers of Falcon-H1 7B caches keys and values and keeps a state."""
    layers = model("falcon-h1-7b").layers
    assert len(layers) == 44
    assert all(layer.attention is not None and layer.state is not None for layer in layers)


def test_granite_without_experts_keeps_its_shared_mlp() -> None:
    """``num_local_experts`` 0 leaves a dense model (Granite 4.0 micro)."""
    dense = model("granite-4.0-h-tiny", num_local_experts=0)
    assert all(isinstance(layer.feed_forward, DenseMLP) for layer in dense.layers)


def test_a_pattern_of_letters_and_a_list_of_words_say_the_same() -> None:
    """Nemotron-H: ``M-*E`` and ``mamba, mlp, attention, moe``."""
    words = ["mamba", "mlp", "attention", "moe"]
    changes = {"num_hidden_layers": 4, "intermediate_size": 1856}
    letters = config("nemotron-3-nano-30b-a3b", hybrid_override_pattern="M-*E", **changes)
    listed = config("nemotron-3-nano-30b-a3b", layers_block_type=words, **changes)
    del listed["hybrid_override_pattern"]
    assert architecture_from_hf_config(letters).layers == architecture_from_hf_config(listed).layers


def test_the_window_of_recurrent_gemma_bounds_its_cache() -> None:
    """RecurrentGemma 2B: eight windowed layers stop growing at 2048 tokens."""
    gemma = model("recurrentgemma-2b")
    assert {layer.window for layer in gemma.layers if layer.attention} == {2048}
    assert kv_cache_bytes(gemma, context_tokens=4096) == kv_cache_bytes(gemma, context_tokens=8192)


def test_lightning_attention_keeps_its_state_in_the_dtype_of_the_model() -> None:
    """MiniMax-Text-01: 70 layers of 64 x 128 x 128 elements, two bytes each in bfloat16 and four in float32."""
    minimax = model("minimax-text-01")
    assert state_bytes(minimax) == 70 * 64 * 128 * 128 * 2
    assert state_bytes(minimax, dtype="float32") == 2 * state_bytes(minimax)


def test_linear_layers_are_not_charged_the_context() -> None:
    """Qwen3-Next: 12 of 48 layers grow, 24,576 bytes a token; the other 36 keep 77,856,768 bytes a sequence."""
    qwen = model("qwen3-next-80b-a3b")
    assert (kv_bytes_per_token(qwen), state_bytes(qwen)) == (24_576, 77_856_768)


@pytest.mark.parametrize(
    ("name", "stored"),
    [("qwen3.5-27b", 27_781_427_952), ("qwen3.5-35b-a3b", 35_951_822_704), ("qwen3.5-397b-a17b", 403_397_928_944)],
)
def test_qwen_stores_a_prediction_layer_that_is_not_loaded(name: str, stored: int) -> None:
    """The published checkpoint is Transformers' model and one multi-token-prediction layer, to the unit."""
    count = count_parameters(model(name))
    assert count.total == GOLDEN[name]["expected"]["total"]
    assert count.stored == stored


def test_kimi_linear_counts_as_published() -> None:
    """48B-A3B: the API gives 49,122,681,728 elements, 256 correction biases in each of 26 layers being buffers."""
    kimi = architecture_from_hf_config(
        {
            "model_type": "kimi_linear",
            "first_k_dense_replace": 1,
            "hidden_size": 2304,
            "intermediate_size": 9216,
            "kv_lora_rank": 512,
            "linear_attn_config": {
                "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
            "moe_intermediate_size": 1024,
            "num_attention_heads": 32,
            "num_experts": 256,
            "num_experts_per_token": 8,
            "num_hidden_layers": 27,
            "num_shared_experts": 1,
            "q_lora_rank": None,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "tie_word_embeddings": False,
            "v_head_dim": 128,
            "vocab_size": 163840,
        }
    )
    assert count_parameters(kimi).total == 49_122_681_728 - 26 * 256
    assert kv_bytes_per_token(kimi) == 7 * (512 + 64) * 2


def test_layers_that_reuse_a_cache_hold_none() -> None:
    """Gemma 3n E4B: the last 15 of 35 layers read earlier caches; 31,461,120 stored parameters serve nothing.

    Transformers 4.57 counted 6,866,696,688 with them, 5.24 counts 6,835,235,568 without.
    """
    gemma = model("gemma3n-e4b-text")
    reads = [isinstance(layer.attention, GroupedQueryAttention) and layer.attention.shares_kv for layer in gemma.layers]
    assert reads == [False] * 20 + [True] * 15
    count = count_parameters(gemma)
    assert (count.total, count.stored) == (6_835_235_568, 6_866_696_688)


def test_the_per_layer_table_is_not_the_token_table() -> None:
    """Gemma 3n E4B: 537 million embeddings of tokens, and 2,349 million of tokens and layers beside them."""
    count = count_parameters(model("gemma3n-e4b-text"))
    assert (count.embedding, count.by_kind[TensorKind.POSITION]) == (537_395_200, 262_144 * 35 * 256)


def test_adapters_reach_the_projections_of_mamba() -> None:
    """Jamba 1.5 Mini, rank 8: PEFT 0.21 gives 425,984 parameters to queries and values, 851,968 to attention."""
    jamba = model("jamba-1.5-mini")
    assert lora_parameters(jamba, rank=8, target_modules="q-v") == 425_984
    assert lora_parameters(jamba, rank=8, target_modules="attention") == 851_968
    mamba = lora_parameters(jamba, rank=8, target_modules=("in_proj", "x_proj", "dt_proj", "out_proj"))
    assert mamba == 28 * 8 * ((4096 + 16384) + (8192 + 288) + (256 + 8192) + (8192 + 4096))


@pytest.mark.parametrize(
    ("name", "changes", "code", "place"),
    [
        ("mamba-370m", {"state_size": 0}, "out_of_range", "state_size"),
        ("mamba-370m", {"expand": float("nan")}, "out_of_range", "expand"),
        ("mamba2-2.7b", {"num_heads": 79}, "inconsistent", "num_heads"),
        ("bamba-9b", {"mamba_n_heads": 127}, "not_a_divisor", "mamba_n_heads"),
        ("bamba-9b", {"mamba_d_head": 63}, "inconsistent", "mamba_d_head"),
        ("jamba-v0.1", {"attn_layer_offset": 8}, "out_of_range", "attn_layer_offset"),
        ("granite-4.0-h-tiny", {"layer_types": ["mamba"]}, "wrong_length", "layer_types"),
        ("qwen3-next-80b-a3b", {"layer_types": ["sparse"] * 48}, "not_a_choice", "layer_types[0]"),
        ("nemotron-h-56b", {"hybrid_override_pattern": "M-X"}, "not_a_choice", "hybrid_override_pattern"),
        ("nemotron-h-56b", {"hybrid_override_pattern": "M-M"}, "wrong_length", "hybrid_override_pattern"),
        ("recurrentgemma-2b", {"lru_width": 2561}, "not_a_divisor", "lru_width"),
        ("zamba-7b-v1", {"n_mamba_heads": 3}, "not_a_divisor", "n_mamba_heads"),
        ("gemma3n-e4b-text", {"num_kv_shared_layers": 36}, "out_of_range", "num_kv_shared_layers"),
        ("gemma3n-e4b-text", {"intermediate_size": [1] * 34}, "wrong_length", "intermediate_size"),
        ("minimax-text-01", {"num_experts_per_tok": 33}, "out_of_range", "num_experts_per_tok"),
        ("lfm2-1.2b", {"conv_L_cache": "3"}, "not_an_integer", "conv_L_cache"),
    ],
)
def test_an_absurd_key_is_refused_by_its_name(name: str, changes: dict[str, Any], code: str, place: str) -> None:
    """Sizes that contradict each other, or that no model can have, are errors with the key's place."""
    with pytest.raises(InvalidConfig) as caught:
        model(name, **changes)
    assert (caught.value.code, caught.value.place) == (code, place)
