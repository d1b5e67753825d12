"""What a configuration class uses where ``config.json`` is silent.

Source: the configuration classes of ``transformers`` 5.24.0 (``models/*/configuration_*.py``), as printed by
instantiating each class without arguments, read 2026-12-01. ``None`` is the class's own null: number of KV heads equal
to the heads, ``head_dim`` equal to hidden size / heads. Keys that no builder reads are left out.
"""

from collections.abc import Mapping
from typing import Final

from calc.hf_config.defaults_hybrids import HYBRID_DEFAULTS

_COLUMNS: Final = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "max_position_embeddings",
    "tie_word_embeddings",
)

_TABLE: Final[Mapping[str, tuple[int | None, ...]]] = {
    # model_type: vocabulary, hidden, MLP, layers, heads, KV heads, head_dim, context, tied
    "llama": (32000, 4096, 11008, 32, 32, None, None, 2048, False),
    "mistral": (32000, 4096, 14336, 32, 32, 8, None, 131072, False),
    "ministral3": (131072, 4096, 14336, 34, 32, 8, 128, 262144, False),
    "smollm3": (128256, 2048, 11008, 36, 16, 4, None, 32768, True),
    "qwen2": (151936, 4096, 22016, 32, 32, 32, None, 32768, False),
    "qwen3": (151936, 4096, 22016, 32, 32, 32, 128, 32768, False),
    "qwen2_moe": (151936, 2048, 5632, 24, 16, 16, None, 32768, False),
    "qwen3_moe": (151936, 2048, 6144, 24, 32, 4, None, 32768, False),
    "mixtral": (32000, 4096, 14336, 32, 32, 8, None, 131072, False),
    "gemma": (256000, 3072, 24576, 28, 16, 16, 256, 8192, True),
    "gemma2": (256000, 2304, 9216, 26, 8, 4, 256, 8192, True),
    "gemma3_text": (262208, 2304, 9216, 26, 8, 4, 256, 131072, True),
    "phi": (51200, 2048, 8192, 24, 32, None, None, 2048, False),
    "phi3": (32064, 3072, 8192, 32, 32, None, None, 4096, False),
    "phimoe": (32064, 4096, 6400, 32, 32, 8, None, 131072, False),
    "gpt_neox": (50432, 6144, 24576, 44, 64, None, None, 2048, False),
    "olmo": (50304, 4096, 11008, 32, 32, None, None, 2048, False),
    "olmo2": (50304, 4096, 11008, 32, 32, None, None, 2048, False),
    "olmo3": (50304, 4096, 11008, 32, 32, None, None, 2048, False),
    "olmoe": (50304, 2048, 2048, 16, 16, None, None, 4096, False),
    "stablelm": (50304, 2560, 6912, 32, 32, 32, None, 4096, False),
    "starcoder2": (49152, 3072, 12288, 30, 24, 2, None, 4096, True),
    "cohere": (256000, 8192, 22528, 40, 64, None, None, 8192, True),
    "cohere2": (256000, 8192, 22528, 40, 64, None, None, 8192, True),
    "exaone": (102400, 4096, 14336, 32, 32, None, None, 4096, False),
    "exaone4": (102400, 4096, 16384, 32, 32, 32, None, 2048, False),
    "glm": (151552, 4096, 13696, 40, 32, 2, 128, 131072, False),
    "glm4": (151552, 4096, 13696, 40, 32, 2, 128, 131072, False),
    "glm4_moe": (151552, 4096, 10944, 46, 96, 8, None, 131072, False),
    "glm4_moe_lite": (154880, 2048, 10240, 47, 20, 20, None, 202752, False),
    "glm_moe_dsa": (154880, 6144, 12288, 78, 64, 64, None, 202752, False),
    "granite": (32000, 4096, 11008, 32, 32, None, None, 2048, False),
    "granitemoe": (32000, 4096, 11008, 32, 32, None, None, 2048, False),
    "nemotron": (256000, 6144, 24576, 32, 48, None, None, 4096, False),
    "deepseek_v2": (102400, 4096, 11008, 32, 32, None, None, 2048, False),
    "deepseek_v3": (129280, 7168, 18432, 61, 128, 128, None, 4096, False),
    "deepseek_v32": (129280, 7168, 18432, 61, 128, 128, None, 163840, False),
    "gpt_oss": (201088, 2880, 2880, 36, 64, 8, 64, 131072, False),
    "ernie4_5": (103424, 1024, 3072, 18, 16, 2, 128, 131072, True),
    "ernie4_5_moe": (103424, 2560, 12288, 28, 20, 4, None, 131072, True),
    "seed_oss": (155136, 4096, 27648, 64, 80, 8, 128, 524288, False),
    "minimax_m2": (200064, 3072, 1536, 62, 48, 8, 128, 196608, False),
    "mimo_v2_flash": (152576, 4096, 16384, 48, 64, 4, 192, 131072, False),
    "apertus": (131072, 4096, 14336, 32, 32, None, None, 65536, False),
    "internlm3": (128512, 4096, 10240, 48, 32, 2, None, 32768, False),
}

_OTHER: Final[Mapping[str, Mapping[str, object]]] = {
    "mistral": {"sliding_window": 4096},
    "smollm3": {"no_rope_layer_interval": 4},
}

_EVERYWHERE: Final[Mapping[str, object]] = {
    "attention_bias": False,
    "mlp_bias": False,
    "use_sliding_window": False,
}
"""Flags that every class that has them leaves off, unless its own row says otherwise."""

DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {**_EVERYWHERE, **dict(zip(_COLUMNS, row, strict=True)), **_OTHER.get(name, {})}
    for name, row in _TABLE.items()
} | {name: {**_EVERYWHERE, **row} for name, row in HYBRID_DEFAULTS.items()}
