"""Formats that each engine runs, the best first, and what quality they lose.

llama.cpp prints the perplexity that each format adds to that of Llama 3 8B (``tools/quantize/quantize.cpp``,
``QUANT_OPTIONS``, read 2026-12-01): Q8_0 +0.0026, Q6_K +0.0217, Q5_K_M +0.0569, Q4_K_M +0.1754, Q4_0 +0.4685,
Q3_K_M +0.6569, Q3_K_S +1.6321, Q2_K +3.5199. So 5 bits or more lose hardly anything, 4 some, fewer much.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from calc.decisions.steps import Costs
from calc.dtypes import CACHE_BITS, DTYPES

GGUF: Final = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "iq3_xxs", "iq2_s", "iq2_xxs")
"""Formats of llama.cpp that people use, the best first; below two bits nothing is advised."""

ANY: Final = ("q8_0", "fp8", *GGUF[1:])

PRECISIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "vllm": ("bfloat16", "fp8", "awq-4bit"),
        "transformers": ("bfloat16", "int8", "nf4", "nf4-dq"),
        "transformers-legacy": ("bfloat16", "int8", "nf4", "nf4-dq"),
        "llama.cpp": ("bfloat16", *GGUF),
        "exact": ("bfloat16", *ANY),
    }
)
"""Formats of the weights that each engine runs as they are, the best first."""

CACHES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "vllm": ("bfloat16", "fp8"),
        "transformers": ("bfloat16", "int8"),
        "transformers-legacy": ("bfloat16", "int8"),
        "llama.cpp": ("bfloat16", "q8_0", "q5_1", "q4_0"),
        "exact": ("bfloat16", "q8_0", "q4_0"),
    }
)
"""Formats of the KV cache that each engine offers, the best first."""


def quality(name: str) -> Costs:
    """What quantizing weights to a format costs.

    >>> quality("bfloat16"), quality("fp8"), quality("q4_k_m"), quality("q3_k_m")
    ((), ('quality_slight',), ('quality_some',), ('quality_much',))
    """
    bits = DTYPES[name].bits
    if bits >= 16:
        return ()
    return ("quality_slight",) if bits >= 5 else ("quality_some",) if bits >= 4 else ("quality_much",)


def cache_quality(name: str) -> Costs:
    """What quantizing the KV cache to a format costs.

    With 8 bits hardly anything (ik_llama.cpp's pull request 173 calls Q8_0 "basically lossless", others measure a
    little: llama.cpp's 21038); with fewer, some.

    >>> cache_quality("float16"), cache_quality("fp8"), cache_quality("q4_0")
    ((), ('quality_slight',), ('quality_some',))
    """
    if CACHE_BITS[name] >= 16:
        return ()
    return ("quality_slight",) if CACHE_BITS[name] >= 8 else ("quality_some",)
