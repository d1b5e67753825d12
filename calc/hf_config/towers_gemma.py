"""The towers of Gemma 4: images in patches with two-dimensional positions, sound through a conformer.

Laws read from ``transformers`` 5.24 (``models/gemma4``); clippable linears keep their matrix under ``.linear``.
"""

from calc.architecture import TensorKind
from calc.hf_config.mixers import convolution, parameter
from calc.hf_config.parts import Tensors, linear, norm, norms, vector
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import repeated
from calc.hf_config.vision import Encoder, patches


def _clippable(name: str, out_features: int, in_features: int) -> Tensors:
    return linear(f"{name}.linear", out_features, in_features)


def gemma4_vision(reader: Reader) -> Encoder:
    """Gemma 4's image tower: four norms a layer, query and key norms, gated MLPs."""
    hidden_size, width = reader.integer("hidden_size"), reader.integer("intermediate_size")
    head_dim = reader.integer("head_dim")
    query = reader.integer("num_attention_heads", maximum=2**20) * head_dim
    key = reader.integer("num_key_value_heads", maximum=2**20) * head_dim
    layer = (
        *_clippable("self_attn.q_proj", query, hidden_size),
        *_clippable("self_attn.k_proj", key, hidden_size),
        *_clippable("self_attn.v_proj", key, hidden_size),
        *_clippable("self_attn.o_proj", hidden_size, query),
        *norms(("self_attn.q_norm", "self_attn.k_norm"), head_dim),
        *_clippable("mlp.gate_proj", width, hidden_size),
        *_clippable("mlp.up_proj", width, hidden_size),
        *_clippable("mlp.down_proj", hidden_size, width),
        *norms(("input_layernorm", "post_attention_layernorm"), hidden_size),
        *norms(("pre_feedforward_layernorm", "post_feedforward_layernorm"), hidden_size),
    )
    patch, positions = reader.integer("patch_size"), reader.integer("position_embedding_size")
    tensors = (
        *linear("patch_embedder.input_proj", hidden_size, 3 * patch * patch),
        *parameter("patch_embedder.position_embedding_table", 2, positions, hidden_size),
        *repeated(layer, reader.integer("num_hidden_layers", maximum=MAX_LAYERS), "encoder.layers.*."),
    )
    return Encoder(tensors, hidden_size)


def gemma4_audio(reader: Reader) -> Encoder:
    """Gemma 4's sound tower: two strided convolutions, then conformer layers."""
    hidden_size = reader.integer("hidden_size")
    channels = reader.optional_integers("subsampling_conv_channels", minimum=1, length=2) or (128, 32)
    first, second = channels
    sampling = "subsample_conv_projection"
    depth = reader.integer("num_hidden_layers", maximum=MAX_LAYERS)
    out = reader.integer("output_proj_dims")
    tensors = (
        *patches(f"{sampling}.layer0.conv", first, 1, 3, 3),
        *norm(f"{sampling}.layer0.norm", first),
        *patches(f"{sampling}.layer1.conv", second, first, 3, 3),
        *norm(f"{sampling}.layer1.norm", second),
        *linear(f"{sampling}.input_proj_linear", hidden_size, first // 4 * second),
        *repeated(_conformer(reader, hidden_size), depth, "layers.*."),
        *linear("output_proj", out, hidden_size, bias=True),
    )
    return Encoder(tensors, out)


def _conformer(reader: Reader, hidden_size: int) -> Tensors:
    heads = reader.integer("num_attention_heads", maximum=2**20)
    inner = hidden_size // heads * heads
    halves: Tensors = ()
    for name in ("feed_forward1", "feed_forward2"):
        halves += _clippable(f"{name}.ffw_layer_1", 4 * hidden_size, hidden_size)
        halves += _clippable(f"{name}.ffw_layer_2", hidden_size, 4 * hidden_size)
        halves += norms((f"{name}.pre_layer_norm", f"{name}.post_layer_norm"), hidden_size)
    return (
        *halves,
        *(tensor for letter in "qkv" for tensor in _clippable(f"self_attn.{letter}_proj", inner, hidden_size)),
        *_clippable("self_attn.post", hidden_size, hidden_size),
        *linear("self_attn.relative_k_proj", inner, hidden_size),
        *vector("self_attn.per_dim_scale", hidden_size // heads, TensorKind.OTHER),
        *_clippable("lconv1d.linear_start", 2 * hidden_size, hidden_size),
        *_clippable("lconv1d.linear_end", hidden_size, hidden_size),
        *convolution("lconv1d.depthwise_conv1d", hidden_size, reader.integer("conv_kernel_size"), bias=False),
        *norms(("lconv1d.pre_layer_norm", "lconv1d.conv_norm"), hidden_size),
        *norms(("norm_pre_attn", "norm_post_attn", "norm_out"), hidden_size),
    )
