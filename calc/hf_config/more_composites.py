"""More composites: SmolVLM and Idefics 3, Gemma 3n, InternVL, Aya Vision, Llava-OneVision, GLM-4V, LFM2-VL.

Laws read from ``transformers`` 5.24 (``models/{idefics3,gemma3n,internvl,aya_vision,llava_onevision,glm4v,lfm2_vl}``).
"""

from dataclasses import replace
from typing import Final

from calc.architecture import Architecture, TensorKind
from calc.hf_config.composite import (
    LANGUAGE_MODEL,
    NESTED,
    Placement,
    Tie,
    assembled,
    bare,
    encoder_part,
    feature_layers,
    placed,
    section,
    text_part,
)
from calc.hf_config.defaults_towers import TOWER_DEFAULTS
from calc.hf_config.llama import gated_mlp
from calc.hf_config.mixers import parameter
from calc.hf_config.parts import Tensors, embedding, linear, norm, norms
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import renamed, repeated
from calc.hf_config.towers_gemma3n import gemma3n_audio, gemma3n_bridge, gemma3n_vision
from calc.hf_config.vision import Encoder, patches, siglip, two_matrices

_SIGLIP: Final = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 26,
    "image_size": 384,
    "patch_size": 14,
    "vision_use_head": False,
}
_TEXT_MODEL: Final = Placement("model.text_model", "lm_head")


def _tower(reader: Reader, model_type: str) -> Reader:
    return section(reader, "vision_config", {}).with_defaults(TOWER_DEFAULTS[model_type])


def idefics3(reader: Reader) -> Architecture:
    """Idefics 3 and SmolVLM: SigLIP without its pooling head, patches shuffled into fewer, one linear."""
    text = text_part(reader, "llama")
    vision = siglip(_tower(reader, "idefics3_vision"))
    factor = reader.optional_integer("scale_factor", maximum=1024) or 2
    projection = linear("modality_projection.proj", text.hidden_size, vision.hidden_size * factor * factor)
    return assembled(
        placed(text, _TEXT_MODEL),
        model__vision_model=renamed(vision.tensors, "vision_model.", ""),
        model__connector=projection,
    )


def gemma3n(reader: Reader) -> Architecture:
    """Gemma 3n: text, images and sound; each tower has a small table of tokens of its own."""
    text = text_part(reader, "gemma3n_text", fixed=True, tie=Tie.UNLESS_TOLD)
    towers: dict[str, Tensors] = {}
    for name, build in (("vision", gemma3n_vision), ("audio", gemma3n_audio)):
        own = section(reader, f"{name}_config", {}).with_defaults(TOWER_DEFAULTS[f"gemma3n_{name}"])
        encoder = build(own)
        towers[f"model__{name}_tower"] = encoder.tensors
        towers[f"model__embed_{name}"] = gemma3n_bridge(own, encoder.hidden_size, text.hidden_size)
    return assembled(placed(text, NESTED), **towers)


def aya_vision(reader: Reader) -> Architecture:
    """Aya Vision: SigLIP, patches merged two by two, a gated projector, Command R7B."""
    text = text_part(reader, "cohere2", tie=Tie.UNLESS_TOLD)
    vision = encoder_part(reader, "siglip_vision_model", _SIGLIP)
    factor = reader.optional_integer("downsample_factor", maximum=1024) or 2
    inner = reader.optional_integer("alignment_intermediate_size") or text.hidden_size
    width = vision.hidden_size * factor * factor
    projector = (
        *norm("layernorm", width, bias=True),
        *linear("linear_1", inner, width, bias=True),
        *linear("linear_2", text.hidden_size, inner // 2, bias=True),
    )
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def llava_onevision(reader: Reader) -> Architecture:
    """Llava-OneVision: Llava with SigLIP, Qwen 2 and a learned mark for the end of a row of patches."""
    text = text_part(reader, "qwen2", tie=Tie.EITHER)
    vision = encoder_part(reader, "siglip_vision_model", _SIGLIP)
    bias = reader.boolean("multimodal_projector_bias") if reader.has("multimodal_projector_bias") else True
    projector = linear("linear_1", text.hidden_size, vision.hidden_size * feature_layers(reader), bias=bias)
    projector += linear("linear_2", text.hidden_size, text.hidden_size, bias=bias)
    model = assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)
    return replace(model, tensors=model.tensors + bare("image_newline", text.hidden_size))


def internvl(reader: Reader) -> Architecture:
    """InternVL: its own encoder with scaled residuals, patches shuffled two by two, two linears."""
    text = text_part(reader, "qwen2", tie=Tie.UNLESS_TOLD)
    vision = _intern_vision(_tower(reader, "internvl_vision"))
    shrink = int(1 / (reader.number("downsample_ratio", maximum=1) if reader.has("downsample_ratio") else 0.5))
    width = vision.hidden_size * shrink * shrink
    projector = (
        *norm("layer_norm", width, bias=True),
        *linear("linear_1", text.hidden_size, width, bias=True),
        *linear("linear_2", text.hidden_size, text.hidden_size, bias=True),
    )
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def _sides(reader: Reader, key: str) -> tuple[int, int]:
    """A size given once, or as height and width."""
    if isinstance(reader.mapping.get(key), list):
        height, width = reader.optional_integers(key, minimum=1, length=2) or (1, 1)
        return height, width
    side = reader.integer(key)
    return side, side


