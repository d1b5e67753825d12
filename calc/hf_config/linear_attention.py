"""Linear attention beside full attention: Qwen3-Next and Qwen 3.5 (gated delta nets), MiniMax-01 (lightning).

Laws read from ``transformers`` 5.24 (``models/{qwen3_next,qwen3_5,qwen3_5_moe,minimax}``); names are those of the
published checkpoints. Multi-token-prediction layers are stored by them and not built by Transformers.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from calc.architecture import (
    Architecture,
    DenseMLP,
    GroupedQueryAttention,
    Layer,
    RecurrentState,
    Tower,
)
from calc.hf_config.llama import LLAMA, Block, attention_tensors, gated_mlp
from calc.hf_config.mixers import Mixer, convolution, parameter
from calc.hf_config.moe import MIXTRAL_NAMES, geometry, mixture, routed
from calc.hf_config.parts import FULL, Tensors, distinct, grouped_query, linear, norm, norms
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader
from calc.hf_config.stack import LINEAR, decoder, layer_kinds, repeated, router, stacked_experts

_NORMS: Final = ("input_layernorm", "post_attention_layernorm")


def gated_delta_net(reader: Reader, hidden_size: int, *, fused: bool) -> Mixer:
    """Gated delta net (arXiv 2412.06464): a state of ``value heads x key width x value width`` per sequence.

    Qwen3-Next fuses its input projections in two (``fused``); Qwen 3.5 stores four.
    """
    key_heads, value_heads = reader.integer("linear_num_key_heads"), reader.integer("linear_num_value_heads")
    key_dim, value_dim = reader.integer("linear_key_head_dim"), reader.integer("linear_value_head_dim")
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels, kernel = 2 * keys + values, reader.integer("linear_conv_kernel_dim")
    if fused:
        inputs = linear("linear_attn.in_proj_qkvz", channels + values, hidden_size)
        inputs += linear("linear_attn.in_proj_ba", 2 * value_heads, hidden_size)
    else:
        inputs = linear("linear_attn.in_proj_qkv", channels, hidden_size)
        inputs += linear("linear_attn.in_proj_z", values, hidden_size)
        inputs += linear("linear_attn.in_proj_b", value_heads, hidden_size)
        inputs += linear("linear_attn.in_proj_a", value_heads, hidden_size)
    tensors = (
        *inputs,
        *convolution("linear_attn.conv1d", channels, kernel, bias=False),
        *parameter("linear_attn.dt_bias", value_heads),
        *parameter("linear_attn.A_log", value_heads),
        *norm("linear_attn.norm", value_dim),
        *linear("linear_attn.out_proj", hidden_size, values),
    )
    state = RecurrentState(
        name="gated_delta_net",
        inner_size=values,
        convolution_elements=channels * kernel,
        state_elements=value_heads * key_dim * value_dim,
    )
    return Mixer(tensors, state)


def _gated_attention(attention: GroupedQueryAttention, hidden_size: int, *, bias: bool) -> Tensors:
    """Queries come with a gate of their own width; queries and keys are normalised per head."""
    query = attention.num_attention_heads * attention.head_dim
    projections = attention_tensors(attention, hidden_size, replace(LLAMA, query_bias=bias, output_bias=bias))
    doubled = linear("self_attn.q_proj", 2 * query, hidden_size, bias=bias)
    others = tuple(tensor for tensor in projections if not tensor.name.startswith("self_attn.q_proj"))
    return doubled + others + norms(("self_attn.q_norm", "self_attn.k_norm"), attention.head_dim)


def _mixture(reader: Reader, hidden_size: int, *, stacked: bool) -> Block:
    """Routed experts and a shared one behind a gate; ``stacked`` checkpoints hold all experts in one tensor."""
    size = replace(mixture(reader), shared_width=reader.integer("shared_expert_intermediate_size"))
    tensors = router("mlp.gate", size.count, hidden_size)
    tensors += stacked_experts(hidden_size, size, "mlp.experts") if stacked else routed(hidden_size, size, "mlp")
    tensors += gated_mlp(hidden_size, size.shared_width, prefix="mlp.shared_expert")
    return geometry(size), tensors + linear("mlp.shared_expert_gate", 1, hidden_size)


def _dense(reader: Reader, hidden_size: int) -> Block:
    width = reader.size("intermediate_size")
    return DenseMLP(intermediate_size=width, gated=True, activation="silu"), gated_mlp(hidden_size, width)


def qwen3_next(reader: Reader) -> Architecture:
    """Qwen3-Next: three delta nets for each full attention; experts unless a layer is listed as dense."""
    hidden_size = reader.size("hidden_size")
    listed = set(reader.optional_integers("mlp_only_layers", maximum=MAX_LAYERS) or ())
    step = reader.integer("decoder_sparse_step", maximum=MAX_LAYERS)
    has_experts = reader.integer("num_experts", minimum=0, maximum=MAX_EXPERTS) > 0
    sparse = [has_experts and index not in listed and (index + 1) % step == 0 for index in range(reader.layers())]
    made = {
        choice: _mixture(reader, hidden_size, stacked=False) if choice else _dense(reader, hidden_size)
        for choice in sorted(set(sparse))
    }
    mixer = gated_delta_net(reader, hidden_size, fused=True)
    return _delta_hybrid(reader, mixer, lambda index: made[sparse[index]])


def qwen3_5(reader: Reader) -> Architecture:
    """Qwen 3.5, dense."""
    hidden_size = reader.size("hidden_size")
    block = _dense(reader, hidden_size)
    return _delta_hybrid(reader, gated_delta_net(reader, hidden_size, fused=False), lambda _: block)


def qwen3_5_moe(reader: Reader) -> Architecture:
    """Qwen 3.5 with experts in every layer."""
    hidden_size = reader.size("hidden_size")
    block = _mixture(reader, hidden_size, stacked=True)
    return _delta_hybrid(reader, gated_delta_net(reader, hidden_size, fused=False), lambda _: block)


def _delta_hybrid(reader: Reader, mixer: Mixer, blocks: Callable[[int], Block]) -> Architecture:
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    attention = grouped_query(reader, hidden_size)
    rest = norms(_NORMS, hidden_size)
    attending = _gated_attention(attention, hidden_size, bias=reader.boolean("attention_bias")) + rest
    interval = reader.optional_integer("full_attention_interval", maximum=MAX_LAYERS) or 4
    fallback = tuple(LINEAR if (index + 1) % interval else FULL for index in range(depth))
    kinds = layer_kinds(reader, "layer_types", kinds=(LINEAR, FULL), fallback=fallback)
    made = {id(block): block for block in map(blocks, range(depth))}

    def build(key: tuple[str, int]) -> Layer:
        feed_forward, tensors = made[key[1]]
        if key[0] == FULL:
            return Layer(attention=attention, feed_forward=feed_forward, tensors=attending + tensors)
        return Layer(
            attention=None, feed_forward=feed_forward, tensors=mixer.tensors + rest + tensors, state=mixer.state
        )

    layers = distinct(((kind, id(blocks(index))) for index, kind in enumerate(kinds)), build)
    architecture = decoder(reader, layers)
    return replace(architecture, towers=_prediction(reader, attending + blocks(depth - 1)[1], hidden_size))


def _prediction(reader: Reader, layer: Tensors, hidden_size: int) -> tuple[Tower, ...]:
    """Multi-token prediction: full-attention layers that read the hidden state beside the next token's embedding."""
    count = reader.optional_integer("mtp_num_hidden_layers", minimum=0, maximum=MAX_LAYERS)
    if not count:
        return ()
    tensors = repeated(layer, count, "mtp.layers.*.")
    tensors += linear("mtp.fc", hidden_size, 2 * hidden_size)
    tensors += norms(("mtp.norm", "mtp.pre_fc_norm_hidden", "mtp.pre_fc_norm_embedding"), hidden_size)
    return (Tower(name="multi_token_prediction", tensors=tensors, loaded=False),)


