"""Older classes with a plan of their own: OPT, Falcon, MPT, DBRX, and those whose code ships with the checkpoint.

OPT to DBRX as in ``transformers`` 5.24; Baichuan, InternLM 1 and 2, Qwen 1 and EXAONE 3 as in the modelling code
beside their checkpoints, whose names they keep (Transformers has no class for them, or another naming).
"""

from dataclasses import replace

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, MixtureOfExperts, TensorKind
from calc.hf_config.gpt import Outside, assemble, mlp, multi_head
from calc.hf_config.llama import LLAMA, Block, attention_tensors, llama_like
from calc.hf_config.parts import Tensors, embedding, experts, grouped_query, linear, norm, norms
from calc.hf_config.reader import MAX_EXPERTS, Reader

MAX_HEADS = 2**20


def opt(reader: Reader) -> Architecture:
    """OPT: two more position rows than positions; the 350M projects a narrower token table in and out."""
    width, inner = reader.size("hidden_size"), reader.size("ffn_dim")
    table = reader.integer("word_embed_proj_dim") if reader.has("word_embed_proj_dim") else width
    context = reader.integer("max_position_embeddings")
    bias, affine = reader.boolean("enable_bias"), reader.boolean("layer_norm_elementwise_affine")
    names = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj")
    layer = Layer(
        attention=multi_head(reader, width, reader.size("num_attention_heads", maximum=MAX_HEADS)),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="relu"),
        tensors=tuple(tensor for name in names for tensor in linear(name, width, width, bias=bias))
        + mlp(width, inner, ("fc1", "fc2"), bias=bias)
        + (norms(("self_attn_layer_norm", "final_layer_norm"), width, bias=True) if affine else ()),
    )
    stem = "model.decoder"
    tensors = embedding(f"{stem}.embed_positions", context + 2, width, TensorKind.POSITION)
    if table != width:
        tensors += linear(f"{stem}.project_in", width, table) + linear(f"{stem}.project_out", table, width)
    has_final = reader.boolean("do_layer_norm_before") and not reader.boolean("_remove_final_layer_norm")
    if has_final and affine:
        tensors += norm(f"{stem}.final_layer_norm", width, bias=True)
    outside = Outside(
        width=width, prefix=f"{stem}.layers", token_table=f"{stem}.embed_tokens", tensors=tensors, head_width=table
    )
    return assemble(reader, layer, outside, depth=reader.layers(), context=context)


def _falcon_attention(reader: Reader, width: int) -> GroupedQueryAttention:
    heads = reader.size("num_attention_heads", "n_head", maximum=MAX_HEADS)
    if reader.boolean("new_decoder_architecture"):
        kv_heads = reader.optional_integer("num_kv_heads", "n_head_kv", maximum=MAX_HEADS) or heads
        reader.require(heads % kv_heads == 0, "num_kv_heads", "not_a_divisor", value=kv_heads, of=heads)
        return replace(multi_head(reader, width, heads, kv_heads), cached_heads=heads)
    return multi_head(reader, width, heads, 1 if reader.boolean("multi_query") else heads)


