"""Vision encoders that several composites share: CLIP, SigLIP, Pixtral, and the towers of Llama 3.2 and 4.

Laws read from ``transformers`` 5.24 (``models/{clip,siglip,pixtral,mllama,llama4}``). Names are relative to the tower.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from calc.architecture import Tensor, TensorKind
from calc.hf_config.llama import gated_mlp
from calc.hf_config.mixers import parameter
from calc.hf_config.parts import Tensors, embedding, linear, norm, norms, vector
from calc.hf_config.reader import MAX_LAYERS, Reader, shown
from calc.hf_config.stack import repeated


@dataclass(frozen=True, slots=True)
class Encoder:
    """A tower's tensors and the width of what it hands over."""

    tensors: Tensors
    hidden_size: int


def patches(name: str, hidden_size: int, *kernel: int, bias: bool = False) -> Tensors:
    """A patch embedding: a convolution from the channels and the patch to the width."""
    weight = Tensor(name=f"{name}.weight", shape=(hidden_size, *kernel), kind=TensorKind.CONVOLUTION)
    return (weight, *vector(f"{name}.bias", hidden_size, TensorKind.CONVOLUTION)) if bias else (weight,)


def two_matrices(name: str, hidden_size: int, width: int, names: tuple[str, str] = ("fc1", "fc2")) -> Tensors:
    """A feed-forward of two matrices with biases."""
    up = linear(f"{name}.{names[0]}", width, hidden_size, bias=True)
    return up + linear(f"{name}.{names[1]}", hidden_size, width, bias=True)


def square_attention(name: str, hidden_size: int, *, bias: bool, output: str = "out_proj") -> Tensors:
    """Four square projections."""
    letters = ("q_proj", "k_proj", "v_proj", output)
    return tuple(
        tensor for letter in letters for tensor in linear(f"{name}.{letter}", hidden_size, hidden_size, bias=bias)
    )


def _transformer(reader: Reader, hidden_size: int) -> Tensors:
    """CLIP's and SigLIP's layers: LayerNorms, biases everywhere."""
    width = reader.integer("intermediate_size")
    layer = square_attention("self_attn", hidden_size, bias=True)
    layer += two_matrices("mlp", hidden_size, width)
    layer += norms(("layer_norm1", "layer_norm2"), hidden_size, bias=True)
    depth = reader.integer("num_hidden_layers", maximum=MAX_LAYERS)
    return repeated(layer, depth, "vision_model.encoder.layers.*.")


