"""Llama and the many classes that differ from it only in biases, norms, windows and the shape of the MLP.

Laws read from ``transformers`` 5.24 (``models/*/modeling_*.py``); a ``Style`` states how a class departs from Llama.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from calc.architecture import Architecture, DenseMLP, FeedForward, GroupedQueryAttention, Layer
from calc.hf_config.parts import Tensors, always, distinct, embedding, every, grouped_query, head, linear, norm, norms
from calc.hf_config.parts import windows as layer_windows
from calc.hf_config.reader import Reader

Block = tuple[FeedForward, Tensors]
"""A feed-forward geometry with its tensors."""


class QueryKeyNorm(StrEnum):
    """Which normalisation queries and keys get before the rotation."""

    NONE = "none"
    HEAD = "head"  # one gain of head_dim shared by all heads (Qwen 3)
    ALL = "all"  # one gain over all heads together (OLMo 2)
    EACH = "each"  # a gain of its own for each head (Command R+)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a class departs from Llama: names and presence of its tensors."""

    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    final_norm: str = "model.norm"
    norm_bias: bool = False
    has_norms: bool = True
    layer_norm: bool = False
    parallel: bool = False
    query_key_norm: QueryKeyNorm = QueryKeyNorm.NONE
    query_key_norm_bias: bool = False
    query_norm_name: str = "self_attn.q_norm"
    key_norm_name: str = "self_attn.k_norm"
    query_bias: bool = False
    output_bias: bool = False
    output_name: str = "self_attn.o_proj"
    fused_qkv: str | None = None
    head_bias: bool = False
    extra: Callable[[GroupedQueryAttention], Tensors] | None = None


LLAMA = Style()


def attention_tensors(attention: GroupedQueryAttention, hidden_size: int, style: Style) -> Tensors:
    """The four projections (or the fused one), with query and key norms where the class has them."""
    query = attention.num_attention_heads * attention.head_dim
    key = attention.num_key_value_heads * attention.head_dim
    values = attention.num_key_value_heads * (attention.v_head_dim or attention.head_dim)
    result = attention.num_attention_heads * (attention.v_head_dim or attention.head_dim)
    if style.fused_qkv:
        inputs = linear(style.fused_qkv, query + key + values, hidden_size, bias=style.query_bias)
    else:
        inputs = (
            *linear("self_attn.q_proj", query, hidden_size, bias=style.query_bias),
            *linear("self_attn.k_proj", key, hidden_size, bias=style.query_bias),
            *linear("self_attn.v_proj", values, hidden_size, bias=style.query_bias),
        )
    output = linear(style.output_name, hidden_size, result, bias=style.output_bias)
    extra = style.extra(attention) if style.extra else ()
    return inputs + output + _query_key_norms(attention, style) + extra