def minimax(reader: Reader) -> Architecture:
    """MiniMax-Text-01 and M1 (arXiv 2501.08313): lightning attention, whose state is in the model's dtype."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    attention = grouped_query(reader, hidden_size)
    feed_forward, tensors = _minimax_experts(reader, hidden_size)
    rest = norms(_NORMS, hidden_size) + tensors
    lightning = _lightning(attention, hidden_size)

    def build(kind: str) -> Layer:
        if kind == FULL:
            tensors = attention_tensors(attention, hidden_size, LLAMA) + rest
            return Layer(attention=attention, feed_forward=feed_forward, tensors=tensors)
        return Layer(attention=None, feed_forward=feed_forward, tensors=lightning.tensors + rest, state=lightning.state)

    flags = reader.optional_integers("attn_type_list", maximum=1, length=depth)
    if flags is None:
        flags = tuple((index + 1) % 2 for index in range(depth))
    fallback = tuple(FULL if flag else LINEAR for flag in flags)
    kinds = layer_kinds(reader, "layer_types", kinds=(LINEAR, FULL), fallback=fallback)
    return decoder(reader, distinct(kinds, build))


def _lightning(attention: GroupedQueryAttention, hidden_size: int) -> Mixer:
    heads, width = attention.num_attention_heads, attention.head_dim
    inner = heads * width
    tensors = (
        *norm("self_attn.norm", inner),
        *linear("self_attn.qkv_proj", 3 * inner, hidden_size),
        *linear("self_attn.out_proj", hidden_size, inner),
        *linear("self_attn.output_gate", inner, hidden_size),
    )
    state = RecurrentState(
        name="lightning",
        inner_size=inner,
        convolution_elements=0,
        state_elements=heads * width * width,
        state_bytes=None,
    )
    return Mixer(tensors, state)


def _minimax_experts(reader: Reader, hidden_size: int) -> Block:
    size = mixture(reader, width="intermediate_size", count=("num_local_experts", "num_experts"))
    tensors = router("block_sparse_moe.gate", size.count, hidden_size)
    return geometry(size), tensors + routed(hidden_size, size, "block_sparse_moe", MIXTRAL_NAMES)


FAMILIES = {
    "qwen3_next": qwen3_next,
    "qwen3_5_text": qwen3_5,
    "qwen3_5_moe_text": qwen3_5_moe,
    "minimax": minimax,
    "minimax_text_01": minimax,
    "minimax_m1": minimax,
}
