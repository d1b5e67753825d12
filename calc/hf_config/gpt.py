"""The line of GPT-2: LayerNorm with bias, ungated MLP, usually fused query-key-value; BLOOM, Falcon and MPT included.

Laws read from ``transformers`` 5.24 (``models/{gpt2,gptj,gpt_neo,gpt_neox,gpt_bigcode,codegen,bloom,opt,falcon,mpt}``).
"""

from collections.abc import Callable
from dataclasses import dataclass

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, TensorKind
from calc.hf_config.parts import Tensors, embedding, head, linear, norm, norms, transposed
from calc.hf_config.reader import Reader

WIDTH = ("n_embd", "hidden_size")
DEPTH = ("n_layer", "num_hidden_layers")
HEADS = ("n_head", "num_attention_heads")
CONTEXT = ("n_positions", "max_position_embeddings", "n_ctx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What surrounds the layers: their checkpoint prefix, the token table, the other tensors and the head."""

    width: int
    prefix: str
    token_table: str
    tensors: Tensors
    head_name: str = "lm_head"
    head_bias: bool = False
    head_width: int | None = None


def multi_head(reader: Reader, width: int, heads: int, kv_heads: int | None = None) -> GroupedQueryAttention:
    """Heads that share the hidden size evenly."""
    reader.require(width % heads == 0, "num_attention_heads", "not_a_divisor", value=heads, of=width)
    return GroupedQueryAttention(
        num_attention_heads=heads, num_key_value_heads=kv_heads or heads, head_dim=width // heads
    )


def assemble(reader: Reader, layer: Layer, outside: Outside, *, depth: int, context: int | None) -> Architecture:
    """One kind of layer, ``depth`` times, inside its surroundings."""
    width = outside.width
    vocab_size = reader.size("vocab_size")
    tied = reader.boolean("tie_word_embeddings")
    table = outside.head_width or width
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=width,
        vocab_size=vocab_size,
        layers=(layer,) * depth,
        layer_prefix=f"{outside.prefix}.*",
        tensors=embedding(outside.token_table, vocab_size, table)
        + outside.tensors
        + head(outside.head_name, vocab_size, table, tied=tied, bias=outside.head_bias),
        tie_word_embeddings=tied,
        max_position_embeddings=context,
        norm="layer",
    )


def mlp(width: int, inner: int, names: tuple[str, str], *, bias: bool = True, conv1d: bool = False) -> Tensors:
    """The two matrices of an ungated MLP; ``conv1d`` stores them transposed, as GPT-2 does."""
    matrix: Callable[..., Tensors] = transposed if conv1d else linear
    return (*matrix(names[0], inner, width, bias=bias), *matrix(names[1], width, inner, bias=bias))


def inner_size(reader: Reader, width: int) -> int:
    """``n_inner``, or four times the width where it is null."""
    return reader.optional_integer("n_inner", "intermediate_size") or 4 * width


def gpt2(reader: Reader) -> Architecture:
    """GPT-2: learned positions, matrices stored transposed."""
    width, heads = reader.size(*WIDTH), reader.size(*HEADS, maximum=2**20)
    context = reader.integer(*CONTEXT)
    inner = inner_size(reader, width)
    layer = Layer(
        attention=multi_head(reader, width, heads),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu_new"),
        tensors=norms(("ln_1", "ln_2"), width, bias=True)
        + transposed("attn.c_attn", 3 * width, width)
        + transposed("attn.c_proj", width, width)
        + mlp(width, inner, ("mlp.c_fc", "mlp.c_proj"), conv1d=True),
    )
    tensors = embedding("transformer.wpe", context, width, TensorKind.POSITION) + norm(
        "transformer.ln_f", width, bias=True
    )
    outside = Outside(width=width, prefix="transformer.h", token_table="transformer.wte", tensors=tensors)
    return assemble(reader, layer, outside, depth=reader.layers(*DEPTH), context=context)


def gpt_bigcode(reader: Reader) -> Architecture:
    """StarCoder and SantaCoder: GPT-2 with one key-value head (``multi_query``), whatever other keys say."""
    width, heads = reader.size(*WIDTH), reader.size(*HEADS, maximum=2**20)
    context = reader.integer(*CONTEXT)
    inner = inner_size(reader, width)
    attention = multi_head(reader, width, heads, 1 if reader.boolean("multi_query") else heads)
    fused = width + 2 * attention.num_key_value_heads * attention.head_dim
    layer = Layer(
        attention=attention,
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu_pytorch_tanh"),
        tensors=norms(("ln_1", "ln_2"), width, bias=True)
        + linear("attn.c_attn", fused, width, bias=True)
        + linear("attn.c_proj", width, width, bias=True)
        + mlp(width, inner, ("mlp.c_fc", "mlp.c_proj")),
    )
    tensors = embedding("transformer.wpe", context, width, TensorKind.POSITION) + norm(
        "transformer.ln_f", width, bias=True
    )
    outside = Outside(width=width, prefix="transformer.h", token_table="transformer.wte", tensors=tensors)
    return assemble(reader, layer, outside, depth=reader.layers(*DEPTH), context=context)


