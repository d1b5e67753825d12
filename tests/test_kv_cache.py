"""Caches against what Transformers 5.24 really allocated on the meta device, and the laws of each engine.

The facts are in ``golden/architectures.json``; see ``tests/oracle_table.py``.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.architecture import Architecture, GroupedQueryAttention, Layer, MultiHeadLatentAttention
from calc.catalog import architecture
from calc.errors import InvalidInput
from calc.es import SYMBOLS
from calc.formula import symbols
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, kv_cache_formula, state_bytes

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text())
ENGINES = ("exact", "transformers", "vllm", "llama.cpp")
LLAMA, MISTRAL, GEMMA3, DEEPSEEK = "llama3-8b", "mistral-7b-v0.1", "gemma3-1b", "deepseek-v3"


def model(name: str) -> Architecture:
    """A model of the golden file."""
    return architecture_from_hf_config(GOLDEN[name]["config"])


@pytest.mark.parametrize("name", [name for name, row in GOLDEN.items() if "kv" in row["expected"]])
def test_a_cache_is_as_large_as_transformers_makes_it(name: str) -> None:
    """Bytes per token, recurrent state, and the whole cache below and beyond the window are the measured ones."""
    expected, architecture = GOLDEN[name]["expected"], model(name)
    assert kv_bytes_per_token(architecture) == expected["kv_bytes_per_token"]
    assert state_bytes(architecture) == expected["state_bytes"]
    for context, size in expected["kv"].items():
        assert kv_cache_bytes(architecture, context_tokens=int(context), engine="transformers") == size


@pytest.mark.parametrize("name", GOLDEN)
def test_every_symbol_of_the_formula_has_a_meaning(name: str) -> None:
    """The page can explain each letter, for every model and engine."""
    for engine in ENGINES:
        formula = kv_cache_formula(model(name), context_tokens=8192, engine=engine)
        assert set(formula.terms) <= set(SYMBOLS), engine
        assert set(formula.terms) == symbols(formula.expression), engine


def test_llama_3_8b_takes_one_gibibyte_for_8192_tokens() -> None:
    """Grouped heads: a quarter of what 2·b·s·h·L·bytes gives."""
    assert kv_cache_bytes(model(LLAMA), context_tokens=8192) == 2**30
    assert 2 * 8192 * 4096 * 32 * 2 == 4 * 2**30


def test_latent_attention_caches_its_latent() -> None:
    """DeepSeek V3: 61 layers of 512 + 64 elements, 70,272 bytes per token, not the expanded heads' 4,997,120."""
    assert kv_bytes_per_token(model(DEEPSEEK)) == 61 * (512 + 64) * 2 == 70_272


def test_sparse_attention_adds_the_key_of_its_indexer() -> None:
    """DeepSeek V3.2: 128 more elements per token and layer."""
    assert kv_bytes_per_token(model("deepseek-v3.2")) == 61 * (512 + 64 + 128) * 2


def test_a_window_caps_the_cache() -> None:
    """Mistral 7B v0.1: 4,096 tokens at most; Transformers holds one less between steps."""
    architecture = model(MISTRAL)
    per_token = 131_072
    assert kv_cache_bytes(architecture, context_tokens=32_768) == 4096 * per_token
    assert kv_cache_bytes(architecture, context_tokens=32_768, engine="transformers") == 4095 * per_token


def test_gemma_3_keeps_the_whole_context_in_one_layer_of_six() -> None:
    """Gemma 3 1B: 4 layers of 26 grow, the other 22 stop at 512 tokens."""
    growth = kv_cache_bytes(model(GEMMA3), context_tokens=20_000) - kv_cache_bytes(model(GEMMA3), context_tokens=10_000)
    assert growth == 10_000 * 4 * 2 * 256 * 2


def test_falcon_40b_expands_its_heads_only_in_transformers() -> None:
    """Eight heads of keys and values become 128 there; the others cache what the model has."""
    architecture = model("falcon-40b")
    sizes = {engine: kv_cache_bytes(architecture, context_tokens=4096, engine=engine) for engine in ENGINES}
    assert sizes["transformers"] == 16 * sizes["exact"]
    assert sizes["vllm"] == sizes["llama.cpp"] == sizes["exact"] == 4096 * 122_880


def test_a_token_of_falcon_40b_takes_what_its_engine_caches() -> None:
    """1,966,080 bytes in Transformers, which is meant where no engine is named; 122,880 in the others."""
    architecture = model("falcon-40b")
    assert kv_bytes_per_token(architecture) == 60 * 2 * 128 * 64 * 2 == 1_966_080
    for engine in ("exact", "vllm", "llama.cpp"):
        assert kv_bytes_per_token(architecture, engine=engine) == 60 * 2 * 8 * 64 * 2 == 122_880


