"""Who runs the model: how many tokens of the prompts go through it at a time.

Prefill transients grow with the tokens that are computed together: the whole prompt in Transformers, a chunk in the
servers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from calc.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine.

    Args:
        name: id in forms, flags and addresses.
        prefill_tokens: most tokens in one pass; ``None`` for whole prompts.
        source: key of ``calc.sources.SOURCES``.
    """

    name: str
    prefill_tokens: int | None
    source: str


VLLM_SMALLER_PREFILL = 2048
"""``max_num_batched_tokens`` of a vLLM server is 8192 on GPUs of 70 GiB and more other than A100s, and this on the
rest (``EngineArgs.get_batch_defaults``, ``vllm/engine/arg_utils.py``, context ``OPENAI_API_SERVER``)."""

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            Engine(name="exact", prefill_tokens=None, source="qwen-speed-benchmark"),
            Engine(name="transformers", prefill_tokens=None, source="qwen-speed-benchmark"),
            Engine(name="vllm", prefill_tokens=8192, source="vllm-memory"),
            # n_ubatch, the physical batch: 512 by default.
            Engine(name="llama.cpp", prefill_tokens=512, source="llama-cpp-kv"),
        )
    }
)
"""Every engine, by id."""


def prefill_tokens(engine: str, *, batch: int, context_tokens: int) -> int:
    """Tokens that are computed together in the largest pass.

    >>> prefill_tokens("llama.cpp", batch=1, context_tokens=8192)
    512

    Raises:
        InvalidInput: ``unknown_choice``, with the known ids.
    """
    if engine not in ENGINES:
        raise InvalidInput("unknown_choice", place="engine", value=engine, known=tuple(ENGINES))
    limit = ENGINES[engine].prefill_tokens
    tokens = batch * context_tokens
    return tokens if limit is None else min(tokens, limit)
