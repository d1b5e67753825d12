"""Near relatives of the published families: the same plans with one or two differences each.

Laws read from the modular files of ``transformers`` (``models/{arcee,hunyuan_v1_dense,hunyuan_v1_moe,dots1,
granitemoeshared,flex_olmo,afmoe,exaone_moe,helium,minicpm3}``, read 2026-12-01); MiniCPM and ChatGLM from the code
beside their checkpoints. Totals are held to published ones in ``tests/test_published_totals.py``, but for Granite with
a shared expert and MiniCPM 3, of which none was found.
"""

from collections.abc import Callable
from dataclasses import replace

from calc.architecture import Architecture, DenseMLP, Layer, TensorKind
from calc.hf_config.blocks import pattern_windows, ungated
from calc.hf_config.dense import POST_NORMS, exaone_windows
from calc.hf_config.gpt import multi_head
from calc.hf_config.latent import deepseek_mlp, latent_attention, latent_tensors, sparse_layers
from calc.hf_config.llama import (
    LLAMA,
    AttentionBlock,
    Block,
    QueryKeyNorm,
    Style,
    attention_tensors,
    dense,
    gated_mlp,
    llama,
    llama_like,
)
from calc.hf_config.moe import deepseek_block, either, geometry, granite_block, mixture, routed
from calc.hf_config.parts import embedding, grouped_query, head, head_dim, linear, norm, norms, vector, windows
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader


def arcee(reader: Reader) -> Architecture:
    """Arcee (AFM): Llama with an ungated MLP of squared ReLU."""
    bias = reader.boolean("attention_bias")
    mlp = ungated(reader, ("mlp.up_proj", "mlp.down_proj"), bias=reader.boolean("mlp_bias"))
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias), mlp=mlp)


def _hunyuan_style(reader: Reader) -> Style:
    bias = reader.boolean("attention_bias")
    return replace(
        LLAMA,
        query_bias=bias,
        output_bias=bias,
        query_key_norm=QueryKeyNorm.HEAD,
        query_norm_name="self_attn.query_layernorm",
        key_norm_name="self_attn.key_layernorm",
    )


def hunyuan_dense(reader: Reader) -> Architecture:
    """Hunyuan dense: Llama with query and key norms per head."""
    return llama_like(reader, _hunyuan_style(reader))


def _same_everywhere(reader: Reader, key: str) -> int:
    """An integer that Hunyuan may write once for each layer."""
    if not isinstance(reader.mapping.get(key), list):
        return reader.integer(key, maximum=MAX_EXPERTS)
    values = reader.optional_integers(key, minimum=1, maximum=MAX_EXPERTS, length=reader.layers()) or ()
    reader.require(len(set(values)) == 1, key)
    return values[0]


def hunyuan_moe(reader: Reader) -> Architecture:
    """Hunyuan A13B: every layer has a shared MLP and experts of ``intermediate_size``."""
    hidden_size, width = reader.size("hidden_size"), reader.size("intermediate_size")
    count, active = _same_everywhere(reader, "num_experts"), _same_everywhere(reader, "moe_topk")
    reader.require(active <= count, "moe_topk", "out_of_range", value=active, minimum=1, maximum=count)
    numbers = Reader({"num_experts": count, "num_experts_per_tok": active, "width": width})
    size = replace(mixture(numbers, width="width"), shared_width=width)
    tensors = (
        *linear("mlp.gate.wg", count, hidden_size),
        *routed(hidden_size, size, "mlp"),
        *gated_mlp(hidden_size, width, prefix="mlp.shared_mlp"),
    )
    block: Block = geometry(size), tensors
    return llama_like(reader, _hunyuan_style(reader), mlp=lambda _: block)


def dots1(reader: Reader) -> Architecture:
    """dots.llm1: the attention of Qwen 3 with DeepSeek's experts; windows only after ``max_window_layers``."""
    bias, depth = reader.boolean("attention_bias"), reader.layers()
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    window, first = reader.optional_integer("sliding_window"), reader.integer("max_window_layers", minimum=0)
    reach = windows(reader, depth, window=window, is_windowed=lambda index: index >= first)
    return llama_like(reader, style, mlp=deepseek_mlp(reader), windows=reach)


def granite_shared(reader: Reader) -> Architecture:
    """Granite MoE with a shared expert, fused like Granite's routed ones."""
    hidden_size, bias = reader.size("hidden_size"), reader.boolean("attention_bias")
    shared = reader.integer("shared_intermediate_size", minimum=0)
    size = replace(mixture(reader, width="intermediate_size", count=("num_local_experts",)), shared_width=shared)
    feed_forward, tensors = granite_block(hidden_size, size)
    if shared:
        tensors += linear("shared_mlp.input_linear", 2 * shared, hidden_size)
        tensors += linear("shared_mlp.output_linear", hidden_size, shared)
    block: Block = feed_forward, tensors
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias), mlp=lambda _: block)


