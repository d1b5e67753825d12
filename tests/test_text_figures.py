"""The figures in the texts: written as their value says, and equal to what ``calc`` computes."""

import re
from collections.abc import Iterator
from fractions import Fraction

from calc import catalog
from calc.calculators import run
from calc.dtypes import DTYPES
from calc.es import number_text
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_cache_bytes
from calc.lora import adapters, lora_parameters
from calc.parameters import count_parameters
from calc.units import GB, GIB, KIB, MB, MIB
from calc.weights import count_weights
from tests.texts import fragments

UNITS = {"GiB": GIB, "MiB": MIB, "KiB": KIB, "GB": GB, "MB": MB, "B": 1, "%": 1, "": 1}
FULL_HEADS = 2 * 8192 * 4096 * 32 * 2
"""KV cache of Llama 3 8B at 8,192 tokens if it had as many KV heads as query heads: 2 b s h L B."""

# The text part of google/gemma-3-12b-it, as Transformers 5.24 fills in its config.json.
GEMMA_3_12B = {
    "model_type": "gemma3_text",
    "hidden_size": 3840,
    "intermediate_size": 15360,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "vocab_size": 262208,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
}


def marked() -> list[tuple[str, str, str]]:
    """File, value and text of each ``<data>``."""
    return [(name, value, text) for name, one in fragments().items() for value, text in one.figures]


def test_a_figure_says_in_words_what_its_value_is() -> None:
    """The text of each marked figure is its value, rounded to the decimals shown, in the unit shown."""
    for name, value, text in marked():
        match = re.fullmatch(r"([\d\u202f]+(?:,(\d+))?)(?:\u00a0(%|[GMK]i?B|B))?", text)
        assert match, (name, text)
        shown = Fraction(value) / UNITS[match[3] or ""]
        assert number_text(shown, len(match[2] or "")) == match[1], (name, value, text)


def test_every_figure_is_one_that_calc_gives() -> None:
    """Each marked figure of the texts is recomputed here by the estimator."""
    known = {Fraction(value) for value in recomputed()}
    assert [(name, value) for name, value, _ in marked() if Fraction(value) not in known] == []


def recomputed() -> Iterator[int | Fraction]:
    """The figures of the texts, each by the law that the text explains."""
    yield from (GIB, *_gpu_page(), *_recipes_of_one_question(), *_training_page(), *_accumulation_page())
    yield from (*_inference_page(), *_lora_page(), *_method_page())


def _total(model: str) -> int:
    return count_parameters(catalog.architecture(model)).total


def _usable() -> int:
    return catalog.gpu("rtx-4090").usable_bytes or 0


