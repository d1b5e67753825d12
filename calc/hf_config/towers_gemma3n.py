"""The towers of Gemma 3n: a MobileNet-V5 for images, a conformer for sound, and what leads both to the text.

Laws read from ``transformers`` 5.24 (``models/gemma3n``); the image tower has no sizes in the file, only the name of a
network of ``timm`` 1.0, whose tensors are listed here as that library builds them (read 2026-12-01).
"""

from collections.abc import Mapping
from typing import Final

from calc.architecture import Tensor, TensorKind
from calc.hf_config.mixers import convolution
from calc.hf_config.parts import Tensors, embedding, linear, norm, norms, vector
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import repeated
from calc.hf_config.vision import Encoder, patches

Shapes = tuple[tuple[int, tuple[int, ...]], ...]
"""How many tensors there are of each shape."""

MOBILENET_V5_300M: Final[Mapping[str, Shapes]] = {
    "conv_stem.conv.weight": ((1, (64, 3, 3, 3)),),
    "conv_stem.conv.bias": ((1, (64,)),),
    "conv_stem.bn.weight": ((1, (64,)),),
    "blocks.*.*.conv_exp.weight": ((1, (256, 64, 3, 3)), (2, (512, 128, 3, 3))),
    "blocks.*.*.bn1.weight": ((1, (256,)), (2, (512,))),
    "blocks.*.*.conv_pwl.weight": ((1, (128, 256, 1, 1)), (2, (128, 512, 1, 1))),
    "blocks.*.*.bn2.weight": ((3, (128,)),),
    "blocks.*.*.dw_start.conv.weight": (
        (1, (128, 1, 3, 3)),
        (3, (256, 1, 5, 5)),
        (2, (256, 1, 3, 3)),
        (8, (640, 1, 5, 5)),
    ),
    "blocks.*.*.dw_start.bn.weight": ((1, (128,)), (5, (256,)), (8, (640,))),
    "blocks.*.*.pw_exp.conv.weight": (
        (1, (768, 128, 1, 1)),
        (4, (1024, 256, 1, 1)),
        (1, (1536, 256, 1, 1)),
        (7, (2560, 640, 1, 1)),
        (1, (640, 640, 1, 1)),
        (14, (1280, 640, 1, 1)),
        (1, (3840, 640, 1, 1)),
        (19, (2560, 1280, 1, 1)),
    ),
    "blocks.*.*.pw_exp.bn.weight": (
        (1, (768,)),
        (4, (1024,)),
        (1, (1536,)),
        (26, (2560,)),
        (1, (640,)),
        (14, (1280,)),
        (1, (3840,)),
    ),
    "blocks.*.*.dw_mid.conv.weight": ((1, (768, 1, 5, 5)), (1, (1536, 1, 5, 5)), (1, (3840, 1, 5, 5))),
    "blocks.*.*.dw_mid.bn.weight": ((1, (768,)), (1, (1536,)), (1, (3840,))),
    "blocks.*.*.pw_proj.conv.weight": (
        (1, (256, 768, 1, 1)),
        (4, (256, 1024, 1, 1)),
        (1, (640, 1536, 1, 1)),
        (7, (640, 2560, 1, 1)),
        (1, (640, 640, 1, 1)),
        (14, (640, 1280, 1, 1)),
        (1, (1280, 3840, 1, 1)),
        (19, (1280, 2560, 1, 1)),
    ),
    "blocks.*.*.pw_proj.bn.weight": ((5, (256,)), (23, (640,)), (20, (1280,))),
    "blocks.*.*.layer_scale.gamma": ((5, (256,)), (37, (640,)), (39, (1280,))),
    "blocks.*.*.norm.weight": ((14, (640,)), (19, (1280,))),
    "blocks.*.*.attn.query.proj.weight": ((14, (768, 640, 1, 1)), (19, (1536, 1280, 1, 1))),
    "blocks.*.*.attn.key.down_conv.weight": ((14, (640, 1, 3, 3)),),
    "blocks.*.*.attn.key.norm.weight": ((14, (640,)),),
    "blocks.*.*.attn.key.proj.weight": ((14, (64, 640, 1, 1)), (19, (96, 1280, 1, 1))),
    "blocks.*.*.attn.value.down_conv.weight": ((14, (640, 1, 3, 3)),),
    "blocks.*.*.attn.value.norm.weight": ((14, (640,)),),
    "blocks.*.*.attn.value.proj.weight": ((14, (64, 640, 1, 1)), (19, (96, 1280, 1, 1))),
    "blocks.*.*.attn.output.proj.weight": ((14, (640, 768, 1, 1)), (19, (1280, 1536, 1, 1))),
    "msfa.ffn.pw_exp.conv.weight": ((1, (3840, 1920, 1, 1)),),
    "msfa.ffn.pw_exp.bn.weight": ((1, (3840,)),),
    "msfa.ffn.pw_proj.conv.weight": ((1, (2048, 3840, 1, 1)),),
    "msfa.ffn.pw_proj.bn.weight": ((1, (2048,)),),
    "msfa.norm.weight": ((1, (2048,)),),
}
"""``timm``'s ``mobilenetv5_300m_enc``: 294,126,912 parameters."""


