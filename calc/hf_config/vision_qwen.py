"""The vision towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen 3.5: patches in space and time, then a merger.

Laws read from ``transformers`` 5.24 (``models/{qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_5}``).
"""

from calc.architecture import TensorKind
from calc.hf_config.llama import gated_mlp
from calc.hf_config.parts import Tensors, embedding, linear, norm, norms
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import renamed, repeated
from calc.hf_config.vision import Encoder, patches, two_matrices


def _attention(hidden_size: int) -> Tensors:
    qkv = linear("attn.qkv", 3 * hidden_size, hidden_size, bias=True)
    return qkv + linear("attn.proj", hidden_size, hidden_size, bias=True)


def _kernel(reader: Reader) -> tuple[int, int, int, int]:
    patch = reader.integer("patch_size")
    return reader.integer("in_channels"), reader.integer("temporal_patch_size"), patch, patch


def _depth(reader: Reader) -> int:
    return reader.integer("depth", maximum=MAX_LAYERS)


def _merger(reader: Reader, hidden_size: int, out: int, *, layer_norm: bool) -> Tensors:
    """Four neighbouring patches become one token of the text's width."""
    merge = reader.integer("spatial_merge_size", maximum=1024)
    inner = hidden_size * merge * merge
    return (
        *norm("merger.ln_q", hidden_size, bias=layer_norm),
        *linear("merger.mlp.0", inner, inner, bias=True),
        *linear("merger.mlp.2", out, inner, bias=True),
    )


def qwen2_vl(reader: Reader) -> Encoder:
    """Qwen2-VL: LayerNorms and a plain MLP of ``mlp_ratio``; ``hidden_size`` is the text's."""
    hidden_size, out = reader.integer("embed_dim"), reader.integer("hidden_size")
    block = _attention(hidden_size) + two_matrices("mlp", hidden_size, int(hidden_size * reader.number("mlp_ratio")))
    block += norms(("norm1", "norm2"), hidden_size, bias=True)
    tensors = (
        *patches("patch_embed.proj", hidden_size, *_kernel(reader)),
        *repeated(block, _depth(reader), "blocks.*."),
        *_merger(reader, hidden_size, out, layer_norm=True),
    )
    return Encoder(tensors, out)


def qwen2_5_vl(reader: Reader) -> Encoder:
    """Qwen2.5-VL: RMS norms and a gated MLP with biases."""
    hidden_size, out = reader.integer("hidden_size"), reader.integer("out_hidden_size")
    block = _attention(hidden_size) + gated_mlp(hidden_size, reader.integer("intermediate_size"), bias=True)
    block += norms(("norm1", "norm2"), hidden_size)
    tensors = (
        *patches("patch_embed.proj", hidden_size, *_kernel(reader)),
        *repeated(block, _depth(reader), "blocks.*."),
        *_merger(reader, hidden_size, out, layer_norm=False),
    )
    return Encoder(tensors, out)


def qwen3_vl(reader: Reader) -> Encoder:
    """Qwen3-VL: the tower of Qwen 3.5, and mergers for the outputs of the middle layers that the file lists."""
    taps = reader.optional_integers("deepstack_visual_indexes", maximum=MAX_LAYERS) or ()
    return _learned_positions(reader, len(taps))


def qwen3_5(reader: Reader) -> Encoder:
    """Qwen 3.5: learned positions, LayerNorms, a plain MLP."""
    return _learned_positions(reader, 0)


def _learned_positions(reader: Reader, taps: int) -> Encoder:
    hidden_size, out = reader.integer("hidden_size"), reader.integer("out_hidden_size")
    block = _attention(hidden_size)
    names = ("linear_fc1", "linear_fc2")
    block += two_matrices("mlp", hidden_size, reader.integer("intermediate_size"), names)
    block += norms(("norm1", "norm2"), hidden_size, bias=True)
    merge = reader.integer("spatial_merge_size", maximum=1024)
    inner = hidden_size * merge * merge
    merger = linear("merger.linear_fc1", inner, inner, bias=True) + linear("merger.linear_fc2", out, inner, bias=True)
    stacked = renamed(merger, "merger.", "deepstack_merger_list.*.")
    stacked += norm("deepstack_merger_list.*.norm", inner, bias=True)
    positions = reader.integer("num_position_embeddings")
    tensors = (
        *patches("patch_embed.proj", hidden_size, *_kernel(reader), bias=True),
        *embedding("pos_embed", positions, hidden_size, TensorKind.POSITION),
        *repeated(block, _depth(reader), "blocks.*."),
        *merger,
        *norm("merger.norm", hidden_size, bias=True),
        *repeated(stacked, taps),
    )
    return Encoder(tensors, out)


QWEN_ENCODERS = {
    "qwen2_vl_vision": qwen2_vl,
    "qwen2_5_vl_vision": qwen2_5_vl,
    "qwen3_vl_vision": qwen3_vl,
    "qwen3_vl_moe_vision": qwen3_vl,
    "qwen3_5_vision": qwen3_5,
    "qwen3_5_moe_vision": qwen3_5,
}
