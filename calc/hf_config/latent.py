"""DeepSeek's plan: experts after the first dense layers, and multi-head latent attention (arXiv 2405.04434).

GLM 4.5 and MiMo V2 keep the feed-forward plan with grouped-query attention.
"""

from collections.abc import Callable
from dataclasses import replace

from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention
from calc.hf_config.llama import (
    LLAMA,
    AttentionBlock,
    Block,
    QueryKeyNorm,
    Style,
    attention_tensors,
    dense,
    llama_like,
)
from calc.hf_config.moe import deepseek_block, either, mixture
from calc.hf_config.parts import FULL, Tensors, grouped_query, linear, norm, vector
from calc.hf_config.prediction import with_prediction
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader


def sparse_layers(reader: Reader) -> Callable[[int], bool]:
    """Which layers hold experts: ``mlp_layer_types``, ``moe_layer_freq`` as a list, or the first ones dense."""
    depth = reader.layers()
    types = reader.optional_words("mlp_layer_types", choices=("dense", "sparse"), length=depth)
    if types is not None:
        return lambda index: types[index] == "sparse"
    if isinstance(reader.mapping.get("moe_layer_freq"), list):
        flags = reader.optional_integers("moe_layer_freq", minimum=0, maximum=1, length=depth) or ()
        return lambda index: flags[index] == 1
    first = reader.integer("first_k_dense_replace", minimum=0, maximum=MAX_LAYERS)
    step = reader.integer("moe_layer_freq", maximum=MAX_LAYERS)
    return lambda index: index >= first and index % step == 0


def deepseek_mlp(reader: Reader) -> Callable[[int], Block]:
    """Routed and shared experts, with ``intermediate_size`` dense MLPs in the layers that have none."""
    bias = reader.text("model_type") == "deepseek_v2" and reader.boolean("mlp_bias")  # no other class reads the key
    if reader.optional_integer("n_routed_experts", "num_experts", maximum=MAX_EXPERTS) is None:
        return dense(reader, bias=bias)
    size = mixture(reader, count=("n_routed_experts", "num_local_experts", "num_experts"))
    shared = reader.optional_integer("n_shared_experts", minimum=0, maximum=MAX_EXPERTS) or 0
    size = replace(size, shared_width=shared * size.width)
    sparse = deepseek_block(reader.size("hidden_size"), size, shared_bias=bias)
    return either(sparse, dense(reader, bias=bias), sparse_layers(reader))


def latent_attention(reader: Reader) -> MultiHeadLatentAttention:
    """The ranks and head sizes of multi-head latent attention; ``q_lora_rank`` null leaves queries whole."""
    sparse = reader.text("model_type") in ("deepseek_v32", "glm_moe_dsa")  # the only classes with an indexer
    return MultiHeadLatentAttention(
        num_attention_heads=reader.size("num_attention_heads", maximum=2**20),
        kv_lora_rank=reader.integer("kv_lora_rank"),
        q_lora_rank=reader.optional_integer("q_lora_rank"),
        qk_nope_head_dim=reader.integer("qk_nope_head_dim", maximum=2**20),
        qk_rope_head_dim=reader.integer("qk_rope_head_dim", maximum=2**20),
        v_head_dim=reader.integer("v_head_dim", maximum=2**20),
        index_head_dim=reader.integer("index_head_dim", minimum=0, maximum=2**20) if sparse else 0,
    )


def latent_tensors(attention: MultiHeadLatentAttention, hidden_size: int, *, bias: bool) -> Tensors:
    """Down- and up-projections of queries and of the shared latent, and the output."""
    heads, rank = attention.num_attention_heads, attention.kv_lora_rank
    query = heads * (attention.qk_nope_head_dim + attention.qk_rope_head_dim)
    if attention.q_lora_rank is None:
        queries = linear("self_attn.q_proj", query, hidden_size)
    else:
        queries = (
            *linear("self_attn.q_a_proj", attention.q_lora_rank, hidden_size, bias=bias),
            *norm("self_attn.q_a_layernorm", attention.q_lora_rank),
            *linear("self_attn.q_b_proj", query, attention.q_lora_rank),
        )
    return (
        *queries,
        *linear("self_attn.kv_a_proj_with_mqa", rank + attention.qk_rope_head_dim, hidden_size, bias=bias),
        *norm("self_attn.kv_a_layernorm", rank),
        *linear("self_attn.kv_b_proj", heads * (attention.qk_nope_head_dim + attention.v_head_dim), rank),
        *linear("self_attn.o_proj", hidden_size, heads * attention.v_head_dim, bias=bias),
    )


def indexer(reader: Reader, attention: MultiHeadLatentAttention, hidden_size: int) -> Tensors:
    """The lightning indexer of DeepSeek sparse attention: it chooses which tokens a query reads."""
    if not attention.index_head_dim:
        return ()
    heads, width = reader.integer("index_n_heads", maximum=2**20), attention.index_head_dim
    return (
        *linear("self_attn.indexer.wq_b", heads * width, attention.q_lora_rank or hidden_size),
        *linear("self_attn.indexer.wk", width, hidden_size),
        *norm("self_attn.indexer.k_norm", width, bias=True),
        *linear("self_attn.indexer.weights_proj", heads, hidden_size),
    )


