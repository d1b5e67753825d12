"""Kimi Linear and OLMo Hybrid: delta-rule layers beside latent or full attention.

Laws read from ``transformers`` 5.24 (``models/{kimi_linear,olmo_hybrid}``); the published checkpoints keep one
convolution for each of queries, keys and values.
"""

from typing import Final

from calc.architecture import Architecture, DenseMLP, Layer, RecurrentState
from calc.hf_config.latent import latent_attention, latent_tensors
from calc.hf_config.llama import Block, QueryKeyNorm, Style, attention_tensors, gated_mlp
from calc.hf_config.mixers import Mixer, convolution, parameter
from calc.hf_config.moe import MIXTRAL_NAMES, geometry, mixture, routed
from calc.hf_config.parts import FULL, Tensors, distinct, grouped_query, linear, norm, norms
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader
from calc.hf_config.stack import LINEAR, decoder, layer_kinds, router

_NORMS: Final = ("input_layernorm", "post_attention_layernorm")


def _convolutions(prefix: str, widths: dict[str, int], kernel: int) -> Tensors:
    return tuple(
        tensor
        for letter, width in widths.items()
        for tensor in convolution(f"{prefix}.{letter}_conv1d", width, kernel, bias=False)
    )


def _delta_state(name: str, heads: int, key_dim: int, value_dim: int, convolution_elements: int) -> RecurrentState:
    return RecurrentState(
        name=name,
        inner_size=heads * value_dim,
        convolution_elements=convolution_elements,
        state_elements=heads * key_dim * value_dim,
    )


def kimi_linear(reader: Reader) -> Architecture:
    """Kimi Linear (arXiv 2510.26692): three delta layers for each latent one; experts after the first layers."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    latent = latent_attention(reader)
    attending = latent_tensors(latent, hidden_size, bias=reader.boolean("attention_bias"))
    own = reader.section("linear_attn_config", {})
    mixer = _kimi_delta(reader, own, hidden_size)
    dense = _dense(reader, hidden_size)
    sparse = _kimi_experts(reader, hidden_size)
    first = reader.integer("first_k_dense_replace", minimum=0, maximum=MAX_LAYERS)
    rest = norms(_NORMS, hidden_size)

    def build(key: tuple[str, bool]) -> Layer:
        feed_forward, tensors = dense if key[1] else sparse
        if key[0] == FULL:
            return Layer(attention=latent, feed_forward=feed_forward, tensors=attending + rest + tensors)
        return Layer(
            attention=None, feed_forward=feed_forward, tensors=mixer.tensors + rest + tensors, state=mixer.state
        )

    kinds = _kimi_kinds(reader, own, depth)
    return decoder(reader, distinct(((kind, index < first) for index, kind in enumerate(kinds)), build))


def _kimi_kinds(reader: Reader, own: Reader, depth: int) -> tuple[str, ...]:
    """The checkpoint lists its full-attention layers, counted from one."""
    listed = own.optional_integers("full_attn_layers", minimum=1, maximum=depth)
    if listed is None:
        fallback = tuple(FULL if index and index % 4 == 0 else LINEAR for index in range(depth))
    else:
        fallback = tuple(FULL if index + 1 in set(listed) else LINEAR for index in range(depth))
    return layer_kinds(reader, "layer_types", kinds=(LINEAR, FULL), fallback=fallback)


def _kimi_delta(reader: Reader, own: Reader, hidden_size: int) -> Mixer:
    """Kimi delta attention: a forget gate per channel, of low rank."""
    head_dim = own.optional_integer("head_dim", maximum=2**20) or reader.integer("linear_head_dim")
    heads = own.optional_integer("num_heads", maximum=2**20) or reader.integer("linear_num_heads")
    kernel = own.optional_integer("short_conv_kernel_size") or reader.integer("linear_conv_kernel_dim")
    inner, name = heads * head_dim, "self_attn"
    tensors = (
        *(tensor for letter in "qkv" for tensor in linear(f"{name}.{letter}_proj", inner, hidden_size)),
        *_convolutions(name, dict.fromkeys("qkv", inner), kernel),
        *linear(f"{name}.f_a_proj", head_dim, hidden_size),
        *linear(f"{name}.f_b_proj", inner, head_dim),
        *parameter(f"{name}.dt_bias", inner),
        *parameter(f"{name}.A_log", 1, 1, heads, 1),
        *linear(f"{name}.b_proj", heads, hidden_size),
        *linear(f"{name}.g_a_proj", head_dim, hidden_size),
        *linear(f"{name}.g_b_proj", inner, head_dim),
        *norm(f"{name}.o_norm", head_dim),
        *linear(f"{name}.o_proj", hidden_size, inner),
    )
    return Mixer(tensors, _delta_state("kimi_delta", heads, head_dim, head_dim, 3 * inner * kernel))


def _kimi_experts(reader: Reader, hidden_size: int) -> Block:
    active = ("num_experts_per_token", "num_experts_per_tok")
    size = mixture(reader, count=("num_experts", "num_local_experts"), active=active)
    shared = reader.integer("num_shared_experts", "n_shared_experts", maximum=MAX_EXPERTS) * size.width
    name = "block_sparse_moe"
    tensors = router(f"{name}.gate", size.count, hidden_size) + routed(hidden_size, size, name, MIXTRAL_NAMES)
    return geometry(size), tensors + gated_mlp(hidden_size, shared, prefix=f"{name}.shared_experts")


def _dense(reader: Reader, hidden_size: int) -> Block:
    width = reader.size("intermediate_size")
    return DenseMLP(intermediate_size=width, gated=True, activation="silu"), gated_mlp(hidden_size, width)


def olmo_hybrid(reader: Reader) -> Architecture:
    """OLMo Hybrid: gated delta nets, and OLMo 2's attention with its norms after the blocks in each fourth layer."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    attention = grouped_query(reader, hidden_size)
    bias = reader.boolean("attention_bias")
    style = Style(query_key_norm=QueryKeyNorm.ALL, query_bias=bias, output_bias=bias)
    mlp, projections = _dense(reader, hidden_size)
    after = norms(("post_attention_layernorm", "post_feedforward_layernorm"), hidden_size)
    attending = attention_tensors(attention, hidden_size, style) + after + projections
    mixer = _olmo_delta(reader, hidden_size, attention.num_attention_heads)
    recurrent = mixer.tensors + norms(("attention_layer_norm", "feedforward_layer_norm"), hidden_size) + projections

    def build(kind: str) -> Layer:
        if kind == FULL:
            return Layer(attention=attention, feed_forward=mlp, tensors=attending)
        return Layer(attention=None, feed_forward=mlp, tensors=recurrent, state=mixer.state)

    pattern = [FULL if index % 4 == 3 else LINEAR for index in range(depth)]
    fallback = (*pattern[:-1], pattern[-1] if FULL in pattern else FULL)
    kinds = layer_kinds(reader, "layer_types", kinds=(LINEAR, FULL), fallback=fallback)
    return decoder(reader, distinct(kinds, build))