@pytest.mark.parametrize(
    ("engine", "context", "full", "windowed"),
    [
        ("exact", 8192, 8192, 128),
        ("exact", 100, 100, 100),
        ("transformers", 8192, 8192, 127),
        ("transformers", 100, 100, 100),
        ("vllm", 8192, 8192, 9 * 16),  # 127 tokens before the current one touch at most nine blocks of 16
        ("vllm", 8185, 8192, 9 * 16),
        ("vllm", 100, 112, 112),
        ("llama.cpp", 8192, 8192, 768),  # 128 and a batch of 512, padded to 256 cells
        ("llama.cpp", 8185, 8192, 768),
        ("llama.cpp", 600, 768, 768),
        ("llama.cpp", 100, 256, 256),
    ],
)
def test_gpt_oss_holds_its_windows_as_each_engine_does(engine: str, context: int, full: int, windowed: int) -> None:
    """Twelve layers of 24 look back 128 tokens; a layer takes 2,048 bytes per token it holds."""
    size = kv_cache_bytes(model("gpt-oss-20b"), context_tokens=context, engine=engine)
    assert size == 2 * 8 * 64 * 2 * (12 * full + 12 * windowed)


def test_vllm_rounds_up_to_blocks_of_16_tokens() -> None:
    """1,001 tokens take 63 blocks."""
    assert kv_cache_bytes(model(LLAMA), context_tokens=1001, engine="vllm") == 1008 * 131_072


def test_vllm_keeps_the_blocks_that_a_window_touches() -> None:
    """A window of 4,096 tokens can straddle 257 blocks of 16."""
    assert kv_cache_bytes(model(MISTRAL), context_tokens=32_768, engine="vllm") == 257 * 16 * 131_072


def test_llama_cpp_pads_to_256_cells() -> None:
    """1,001 tokens take 1,024 cells."""
    assert kv_cache_bytes(model(LLAMA), context_tokens=1001, engine="llama.cpp") == 1024 * 131_072


def test_llama_cpp_honours_windows_only_beside_full_layers() -> None:
    """Gemma 3's windows hold 512 + 512 cells; Mistral's are ignored."""
    per_layer = 2 * 256 * 2
    gemma = kv_cache_bytes(model(GEMMA3), context_tokens=8192, engine="llama.cpp")
    assert gemma == per_layer * (4 * 8192 + 22 * 1024)
    assert kv_cache_bytes(model(MISTRAL), context_tokens=8192, engine="llama.cpp") == 8192 * 131_072


def test_a_quantized_cache_counts_its_scales() -> None:
    """q8_0 is 34 bytes for 32 elements."""
    half = kv_cache_bytes(model(LLAMA), context_tokens=8192)
    assert kv_cache_bytes(model(LLAMA), context_tokens=8192, dtype="q8_0", engine="llama.cpp") == half * 34 // 64


def test_a_recurrent_state_does_not_grow() -> None:
    """Mamba 2.8B keeps the same bytes for one token and for a million."""
    architecture = model("mamba-2.8b")
    one, many = (kv_cache_bytes(architecture, context_tokens=tokens) for tokens in (1, 10**6))
    assert one == many == state_bytes(architecture)


def test_linear_layers_are_not_charged_the_context() -> None:
    """Qwen3-Next: 12 layers of 48 attend; the others hold a state."""
    architecture = model("qwen3-next-80b-a3b")
    assert kv_bytes_per_token(architecture) == 12 * 2 * 2 * 256 * 2


