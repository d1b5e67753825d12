"""Zamba and Zamba 2: Mamba layers, and one or a few attention blocks that are run again at several depths.

The shared blocks are stored once and cached once per depth. They read the residual stream beside the embeddings, so
their attention is twice the hidden size wide. Laws read from ``transformers`` 5.24 (``models/{zamba,zamba2}``).
"""

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, RecurrentState
from calc.hf_config.llama import gated_mlp
from calc.hf_config.mixers import Mamba2Shape, MambaShape, Mixer, convolution, mamba2, parameter, read_mamba
from calc.hf_config.parts import Tensors, distinct, linear, norm
from calc.hf_config.reader import Reader
from calc.hf_config.stack import FINAL_LAYERNORM, HYBRID, LINEAR, decoder, layer_kinds, repeated

ZAMBA2_PATTERN = (
    (LINEAR,)
    + ((LINEAR,) * 5 + (HYBRID,)) * 7
    + ((LINEAR,) * 4 + (HYBRID,))
    + ((LINEAR,) * 3 + (HYBRID,))
    + (LINEAR,) * 2
)
"""The 54 layers of the class's default, Zamba2-2.7B."""


def _attention(reader: Reader, hidden_size: int) -> GroupedQueryAttention:
    heads = reader.size("num_attention_heads", maximum=2**20)
    return GroupedQueryAttention(
        num_attention_heads=heads,
        num_key_value_heads=reader.optional_integer("num_key_value_heads") or heads,
        head_dim=reader.optional_integer("attention_head_dim") or 2 * hidden_size // heads,
    )


def _projections(attention: GroupedQueryAttention, hidden_size: int, inputs: int) -> Tensors:
    query = attention.num_attention_heads * attention.head_dim
    key = attention.num_key_value_heads * attention.head_dim
    return (
        *linear("self_attn.q_proj", query, inputs),
        *linear("self_attn.k_proj", key, inputs),
        *linear("self_attn.v_proj", key, inputs),
        *linear("self_attn.o_proj", hidden_size, query),
        *norm("input_layernorm", inputs),
        *norm("pre_ff_layernorm", hidden_size),
    )


def _layers(
    kinds: tuple[str, ...], mixer: Mixer, hidden_size: int, attention: GroupedQueryAttention, mlp: DenseMLP
) -> tuple[Layer, ...]:
    """Plain layers hold a Mamba block; hybrid ones hold it too, with a linear that brings in the shared block."""
    body = mixer.tensors + norm("input_layernorm", hidden_size)
    bridge = linear("linear", hidden_size, hidden_size) + repeated(body, 1, "mamba_decoder.")

    def build(kind: str) -> Layer:
        if kind == HYBRID:
            return Layer(attention=attention, feed_forward=mlp, tensors=bridge, state=mixer.state)
        return Layer(attention=None, feed_forward=None, tensors=body, state=mixer.state)

    return distinct(kinds, build)


def _headed_mamba(shape: MambaShape, heads: int) -> Mixer:
    """Mamba with its inner width cut into heads; the projections of dt, B and C are bare parameters."""
    inner, state, rank = shape.inner_size, shape.state_size, shape.time_step_rank
    width = inner // heads
    tensors = (
        *linear("mamba.in_proj", 2 * inner, shape.hidden_size, bias=shape.bias),
        *convolution("mamba.conv1d", inner, shape.kernel, bias=shape.conv_bias),
        *parameter("mamba.x_proj_weight", heads, rank + 2 * state, width),
        *parameter("mamba.dt_proj_weight", heads, width, rank),
        *parameter("mamba.dt_proj_bias", heads, width),
        *parameter("mamba.A_log", heads, width, state),
        *parameter("mamba.D", heads, width),
        *linear("mamba.out_proj", shape.hidden_size, inner, bias=shape.bias),
    )
    kept = RecurrentState(
        name="mamba",
        inner_size=inner,
        convolution_elements=inner * shape.kernel,
        state_elements=inner * state,
    )
    return Mixer(tensors, kept)


