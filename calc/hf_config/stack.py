"""The frame around a hybrid's layers: token table, final norm, head; and the names of its kinds of layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calc.architecture import Architecture, Layer, Tensor, TensorKind
from calc.hf_config.moe import Mixture
from calc.hf_config.parts import FULL, Tensors, embedding, experts, head, linear, norm
from calc.hf_config.reader import Reader

LINEAR: Final = "linear_attention"
HYBRID: Final = "hybrid"
_SYNONYMS: Final[Mapping[str, str]] = {"mamba": LINEAR, "attention": FULL}
"""Older names of the same kinds (``remap_legacy_layer_types`` in ``configuration_utils.py``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Names of what surrounds the layers."""

    embeddings: str = "model.embed_tokens"
    layer_prefix: str = "model.layers.*"
    final_norm: str = "model.norm"


FRAME: Final = Frame()
FINAL_LAYERNORM: Final = Frame(final_norm="model.final_layernorm")


def layer_kinds(
    reader: Reader, *keys: str, kinds: Sequence[str], fallback: Sequence[str], depth: int | None = None
) -> tuple[str, ...]:
    """The kind of each layer, old and new names alike; ``fallback`` is the class's own pattern.

    >>> layer_kinds(Reader({"layer_types": ["mamba"]}), "layer_types", kinds=(LINEAR,), fallback=("linear_attention",))
    ('linear_attention',)
    """
    old = [name for name, new in _SYNONYMS.items() if new in kinds]
    words = reader.optional_words(*keys, choices=(*kinds, *old), length=depth or len(fallback))
    return tuple(_SYNONYMS.get(word, word) for word in (words or fallback))


def decoder(
    reader: Reader,
    layers: tuple[Layer, ...],
    frame: Frame = FRAME,
    *,
    extra: Tensors = (),
    shared: Tensors = (),
) -> Architecture:
    """Wrap layers into a model with one token table, one final norm and a head (absent if tied)."""
    hidden_size, vocab_size = reader.size("hidden_size"), reader.size("vocab_size")
    tied = reader.boolean("tie_word_embeddings")
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=layers,
        layer_prefix=frame.layer_prefix,
        tensors=embedding(frame.embeddings, vocab_size, hidden_size)
        + extra
        + norm(frame.final_norm, hidden_size)
        + head("lm_head", vocab_size, hidden_size, tied=tied),
        tie_word_embeddings=tied,
        max_position_embeddings=reader.optional_integer("max_position_embeddings"),
        shared=shared,
    )


def router(name: str, count: int, hidden_size: int) -> Tensors:
    """The matrix that scores experts, where the class holds it as a bare parameter: no adapter reaches it."""
    return (Tensor(name=f"{name}.weight", shape=(count, hidden_size), kind=TensorKind.OTHER),)


def stacked_experts(hidden_size: int, size: Mixture, prefix: str) -> Tensors:
    """All experts of a layer in two tensors, gate and up together."""
    gate_up = experts(f"{prefix}.gate_up_proj", 2 * size.width, hidden_size, count=size.count, active=size.active)
    return gate_up + experts(f"{prefix}.down_proj", hidden_size, size.width, count=size.count, active=size.active)


def up_down(name: str, hidden_size: int, width: int, *, bias: bool = False) -> Tensors:
    """A feed-forward of two matrices under the names ``up_proj`` and ``down_proj``."""
    up = linear(f"{name}.up_proj", width, hidden_size, bias=bias)
    return up + linear(f"{name}.down_proj", hidden_size, width, bias=bias)


def renamed(tensors: Tensors, old: str, new: str) -> Tensors:
    """The same tensors with one prefix in place of another.

    >>> renamed(linear("self_attn.q_proj", 2, 2), "self_attn.", "mixer.")[0].name
    'mixer.q_proj.weight'
    """
    return tuple(
        replace(tensor, name=new + tensor.name.removeprefix(old)) if tensor.name.startswith(old) else tensor
        for tensor in tensors
    )


def repeated(tensors: Tensors, count: int, prefix: str = "") -> Tensors:
    """Tensors of ``count`` equal modules, under a prefix that has ``*`` for their index."""
    return tuple(replace(tensor, name=prefix + tensor.name, count=tensor.count * count) for tensor in tensors if count)
