"""Who runs the model: how many tokens of the prompts go through it at a time.

Prefill transients grow with the tokens that are computed together: the whole prompt in Transformers, a chunk in the
servers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from calc.errors import InvalidInput
from calc.gpu import Gpu
from calc.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine.

    Args:
        name: id in forms, flags and addresses.
        prefill_tokens: most tokens in one pass; ``None`` for whole prompts.
        source: key of ``calc.sources.SOURCES``.
        legacy: Transformers before 4.45. It computes the logits of the whole prompt and their float32 copy, which is
            still there when the first token is decoded; each step joins the cache of every layer with the new token in
            a new tensor, and the old ones are freed at its end, so that there are two caches; every layer has its own
            table of rotary cosines and sines, as long as the longest context.
        cache: the engine whose law its cache follows (``calc.kv_cache``).
    """

    name: str
    prefill_tokens: int | None
    source: str
    legacy: bool = False
    cache: str = ""


VLLM_LARGER_PREFILL = 8192
VLLM_SMALLER_PREFILL = 2048
"""``max_num_batched_tokens`` of a vLLM server is 8192 on GPUs of 70 GiB and more other than A100s, and this on the
rest (``EngineArgs.get_batch_defaults``, ``vllm/engine/arg_utils.py``, context ``OPENAI_API_SERVER``)."""

VLLM_LARGE_GPU = 70 * GIB
"""Memory from which vLLM takes the larger defaults, unless the card is an A100 (``EngineArgs.get_batch_defaults``)."""

VLLM_SEQUENCES = (256, 1024)
"""``max_num_seqs`` of a vLLM server: on smaller cards and A100s, and on the larger ones (the same function)."""

UBATCH = 512
"""llama.cpp's physical batch (``--ubatch-size``) by default."""


def vllm_is_large(gpu: Gpu) -> bool:
    """Whether vLLM takes its larger defaults on this card."""
    return gpu.capacity >= VLLM_LARGE_GPU and not gpu.id.startswith("a100")


def vllm_batched_tokens(gpu: Gpu) -> int:
    """``max_num_batched_tokens`` of a vLLM server on this card.

    >>> vllm_batched_tokens(Gpu(id="h100", name="H100", kind="data_center", sold_bytes=80 * GIB))
    8192
    >>> vllm_batched_tokens(Gpu(id="a100-80gb", name="A100", kind="data_center", sold_bytes=80 * GIB))
    2048
    """
    return VLLM_LARGER_PREFILL if vllm_is_large(gpu) else VLLM_SMALLER_PREFILL


ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            Engine(name="exact", prefill_tokens=None, source="qwen-speed-benchmark"),
            Engine(name="transformers", prefill_tokens=None, source="qwen-speed-benchmark"),
            # Checked on Qwen1.5's and Qwen2's published tables (4.38) and optimum-benchmark's (4.35): 14B at 14,336
            # tokens 57.0 GiB computed, 57.05 measured; Llama 2 7B, 64 sequences of 768, 60.6 and 60.64.
            Engine(
                name="transformers-legacy",
                prefill_tokens=None,
                source="qwen2-speed-benchmark",
                legacy=True,
                cache="transformers",
            ),
            Engine(name="vllm", prefill_tokens=VLLM_LARGER_PREFILL, source="vllm-memory"),
            Engine(name="llama.cpp", prefill_tokens=UBATCH, source="llama-cpp-kv"),
        )
    }
)
"""Every engine, by id."""


def prefill_tokens(engine: str, *, batch: int, context_tokens: int, most: int | None = None) -> int:
    """Tokens that are computed together in the largest pass; ``most`` stands for the engine's own limit.

    >>> prefill_tokens("llama.cpp", batch=1, context_tokens=8192)
    512

    Raises:
        InvalidInput: ``unknown_choice``, with the known ids.
    """
    if engine not in ENGINES:
        raise InvalidInput("unknown_choice", place="engine", value=engine, known=tuple(ENGINES))
    limit = ENGINES[engine].prefill_tokens if most is None else most
    tokens = batch * context_tokens
    return tokens if limit is None else min(tokens, limit)