def flex_olmo(reader: Reader) -> Architecture:
    """FlexOlmo: the experts of OLMoE with the norms of OLMo 2."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, norms=POST_NORMS, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.ALL)
    sparse = deepseek_block(reader.size("hidden_size"), mixture(reader, width="intermediate_size"))
    return llama_like(reader, style, mlp=lambda _: sparse)


def afmoe(reader: Reader) -> Architecture:
    """Arcee Trinity: gated attention, four norms, experts after the first dense layers, a window in three of four."""
    hidden_size = reader.size("hidden_size")
    names = ("input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm")
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, norms=names, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    attention = grouped_query(reader, hidden_size)
    inner = attention.num_attention_heads * attention.head_dim
    gate = linear("self_attn.gate_proj", inner, hidden_size)
    reads: AttentionBlock = attention, attention_tensors(attention, hidden_size, style) + gate
    size = mixture(reader, count=("num_experts",))
    shared = reader.integer("num_shared_experts", minimum=0, maximum=MAX_EXPERTS) * size.width
    tensors = (
        *linear("mlp.router.gate", size.count, hidden_size),
        *vector("mlp.expert_bias", size.count, TensorKind.BIAS),
        *routed(hidden_size, size, "mlp"),
        *(gated_mlp(hidden_size, shared, prefix="mlp.shared_experts") if shared else ()),
    )
    sparse: Block = geometry(replace(size, shared_width=shared)), tensors
    first = reader.integer("num_dense_layers", minimum=0, maximum=MAX_LAYERS)
    interval = reader.integer("global_attn_every_n_layers", maximum=MAX_LAYERS)
    return llama_like(
        reader,
        style,
        mlp=either(sparse, dense(reader), lambda index: index >= first),
        attention=lambda _: reads,
        windows=pattern_windows(reader, interval),
    )


def exaone_moe(reader: Reader) -> Architecture:
    """K-EXAONE: the attention of EXAONE 4 with norms before the blocks, and DeepSeek's experts."""
    size = mixture(reader, count=("num_experts",))
    shared = reader.integer("num_shared_experts", minimum=0, maximum=MAX_EXPERTS) * size.width
    sparse = deepseek_block(reader.size("hidden_size"), replace(size, shared_width=shared))
    style = replace(LLAMA, query_key_norm=QueryKeyNorm.HEAD)
    mlp = either(sparse, dense(reader), sparse_layers(reader))
    return llama_like(reader, style, mlp=mlp, windows=exaone_windows(reader))


def helium(reader: Reader) -> Architecture:
    """Helium: Llama whose output projection never has a bias."""
    style = replace(LLAMA, query_bias=reader.boolean("attention_bias"))
    return llama_like(reader, style, mlp=dense(reader, bias=reader.boolean("mlp_bias")))


def minicpm3(reader: Reader) -> Architecture:
    """MiniCPM 3: latent attention over the MLP of Llama; value heads of hidden size / heads unless given."""
    hidden_size = reader.size("hidden_size")
    if not reader.has("v_head_dim"):
        heads = reader.size("num_attention_heads", maximum=2**20)
        width = head_dim(Reader({}), hidden_size, heads)
        reader = reader.with_defaults({**reader.defaults, "v_head_dim": width})
    attention = latent_attention(reader)
    bias = reader.boolean("attention_bias")
    block: AttentionBlock = attention, latent_tensors(attention, hidden_size, bias=bias)
    mlp = dense(reader, bias=reader.boolean("mlp_bias"))
    return llama_like(reader, mlp=mlp, attention=lambda _: block)


def chatglm(reader: Reader) -> Architecture:
    """ChatGLM 2, 3 and GLM-4 9B as first published: grouped queries, fused matrices, keys of Megatron."""
    width, inner = reader.size("hidden_size"), reader.size("ffn_hidden_size")
    heads = reader.size("num_attention_heads", maximum=2**20)
    groups = (
        reader.integer("multi_query_group_num", maximum=2**20) if reader.boolean("multi_query_attention") else heads
    )
    attention = multi_head(reader, width, heads, groups)
    reader.require(heads % groups == 0, "multi_query_group_num", "not_a_divisor", value=groups, of=heads)
    bias = reader.boolean("add_bias_linear")
    fused = width + 2 * groups * attention.head_dim
    layer = Layer(
        attention=attention,
        feed_forward=DenseMLP(intermediate_size=inner, gated=True, activation="silu"),
        tensors=norms(("input_layernorm", "post_attention_layernorm"), width)
        + linear("self_attention.query_key_value", fused, width, bias=bias or reader.boolean("add_qkv_bias"))
        + linear("self_attention.dense", width, width, bias=bias)
        + linear("mlp.dense_h_to_4h", 2 * inner, width, bias=bias)
        + linear("mlp.dense_4h_to_h", width, inner, bias=bias),
    )
    vocab_size, tied = reader.size("padded_vocab_size", "vocab_size"), reader.boolean("tie_word_embeddings")
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=width,
        vocab_size=vocab_size,
        layers=(layer,) * reader.layers("num_layers", "num_hidden_layers"),
        layer_prefix="transformer.encoder.layers.*",
        tensors=embedding("transformer.embedding.word_embeddings", vocab_size, width)
        + norm("transformer.encoder.final_layernorm", width)
        + head("transformer.output_layer", vocab_size, width, tied=tied),
        tie_word_embeddings=tied,
        max_position_embeddings=reader.optional_integer("seq_length"),
    )


FAMILIES: dict[str, Callable[[Reader], Architecture]] = {
    "arcee": arcee,
    "hunyuan_v1_dense": hunyuan_dense,
    "hunyuan_v1_moe": hunyuan_moe,
    "dots1": dots1,
    "granitemoeshared": granite_shared,
    "flex_olmo": flex_olmo,
    "afmoe": afmoe,
    "exaone_moe": exaone_moe,
    "helium": helium,
    "minicpm": llama,
    "minicpm3": minicpm3,
    "chatglm": chatglm,
}
