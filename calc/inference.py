"""How much memory running a model needs: the larger of two moments.

* ``prefill``: weights, the KV cache of the prompt, and the transients of the layer that computes it;
* ``decode``: weights and the KV cache of prompt and answer; one token at a time needs next to no transients.

Transformers before 4.45 has two more, ``prompt_logits`` and ``first_token`` (see ``calc.engines``).

Without a prompt of its own, the whole context is taken as the prompt, and the low end leaves the transients out: a
short prompt with a long answer needs none.
"""

from dataclasses import replace

from calc.activations import widest_mlp
from calc.allocator import INFERENCE, RESERVED_SHARE, instrument
from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention, TensorKind
from calc.checks import check_workload
from calc.custom import has_simple_cache
from calc.dtypes import CACHE_BITS, DType, dtype
from calc.engines import ENGINES, prefill_tokens
from calc.estimate import Component, Estimate, Note, Phase, Workload
from calc.formula import Formula, Number
from calc.inventory import distinct_layers
from calc.kv_cache import kv_cache_formula
from calc.logits import inference_logits
from calc.notes import model_notes
from calc.simple import simple_kv_cache
from calc.timeline import peak, phase
from calc.weights import dequantized, weight_components

MOST_ROTARY = 32768
"""Longest table of rotary positions that the models of those versions kept."""

SCORE_BYTES = 6
"""Bytes per attention score while eager attention computes it: 16 bits, and the softmax in float32."""


def estimate_inference(architecture: Architecture, workload: Workload) -> Estimate:
    """Memory to run a model: weights + KV cache + prefill transients + logits + runtime, at the larger moment.

    Source: each component names its own; the sum is checked against Qwen2.5's published table (``tests``).

    Example:
        >>> from calc.custom import custom_architecture
        >>> estimate = estimate_inference(custom_architecture(7 * 10**9, 4096, 32), Workload(context_tokens=4096))
        >>> estimate.component("weights"), estimate.component("kv_cache") // 2**30
        (14000000000, 2)

    Raises:
        InvalidInput: a choice is unknown or a number below 1; ``place`` is the field.
    """
    check_workload(workload)
    precision = dtype(workload.precision)
    moments = _moments(architecture, workload, precision)
    fullest = peak(moments)
    shown = instrument(workload.statistic, fullest.components, INFERENCE, workload.runtime_bytes)
    notes = model_notes(architecture, workload)
    if len(moments) > 1:
        notes.append(Note(code="peak_moment", params={"moment": fullest.name}))
    return Estimate(
        components=(*fullest.components, *shown),
        notes=tuple(notes),
        timeline=tuple(replace(moment, components=(*moment.components, *shown)) for moment in moments),
    )


def _moments(architecture: Architecture, workload: Workload, precision: DType) -> tuple[Phase, ...]:
    given, legacy = workload.prompt_tokens, ENGINES[workload.engine].legacy
    prompt = workload.context_tokens if given is None else min(given, workload.context_tokens)
    weights, size = weight_components(architecture, precision), precision.compute_bits // 8
    weights = (*weights, *_rotary_tables(architecture, size)) if legacy else weights
    buffer = dequantized(architecture, precision)
    filled = kv_cache(architecture, workload, prompt)
    held = sum(one.bytes for one in (*weights, filled) if one is not None)
    prefill = _prefill(architecture, workload, precision, prompt, held=held)
    last = inference_logits(architecture, sequences=workload.batch, element_bytes=size)
    moments = [phase("prefill", [*weights, buffer, filled, prefill, None if legacy else last])]
    cache = kv_cache(architecture, workload, workload.context_tokens)
    if legacy:
        everything = inference_logits(architecture, sequences=workload.batch, element_bytes=size, positions=prompt)
        moments.append(phase("prompt_logits", [*weights, buffer, filled, everything]))
        if prompt + 1 < workload.context_tokens:  # the first token comes from the prompt's own pass
            twice, full = twofold(filled), twofold(cache)
            moments.append(
                phase("first_token", [*weights, buffer, twice, _float_logits(architecture, workload, prompt)])
            )
            moments.append(phase("decode", [*weights, buffer, full, last]))
    elif given is not None:
        moments.append(phase("decode", [*weights, buffer, cache, last]))
    return tuple(moments)


def twofold(cache: Component | None) -> Component | None:
    """The cache of the last step and the one that this step makes."""
    if cache is None:
        return None
    derivation = Formula(f"2 * ({cache.derivation.expression})", cache.derivation.terms)
    return Component(name="kv_cache", derivation=derivation, sources=(*cache.sources, "qwen2-speed-benchmark"))


def _float_logits(architecture: Architecture, workload: Workload, prompt: int) -> Component:
    """Logits of the prompt in float32, which the caller still holds."""
    terms = {"t": workload.batch * prompt, "V": architecture.vocab_size}
    return Component(name="logits", derivation=Formula("4 * t * V", terms), sources=("qwen2-speed-benchmark",))


