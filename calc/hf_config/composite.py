"""What vision-language models are assembled from: a text decoder put in its place, an encoder, a projector.

``text_config`` and ``vision_config`` are saved as differences from a class: an absent key is that class's default, and
an absent section is the composite's own default (``sub_configs_defaults`` in ``transformers`` 5.24).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from calc.architecture import Architecture, Tensor, TensorKind, Tower
from calc.errors import UnsupportedArchitecture
from calc.hf_config.closest import closest
from calc.hf_config.decoders import build_decoder
from calc.hf_config.defaults_towers import TOWER_DEFAULTS
from calc.hf_config.parts import Tensors, head
from calc.hf_config.reader import Reader, shown
from calc.hf_config.stack import repeated
from calc.hf_config.vision import ENCODERS, Encoder
from calc.hf_config.vision_qwen import QWEN_ENCODERS

_ENCODERS: Final = {**ENCODERS, **QWEN_ENCODERS}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a composite's checkpoint keeps the decoder (``model.`` in the text model's own) and its head."""

    body: str
    head: str


LANGUAGE_MODEL: Final = Placement("language_model.model", "language_model.lm_head")
NESTED: Final = Placement("model.language_model", "lm_head")
IN_PLACE: Final = Placement("model", "lm_head")


def placed(text: Architecture, placement: Placement) -> Architecture:
    """The same decoder under the composite's names.

    >>> from calc.hf_config import architecture_from_hf_config
    >>> config = {"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "vocab_size": 8,
    ...     "num_hidden_layers": 1, "num_attention_heads": 1}
    >>> placed(architecture_from_hf_config(config), NESTED).layer_prefix
    'model.language_model.layers.*'
    """

    def name(old: str) -> str:
        if old.startswith("model."):
            return placement.body + old.removeprefix("model")
        return placement.head + old.removeprefix("lm_head") if old.startswith("lm_head") else old

    def renamed(tensors: Tensors) -> Tensors:
        return tuple(replace(tensor, name=name(tensor.name)) for tensor in tensors)

    return replace(
        text,
        layer_prefix=name(text.layer_prefix),
        tensors=renamed(text.tensors),
        shared=renamed(text.shared),
        towers=tuple(replace(tower, tensors=renamed(tower.tensors)) for tower in text.towers),
    )


def retied(text: Architecture, *, tied: bool) -> Architecture:
    """The decoder with the head that the composite decides on."""
    if tied == text.tie_word_embeddings:
        return text
    others = tuple(tensor for tensor in text.tensors if tensor.kind is not TensorKind.HEAD)
    weight = head("lm_head", text.vocab_size, text.hidden_size, tied=tied)
    return replace(text, tensors=others + weight, tie_word_embeddings=tied)


class Tie(StrEnum):
    """Which configuration says whether head and token table are one."""

    UNLESS_TOLD = "unless_told"  # the composite's key; its class ties where nothing is said
    IF_TOLD = "if_told"  # the composite's key; its class does not tie where nothing is said
    EITHER = "either"  # the composite's key or the text's (Llava, Qwen2-VL)
    TEXT = "text"  # the text's alone (Llama 4)


def decides_tie(reader: Reader, text: Reader, built: Architecture, rule: Tie) -> bool:
    """Whether head and token table are one.

    The composite's own key decides; else the text's, where the file writes it or where Transformers 4 wrote the file
    (it looked only there); else the composite class's default.
    """
    if rule is Tie.TEXT or (rule is Tie.EITHER and built.tie_word_embeddings):
        return built.tie_word_embeddings
    if reader.has("tie_word_embeddings"):
        return reader.boolean("tie_word_embeddings")
    old = (reader.optional_text("transformers_version") or "").startswith("4.")
    if old or text.has("tie_word_embeddings"):
        return built.tie_word_embeddings
    return rule is Tie.UNLESS_TOLD


def section(reader: Reader, key: str, absent: Mapping[str, object]) -> Reader:
    """A nested configuration, or the composite's default for it where the file has none."""
    found = reader.section(key, {})
    return found if reader.has(key) else replace(found, mapping=absent)


def text_part(reader: Reader, model_type: str, *, fixed: bool = False, tie: Tie = Tie.IF_TOLD) -> Architecture:
    """Build the decoder of ``text_config`` and settle its head.

    Every published file has the section, if only to say how the text differs from its class; a model made of nothing
    but defaults would be nobody's.

    Args:
        reader: the composite's own object.
        model_type: of a section that does not say; of every section where ``fixed`` (the class leaves no choice).
        fixed: see ``model_type``.
        tie: who decides about the head.

    Raises:
        InvalidConfig: ``missing_key`` for a file without ``text_config``.
    """
    text = reader.section("text_config")
    if fixed:
        text = replace(text, mapping={**text.mapping, "model_type": model_type})
    built = build_decoder(text, default_model_type=model_type)
    return retied(built, tied=decides_tie(reader, text, built, tie))


def encoder_part(
    reader: Reader, model_type: str, absent: Mapping[str, object] | None = None, *, fixed: bool = False
) -> Encoder:
    """Build the tower of ``vision_config``.

    Raises:
        UnsupportedArchitecture: the section names an encoder that is not known.
    """
    vision = section(reader, "vision_config", absent or {})
    named = model_type if fixed else vision.optional_text("model_type") or model_type
    if named not in _ENCODERS:
        raise UnsupportedArchitecture(
            "unknown_architecture",
            place=vision.place("model_type"),
            model_type=shown(named).strip("'\""),
            closest=closest(named, _ENCODERS),
        )
    return _ENCODERS[named](vision.with_defaults(TOWER_DEFAULTS.get(named, {})))


def assembled(text: Architecture, **towers: Tensors) -> Architecture:
    """The decoder with towers beside it: keyword = prefix with ``__`` for a dot, value = tensors under it."""
    added = tuple(
        Tower(name=prefix.replace("__", "."), tensors=repeated(tensors, 1, prefix.replace("__", ".") + "."))
        for prefix, tensors in towers.items()
        if tensors
    )
    return replace(text, towers=text.towers + added)


def feature_layers(reader: Reader) -> int:
    """How many of the tower's layers feed the projector: one, or as many as ``vision_feature_layer`` lists."""
    value = reader.mapping.get("vision_feature_layer")
    fits = not isinstance(value, list) or 0 < len(value) <= 1000
    reader.require(fits, "vision_feature_layer", "wrong_length", length=len(value) if isinstance(value, list) else 1)
    return len(value) if isinstance(value, list) else 1


def bare(name: str, *shape: int) -> Tensors:
    """A matrix that the class holds as a bare parameter under its full name."""
    return (Tensor(name=name, shape=shape, kind=TensorKind.OTHER),)