def falcon(reader: Reader) -> Architecture:
    """Falcon: one key-value head (7B), groups that Transformers expands in the cache (40B, 11B), or all heads (RW)."""
    width = reader.size("hidden_size", "n_embed")
    attention = _falcon_attention(reader, width)
    inner = reader.optional_integer("ffn_hidden_size") or 4 * width
    bias, parallel = reader.boolean("bias"), reader.boolean("parallel_attn")
    norms_given = reader.optional_integer("num_ln_in_parallel_attn", maximum=2)
    two_norms = (norms_given or (2 if reader.boolean("new_decoder_architecture") else 1)) == 2
    names: tuple[str, ...] = ("input_layernorm",)
    if not parallel:
        names = ("input_layernorm", "post_attention_layernorm")
    elif two_norms:
        names = ("ln_attn", "ln_mlp")
    fused = width + 2 * attention.num_key_value_heads * attention.head_dim
    layer = Layer(
        attention=attention,
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu"),
        tensors=norms(names, width, bias=True)
        + linear("self_attention.query_key_value", fused, width, bias=bias)
        + linear("self_attention.dense", width, width, bias=bias)
        + mlp(width, inner, ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"), bias=bias),
    )
    outside = Outside(
        width=width,
        prefix="transformer.h",
        token_table="transformer.word_embeddings",
        tensors=norm("transformer.ln_f", width, bias=True),
    )
    depth = reader.layers("num_hidden_layers", "n_layer")
    context = reader.optional_integer("max_position_embeddings")
    return replace(assemble(reader, layer, outside, depth=depth, context=context), parallel=parallel)


def mpt(reader: Reader) -> Architecture:
    """MPT: ALiBi, LayerNorm without bias, no bias anywhere; four times as wide whatever ``expansion_ratio`` says."""
    width = reader.size("d_model", "hidden_size")
    inner = 4 * width
    config = reader.section("attn_config", {"attn_type": "multihead_attention"})
    config.choice("attn_type", choices=("multihead_attention",))
    layer = Layer(
        attention=multi_head(reader, width, reader.size("n_heads", "num_attention_heads", maximum=MAX_HEADS)),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu"),
        tensors=norms(("norm_1", "norm_2"), width)
        + linear("attn.Wqkv", 3 * width, width)
        + linear("attn.out_proj", width, width)
        + mlp(width, inner, ("ffn.up_proj", "ffn.down_proj"), bias=False),
    )
    outside = Outside(
        width=width,
        prefix="transformer.blocks",
        token_table="transformer.wte",
        tensors=norm("transformer.norm_f", width),
    )
    context = reader.optional_integer("max_seq_len")
    depth = reader.layers("n_layers", "num_hidden_layers")
    return assemble(reader, layer, outside, depth=depth, context=context)


def dbrx(reader: Reader) -> Architecture:
    """DBRX: a mixture whose experts are stacked in three tensors, whose sizes are in nested objects."""
    width = reader.size("d_model", "hidden_size")
    attends, feeds = reader.section("attn_config"), reader.section("ffn_config")
    heads = reader.size("n_heads", "num_attention_heads", maximum=MAX_HEADS)
    kv_heads = attends.with_defaults({"kv_n_heads": 1}).integer("kv_n_heads", maximum=MAX_HEADS)
    attends.require(heads % kv_heads == 0, "kv_n_heads", "not_a_divisor", value=kv_heads, of=heads)
    attention = multi_head(reader, width, heads, kv_heads)
    inner = feeds.integer("ffn_hidden_size")
    count, active = (feeds.integer(key, maximum=MAX_EXPERTS) for key in ("moe_num_experts", "moe_top_k"))
    feeds.require(active <= count, "moe_top_k", "out_of_range", value=active, minimum=1, maximum=count)
    tensors: Tensors = (
        *linear("norm_attn_norm.attn.Wqkv", width + 2 * kv_heads * attention.head_dim, width),
        *linear("norm_attn_norm.attn.out_proj", width, width),
        *norms(("norm_attn_norm.norm_1", "norm_attn_norm.norm_2"), width),
        *linear("ffn.router.layer", count, width),
    )
    for name in ("w1", "v1", "w2"):
        tensors += experts(f"ffn.experts.mlp.{name}", inner, width, count=count, active=active)
    mixture = MixtureOfExperts(
        num_experts=count,
        num_experts_per_tok=active,
        moe_intermediate_size=inner,
        shared_intermediate_size=0,
        gated=True,
        activation="silu",
    )
    outside = Outside(
        width=width,
        prefix="transformer.blocks",
        token_table="transformer.wte",
        tensors=norm("transformer.norm_f", width),
    )
    layer = Layer(attention=attention, feed_forward=mixture, tensors=tensors)
    depth = reader.layers("n_layers", "num_hidden_layers")
    return assemble(reader, layer, outside, depth=depth, context=reader.optional_integer("max_seq_len"))


def baichuan(reader: Reader) -> Architecture:
    """Baichuan 1 and 2: Llama with one ``W_pack`` for query, key and value."""
    return llama_like(reader, replace(LLAMA, fused_qkv="self_attn.W_pack"))


def internlm(reader: Reader) -> Architecture:
    """InternLM 1: Llama with biases in attention."""
    bias = reader.boolean("bias")
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias))


