"""The plan of Llama, and how a class may depart from it: a ``Style`` for names and biases, functions for what varies.

Laws read from ``transformers`` 5.24 (``models/*/modeling_*.py``). The families themselves are in ``dense``, ``moe``
and ``latent``; Llama stands here as the exemplar.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from calc.architecture import Architecture, Attention, DenseMLP, FeedForward, GroupedQueryAttention, Layer
from calc.hf_config.parts import Tensors, distinct, embedding, grouped_query, head, linear, norm, norms
from calc.hf_config.reader import Reader

Block = tuple[FeedForward, Tensors]
"""A feed-forward geometry with its tensors."""

AttentionBlock = tuple[Attention, Tensors]
"""An attention geometry with its tensors."""


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
    prefix: str = "model"
    embed_name: str = "model.embed_tokens"
    head_name: str = "lm_head"
    head_bias: bool = False


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
    return inputs + output + _query_key_norms(attention, style)


def _query_key_norms(attention: GroupedQueryAttention, style: Style) -> Tensors:
    if style.query_key_norm is QueryKeyNorm.NONE:
        return ()
    heads = (attention.num_attention_heads, attention.num_key_value_heads)
    if style.query_key_norm is QueryKeyNorm.HEAD:
        heads = (1, 1)
    tensors = (
        *norm(style.query_norm_name, heads[0] * attention.head_dim, bias=style.query_key_norm_bias),
        *norm(style.key_norm_name, heads[1] * attention.head_dim, bias=style.query_key_norm_bias),
    )
    if style.query_key_norm is not QueryKeyNorm.EACH:
        return tensors
    return tuple(replace(item, shape=(item.shape[0] // attention.head_dim, attention.head_dim)) for item in tensors)


def gated_mlp(hidden_size: int, intermediate_size: int, *, prefix: str = "mlp", bias: bool = False) -> Tensors:
    """SwiGLU and its kin: two matrices up, one down."""
    return (
        *linear(f"{prefix}.gate_proj", intermediate_size, hidden_size, bias=bias),
        *linear(f"{prefix}.up_proj", intermediate_size, hidden_size, bias=bias),
        *linear(f"{prefix}.down_proj", hidden_size, intermediate_size, bias=bias),
    )


def dense(reader: Reader, *, bias: bool = False, activation: str | None = None) -> Callable[[int], Block]:
    """The gated MLP of ``intermediate_size``, the same in every layer."""
    hidden_size, width = reader.size("hidden_size"), reader.size("intermediate_size")
    name = activation or reader.optional_text("hidden_act") or "silu"
    block = DenseMLP(intermediate_size=width, gated=True, activation=name), gated_mlp(hidden_size, width, bias=bias)
    return lambda _: block


def attentions(reader: Reader, style: Style) -> Callable[[int], AttentionBlock]:
    """Grouped-query attention, the same in every layer."""
    hidden_size = reader.size("hidden_size")
    attention = grouped_query(reader, hidden_size)
    block = attention, attention_tensors(attention, hidden_size, style)
    return lambda _: block


def llama_like(
    reader: Reader,
    style: Style = LLAMA,
    *,
    mlp: Callable[[int], Block] | None = None,
    attention: Callable[[int], AttentionBlock] | None = None,
    windows: Sequence[int | None] | None = None,
) -> Architecture:
    """Build a decoder of Llama's plan; ``mlp`` and ``attention`` give the parts of layer i, ``windows`` its reach.

    They must return the same object for equal layers: a layer is built once per distinct combination.
    """
    hidden_size, vocab_size = reader.size("hidden_size"), reader.size("vocab_size")
    layers = plan(
        reader.layers(),
        norms(style.norms, hidden_size, bias=style.norm_bias) if style.has_norms else (),
        attention or attentions(reader, style),
        mlp or dense(reader),
        windows,
    )
    tied = reader.boolean("tie_word_embeddings")
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=layers,
        layer_prefix=f"{style.prefix}.layers.*",
        tensors=embedding(style.embed_name, vocab_size, hidden_size)
        + (norm(style.final_norm, hidden_size, bias=style.norm_bias) if style.has_norms else ())
        + head(style.head_name, vocab_size, hidden_size, tied=tied, bias=style.head_bias),
        tie_word_embeddings=tied,
        max_position_embeddings=reader.optional_integer("max_position_embeddings"),
        norm="layer" if style.layer_norm else "rms",
        parallel=style.parallel,
    )


def plan(
    depth: int,
    common: Tensors,
    attention: Callable[[int], AttentionBlock],
    mlp: Callable[[int], Block],
    windows: Sequence[int | None] | None = None,
) -> tuple[Layer, ...]:
    """Layers in order, equal ones the same object; ``common`` tensors (norms) are in each of them."""
    attention_by_id: dict[int, AttentionBlock] = {}
    mlp_by_id: dict[int, Block] = {}

    def kind(index: int) -> tuple[int, int, int | None]:
        reads, feeds = attention(index), mlp(index)
        attention_by_id[id(reads)], mlp_by_id[id(feeds)] = reads, feeds
        return id(reads), id(feeds), windows[index] if windows else None

    def build(key: tuple[int, int, int | None]) -> Layer:
        (reads, read_tensors), (feeds, feed_tensors) = attention_by_id[key[0]], mlp_by_id[key[1]]
        return Layer(attention=reads, feed_forward=feeds, tensors=read_tensors + feed_tensors + common, window=key[2])

    return distinct((kind(index) for index in range(depth)), build)


def llama(reader: Reader) -> Architecture:
    """Llama 1 to 3, and what is published under its name (Yi, TinyLlama, SmolLM, DeepSeek LLM, Falcon 3)."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    return llama_like(reader, style, mlp=dense(reader, bias=reader.boolean("mlp_bias")))


FAMILIES = {"llama": llama}