def _runs_indexer(reader: Reader) -> tuple[bool, ...]:
    """Which layers choose tokens themselves; the others (``shared``) reuse the choice of an earlier one (GLM 5)."""
    depth = reader.layers()
    types = reader.optional_words("indexer_types", choices=("full", "shared"), length=depth)
    if types is not None:
        return tuple(kind == "full" for kind in types)
    pattern = reader.optional_text("index_topk_pattern", maximum=MAX_LAYERS)
    if pattern is not None:
        fits = len(pattern) == depth and set(pattern) <= {"F", "S"}
        reader.require(fits, "index_topk_pattern", "wrong_length", length=len(pattern), expected=depth)
        return tuple(letter == "F" for letter in pattern)
    step = reader.optional_integer("index_topk_freq", maximum=MAX_LAYERS) or 1
    offset = reader.optional_integer("index_skip_topk_offset", minimum=0, maximum=MAX_LAYERS)
    first = 2 if offset is None else offset
    return tuple(max(index - first + 1, 0) % step == 0 for index in range(depth))


def deepseek(reader: Reader) -> Architecture:
    """DeepSeek V2 to V3.2, Kimi K2, GLM 4.7 Flash and GLM 5: latent attention, experts after dense layers."""
    hidden_size = reader.size("hidden_size")
    attention = latent_attention(reader)
    tensors = latent_tensors(attention, hidden_size, bias=reader.boolean("attention_bias"))
    shared: AttentionBlock = replace(attention, index_head_dim=0), tensors
    own: AttentionBlock = attention, tensors + indexer(reader, attention, hidden_size)
    runs = _runs_indexer(reader)
    model = llama_like(reader, mlp=deepseek_mlp(reader), attention=lambda index: own if runs[index] else shared)
    return with_prediction(reader, model, own_tables=reader.text("model_type") != "glm_moe_dsa")


def glm4_moe(reader: Reader) -> Architecture:
    """GLM 4.5: DeepSeek's experts with grouped-query attention, query-key-value biases, optional norms per head."""
    style = replace(
        LLAMA,
        query_bias=reader.boolean("attention_bias"),
        query_key_norm=QueryKeyNorm.HEAD if reader.boolean("use_qk_norm") else QueryKeyNorm.NONE,
    )
    return with_prediction(reader, llama_like(reader, style, mlp=deepseek_mlp(reader)))


def mimo_v2(reader: Reader) -> Architecture:
    """MiMo V2 Flash: values narrower than keys; windowed layers have more KV heads and a learned sink per head."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    whole = replace(grouped_query(reader, hidden_size), v_head_dim=reader.integer("v_head_dim", maximum=2**20))
    windowed = _windowed_heads(reader, whole)
    sliding, window = _mimo_windows(reader, depth)
    style = replace(LLAMA, query_bias=reader.boolean("attention_bias"))
    full_block = _with_sink(whole, hidden_size, style, reader.boolean("add_full_attention_sink_bias"))
    window_block = _with_sink(windowed, hidden_size, style, reader.boolean("add_swa_attention_sink_bias"))
    return llama_like(
        reader,
        style,
        mlp=deepseek_mlp(reader),
        attention=lambda index: window_block if sliding[index] else full_block,
        windows=[window if slides else None for slides in sliding],
    )


def _windowed_heads(reader: Reader, whole: GroupedQueryAttention) -> GroupedQueryAttention:
    """Twice the KV heads of the other layers, as the class builds them, unless the file says (``swa_`` keys)."""

    def given(key: str, otherwise: int) -> int:
        return reader.optional_integer(key, maximum=2**20) or otherwise

    return GroupedQueryAttention(
        num_attention_heads=given("swa_num_attention_heads", whole.num_attention_heads),
        num_key_value_heads=given("swa_num_key_value_heads", 2 * whole.num_key_value_heads),
        head_dim=given("swa_head_dim", whole.head_dim),
        v_head_dim=given("swa_v_head_dim", whole.v_head_dim or whole.head_dim),
    )


def _mimo_windows(reader: Reader, depth: int) -> tuple[tuple[bool, ...], int]:
    """The published file counts the tokens before the current one (128); Transformers counts it too (129)."""
    window = reader.integer("sliding_window", "sliding_window_size")
    pattern = reader.optional_integers("hybrid_layer_pattern", minimum=0, maximum=1, length=depth)
    if pattern is not None:
        return tuple(flag == 1 for flag in pattern), window + 1
    types = reader.optional_words("layer_types", choices=(FULL, "sliding_attention"), length=depth)
    if types is not None:
        return tuple(kind != FULL for kind in types), window
    return tuple(index != 0 and (index + 1) % 6 != 0 for index in range(depth)), window


def _with_sink(attention: GroupedQueryAttention, hidden_size: int, style: Style, sink: bool) -> AttentionBlock:
    tensors = attention_tensors(attention, hidden_size, style)
    if sink:
        tensors += vector("self_attn.attention_sink_bias", attention.num_attention_heads)
    return attention, tensors


FAMILIES = {
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v32": deepseek,
    "kimi_k2": deepseek,
    "glm4_moe_lite": deepseek,
    "glm_moe_dsa": deepseek,
    "glm4_moe": glm4_moe,
    "mimo_v2_flash": mimo_v2,
}