def _intern_vision(reader: Reader) -> Encoder:
    hidden_size, width = reader.integer("hidden_size"), reader.integer("intermediate_size")
    (height, breadth), patch = _sides(reader, "image_size"), _sides(reader, "patch_size")
    bias, gain_bias = reader.boolean("attention_bias"), reader.text("norm_type") == "layer_norm"
    layer = (
        *(t for letter in "qkv" for t in linear(f"attention.{letter}_proj", hidden_size, hidden_size, bias=bias)),
        *linear("attention.projection_layer", hidden_size, hidden_size, bias=True),
        *two_matrices("mlp", hidden_size, width),
        *norms(("layernorm_before", "layernorm_after"), hidden_size, bias=gain_bias),
        *parameter("lambda_1", hidden_size),
        *parameter("lambda_2", hidden_size),
    )
    if reader.boolean("use_qk_norm"):
        layer += norms(("attention.q_norm", "attention.k_norm"), hidden_size)
    positions = (height // patch[0]) * (breadth // patch[1]) + 1
    depth = reader.integer("num_hidden_layers", maximum=MAX_LAYERS)
    projection = "embeddings.patch_embeddings.projection"
    tensors = (
        *parameter("embeddings.cls_token", 1, 1, hidden_size),
        *patches(projection, hidden_size, reader.integer("num_channels"), *patch, bias=True),
        *repeated(layer, depth, "encoder.layer.*."),
    )
    if reader.boolean("use_mask_token"):
        tensors += parameter("embeddings.mask_token", 1, 1, hidden_size)
    if reader.boolean("use_absolute_position_embeddings"):
        tensors += parameter("embeddings.position_embeddings", 1, positions, hidden_size)
    if not reader.boolean("use_mean_pooling"):
        tensors += norm("layernorm", hidden_size, bias=True)
    return Encoder(tensors, hidden_size)


def glm4v(reader: Reader) -> Architecture:
    """GLM-4V: GLM 4's text; a tower with gated MLPs, downsampled by a convolution and merged."""
    text = text_part(reader, "glm4v_text", fixed=True, tie=Tie.EITHER)
    vision = _glm_vision(_tower(reader, "glm4v_vision"))
    return assembled(placed(text, NESTED), model__visual=vision.tensors)


def glm4v_moe(reader: Reader) -> Architecture:
    """GLM-4.5V and 4.6V: the same tower before GLM 4.5."""
    text = text_part(reader, "glm4v_moe_text", fixed=True)
    vision = _glm_vision(_tower(reader, "glm4v_moe_vision"))
    return assembled(placed(text, NESTED), model__visual=vision.tensors)


def lfm2_vl(reader: Reader) -> Architecture:
    """LFM2-VL: SigLIP 2, patches merged two by two, two linears, LFM 2."""
    old_name = {"tie_word_embeddings": reader.boolean("tie_embedding")} if reader.has("tie_embedding") else {}
    reader = replace(reader, mapping={**reader.mapping, **old_name})
    text = text_part(reader, "lfm2", tie=Tie.UNLESS_TOLD)
    vision = encoder_part(reader, "siglip2_vision_model")
    factor = reader.optional_integer("downsample_factor", maximum=1024) or 2
    inner, width = reader.optional_integer("projector_hidden_size") or 2560, vision.hidden_size * factor * factor
    bias = reader.boolean("projector_bias") if reader.has("projector_bias") else True
    normed = reader.boolean("projector_use_layernorm") if reader.has("projector_use_layernorm") else True
    projector = norm("layer_norm", width, bias=True) if normed else ()
    projector += linear("linear_1", inner, width, bias=bias) + linear("linear_2", text.hidden_size, inner, bias=bias)
    towers = {"model__vision_tower": vision.tensors, "model__multi_modal_projector": projector}
    return assembled(placed(text, NESTED), **towers)


def _glm_vision(reader: Reader) -> Encoder:
    hidden_size, out = reader.integer("hidden_size"), reader.integer("out_hidden_size")
    block: Tensors = (
        *linear("attn.qkv", 3 * hidden_size, hidden_size, bias=reader.boolean("attention_bias")),
        *linear("attn.proj", hidden_size, hidden_size),
        *gated_mlp(hidden_size, out),
        *norms(("norm1", "norm2"), hidden_size),
    )
    patch, merge = reader.integer("patch_size"), reader.integer("spatial_merge_size", maximum=1024)
    side = reader.integer("image_size") // patch
    channels, frames = reader.integer("in_channels"), reader.integer("temporal_patch_size")
    tensors = (
        *embedding("embeddings.position_embedding", side * side, hidden_size, TensorKind.POSITION),
        *patches("patch_embed.proj", hidden_size, channels, frames, patch, patch, bias=True),
        *norms(("post_conv_layernorm", "post_layernorm"), hidden_size),
        *repeated(block, reader.integer("depth", maximum=MAX_LAYERS), "blocks.*."),
        *patches("downsample", out, hidden_size, merge, merge, bias=True),
        *linear("merger.proj", out, out),
        *norm("merger.post_projection_norm", out, bias=True),
        *gated_mlp(out, reader.integer("intermediate_size"), prefix="merger"),
    )
    return Encoder(tensors, out)


MORE_COMPOSITES: Final = {
    "idefics3": idefics3,
    "smolvlm": idefics3,
    "aya_vision": aya_vision,
    "llava_onevision": llava_onevision,
    "internvl": internvl,
    "glm4v": glm4v,
    "glm4v_moe": glm4v_moe,
    "lfm2_vl": lfm2_vl,
    "gemma3n": gemma3n,
}