def _query_key_norms(attention: GroupedQueryAttention, style: Style) -> Tensors:
    heads = {
        QueryKeyNorm.NONE: (0, 0),
        QueryKeyNorm.HEAD: (1, 1),
        QueryKeyNorm.ALL: (attention.num_attention_heads, attention.num_key_value_heads),
        QueryKeyNorm.EACH: (attention.num_attention_heads, attention.num_key_value_heads),
    }[style.query_key_norm]
    if not heads[0]:
        return ()
    tensors = (
        *norm(style.query_norm_name, heads[0] * attention.head_dim, bias=style.query_key_norm_bias),
        *norm(style.key_norm_name, heads[1] * attention.head_dim, bias=style.query_key_norm_bias),
    )
    if style.query_key_norm is not QueryKeyNorm.EACH:
        return tensors
    return tuple(
        replace(tensor, shape=(tensor.shape[0] // attention.head_dim, attention.head_dim)) for tensor in tensors
    )


def gated_mlp(hidden_size: int, intermediate_size: int, *, prefix: str = "mlp", bias: bool = False) -> Tensors:
    """SwiGLU and its kin: two matrices up, one down."""
    return (
        *linear(f"{prefix}.gate_proj", intermediate_size, hidden_size, bias=bias),
        *linear(f"{prefix}.up_proj", intermediate_size, hidden_size, bias=bias),
        *linear(f"{prefix}.down_proj", hidden_size, intermediate_size, bias=bias),
    )


def dense(reader: Reader, *, bias: bool = False, activation: str = "silu") -> Callable[[int], Block]:
    """The gated MLP of ``intermediate_size``, the same in every layer."""
    hidden_size, width = reader.size("hidden_size"), reader.size("intermediate_size")
    block = (
        DenseMLP(intermediate_size=width, gated=True, activation=activation),
        gated_mlp(hidden_size, width, bias=bias),
    )
    return lambda _: block


def llama_like(
    reader: Reader,
    style: Style = LLAMA,
    *,
    mlp: Callable[[int], Block] | None = None,
    windows: Sequence[int | None] | None = None,
) -> Architecture:
    """Build a decoder of Llama's plan; ``mlp`` gives the feed-forward of layer i, ``windows`` its reach.

    ``mlp`` must return the same object for equal layers: layers are built once per distinct (window, feed-forward).
    """
    hidden_size = reader.size("hidden_size")
    vocab_size = reader.size("vocab_size")
    depth = reader.layers()
    attention = grouped_query(reader, hidden_size)
    blocks = mlp or dense(reader)
    tied = reader.boolean("tie_word_embeddings")
    has_bias = style.norm_bias
    common = attention_tensors(attention, hidden_size, style)
    if style.has_norms:
        common += norms(style.norms, hidden_size, bias=has_bias)
    by_id: dict[int, Block] = {}

    def kind(index: int) -> tuple[int | None, int]:
        block = blocks(index)
        by_id[id(block)] = block
        return (windows[index] if windows else None), id(block)

    def build(key: tuple[int | None, int]) -> Layer:
        feed_forward, tensors = by_id[key[1]]
        return Layer(attention=attention, feed_forward=feed_forward, tensors=common + tensors, window=key[0])

    final = norm(style.final_norm, hidden_size, bias=has_bias) if style.has_norms else ()
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=distinct((kind(index) for index in range(depth)), build),
        layer_prefix="model.layers.*",
        tensors=embedding("model.embed_tokens", vocab_size, hidden_size)
        + final
        + head("lm_head", vocab_size, hidden_size, tied=tied, bias=style.head_bias),
        tie_word_embeddings=tied,
        max_position_embeddings=reader.optional_integer("max_position_embeddings"),
        norm="layer" if style.layer_norm else "rms",
        parallel=style.parallel,
    )


def llama(reader: Reader) -> Architecture:
    """Llama 1 to 3, and what is published under its name (Yi, TinyLlama, SmolLM, DeepSeek LLM, Falcon 3)."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    return llama_like(reader, style, mlp=dense(reader, bias=reader.boolean("mlp_bias")))


def mistral(reader: Reader) -> Architecture:
    """Mistral and Ministral 3: Llama with one window for all layers, or none."""
    depth = reader.layers()
    window = reader.optional_integer("sliding_window")
    return llama_like(reader, windows=layer_windows(reader, depth, window=window, is_windowed=always))


def smollm3(reader: Reader) -> Architecture:
    """SmolLM 3: Llama; its window is inert unless ``use_sliding_window``, and then spares each fourth layer."""
    depth = reader.layers()
    window = reader.optional_integer("sliding_window") if reader.boolean("use_sliding_window") else None
    interval = reader.integer("no_rope_layer_interval", maximum=10_000)
    bias = reader.boolean("attention_bias")
    return llama_like(
        reader,
        replace(LLAMA, query_bias=bias, output_bias=bias),
        mlp=dense(reader, bias=reader.boolean("mlp_bias")),
        windows=layer_windows(reader, depth, window=window, is_windowed=every(interval)),
    )


FAMILIES = {"llama": llama, "mistral": mistral, "ministral3": mistral, "smollm3": smollm3}
