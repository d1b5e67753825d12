"""Vision-language models by ``model_type``: Llava and Pixtral, Gemma 3, Mistral 3, Llama 3.2 and 4, Qwen-VL.

Laws read from ``transformers`` 5.24; names are those of the published checkpoints, which for older models differ from
the modules of Transformers 5 (``conversion_mapping.py`` lists the renamings).
"""

from dataclasses import replace
from typing import Final

from calc.architecture import Architecture
from calc.hf_config.composite import (
    IN_PLACE,
    LANGUAGE_MODEL,
    NESTED,
    Placement,
    Tie,
    assembled,
    bare,
    encoder_part,
    feature_layers,
    placed,
    text_part,
)
from calc.hf_config.decoders import build_with
from calc.hf_config.defaults_towers import TOWER_DEFAULTS
from calc.hf_config.dense import qwen2
from calc.hf_config.parts import Tensors, linear, norm
from calc.hf_config.reader import Reader
from calc.hf_config.towers_gemma import gemma4_audio, gemma4_vision

_CLIP_LARGE: Final = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "image_size": 336,
    "patch_size": 14,
}
_PIXTRAL: Final = {**_CLIP_LARGE, "image_size": 1540}


def _two_linears(reader: Reader, width: int, hidden_size: int, *, bias: bool) -> Tensors:
    """Llava's projector: from the tower's layers to the text's width, twice."""
    first = linear("linear_1", hidden_size, width * feature_layers(reader), bias=bias)
    return first + linear("linear_2", hidden_size, hidden_size, bias=bias)


def _flag(reader: Reader, key: str, *, default: bool) -> bool:
    return reader.boolean(key) if reader.has(key) else default


def llava(reader: Reader) -> Architecture:
    """Llava 1.5 (CLIP and Llama), Pixtral (its own encoder and Mistral) and their kin."""
    text = text_part(reader, "llama", tie=Tie.EITHER)
    vision = encoder_part(reader, "clip_vision_model", _CLIP_LARGE)
    bias = _flag(reader, "multimodal_projector_bias", default=True)
    projector = _two_linears(reader, vision.hidden_size, text.hidden_size, bias=bias)
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def llava_next(reader: Reader) -> Architecture:
    """Llava 1.6: Llava with a learned mark for the end of a row of patches."""
    model = llava(reader)
    return replace(model, tensors=model.tensors + bare("image_newline", model.hidden_size))


def gemma3(reader: Reader) -> Architecture:
    """Gemma 3 with SigLIP; the projection is a bare parameter."""
    text = text_part(reader, "gemma3_text", fixed=True, tie=Tie.UNLESS_TOLD)
    vision = encoder_part(reader, "siglip_vision_model")
    projector = bare("mm_input_projection_weight", vision.hidden_size, text.hidden_size)
    projector += norm("mm_soft_emb_norm", vision.hidden_size)
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def gemma4(reader: Reader) -> Architecture:
    """Gemma 4: a tower for images, one for sound, or neither; each ends in a projection to the text's width."""
    text = text_part(reader, "gemma4_text", fixed=True, tie=Tie.UNLESS_TOLD)
    towers: dict[str, Tensors] = {}
    if reader.has("vision_config"):
        vision = gemma4_vision(reader.section("vision_config", TOWER_DEFAULTS["gemma4_vision"]))
        towers["model__vision_tower"] = vision.tensors
        towers["model__embed_vision"] = linear("embedding_projection", text.hidden_size, vision.hidden_size)
    if reader.has("audio_config"):
        audio = gemma4_audio(reader.section("audio_config", TOWER_DEFAULTS["gemma4_audio"]))
        towers["model__audio_tower"] = audio.tensors
        towers["model__embed_audio"] = linear("embedding_projection", text.hidden_size, audio.hidden_size)
    return assembled(placed(text, NESTED), **towers)