def internlm2(reader: Reader) -> Architecture:
    """InternLM 2: Llama under other names, with fused ``wqkv``."""
    width, inner = reader.size("hidden_size"), reader.size("intermediate_size")
    bias = reader.boolean("bias")
    style = replace(
        LLAMA,
        norms=("attention_norm", "ffn_norm"),
        embed_name="model.tok_embeddings",
        head_name="output",
        fused_qkv="attention.wqkv",
        output_name="attention.wo",
        query_bias=bias,
        output_bias=bias,
    )
    block: Block = (
        DenseMLP(intermediate_size=inner, gated=True, activation="silu"),
        (
            *linear("feed_forward.w1", inner, width),
            *linear("feed_forward.w3", inner, width),
            *linear("feed_forward.w2", width, inner),
        ),
    )
    return llama_like(reader, style, mlp=lambda _: block)


def qwen(reader: Reader) -> Architecture:
    """Qwen 1: fused attention input with bias; ``intermediate_size`` counts both halves of the gated MLP."""
    width, heads = reader.size("hidden_size"), reader.size("num_attention_heads", maximum=MAX_HEADS)
    inner = reader.size("intermediate_size", minimum=2) // 2
    attention = multi_head(reader, width, heads)
    fused = 3 * heads * attention.head_dim
    layer = Layer(
        attention=attention,
        feed_forward=DenseMLP(intermediate_size=inner, gated=True, activation="silu"),
        tensors=norms(("ln_1", "ln_2"), width)
        + linear("attn.c_attn", fused, width, bias=True)
        + linear("attn.c_proj", width, width)
        + linear("mlp.w1", inner, width)
        + linear("mlp.w2", inner, width)
        + linear("mlp.c_proj", width, inner),
    )
    outside = Outside(
        width=width, prefix="transformer.h", token_table="transformer.wte", tensors=norm("transformer.ln_f", width)
    )
    context = reader.optional_integer("seq_length", "max_position_embeddings")
    model = assemble(reader, layer, outside, depth=reader.layers(), context=context)
    return replace(model, norm="rms")


def exaone(reader: Reader) -> Architecture:
    """EXAONE 3 and 3.5: Llama under the names of GPT-2."""
    width, inner = reader.size("hidden_size"), reader.size("intermediate_size")
    attention = grouped_query(reader, width)
    inside = attention_tensors(attention, width, replace(LLAMA, output_name="self_attn.out_proj"))
    renamed = tuple(replace(t, name=t.name.replace("self_attn.", "attn.attention.")) for t in inside)
    layer = Layer(
        attention=attention,
        feed_forward=DenseMLP(intermediate_size=inner, gated=True, activation="silu"),
        tensors=norms(("ln_1", "ln_2"), width)
        + renamed
        + linear("mlp.c_fc_0", inner, width)
        + linear("mlp.c_fc_1", inner, width)
        + linear("mlp.c_proj", width, inner),
    )
    outside = Outside(
        width=width, prefix="transformer.h", token_table="transformer.wte", tensors=norm("transformer.ln_f", width)
    )
    context = reader.optional_integer("max_position_embeddings")
    depth = reader.layers("num_hidden_layers", "num_layers")
    return replace(assemble(reader, layer, outside, depth=depth, context=context), norm="rms")


FAMILIES = {
    "opt": opt,
    "falcon": falcon,
    "mpt": mpt,
    "dbrx": dbrx,
    "baichuan": baichuan,
    "internlm": internlm,
    "internlm2": internlm2,
    "qwen": qwen,
    "exaone": exaone,
}
