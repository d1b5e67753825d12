"""Engines: how much of a prompt goes through the model at a time."""

import pytest

from calc.catalog import architecture
from calc.engines import ENGINES, prefill_tokens
from calc.errors import InvalidInput
from calc.estimate import Serving
from calc.memory import Workload, estimate_inference
from calc.sources import SOURCES

# Largest pass in tokens: max_num_batched_tokens of vLLM on large GPUs, n_ubatch of llama.cpp; None for whole prompts.
CHUNKS = {"exact": None, "transformers": None, "transformers-legacy": None, "vllm": 8192, "llama.cpp": 512}


@pytest.mark.parametrize(("engine", "chunk"), CHUNKS.items())
def test_an_engine_never_computes_more_than_its_chunk(engine: str, chunk: int | None) -> None:
    """Whole prompts of all sequences, or the chunk if that is less."""
    assert prefill_tokens(engine, batch=4, context_tokens=100_000) == (chunk or 400_000)
    assert prefill_tokens(engine, batch=1, context_tokens=100) == 100


def test_every_engine_is_checked_and_names_its_source() -> None:
    """The table above is the whole table."""
    assert set(ENGINES) == set(CHUNKS)
    assert {engine.source for engine in ENGINES.values()} <= set(SOURCES)


def test_chunked_prefill_needs_less() -> None:
    """Llama 3 8B with 8,192 tokens: 906 MB of transients at once; llama.cpp's buffer holds the logits of 512 tokens."""
    model = architecture("llama-3-8b")
    sizes = {engine: estimate_inference(model, Workload(engine=engine)).component("activations") for engine in CHUNKS}
    assert sizes["exact"] == sizes["transformers"] == 2 * 8192 * 3 * (4096 + 14336)
    assert sizes["vllm"] == sizes["exact"]
    assert sizes["llama.cpp"] == 4 * 512 * (128_256 + 2 * 4096)
    small = estimate_inference(model, Workload(engine="vllm", serving=Serving(batched_tokens=2048)))
    assert small.component("activations") * 4 == sizes["vllm"]


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    """The error names the field."""
    with pytest.raises(InvalidInput) as refused:
        prefill_tokens("tgi", batch=1, context_tokens=1)
    assert (refused.value.code, refused.value.place) == ("unknown_choice", "engine")
    assert refused.value.params["known"] == tuple(ENGINES)