def paligemma(reader: Reader) -> Architecture:
    """PaliGemma: SigLIP, one linear, Gemma."""
    text = text_part(reader, "gemma", tie=Tie.UNLESS_TOLD)
    tower = {**_CLIP_LARGE, "hidden_size": 1152, "num_hidden_layers": 27, "image_size": 224, "vision_use_head": False}
    vision = encoder_part(reader, "siglip_vision_model", tower)
    width = reader.optional_integer("projection_dim") or 2048
    projector = linear("linear", width, vision.hidden_size, bias=True)
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def mistral3(reader: Reader) -> Architecture:
    """Mistral Small 3.1, Ministral 3, Devstral 2: Pixtral's encoder, merged two by two, then two linears."""
    text = text_part(reader, "mistral", tie=Tie.UNLESS_TOLD)
    vision = encoder_part(reader, "pixtral", _PIXTRAL)
    merge = reader.optional_integer("spatial_merge_size", maximum=1024) or 2
    bias = _flag(reader, "multimodal_projector_bias", default=False)
    width = vision.hidden_size
    projector = (
        *norm("norm", width),
        *linear("patch_merger.merging_layer", width, width * merge * merge),
        *_two_linears(reader, width, text.hidden_size, bias=bias),
    )
    return assembled(placed(text, LANGUAGE_MODEL), vision_tower=vision.tensors, multi_modal_projector=projector)


def mllama(reader: Reader) -> Architecture:
    """Llama 3.2 Vision: the text attends to the image in layers of its own."""
    text = text_part(reader, "mllama_text_model", fixed=True)
    vision = encoder_part(reader, "mllama_vision_model", fixed=True)
    projector = linear("multi_modal_projector", text.hidden_size, vision.hidden_size, bias=True)
    model = assembled(placed(text, LANGUAGE_MODEL), vision_model=vision.tensors, multi_modal_projector=projector)
    return replace(model, towers=(*model.towers[:-1], replace(model.towers[-1], tensors=projector)))


def llama4(reader: Reader) -> Architecture:
    """Llama 4 Scout and Maverick."""
    text = text_part(reader, "llama4_text", fixed=True, tie=Tie.TEXT)
    vision = encoder_part(reader, "llama4_vision_model", fixed=True)
    projector = linear("linear_1", text.hidden_size, vision.hidden_size)
    return assembled(placed(text, LANGUAGE_MODEL), vision_model=vision.tensors, multi_modal_projector=projector)


def _qwen(reader: Reader, name: str, placement: Placement, visual: str, tie: Tie = Tie.IF_TOLD) -> Architecture:
    text = text_part(reader, f"{name}_text", fixed=True, tie=tie)
    vision = encoder_part(reader, f"{name}_vision", fixed=True)
    return assembled(placed(text, placement), **{visual: vision.tensors})


def _flat_qwen(reader: Reader, name: str) -> Architecture:
    """Qwen2-VL and 2.5-VL keep the text's keys at the top of the file."""
    if reader.has("text_config"):
        return _qwen(reader, name, IN_PLACE, "visual", Tie.EITHER)
    kind = f"{name}_text"
    flat = replace(reader, mapping={**reader.mapping, "model_type": kind})
    text = build_with({kind: qwen2}, flat, kind)
    vision = encoder_part(reader, f"{name}_vision", fixed=True)
    return assembled(text, visual=vision.tensors)


def qwen2_vl(reader: Reader) -> Architecture:
    """Qwen2-VL."""
    return _flat_qwen(reader, "qwen2_vl")


def qwen2_5_vl(reader: Reader) -> Architecture:
    """Qwen2.5-VL."""
    return _flat_qwen(reader, "qwen2_5_vl")


def qwen3_vl(reader: Reader) -> Architecture:
    """Qwen3-VL."""
    return _qwen(reader, "qwen3_vl", NESTED, "model__visual")


def qwen3_vl_moe(reader: Reader) -> Architecture:
    """Qwen3-VL with experts."""
    return _qwen(reader, "qwen3_vl_moe", NESTED, "model__visual")


def qwen3_5(reader: Reader) -> Architecture:
    """Qwen 3.5."""
    return _qwen(reader, "qwen3_5", NESTED, "model__visual")


def qwen3_5_moe(reader: Reader) -> Architecture:
    """Qwen 3.5 with experts."""
    return _qwen(reader, "qwen3_5_moe", NESTED, "model__visual")


COMPOSITES: Final = {
    "llava": llava,
    "llava_next": llava_next,
    "gemma3": gemma3,
    "gemma4": gemma4,
    "paligemma": paligemma,
    "mistral3": mistral3,
    "mllama": mllama,
    "llama4": llama4,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "qwen3_vl_moe": qwen3_vl_moe,
    "qwen3_5": qwen3_5,
    "qwen3_5_moe": qwen3_5_moe,
}