def _grid(reader: Reader) -> int:
    """How many patches an image has."""
    size, patch = reader.integer("image_size"), reader.integer("patch_size")
    reader.require(patch <= size, "patch_size", value=patch)
    return (size // patch) * (size // patch)


def _square_kernel(reader: Reader) -> tuple[int, int, int]:
    patch = reader.integer("patch_size")
    return reader.integer("num_channels"), patch, patch


def clip(reader: Reader) -> Encoder:
    """CLIP's image encoder, with a class token among the positions."""
    hidden_size = reader.integer("hidden_size")
    prefix = "vision_model.embeddings"
    tensors = (
        *parameter(f"{prefix}.class_embedding", hidden_size),
        *patches(f"{prefix}.patch_embedding", hidden_size, *_square_kernel(reader)),
        *embedding(f"{prefix}.position_embedding", _grid(reader) + 1, hidden_size, TensorKind.POSITION),
        *norm("vision_model.pre_layrnorm", hidden_size, bias=True),
        *_transformer(reader, hidden_size),
        *norm("vision_model.post_layernorm", hidden_size, bias=True),
    )
    return Encoder(tensors, hidden_size)


def siglip(reader: Reader) -> Encoder:
    """SigLIP's image encoder; its pooling head is there unless ``vision_use_head`` is false."""
    hidden_size = reader.integer("hidden_size")
    name = "vision_model.embeddings.patch_embedding"
    return _siglip(reader, patches(name, hidden_size, *_square_kernel(reader), bias=True), _grid(reader))


def siglip2(reader: Reader) -> Encoder:
    """SigLIP 2 for images of any shape: patches come unfolded, positions are a number of their own."""
    channels, patch, _ = _square_kernel(reader)
    name, width = "vision_model.embeddings.patch_embedding", channels * patch * patch
    embedded = linear(name, reader.integer("hidden_size"), width, bias=True)
    return _siglip(reader, embedded, reader.integer("num_patches"))


def _siglip(reader: Reader, embedded: Tensors, positions: int) -> Encoder:
    hidden_size = reader.integer("hidden_size")
    tensors = (
        *embedded,
        *embedding("vision_model.embeddings.position_embedding", positions, hidden_size, TensorKind.POSITION),
        *_transformer(reader, hidden_size),
        *norm("vision_model.post_layernorm", hidden_size, bias=True),
    )
    if reader.boolean("vision_use_head"):
        tensors += _pooling_head(hidden_size, reader.integer("intermediate_size"))
    return Encoder(tensors, hidden_size)


def _pooling_head(hidden_size: int, width: int) -> Tensors:
    prefix = "vision_model.head"
    return (
        *parameter(f"{prefix}.probe", 1, 1, hidden_size),
        *parameter(f"{prefix}.attention.in_proj_weight", 3 * hidden_size, hidden_size),
        *parameter(f"{prefix}.attention.in_proj_bias", 3 * hidden_size),
        *linear(f"{prefix}.attention.out_proj", hidden_size, hidden_size, bias=True),
        *norm(f"{prefix}.layernorm", hidden_size, bias=True),
        *two_matrices(f"{prefix}.mlp", hidden_size, width),
    )


def pixtral(reader: Reader) -> Encoder:
    """Pixtral's encoder: gated MLPs, RMS norms, rotary positions."""
    hidden_size = reader.integer("hidden_size")
    layer = square_attention("attention", hidden_size, bias=False, output="o_proj")
    layer += gated_mlp(hidden_size, reader.integer("intermediate_size"), prefix="feed_forward")
    layer += norms(("attention_norm", "ffn_norm"), hidden_size)
    depth = reader.integer("num_hidden_layers", maximum=MAX_LAYERS)
    tensors = (
        *patches("patch_conv", hidden_size, *_square_kernel(reader)),
        *norm("ln_pre", hidden_size),
        *repeated(layer, depth, "transformer.layers.*."),
    )
    return Encoder(tensors, hidden_size)


def mllama(reader: Reader) -> Encoder:
    """Llama 3.2's encoder: tiles of an image, local layers, then gated global ones."""
    hidden_size, width = reader.integer("hidden_size"), reader.integer("intermediate_size")
    layer = square_attention("self_attn", hidden_size, bias=False, output="o_proj")
    layer += two_matrices("mlp", hidden_size, width)
    layer += norms(("input_layernorm", "post_attention_layernorm"), hidden_size, bias=True)
    gates = parameter("gate_attn", 1) + parameter("gate_ffn", 1)
    positions, tiles = _grid(reader) + 1, reader.integer("max_num_tiles")
    ratios = 1 + _aspect_ratios(reader)
    tensors = (
        *parameter("class_embedding", hidden_size),
        *patches("patch_embedding", hidden_size, *_square_kernel(reader)),
        *parameter("gated_positional_embedding.embedding", positions, hidden_size),
        *parameter("gated_positional_embedding.gate", 1),
        *_position("gated_positional_embedding.tile_embedding", ratios, tiles * positions * hidden_size),
        *norms(("layernorm_pre", "layernorm_post"), hidden_size, bias=True),
        *repeated(layer, reader.integer("num_hidden_layers", maximum=MAX_LAYERS), "transformer.layers.*."),
        *repeated(
            layer + gates, reader.integer("num_global_layers", maximum=MAX_LAYERS), "global_transformer.layers.*."
        ),
    )
    for name in ("pre_tile_positional_embedding", "post_tile_positional_embedding"):
        tensors += _position(f"{name}.embedding", ratios, tiles * hidden_size) + parameter(f"{name}.gate", 1)
    return Encoder(tensors, reader.integer("vision_output_dim"))


def _position(name: str, rows: int, width: int) -> Tensors:
    return embedding(name, rows, width, TensorKind.POSITION)


def _aspect_ratios(reader: Reader) -> int:
    """How many ways to lay out tiles the file lists; the class knows eight."""
    given = reader.mapping.get("supported_aspect_ratios")
    if given is None:
        return 8
    reader.require(
        isinstance(given, list) and len(given) <= 1000, "supported_aspect_ratios", "not_a_list", value=shown(given)
    )
    return len(given) if isinstance(given, list) else 0


def llama4(reader: Reader) -> Encoder:
    """Llama 4's encoder: unfolded patches, learned positions, a pixel-shuffle adapter at the end."""
    hidden_size, width = reader.integer("hidden_size"), reader.integer("intermediate_size")
    channels, patch, _ = _square_kernel(reader)
    layer = square_attention("self_attn", hidden_size, bias=True, output="o_proj")
    layer += two_matrices("mlp", hidden_size, width)
    layer += norms(("input_layernorm", "post_attention_layernorm"), hidden_size, bias=True)
    inner, outer = reader.integer("projector_input_dim"), reader.integer("projector_output_dim")
    tensors = (
        *parameter("class_embedding", hidden_size),
        *parameter("positional_embedding_vlm", _grid(reader) + 1, hidden_size),
        *linear("patch_embedding.linear", hidden_size, channels * patch * patch),
        *norms(("layernorm_pre", "layernorm_post"), hidden_size, bias=True),
        *repeated(layer, reader.integer("num_hidden_layers", maximum=MAX_LAYERS), "model.layers.*."),
        *linear("vision_adapter.mlp.fc1", inner, width),
        *linear("vision_adapter.mlp.fc2", outer, outer),
    )
    return Encoder(tensors, reader.integer("vision_output_dim"))


ENCODERS: Final[Mapping[str, Callable[[Reader], Encoder]]] = {
    "clip_vision_model": clip,
    "siglip_vision_model": siglip,
    "siglip2_vision_model": siglip2,
    "pixtral": pixtral,
    "mllama_vision_model": mllama,
    "llama4_vision_model": llama4,
}
