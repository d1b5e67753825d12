"""Hybrids with a small recurrence: LFM 2 (short convolutions) and RecurrentGemma (gated linear recurrences).

Laws read from ``transformers`` 5.24 (``models/{lfm2,lfm2_moe,recurrent_gemma}``).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, RecurrentState
from calc.hf_config.llama import LLAMA, Block, QueryKeyNorm, attention_tensors, gated_mlp
from calc.hf_config.mixers import convolution, parameter
from calc.hf_config.moe import MIXTRAL_NAMES, geometry, mixture, routed
from calc.hf_config.parts import FULL, SLIDING, Tensors, distinct, grouped_query, linear, norms
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import LINEAR, Frame, decoder, layer_kinds, renamed, router

_CONV: Final = "conv"
_STYLE: Final = replace(
    LLAMA,
    output_name="self_attn.out_proj",
    query_key_norm=QueryKeyNorm.HEAD,
    query_norm_name="self_attn.q_layernorm",
    key_norm_name="self_attn.k_layernorm",
)


def lfm2(reader: Reader) -> Architecture:
    """LFM 2: most layers are a gated convolution over a few tokens; the MLP's width is two thirds, rounded up."""
    hidden_size = reader.size("hidden_size")
    block = _swiglu(hidden_size, _adjusted_width(reader))
    return _lfm2(reader, lambda _: block)