def _weights(precision: str) -> dict[str, int]:
    dtype = DTYPES[precision]
    count = count_weights(catalog.architecture("llama-3-8b"), dtype)
    values = int(count.quantized * dtype.value_bits / 8)
    scales = int(count.scales * dtype.scale_bits / 8)
    return {"values": values, "scales": scales, "kept": count.kept * dtype.kept_bits // 8}


def test_the_verdicts_of_the_inference_example_are_those_of_the_page() -> None:
    """Eight requests do not fit an RTX 4090, six barely do, and an 8-bit cache or half the context makes room."""
    cases = {
        "no_fit": [{"concurrency": "8"}],
        "tight": [{"concurrency": "6"}],
        "fits": [{"concurrency": "8", "kv-precision": "fp8"}, {"concurrency": "8", "context": "4096"}],
    }
    for verdict, inputs in cases.items():
        for values in inputs:
            found = {one.gpu.id: one.verdict for one in run("inferencia", values).fits}
            assert found["rtx-4090"] == verdict, values


def _gpu_page() -> Iterator[int | Fraction]:
    llama = catalog.architecture("llama-3-8b")
    total = _total("llama-3-8b")
    int4, count = _weights("int4"), count_weights(llama, DTYPES["int4"])
    yield from (total, count.quantized, count.kept, *int4.values(), sum(int4.values()))
    yield from (total // 2, sum(int4.values()) - total // 2)
    yield from (DTYPES[name].bits for name in ("fp8", "int4", "nf4", "nf4-dq", "mxfp4", "q8_0", "q4_k"))
    result = run("gpu", {}).estimate
    runtime = next(one for one in result.components if one.name == "runtime")
    yield from (runtime.low, runtime.bytes, runtime.high, result.total, result.low, result.high)
    yield from (result.component(name) for name in ("weights", "kv_cache", "activations"))
    yield result.component("weights") + result.component("kv_cache")
    yield from (run("gpu", {"batch": "16"}).estimate.component("kv_cache"), FULL_HEADS)
    yield from (
        catalog.gpu("rtx-4090").usable_bytes or 0,
        count_parameters(catalog.architecture("mixtral-8x7b")).total,
    )


def _recipes_of_one_question() -> Iterator[int]:
    """Llama 3 8B with Adam and 2,048 tokens, by eight recipes."""
    half = {"mixed-precision": "no"}
    for recipe in (
        {**half, "optimizer": "adamw-8bit", "checkpointing": "full"},
        {**half, "optimizer": "adamw-bf16", "checkpointing": "full"},
        {**half, "optimizer": "adamw-bf16"},
        {"checkpointing": "full"},
        {},
        {"gradient-precision": "float32"},
        {"attention-kernel": "eager"},
        {"gradient-precision": "both"},
    ):
        yield run("gpu", {"workload": "training", "context": "2048", **recipe}).estimate.total


def _training_page() -> Iterator[int | Fraction]:
    for recipe in ("16", "12", "8"):
        yield run("entrenar", {"bytes-per-parameter": recipe}).estimate.total
    yield run("entrenar", {"activations": "20"}).estimate.total
    mistral, llama = (_total("mistral-7b"), _total("llama-2-7b"))
    yield from (mistral, llama, 16 * (mistral - llama), 2 * 2048 * 4096 * 32)


def _accumulation_page() -> Iterator[int | Fraction]:
    for size in (32, 16, 8, 4, 2, 1):
        result = run("acumulacion", {"micro-batch": str(size), "steps": str(32 // size)})
        assert result.figures["effective_batch"] == 32
        yield result.estimate.total
    yield Fraction(run("acumulacion", {"gpus": "4"}).figures["effective_batch"])


def _inference_page() -> Iterator[int | Fraction]:
    for name in ("llama-2-13b", "llama-3-8b", "llama-3-70b", "falcon-7b"):
        yield from (kv_cache_bytes(catalog.architecture(name), context_tokens=tokens) for tokens in (1, 4096))
    gemma = architecture_from_hf_config(GEMMA_3_12B)
    yield from (kv_cache_bytes(gemma, context_tokens=8192), 8192 * kv_cache_bytes(gemma, context_tokens=1))
    yield from (kv_cache_bytes(gemma, context_tokens=8192, engine=engine) for engine in ("vllm", "llama.cpp"))
    deepseek = catalog.architecture("deepseek-v3")
    yield from (kv_cache_bytes(deepseek, context_tokens=tokens) for tokens in (1, 8192))
    weights = sum(_weights("bfloat16").values())
    for changes in ({"concurrency": "8"}, {"concurrency": "6"}, {"concurrency": "8", "kv-precision": "fp8"}):
        cache = run("inferencia", changes).estimate.component("kv_cache")
        yield from (cache, weights + cache, _usable() - weights - cache)
    yield 8 * FULL_HEADS


def _lora_page() -> Iterator[int | Fraction]:
    llama = catalog.architecture("llama-3-8b")
    total, found = _total("llama-3-8b"), adapters(llama, "all-linear")
    yield from (one.parameters(16) // 32 for one in found)
    yield sum(one.parameters(16) for one in found) // 32
    for targets in ("all-linear", "attention", "q-v"):
        yield lora_parameters(llama, rank=16, target_modules=targets)
    trained = lora_parameters(llama, rank=16, target_modules="all-linear")
    yield from (trained * 2, trained * 16, total * 16, Fraction(round(Fraction(100 * trained, total), 5)))
    base = _weights("nf4-dq")
    quantized = sum(base.values())
    yield from (base["values"] + base["scales"], quantized, quantized + 16 * trained, total * 2 + 16 * trained)


def _method_page() -> Iterator[int | Fraction]:
    total = _total("llama-3-8b")
    yield from (6 * total, 20 * total, int(Fraction(12, 10) * 2 * total))
    full = run("gpu", {"workload": "training", "context": "2048"}).estimate
    yield from (full.total, full.low, full.high)
    per_layer = 2048 * (16 * 4096 + 4 * 4096 + 4 * 1024 + 8 * 14336 + 4 * 32 + 8)
    yield from (per_layer, 32 * per_layer, 2048 * 4096 * 34 + 5 * 32 * 2048**2)
