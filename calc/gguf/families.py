"""What llama.cpp knows of a model family and writes in no key: which layers look back only a window.

A family that is not here is refused: its cache may follow rules that no key tells.

Source: ``load_arch_hparams`` (src/models) and ``load_hparams`` (src/llama-model.cpp) of llama.cpp, read on 2026-12-01;
``set_swa_pattern(n)`` slides all layers but each n-th, with ``dense_first`` all but the first of each n.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Which layers slide where no key lists them.

    Args:
        period: one layer in so many sees everything; 0: none does, 1: all do.
        full_first: whether it is the first of each period, not the last.
        default: window where the key is absent; 0 for none.
        fixed: window whatever the key says, as long as it is not 0.
        only_depth: number of layers of the one size that slides; 0 for all sizes.
    """

    period: int
    full_first: bool = False
    default: int = 0
    fixed: int = 0
    only_depth: int = 0

    def slides(self, layer: int, period: int | None = None) -> bool:
        """Whether a layer has a window.

        >>> [Windows(period=3).slides(layer) for layer in range(3)]
        [True, True, False]
        """
        each = self.period if period is None else period
        if each < 2:
            return each == 0
        return layer % each != (0 if self.full_first else each - 1)


NO_WINDOWS: Final = Windows(period=1)

WINDOWS: Final[Mapping[str, Windows]] = {
    "afmoe": Windows(period=4),
    "cohere2": Windows(period=4),
    "exaone4": Windows(period=4, default=4096, only_depth=64),
    "gemma-embedding": Windows(period=6),
    "gemma2": Windows(period=2, default=4096),
    "gemma3": Windows(period=6),
    "gemma3n": Windows(period=5),
    "gpt-oss": Windows(period=2),
    "llama4": Windows(period=4, default=8192, fixed=8192),
    "olmo2": Windows(period=4),
    # llama.cpp reads the window and keeps all tokens (pull request 13676); the model itself slides in every layer.
    "phi3": Windows(period=0),
    "phimoe": Windows(period=0),
    "plamo3": Windows(period=8),
    "smallthinker": Windows(period=4, full_first=True, fixed=4096),
}
"""Families with windows of their own."""

PER_LAYER: Final = frozenset({"gemma4", "mimo2", "step35"})
"""Families whose file lists the windowed layers (``attention.sliding_window_pattern``)."""

WITHOUT_WINDOWS: Final = frozenset(
    {
        *("apertus", "arcee", "baichuan", "bailingmoe", "bailingmoe2", "bloom", "chatglm", "codeshell", "command-r"),
        *("dbrx", "deepseek", "deepseek2", "dots1", "ernie4_5", "ernie4_5-moe", "exaone", "falcon", "falcon-h1"),
        *("gemma", "glm-dsa", "glm4", "glm4moe", "gpt2", "gptj", "gptneox", "granite", "granitehybrid", "granitemoe"),
        *("grok", "hunyuan-dense", "hunyuan-moe", "internlm2", "jais", "jamba", "lfm2", "lfm2moe", "llama", "mamba"),
        *("mamba2", "minicpm", "minicpm3", "minimax-m2", "mistral3", "mpt", "nemotron", "nemotron_h"),
        *("nemotron_h_moe", "olmo", "olmoe", "orion", "phi2", "qwen2", "qwen2moe", "qwen2vl", "qwen3"),
        *("qwen3moe", "qwen3next", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "refact", "seed_oss", "smollm3"),
        *("stablelm", "starcoder", "starcoder2", "xverse"),
    }
)
"""Families in which every attention layer sees everything."""

KNOWN: Final = frozenset({*WINDOWS, *PER_LAYER, *WITHOUT_WINDOWS})

CACHED_LAYERS: Final[Mapping[str, int]] = {"gemma3n": 20}
"""``n_layer_kv_from_start``: the later layers read the cache of an earlier one, where no key says how many do."""

BUFFERS: Final = ("exp_probs_b", "rope_freqs", "rope_factors_long", "rope_factors_short")
"""Stored tensors that are not parameters: routing biases that no gradient reaches, tables of rotation factors."""

ROUTING_BIAS_IS_PARAMETER: Final = frozenset({"ernie4_5-moe"})
"""Families in which the routing bias is a parameter (``moe_statics`` of Ernie 4.5)."""
