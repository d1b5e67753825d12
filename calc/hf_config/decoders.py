"""The text decoders by ``model_type``: what a composite (vision-language) model may hold inside.

The common ones are there from the start; hybrids are imported when one is asked for, as a page has to be fast to start.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from calc.architecture import Architecture
from calc.errors import UnsupportedArchitecture
from calc.hf_config import dense, gpt, latent, layer_norm, legacy, llama, moe, relatives
from calc.hf_config.closest import closest
from calc.hf_config.defaults import DEFAULTS
from calc.hf_config.reader import Reader, shown

Builder = Callable[[Reader], Architecture]

COMMON: Final[Mapping[str, Builder]] = {
    **llama.FAMILIES,
    **dense.FAMILIES,
    **layer_norm.FAMILIES,
    **moe.FAMILIES,
    **latent.FAMILIES,
    **gpt.FAMILIES,
    **legacy.FAMILIES,
    **relatives.FAMILIES,
}
"""Transformers whose layers all attend."""


@cache
def decoders() -> Mapping[str, Builder]:
    """Every text decoder, the hybrids included."""
    from calc.hf_config.hybrid_families import HYBRIDS  # noqa: PLC0415 - only for those who ask

    return {**COMMON, **HYBRIDS}


def build_with(families: Mapping[str, Builder], reader: Reader, model_type: str) -> Architecture:
    """Run the builder of ``model_type`` with its class's defaults.

    Raises:
        UnsupportedArchitecture: with the nearest known name, for a type that no builder knows.
    """
    if model_type not in families:
        raise UnsupportedArchitecture(
            "unknown_architecture",
            place=reader.place("model_type"),
            model_type=shown(model_type).strip("'\""),
            closest=closest(model_type, families),
        )
    defaults = {"model_type": model_type, **DEFAULTS.get(model_type, {})}
    return families[model_type](reader.with_defaults(defaults))


def build_decoder(reader: Reader, *, default_model_type: str | None = None) -> Architecture:
    """Build the decoder that a nested ``text_config`` describes.

    ``default_model_type`` is what the composite's class assumes where the section does not say.
    """
    model_type = reader.optional_text("model_type") or default_model_type or reader.text("model_type")
    return build_with(COMMON if model_type in COMMON else decoders(), reader, model_type)