def zamba(reader: Reader) -> Architecture:
    """Zamba (arXiv 2405.16712): one shared block."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    width = reader.size("intermediate_size")
    shape = read_mamba(reader, hidden_size)
    heads = reader.integer("n_mamba_heads")
    reader.require(shape.inner_size % heads == 0, "n_mamba_heads", "not_a_divisor", value=heads, of=shape.inner_size)
    attention = _attention(reader, hidden_size)
    inputs = reader.optional_integer("attention_hidden_size") or 2 * hidden_size
    period, offset = reader.integer("attn_layer_period"), reader.integer("attn_layer_offset", minimum=0)
    rule = tuple(HYBRID if index % period == offset else LINEAR for index in range(depth - 3))
    fallback = (LINEAR, LINEAR, HYBRID, *rule)[:depth]
    kinds = layer_kinds(reader, "layers_block_type", "layer_types", kinds=(LINEAR, HYBRID), fallback=fallback)
    mlp = DenseMLP(intermediate_size=width, gated=True, activation="gelu")
    block = _projections(attention, hidden_size, inputs) + gated_mlp(hidden_size, width, prefix="feed_forward")
    layers = _layers(kinds, _headed_mamba(shape, heads), hidden_size, attention, mlp)
    shared = repeated(block, min(1, kinds.count(HYBRID)), "model.layers.*.shared_transf.")
    return decoder(reader, layers, FINAL_LAYERNORM, shared=shared)


def zamba2(reader: Reader) -> Architecture:
    """Zamba 2 (arXiv 2411.15242): ``num_mem_blocks`` shared blocks in turn, each with low-rank adapters per depth."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    kinds = layer_kinds(
        reader,
        "layers_block_type",
        "layer_types",
        kinds=(LINEAR, HYBRID),
        fallback=ZAMBA2_PATTERN,
        depth=depth if reader.has("layers_block_type", "layer_types") else None,
    )
    reader.require(len(kinds) == depth, "layers_block_type", "missing_key")
    uses = kinds.count(HYBRID)
    attention = _attention(reader, hidden_size)
    width = reader.optional_integer("intermediate_size") or 4 * hidden_size
    mlp = DenseMLP(intermediate_size=width, gated=True, activation="gelu")
    block = _zamba2_block(reader, attention, hidden_size, width)
    prefix = "model.layers.*.shared_transformer."
    shared = repeated(block, min(reader.integer("num_mem_blocks"), uses), prefix)
    adapters = repeated(_adapters(reader, hidden_size, width), uses, prefix)
    layers = _layers(kinds, mamba2("mamba", _zamba2_mamba(reader, hidden_size)), hidden_size, attention, mlp)
    return decoder(reader, layers, FINAL_LAYERNORM, shared=shared + adapters)


def _zamba2_mamba(reader: Reader, hidden_size: int) -> Mamba2Shape:
    inner = int(reader.number("mamba_expand") * hidden_size)
    heads = reader.integer("n_mamba_heads")
    reader.require(inner % heads == 0, "n_mamba_heads", "not_a_divisor", value=heads, of=inner)
    bias = reader.boolean("add_bias_linear")
    return Mamba2Shape(
        hidden_size=hidden_size,
        heads=heads,
        head_dim=inner // heads,
        state_size=reader.integer("mamba_d_state"),
        groups=reader.integer("mamba_ngroups"),
        kernel=reader.integer("mamba_d_conv"),
        conv_bias=True,
        bias=bias,
        out_bias=bias,
    )


def _zamba2_block(reader: Reader, attention: GroupedQueryAttention, hidden_size: int, width: int) -> Tensors:
    bias = reader.boolean("add_bias_linear")
    inputs = reader.optional_integer("attention_hidden_size") or 2 * hidden_size
    return (
        *_projections(attention, hidden_size, inputs),
        *linear("feed_forward.gate_up_proj", 2 * width, hidden_size, bias=bias),
        *linear("feed_forward.down_proj", hidden_size, width, bias=bias),
    )


def _adapters(reader: Reader, hidden_size: int, width: int) -> Tensors:
    """Low-rank corrections that one depth adds to the shared block it runs."""
    rank = reader.integer("adapter_rank")
    pairs = _pair("feed_forward.gate_up_proj_adapter_list.*", rank, hidden_size, 2 * width)
    if reader.boolean("use_shared_attention_adapter"):
        inputs = reader.optional_integer("attention_hidden_size") or 2 * hidden_size
        for letter in "qkv":
            pairs += _pair(f"self_attn.linear_{letter}_adapter_list.*", rank, inputs, inputs)
    return pairs


def _pair(name: str, rank: int, inputs: int, outputs: int) -> Tensors:
    return linear(f"{name}.0", rank, inputs) + linear(f"{name}.1", outputs, rank)


FAMILIES = {"zamba": zamba, "zamba2": zamba2}
