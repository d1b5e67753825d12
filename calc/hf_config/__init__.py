"""The door for ``config.json``: a mapping nobody vouches for becomes an ``Architecture``, or a precise refusal.

One module per family group registers its builders; ``Reader`` is the only way they see the file.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from calc.architecture import Architecture
from calc.errors import InvalidConfig
from calc.hf_config.decoders import COMMON, Builder, build_with, decoders
from calc.hf_config.quantization import stored_types
from calc.hf_config.reader import Reader, shown

__all__ = ["architecture_from_hf_config", "families"]


@cache
def families() -> Mapping[str, Builder]:
    """Every builder by ``model_type``; imported when a model is not one of the common decoders.

    >>> "llama" in families(), "qwen2_5_vl" in families(), "t5" in families()
    (True, True, True)
    """
    from calc.hf_config.composites import COMPOSITES  # noqa: PLC0415 - only for those who ask
    from calc.hf_config.encoder_decoder import ENCODER_DECODERS  # noqa: PLC0415
    from calc.hf_config.more_composites import MORE_COMPOSITES  # noqa: PLC0415

    return {**decoders(), **COMPOSITES, **MORE_COMPOSITES, **ENCODER_DECODERS}


def architecture_from_hf_config(config: Mapping[str, object]) -> Architecture:
    """Read the architecture that a Hugging Face ``config.json`` describes.

    Args:
        config: the parsed file; nothing about it is trusted.

    Returns:
        Layers with geometry and tensors, as the published checkpoint names them; ``stored`` says what they take where
        the configuration declares a type or a quantization.

    Raises:
        UnsupportedArchitecture: ``model_type`` is not known; ``params["closest"]`` is the nearest that is.
        InvalidConfig: a key is missing, absurd or contradicts another; ``place`` is its path.

    Source: the modelling code of ``transformers`` 5.24 and the published checkpoints, family by family.

    Example:
        >>> config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
        ...     "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
        >>> architecture_from_hf_config(config).layers[0].attention.head_dim
        128
    """
    if not isinstance(config, Mapping):
        raise InvalidConfig("not_an_object", place="", value=shown(config))
    reader = Reader(config)
    model_type = reader.text("model_type")
    architecture = build_with(COMMON if model_type in COMMON else families(), reader, model_type)
    return replace(architecture, stored=stored_types(config, architecture))