def _rotary_tables(architecture: Architecture, size: int) -> tuple[Component, ...]:
    """Cosines and sines of every layer for the longest context: ``2 L S d B``."""
    reach = architecture.max_position_embeddings
    heads = [layer.attention for layer in architecture.layers]
    grouped = [one for one in heads if isinstance(one, GroupedQueryAttention)]
    if reach is None or not grouped or any(one.kind is TensorKind.POSITION for one in architecture.tensors):
        return ()
    terms: dict[str, Number] = {"L": len(grouped), "S": min(reach, MOST_ROTARY), "d": grouped[0].head_dim, "B": size}
    derivation = Formula("2 * L * S * d * B", terms)
    return (Component(name="weights/rotary", derivation=derivation, sources=("qwen2-speed-benchmark",)),)


def kv_cache(architecture: Architecture, workload: Workload, tokens: int) -> Component | None:
    """The exact cache of the architecture; of a custom one without KV heads, the simple law."""
    name = cache_precision(workload)
    if has_simple_cache(architecture):
        formula = simple_kv_cache(architecture, batch=workload.batch, context_tokens=tokens, bits=CACHE_BITS[name])
        return Component(name="kv_cache", derivation=formula, sources=("kv-cache-2022",))
    formula = kv_cache_formula(
        architecture,
        context_tokens=tokens,
        sequences=workload.batch,
        dtype=name,
        value_dtype=None if workload.kv_value_precision == "auto" else workload.kv_value_precision,
        engine=ENGINES[workload.engine].cache or workload.engine,
    )
    if not formula.bytes:
        return None
    return Component(name="kv_cache", derivation=formula, sources=_cache_sources(architecture, workload))


def _cache_sources(architecture: Architecture, workload: Workload) -> tuple[str, ...]:
    """Sources of the parts that this architecture has."""
    layers = [layer for layer, _ in distinct_layers(architecture)]
    parts = {
        "gqa-2023": any(isinstance(layer.attention, GroupedQueryAttention) for layer in layers),
        "deepseek-v2-2024": any(isinstance(layer.attention, MultiHeadLatentAttention) for layer in layers),
        "sliding-window-2023": any(layer.window is not None for layer in layers),
        "mamba-2023": any(layer.state is not None for layer in layers),
        "paged-attention-2023": workload.engine == "vllm",
        "llama-cpp-kv": workload.engine == "llama.cpp",
        "transformers-cache": workload.engine == "transformers",
    }
    return ("kv-cache-2022", *(name for name, present in parts.items() if present))


def cache_precision(workload: Workload) -> str:
    """Id of the cache's format: ``auto`` is float32 with float32 weights, else bfloat16."""
    if workload.kv_precision != "auto":
        return workload.kv_precision
    return "float32" if workload.precision == "float32" else "bfloat16"


def _prefill(architecture: Architecture, workload: Workload, precision: DType, prompt: int, *, held: int) -> Component:
    """Transients of the largest pass: ``B t (3 h + 3 f)`` in the feed-forward, or the scores of eager attention.

    Range: none where the prompt is not known to be that long; above, what the allocator reserves beyond what is in use
    (a share of all that is ``held``).
    """
    size = precision.compute_bits // 8
    tokens = prefill_tokens(workload.engine, batch=workload.batch, context_tokens=prompt)
    terms: dict[str, Number] = {"B": size, "t": tokens}
    terms |= {"h": architecture.hidden_size, "f": widest_mlp(architecture)}
    formula = Formula("B * t * (3 * h + 3 * f)", terms)
    heads = max((_heads(layer.attention) for layer, _ in distinct_layers(architecture)), default=0)
    if workload.attention_kernel == "eager":
        wide: dict[str, Number] = {"a": heads, "t": tokens, "s": prompt, "h": architecture.hidden_size, "B": size}
        scores = Formula(f"{SCORE_BYTES} * a * t * s + 4 * B * t * h", wide)
        formula = max(formula, scores, key=lambda one: one.bytes)
    sources = (ENGINES[workload.engine].source, "cuda-allocator")
    known = workload.prompt_tokens is not None
    spare = 0 if workload.statistic != "needed" else (formula.bytes + held) * RESERVED_SHARE // 100
    return Component(
        name="activations",
        derivation=formula,
        sources=sources,
        low=formula.bytes // 2 if known else 0,
        high=formula.bytes * 3 // 2 + spare if known else formula.bytes + max(spare, formula.bytes // 2),
    )


def _heads(attention: object) -> int:
    if isinstance(attention, GroupedQueryAttention | MultiHeadLatentAttention):
        return attention.num_attention_heads
    return 0
