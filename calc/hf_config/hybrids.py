"""Decoders that mix attention with Mamba: Jamba, Bamba, Granite 4 and Falcon-H1.

Laws read from ``transformers`` 5.24 (``models/{jamba,bamba,granitemoehybrid,falcon_h1}``).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer
from calc.hf_config.llama import LLAMA, Block, attention_tensors, gated_mlp
from calc.hf_config.mixers import Mixer, mamba, mamba2, read_mamba, read_mamba2
from calc.hf_config.moe import geometry, mixture, routed
from calc.hf_config.parts import FULL, Tensors, distinct, experts, grouped_query, linear, norms
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader
from calc.hf_config.stack import FINAL_LAYERNORM, LINEAR, decoder, layer_kinds, router

_NORMS: Final = ("input_layernorm", "pre_ff_layernorm")


def attention_block(reader: Reader, hidden_size: int, *, bias: bool) -> tuple[GroupedQueryAttention, Tensors]:
    """Llama's four projections, with or without biases."""
    attention = grouped_query(reader, hidden_size)
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    return attention, attention_tensors(attention, hidden_size, style)


def dense_block(hidden_size: int, width: int, *, prefix: str, bias: bool = False) -> Block:
    """A gated MLP with its geometry."""
    mlp = DenseMLP(intermediate_size=width, gated=True, activation="silu")
    return mlp, gated_mlp(hidden_size, width, prefix=prefix, bias=bias)


def either(
    kind: str, attention: tuple[GroupedQueryAttention, Tensors], mixer: Mixer, block: Block, rest: Tensors
) -> Layer:
    """A layer that attends, or one that keeps a state; both end in the same feed-forward."""
    feed_forward, tensors = block
    if kind == FULL:
        return Layer(attention=attention[0], feed_forward=feed_forward, tensors=attention[1] + tensors + rest)
    return Layer(attention=None, feed_forward=feed_forward, tensors=mixer.tensors + tensors + rest, state=mixer.state)


def jamba(reader: Reader) -> Architecture:
    """Jamba (arXiv 2403.19887): attention each eighth layer, experts each second, by period and offset."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    width = reader.size("intermediate_size")
    attention = attention_block(reader, hidden_size, bias=False)
    mixer = mamba("mamba", read_mamba(reader, hidden_size), inner_norms=True)
    attends = _periodic(reader, "attn_layer_period", "attn_layer_offset")
    sparse = _periodic(reader, "expert_layer_period", "expert_layer_offset")
    dense = dense_block(hidden_size, width, prefix="feed_forward")
    several = reader.integer("num_experts", "num_local_experts", maximum=MAX_EXPERTS) > 1
    mixed = _jamba_experts(reader, hidden_size) if several else dense

    def build(key: tuple[bool, bool]) -> Layer:
        block = mixed if key[1] else dense
        return either(FULL if key[0] else LINEAR, attention, mixer, block, norms(_NORMS, hidden_size))

    kinds = ((attends(index), sparse(index)) for index in range(depth))
    return decoder(reader, distinct(kinds, build), FINAL_LAYERNORM)


def _jamba_experts(reader: Reader, hidden_size: int) -> Block:
    size = mixture(reader, width="intermediate_size")
    tensors = router("feed_forward.router", size.count, hidden_size)
    return geometry(size), tensors + routed(hidden_size, size, "feed_forward")


def _periodic(reader: Reader, period_key: str, offset_key: str) -> Callable[[int], bool]:
    period = reader.integer(period_key, maximum=MAX_LAYERS)
    offset = reader.integer(offset_key, minimum=0, maximum=period - 1)
    return lambda index: index % period == offset


def bamba(reader: Reader) -> Architecture:
    """Bamba: Mamba 2 with attention in the layers that ``attn_layer_indices`` lists."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    attention = attention_block(reader, hidden_size, bias=reader.boolean("attention_bias"))
    mixer = mamba2("mamba", read_mamba2(reader, hidden_size))
    block = dense_block(
        hidden_size, reader.size("intermediate_size"), prefix="feed_forward", bias=reader.boolean("mlp_bias")
    )
    attends = set(reader.optional_integers("attn_layer_indices", maximum=MAX_LAYERS) or ())

    def build(kind: str) -> Layer:
        return either(kind, attention, mixer, block, norms(_NORMS, hidden_size))

    kinds = (FULL if index in attends else LINEAR for index in range(depth))
    return decoder(reader, distinct(kinds, build), FINAL_LAYERNORM)


def granite_hybrid(reader: Reader) -> Architecture:
    """Granite 4: Mamba 2 or attention, then routed experts (none in the dense sizes) beside a shared MLP."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    kinds = layer_kinds(
        reader, "layer_types", "layers_block_type", depth=depth, kinds=(LINEAR, FULL), fallback=(LINEAR,) * depth
    )
    attention = attention_block(reader, hidden_size, bias=reader.boolean("attention_bias"))
    mixer = mamba2("mamba", read_mamba2(reader, hidden_size)) if LINEAR in kinds else None
    block = _granite_block(reader, hidden_size)
    rest = norms(("input_layernorm", "post_attention_layernorm"), hidden_size)

    def build(kind: str) -> Layer:
        if mixer is None:
            return Layer(attention=attention[0], feed_forward=block[0], tensors=attention[1] + block[1] + rest)
        return either(kind, attention, mixer, block, rest)

    return decoder(reader, distinct(kinds, build))


def _granite_block(reader: Reader, hidden_size: int) -> Block:
    shared = reader.integer("shared_intermediate_size")
    tensors = linear("shared_mlp.input_linear", 2 * shared, hidden_size)
    tensors += linear("shared_mlp.output_linear", hidden_size, shared)
    if not reader.integer("num_local_experts", minimum=0, maximum=MAX_EXPERTS):
        return DenseMLP(intermediate_size=shared, gated=True, activation="silu"), tensors
    size = mixture(reader, width="intermediate_size", count=("num_local_experts",))
    name, many = "block_sparse_moe", {"count": size.count, "active": size.active}
    tensors += router(f"{name}.router.layer", size.count, hidden_size)
    tensors += experts(f"{name}.input_linear.weight", 2 * size.width, hidden_size, **many)
    tensors += experts(f"{name}.output_linear.weight", hidden_size, size.width, **many)
    return geometry(replace(size, shared_width=shared)), tensors


def falcon_h1(reader: Reader) -> Architecture:
    """Falcon-H1: attention and Mamba 2 side by side in every layer, both fed by one norm."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    inner = reader.optional_integer("mamba_d_ssm")
    shape = read_mamba2(reader, hidden_size, inner_size=inner)
    shape = replace(shape, out_bias=reader.boolean("projectors_bias"), gated_norm=reader.boolean("mamba_rms_norm"))
    mixer = mamba2("mamba", shape)
    attention, projections = attention_block(reader, hidden_size, bias=reader.boolean("attention_bias"))
    feed_forward, mlp = dense_block(
        hidden_size, reader.size("intermediate_size"), prefix="feed_forward", bias=reader.boolean("mlp_bias")
    )
    layer = Layer(
        attention=attention,
        feed_forward=feed_forward,
        tensors=projections + mixer.tensors + mlp + norms(_NORMS, hidden_size),
        state=mixer.state,
    )
    return decoder(reader, (layer,) * depth, FINAL_LAYERNORM)


FAMILIES = {"jamba": jamba, "bamba": bamba, "granitemoehybrid": granite_hybrid, "falcon_h1": falcon_h1}
