"""Nemotron-H and Nemotron 3: a string of single-purpose layers (Mamba 2, attention, MLP or experts).

Laws read from ``transformers`` 5.24 (``models/nemotron_h``); names are those of the published checkpoints.
"""

from collections.abc import Callable
from typing import Final

from calc.architecture import Architecture, DenseMLP, Layer, MixtureOfExperts
from calc.hf_config.llama import LLAMA, attention_tensors
from calc.hf_config.mixers import Mamba2Shape, mamba2
from calc.hf_config.parts import FULL, Tensors, distinct, experts, grouped_query, linear, norm
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader
from calc.hf_config.stack import LINEAR, Frame, decoder, layer_kinds, renamed, router, up_down

_MLP: Final = "mlp"
_MOE: Final = "moe"
_LETTERS: Final = {"M": LINEAR, "*": FULL, "-": _MLP, "E": _MOE}
_FRAME: Final = Frame(embeddings="backbone.embeddings", layer_prefix="backbone.layers.*", final_norm="backbone.norm_f")


def nemotron_h(reader: Reader) -> Architecture:
    """Nemotron-H (arXiv 2504.03624): each layer is a norm and one mixer."""
    hidden_size = reader.size("hidden_size")
    makers: dict[str, Callable[[Reader, int], Layer]] = {
        LINEAR: _mamba,
        FULL: _attention,
        _MLP: _mlp,
        _MOE: _mixture,
    }
    layers = distinct(_kinds(reader), lambda kind: makers[kind](reader, hidden_size))
    return decoder(reader, layers, _FRAME)


def _kinds(reader: Reader) -> tuple[str, ...]:
    for key in ("layers_block_type", "layer_types"):
        if reader.has(key):
            depth = reader.optional_integer("num_hidden_layers", maximum=MAX_LAYERS)
            given = reader.mapping[key]
            length = depth or (len(given) if isinstance(given, list) else 0)
            return layer_kinds(reader, key, kinds=tuple(_LETTERS.values()), fallback=(), depth=length)
    pattern = reader.text("hybrid_override_pattern", maximum=MAX_LAYERS)
    unknown = sorted(set(pattern) - set(_LETTERS))
    reader.require(
        not unknown, "hybrid_override_pattern", "not_a_choice", value="".join(unknown)[:20], choices=", ".join(_LETTERS)
    )
    depth = reader.optional_integer("num_hidden_layers", maximum=MAX_LAYERS) or len(pattern)
    reader.require(
        depth == len(pattern), "hybrid_override_pattern", "wrong_length", length=len(pattern), expected=depth
    )
    return tuple(_LETTERS[letter] for letter in pattern)


def _mamba(reader: Reader, hidden_size: int) -> Layer:
    bias = reader.boolean("use_bias")
    shape = Mamba2Shape(
        hidden_size=hidden_size,
        heads=reader.integer("mamba_num_heads", maximum=2**20),
        head_dim=reader.integer("mamba_head_dim", maximum=2**20),
        state_size=reader.integer("ssm_state_size"),
        groups=reader.integer("mamba_n_groups", "n_groups"),
        kernel=reader.integer("mamba_d_conv", "conv_kernel"),
        conv_bias=reader.boolean("mamba_conv_bias", "use_conv_bias"),
        bias=bias,
        out_bias=bias,
    )
    mixer = mamba2("mixer", shape)
    return Layer(
        attention=None,
        feed_forward=None,
        tensors=norm("norm", hidden_size) + mixer.tensors,
        state=mixer.state,
    )


def _attention(reader: Reader, hidden_size: int) -> Layer:
    attention = grouped_query(reader, hidden_size)
    tensors = renamed(attention_tensors(attention, hidden_size, LLAMA), "self_attn.", "mixer.")
    return Layer(attention=attention, feed_forward=None, tensors=norm("norm", hidden_size) + tensors)


def _mlp(reader: Reader, hidden_size: int) -> Layer:
    width = reader.size("intermediate_size")
    tensors = up_down("mixer", hidden_size, width, bias=reader.boolean("mlp_bias"))
    return Layer(
        attention=None,
        feed_forward=DenseMLP(intermediate_size=width, gated=False, activation="relu2"),
        tensors=norm("norm", hidden_size) + tensors,
    )


def _mixture(reader: Reader, hidden_size: int) -> Layer:
    """Experts of two matrices, in a narrower latent space where ``moe_latent_size`` says so, and a shared MLP."""
    count = reader.integer("n_routed_experts", "num_local_experts", maximum=MAX_EXPERTS)
    active = reader.integer("num_experts_per_tok", maximum=count)
    width = reader.integer("moe_intermediate_size")
    shared = reader.integer("moe_shared_expert_intermediate_size")
    bias = reader.boolean("mlp_bias")
    latent = reader.optional_integer("moe_latent_size")
    inputs = latent or hidden_size
    tensors: Tensors = (
        *norm("norm", hidden_size),
        *router("mixer.gate", count, hidden_size),
        *experts("mixer.experts.*.up_proj.weight", width, inputs, count=count, active=active),
        *experts("mixer.experts.*.down_proj.weight", inputs, width, count=count, active=active),
        *up_down("mixer.shared_experts", hidden_size, shared, bias=bias),
    )
    if latent:
        tensors += linear("mixer.fc1_latent_proj", latent, hidden_size, bias=bias)
        tensors += linear("mixer.fc2_latent_proj", hidden_size, latent, bias=bias)
    geometry = MixtureOfExperts(
        num_experts=count,
        num_experts_per_tok=active,
        moe_intermediate_size=width,
        shared_intermediate_size=shared,
        gated=False,
        activation="relu2",
    )
    return Layer(attention=None, feed_forward=geometry, tensors=tensors)


FAMILIES = {"nemotron_h": nemotron_h}