@pytest.mark.parametrize(
    ("arguments", "code", "place"),
    [
        ({"context_tokens": 0}, "too_small", "context"),
        ({"context_tokens": 1, "sequences": 0}, "too_small", "concurrency"),
        ({"context_tokens": 1, "engine": "ollama"}, "unknown_choice", "engine"),
        ({"context_tokens": 1, "dtype": "int3"}, "unknown_choice", "kv-precision"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(arguments: dict[str, Any], code: str, place: str) -> None:
    """The error says which one and why."""
    with pytest.raises(InvalidInput) as caught:
        kv_cache_bytes(model(LLAMA), **arguments)
    assert (caught.value.code, caught.value.place) == (code, place)


CONTEXTS = st.integers(min_value=1, max_value=10**6)
MODELS = st.sampled_from([LLAMA, MISTRAL, GEMMA3, DEEPSEEK, "mimo-v2-flash", "qwen3-next-80b-a3b", "falcon-h1-7b"])


@settings(deadline=None)
@given(name=MODELS, context=CONTEXTS, sequences=st.integers(1, 64), engine=st.sampled_from(ENGINES))
def test_sequences_add_up(name: str, context: int, sequences: int, engine: str) -> None:
    """``n`` sequences take ``n`` times the bytes of one."""
    one = kv_cache_bytes(model(name), context_tokens=context, engine=engine)
    assert kv_cache_bytes(model(name), context_tokens=context, sequences=sequences, engine=engine) == sequences * one


@settings(deadline=None)
@given(name=MODELS, context=CONTEXTS, more=st.integers(1, 10**5), engine=st.sampled_from(ENGINES))
def test_a_longer_context_never_takes_less(name: str, context: int, more: int, engine: str) -> None:
    """Caches grow with the tokens or stay."""
    shorter, longer = (
        kv_cache_bytes(model(name), context_tokens=tokens, engine=engine) for tokens in (context, context + more)
    )
    assert shorter <= longer


@settings(deadline=None)
@given(name=MODELS, context=CONTEXTS, engine=st.sampled_from(["vllm", "llama.cpp"]))
def test_a_server_never_holds_less_than_the_exact_cache(name: str, context: int, engine: str) -> None:
    """Blocks and cells only round up."""
    architecture = model(name)
    assert kv_cache_bytes(architecture, context_tokens=context, engine=engine) >= kv_cache_bytes(
        architecture, context_tokens=context
    )


GROUPED = st.builds(
    GroupedQueryAttention,
    num_attention_heads=st.just(16),
    num_key_value_heads=st.sampled_from([1, 2, 16]),
    head_dim=st.sampled_from([64, 128]),
    v_head_dim=st.sampled_from([None, 128]),
)
LATENT = st.builds(
    MultiHeadLatentAttention,
    num_attention_heads=st.just(16),
    kv_lora_rank=st.just(512),
    q_lora_rank=st.none(),
    qk_nope_head_dim=st.just(128),
    qk_rope_head_dim=st.just(64),
    v_head_dim=st.just(128),
    index_head_dim=st.sampled_from([0, 128]),
)
LAYER = st.builds(
    Layer,
    attention=st.none() | GROUPED | LATENT,
    feed_forward=st.none(),
    tensors=st.just(()),
    window=st.none() | st.integers(1, 6000),
)


def elements(attention: GroupedQueryAttention | MultiHeadLatentAttention) -> int:
    """What one layer caches per token, written once more."""
    if isinstance(attention, MultiHeadLatentAttention):
        return attention.kv_lora_rank + attention.qk_rope_head_dim + attention.index_head_dim
    return attention.num_key_value_heads * (attention.head_dim + (attention.v_head_dim or attention.head_dim))


@settings(deadline=None)
@given(layers=st.lists(LAYER, min_size=1, max_size=12), context=st.integers(1, 20_000))
def test_the_formula_is_the_sum_over_layers(layers: list[Layer], context: int) -> None:
    """However different the layers, the grouped formula gives what adding them one by one gives."""
    architecture = Architecture(
        model_type="any",
        hidden_size=64,
        vocab_size=64,
        layers=tuple(layers),
        layer_prefix="layers.*",
        tensors=(),
        tie_word_embeddings=False,
        max_position_embeddings=None,
    )
    total = sum(
        2 * elements(layer.attention) * min(context, layer.window or context) for layer in layers if layer.attention
    )
    formula = kv_cache_formula(architecture, context_tokens=context)
    assert formula.bytes == total
    assert set(formula.terms) <= set(SYMBOLS)


@pytest.mark.parametrize(
    ("keys", "values", "expected"),
    # 32 layers, 8 heads of 128, 8192 tokens: 2^28 elements of each; blocks of 32 take 34 bytes in Q8_0, 18 in Q4_0.
    [("q8_0", "q4_0", 2**23 * (34 + 18)), ("bfloat16", "q8_0", 2**28 * 2 + 2**23 * 34), ("q8_0", "q8_0", 2**24 * 34)],
)
def test_keys_and_values_may_have_formats_of_their_own(keys: str, values: str, expected: int) -> None:
    """Llama 3 8B with llama.cpp's --cache-type-k and --cache-type-v."""
    model = architecture("llama-3-8b")
    assert kv_cache_bytes(model, context_tokens=8192, dtype=keys, value_dtype=values, engine="llama.cpp") == expected


@pytest.mark.parametrize("name", ["gemma-3-12b", "deepseek-v3", "mimo-v2-flash", "qwen3-next-80b-a3b", "falcon-40b"])
@pytest.mark.parametrize("engine", list(ENGINES))
def test_the_same_format_twice_is_one_format(name: str, engine: str) -> None:
    """Between two formats lies the cache with one of each; a latent has no values and keeps the format of the keys."""
    model = architecture(name)
    coarse, mixed, fine = (
        kv_cache_bytes(model, context_tokens=5000, dtype=first, value_dtype=second, engine=engine)
        for first, second in (("fp8", "fp8"), ("bfloat16", "fp8"), ("bfloat16", "bfloat16"))
    )
    assert fine == kv_cache_bytes(model, context_tokens=5000, engine=engine)
    assert (coarse < mixed == fine) if name == "deepseek-v3" else (coarse < mixed < fine)


def test_an_unknown_format_of_the_values_is_refused() -> None:
    """The error names the field of the values."""
    with pytest.raises(InvalidInput) as refused:
        kv_cache_bytes(architecture("gpt2"), context_tokens=1, value_dtype="q2_k")
    assert refused.value.place == "kv-value-precision"
