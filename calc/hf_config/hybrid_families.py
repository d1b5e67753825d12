"""The builders of state-space models, hybrids and linear-attention models by ``model_type``."""

from collections.abc import Callable, Mapping
from typing import Final

from calc.architecture import Architecture
from calc.hf_config import (
    delta_variants,
    gemma_next,
    hybrids,
    linear_attention,
    multimodal_text,
    nemotron_h,
    short_recurrences,
    state_space,
    zamba,
)
from calc.hf_config.reader import Reader

HYBRIDS: Final[Mapping[str, Callable[[Reader], Architecture]]] = {
    **state_space.FAMILIES,
    **hybrids.FAMILIES,
    **zamba.FAMILIES,
    **nemotron_h.FAMILIES,
    **short_recurrences.FAMILIES,
    **linear_attention.FAMILIES,
    **delta_variants.FAMILIES,
    **multimodal_text.FAMILIES,
    **gemma_next.FAMILIES,
}