def _adjusted_width(reader: Reader) -> int:
    width = reader.size("block_ff_dim", "intermediate_size")
    if not reader.boolean("block_auto_adjust_ff_dim"):
        return width
    width = int(2 * width / 3)
    multiple = reader.integer("block_multiple_of")
    return -(-int(reader.number("block_ffn_dim_multiplier") * width) // multiple) * multiple


def lfm2_moe(reader: Reader) -> Architecture:
    """LFM 2 with experts after the first ``num_dense_layers``."""
    hidden_size = reader.size("hidden_size")
    dense_layers = reader.integer("num_dense_layers", minimum=0, maximum=MAX_LAYERS)
    dense = _swiglu(hidden_size, reader.size("intermediate_size"))
    size = mixture(reader)
    tensors = router("feed_forward.gate", size.count, hidden_size)
    sparse: Block = geometry(size), tensors + routed(hidden_size, size, "feed_forward", MIXTRAL_NAMES)
    return _lfm2(reader, lambda index: dense if index < dense_layers else sparse)


def _swiglu(hidden_size: int, width: int) -> Block:
    return DenseMLP(intermediate_size=width, gated=True, activation="silu"), (
        *linear("feed_forward.w1", width, hidden_size),
        *linear("feed_forward.w3", width, hidden_size),
        *linear("feed_forward.w2", hidden_size, width),
    )


def _lfm2(reader: Reader, blocks: Callable[[int], Block]) -> Architecture:
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    kernel, bias = reader.integer("conv_L_cache"), reader.boolean("conv_bias")
    attention = grouped_query(reader, hidden_size)
    rest = norms(("operator_norm", "ffn_norm"), hidden_size)
    attending = attention_tensors(attention, hidden_size, _STYLE) + rest
    convolving = (
        *convolution("conv.conv", hidden_size, kernel, bias=bias),
        *linear("conv.in_proj", 3 * hidden_size, hidden_size, bias=bias),
        *linear("conv.out_proj", hidden_size, hidden_size, bias=bias),
        *rest,
    )
    state = RecurrentState(
        name="short_conv", inner_size=hidden_size, convolution_elements=hidden_size * kernel, state_elements=0
    )
    made = {id(block): block for block in map(blocks, range(depth))}

    def build(key: tuple[str, int]) -> Layer:
        feed_forward, tensors = made[key[1]]
        if key[0] == FULL:
            return Layer(attention=attention, feed_forward=feed_forward, tensors=attending + tensors)
        return Layer(attention=None, feed_forward=feed_forward, tensors=convolving + tensors, state=state)

    indexes = reader.optional_integers("full_attn_idxs", maximum=MAX_LAYERS)
    attends = set(range(depth) if indexes is None else indexes)
    fallback = tuple(FULL if index in attends else _CONV for index in range(depth))
    kinds = layer_kinds(reader, "layer_types", kinds=(FULL, _CONV), fallback=fallback)
    layers = distinct(((kind, id(blocks(index))) for index, kind in enumerate(kinds)), build)
    frame = Frame(final_norm="model.embedding_norm")
    return decoder(_tied_by_old_name(reader), layers, frame)


def _tied_by_old_name(reader: Reader) -> Reader:
    """``tie_embedding`` is LFM 2's first name for ``tie_word_embeddings``, and wins over it."""
    if "tie_embedding" not in reader.mapping:
        return reader
    return replace(reader, mapping={**reader.mapping, "tie_word_embeddings": reader.boolean("tie_embedding")})


def recurrent_gemma(reader: Reader) -> Architecture:
    """RecurrentGemma (Griffin, arXiv 2402.19427): two recurrent blocks for each block of windowed attention."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    heads = reader.size("num_attention_heads", maximum=2**20)
    reader.require(hidden_size % heads == 0, "num_attention_heads", "not_a_divisor", value=heads, of=hidden_size)
    attention = GroupedQueryAttention(
        num_attention_heads=heads,
        num_key_value_heads=reader.optional_integer("num_key_value_heads", maximum=heads) or heads,
        head_dim=hidden_size // heads,
    )
    width = reader.size("intermediate_size") // 2
    mlp = DenseMLP(intermediate_size=width, gated=True, activation="gelu")
    rest = gated_mlp(hidden_size, width, prefix="mlp_block", bias=True)
    rest += norms(("temporal_pre_norm", "channel_pre_norm"), hidden_size)
    window = reader.integer("attention_window_size", "sliding_window")
    style = replace(LLAMA, query_bias=reader.boolean("attention_bias"), output_bias=True)
    attending = renamed(attention_tensors(attention, hidden_size, style), "self_attn.", "temporal_block.")
    tensors, state = _recurrent_block(reader, hidden_size, heads)

    def build(kind: str) -> Layer:
        if kind == SLIDING:
            return Layer(attention=attention, feed_forward=mlp, tensors=attending + rest, window=window)
        return Layer(attention=None, feed_forward=mlp, tensors=tensors + rest, state=state)

    layers = distinct(_griffin_kinds(reader, depth), build)
    return decoder(reader, layers, Frame(final_norm="model.final_norm"))


def _griffin_kinds(reader: Reader, depth: int) -> tuple[str, ...]:
    """``block_types`` is the pattern, repeated down the model; two recurrences and one attention where absent."""
    given = reader.mapping.get("block_types")
    length = len(given) if isinstance(given, list) else 0
    words = reader.optional_words("block_types", choices=("recurrent", "attention"), length=length)
    pattern = words or ("recurrent", "recurrent", "attention")
    return tuple(SLIDING if pattern[index % len(pattern)] == "attention" else LINEAR for index in range(depth))


def _recurrent_block(reader: Reader, hidden_size: int, heads: int) -> tuple[Tensors, RecurrentState]:
    width = reader.optional_integer("lru_width") or hidden_size
    reader.require(width % heads == 0, "lru_width", "not_a_divisor", value=heads, of=width)
    kernel, block = reader.integer("conv1d_width", minimum=2), width // heads
    gates: Tensors = ()
    for gate in ("input_gate", "recurrent_gate"):
        gates += parameter(f"temporal_block.rg_lru.{gate}_weight", heads, block, block)
        gates += parameter(f"temporal_block.rg_lru.{gate}_bias", heads, block)
    tensors = (
        *linear("temporal_block.linear_y", width, hidden_size, bias=True),
        *linear("temporal_block.linear_x", width, hidden_size, bias=True),
        *linear("temporal_block.linear_out", hidden_size, width, bias=True),
        *convolution("temporal_block.conv_1d", width, kernel, bias=True),
        *parameter("temporal_block.rg_lru.recurrent_param", width),
        *gates,
    )
    state = RecurrentState(
        name="rg_lru", inner_size=width, convolution_elements=width * (kernel - 1), state_elements=width
    )
    return tensors, state


FAMILIES = {"lfm2": lfm2, "lfm2_moe": lfm2_moe, "recurrent_gemma": recurrent_gemma}