def _rotary_gpt(reader: Reader, projections: Callable[[int], Tensors]) -> Architecture:
    width, heads = reader.size(*WIDTH), reader.size(*HEADS, maximum=2**20)
    inner = inner_size(reader, width)
    layer = Layer(
        attention=multi_head(reader, width, heads),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu_new"),
        tensors=norm("ln_1", width, bias=True) + projections(width) + mlp(width, inner, ("mlp.fc_in", "mlp.fc_out")),
    )
    outside = Outside(
        width=width,
        prefix="transformer.h",
        token_table="transformer.wte",
        tensors=norm("transformer.ln_f", width, bias=True),
        head_bias=True,
    )
    context = reader.optional_integer(*CONTEXT)
    return assemble(reader, layer, outside, depth=reader.layers(*DEPTH), context=context)


def gptj(reader: Reader) -> Architecture:
    """GPT-J: one LayerNorm for attention and MLP side by side; a bias in the head, none in attention."""
    names = ("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj")
    return _rotary_gpt(reader, lambda width: tuple(t for name in names for t in linear(name, width, width)))


def codegen(reader: Reader) -> Architecture:
    """CodeGen: GPT-J with fused query, key and value."""
    return _rotary_gpt(
        reader, lambda width: linear("attn.qkv_proj", 3 * width, width) + linear("attn.out_proj", width, width)
    )


def gpt_neo(reader: Reader) -> Architecture:
    """GPT-Neo: learned positions; its local attention masks, but Transformers caches the whole context."""
    width, heads = reader.size("hidden_size"), reader.size("num_heads", "num_attention_heads", maximum=2**20)
    context = reader.integer("max_position_embeddings")
    inner = reader.optional_integer("intermediate_size") or 4 * width
    attention = "attn.attention"
    layer = Layer(
        attention=multi_head(reader, width, heads),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu_new"),
        tensors=norms(("ln_1", "ln_2"), width, bias=True)
        + tuple(t for name in ("k_proj", "v_proj", "q_proj") for t in linear(f"{attention}.{name}", width, width))
        + linear(f"{attention}.out_proj", width, width, bias=True)
        + mlp(width, inner, ("mlp.c_fc", "mlp.c_proj")),
    )
    tensors = embedding("transformer.wpe", context, width, TensorKind.POSITION) + norm(
        "transformer.ln_f", width, bias=True
    )
    outside = Outside(width=width, prefix="transformer.h", token_table="transformer.wte", tensors=tensors)
    depth = reader.layers("num_layers", "num_hidden_layers")
    return assemble(reader, layer, outside, depth=depth, context=context)


def gpt_neox(reader: Reader) -> Architecture:
    """GPT-NeoX and Pythia: fused query-key-value, two LayerNorms even where the blocks run side by side."""
    width, inner = reader.size("hidden_size"), reader.size("intermediate_size")
    bias = reader.boolean("attention_bias")
    layer = Layer(
        attention=multi_head(reader, width, reader.size("num_attention_heads", maximum=2**20)),
        feed_forward=DenseMLP(intermediate_size=inner, gated=False, activation="gelu"),
        tensors=norms(("input_layernorm", "post_attention_layernorm"), width, bias=True)
        + linear("attention.query_key_value", 3 * width, width, bias=bias)
        + linear("attention.dense", width, width, bias=bias)
        + mlp(width, inner, ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")),
    )
    outside = Outside(
        width=width,
        prefix="gpt_neox.layers",
        token_table="gpt_neox.embed_in",
        tensors=norm("gpt_neox.final_layer_norm", width, bias=True),
        head_name="embed_out",
    )
    context = reader.optional_integer("max_position_embeddings")
    return assemble(reader, layer, outside, depth=reader.layers(), context=context)


def bloom(reader: Reader) -> Architecture:
    """BLOOM: ALiBi instead of positions, a LayerNorm after the token table."""
    width = reader.size("hidden_size", "n_embed", "n_embd")
    layer = Layer(
        attention=multi_head(reader, width, reader.size("n_head", "num_attention_heads", maximum=2**20)),
        feed_forward=DenseMLP(intermediate_size=4 * width, gated=False, activation="gelu_bloom"),
        tensors=norms(("input_layernorm", "post_attention_layernorm"), width, bias=True)
        + linear("self_attention.query_key_value", 3 * width, width, bias=True)
        + linear("self_attention.dense", width, width, bias=True)
        + mlp(width, 4 * width, ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")),
    )
    outside = Outside(
        width=width,
        prefix="transformer.h",
        token_table="transformer.word_embeddings",
        tensors=norms(("transformer.word_embeddings_layernorm", "transformer.ln_f"), width, bias=True),
    )
    context = reader.optional_integer("seq_length")
    return assemble(reader, layer, outside, depth=reader.layers(*DEPTH), context=context)


FAMILIES = {
    "gpt2": gpt2,
    "gpt_bigcode": gpt_bigcode,
    "gptj": gptj,
    "codegen": codegen,
    "gpt_neo": gpt_neo,
    "gpt_neox": gpt_neox,
    "bloom": bloom,
}