def _kind(name: str, shape: tuple[int, ...]) -> TensorKind:
    if len(shape) == 4 or name.endswith("bias"):
        return TensorKind.CONVOLUTION
    return TensorKind.OTHER if name.endswith("gamma") else TensorKind.NORM


def gemma3n_vision(reader: Reader) -> Encoder:
    """Gemma 3n's image tower; any other network of ``timm`` is refused."""
    reader.choice("architecture", choices=("mobilenetv5_300m_enc",))
    tensors = tuple(
        Tensor(name=f"timm_model.{name}", shape=shape, kind=_kind(name, shape), count=count)
        for name, shapes in MOBILENET_V5_300M.items()
        for count, shape in shapes
    )
    return Encoder(tensors, reader.integer("hidden_size"))


def gemma3n_audio(reader: Reader) -> Encoder:
    """Gemma 3n's sound tower: two convolutions over time and frequency, then conformer blocks."""
    hidden_size = reader.integer("hidden_size")
    first, second = reader.optional_integers("sscp_conv_channel_size", minimum=1, length=2) or (128, 32)
    frequencies = reader.integer("input_feat_size")
    for _ in range(2):  # kernel 3, stride 2, one column of padding on each side
        frequencies = (frequencies - 1) // 2 + 1
    sampling = "subsample_conv_projection"
    depth = reader.integer("conf_num_hidden_layers", maximum=MAX_LAYERS)
    tensors = (
        *patches(f"{sampling}.conv_0.conv", first, 1, 3, 3),
        *norm(f"{sampling}.conv_0.norm", first),
        *patches(f"{sampling}.conv_1.conv", second, first, 3, 3),
        *norm(f"{sampling}.conv_1.norm", second),
        *linear(f"{sampling}.input_proj_linear", hidden_size, second * frequencies),
        *repeated(_conformer(reader, hidden_size), depth, "conformer.*."),
    )
    return Encoder(tensors, hidden_size)


def _conformer(reader: Reader, hidden_size: int) -> Tensors:
    heads = reader.integer("conf_num_attention_heads", maximum=2**20)
    inner = hidden_size // heads * heads
    halves: Tensors = ()
    for name in ("ffw_layer_start", "ffw_layer_end"):
        halves += linear(f"{name}.ffw_layer_1", 4 * hidden_size, hidden_size)
        halves += linear(f"{name}.ffw_layer_2", hidden_size, 4 * hidden_size)
        halves += norms((f"{name}.pre_layer_norm", f"{name}.post_layer_norm"), hidden_size)
    attention, light = "attention.attn", "lconv1d"
    return (
        *halves,
        *norms(("attention.pre_attn_norm", "attention.post_norm", "norm"), hidden_size),
        *vector(f"{attention}.per_dim_scale", hidden_size // heads, TensorKind.OTHER),
        *linear(f"{attention}.relative_position_embedding.pos_proj", inner, hidden_size),
        *(tensor for letter in "qkv" for tensor in linear(f"{attention}.{letter}_proj", inner, hidden_size)),
        *linear("attention.post", hidden_size, hidden_size),
        *linear(f"{light}.linear_start", 2 * hidden_size, hidden_size),
        *linear(f"{light}.linear_end", hidden_size, hidden_size),
        *convolution(f"{light}.depthwise_conv1d", hidden_size, reader.integer("conf_conv_kernel_size"), bias=False),
        *norms((f"{light}.pre_layer_norm", f"{light}.conv_norm"), hidden_size),
    )


def gemma3n_bridge(reader: Reader, width: int, hidden_size: int) -> Tensors:
    """A small table of its own tokens, and the projection of a tower's output to the text's width."""
    return (
        *embedding("embedding", reader.integer("vocab_size"), width, TensorKind.POSITION),
        *norms(("hard_embedding_norm", "soft_embedding_norm"), width),
        *linear("embedding_projection", hidden_size, width),
    )