def _olmo_delta(reader: Reader, hidden_size: int, heads: int) -> Mixer:
    key_heads = reader.optional_integer("linear_num_key_heads", maximum=2**20) or heads
    value_heads = reader.optional_integer("linear_num_value_heads", maximum=2**20) or heads
    key_dim = reader.optional_integer("linear_key_head_dim") or int(0.75 * hidden_size / key_heads)
    value_dim = reader.optional_integer("linear_value_head_dim") or 2 * key_dim
    keys, values, name = key_heads * key_dim, value_heads * value_dim, "linear_attn"
    kernel = reader.integer("linear_conv_kernel_dim")
    tensors = (
        *linear(f"{name}.q_proj", keys, hidden_size),
        *linear(f"{name}.k_proj", keys, hidden_size),
        *linear(f"{name}.v_proj", values, hidden_size),
        *linear(f"{name}.a_proj", value_heads, hidden_size),
        *linear(f"{name}.b_proj", value_heads, hidden_size),
        *linear(f"{name}.g_proj", values, hidden_size),
        *linear(f"{name}.o_proj", hidden_size, values),
        *_convolutions(name, {"q": keys, "k": keys, "v": values}, kernel),
        *parameter(f"{name}.A_log", value_heads),
        *parameter(f"{name}.dt_bias", value_heads),
        *norm(f"{name}.o_norm", value_dim),
    )
    state = _delta_state("gated_delta_net", value_heads, key_dim, value_dim, (2 * keys + values) * kernel)
    return Mixer(tensors, state)


FAMILIES: Final = {"kimi_linear": kimi_linear, "olmo_hybrid": olmo_hybrid}
