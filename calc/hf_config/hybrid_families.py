"""The builders of state-space models, hybrids and linear-attention models by ``model_type``."""

from collections.abc import Callable, Mapping
from typing import Final

from calc.architecture import Architecture
from calc.hf_config import hybrids, state_space
from calc.hf_config.reader import Reader

HYBRIDS: Final[Mapping[str, Callable[[Reader], Architecture]]] = {
    **state_space.FAMILIES,
    **hybrids.FAMILIES,
}
