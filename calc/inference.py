"""How much memory running a model needs: the larger of two moments.

* ``prefill``: weights, the KV cache of the prompt, and the transients of the layer that computes it;
* ``decode``: weights and the KV cache of prompt and answer; one token at a time needs next to no transients.

Transformers before 4.45 has two more, ``prompt_logits`` and ``first_token`` (see ``calc.engines``). llama.cpp takes the
whole cache and its compute buffer (``calc.compute_buffer``) at the beginning, for the part of the model that the GPU
has (``calc.offload``): there is one moment.

Without a prompt of its own, the whole context is taken as the prompt, and the low end leaves the transients out: a
short prompt with a long answer needs none.
"""

from dataclasses import replace

from calc.activations import widest_mlp
from calc.allocator import INFERENCE, RESERVED_SHARE, instrument
from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention, TensorKind
from calc.checks import check_workload
from calc.compute_buffer import compute_buffer, copied_to_gpu
from calc.custom import has_simple_cache
from calc.dtypes import CACHE_BITS, DType, dtype, whole
from calc.engines import ENGINES, prefill_tokens
from calc.estimate import Component, Estimate, Note, Phase, Workload
from calc.formula import Formula, Number
from calc.inventory import distinct_layers, loaded_parameters
from calc.kv_cache import STATIC, VLLM_BLOCK, honours_windows, kv_cache_formula, shared_width
from calc.logits import inference_logits
from calc.lora import lora_parameters
from calc.notes import model_notes
from calc.offload import held_by_llama_cpp, part_held
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
    if workload.engine == "llama.cpp":
        return (_llama_cpp(architecture, workload, precision),)
    given, legacy = workload.prompt_tokens, ENGINES[workload.engine].legacy
    prompt = workload.context_tokens if given is None else min(given, workload.context_tokens)
    weights, size = weight_components(architecture, precision), precision.compute_bits // 8
    weights = (*weights, *_rotary_tables(architecture, size)) if legacy else weights
    weights = (*weights, *beside_the_model(architecture, workload, size))
    buffer = dequantized(architecture, precision)
    static = workload.engine == "transformers" and workload.serving.static_cache
    filled = kv_cache(architecture, workload, workload.context_tokens if static else prompt)
    held = sum(one.bytes for one in (*weights, filled) if one is not None)
    prefill = _prefill(architecture, workload, precision, prompt, held=held)
    last = inference_logits(architecture, sequences=workload.batch, element_bytes=size)
    draft = _draft_cache(workload, prompt)
    moments = [phase("prefill", [*weights, buffer, filled, draft, prefill, None if legacy else last])]
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
        draft = _draft_cache(workload, workload.context_tokens)
        moments.append(phase("decode", [*weights, buffer, cache, draft, last]))
    return tuple(moments)


def _llama_cpp(architecture: Architecture, workload: Workload, precision: DType) -> Phase:
    """Weights and cache of what the GPU holds, and the compute buffer."""
    serving = workload.serving
    held = held_by_llama_cpp(architecture, serving.gpu_layers, experts_on_cpu=serving.experts_on_cpu)
    mine = part_held(architecture, held)
    buffer = compute_buffer(
        architecture,
        ubatch=min(serving.ubatch, workload.batch * workload.context_tokens),
        context_tokens=workload.context_tokens,
        flash=workload.attention_kernel == "flash",
        copied=copied_to_gpu(architecture, held, precision),
    )
    cache = kv_cache(mine, workload, workload.context_tokens, windows=honours_windows(architecture))
    return phase("prefill", [*weight_components(architecture, precision, held), cache, buffer])


def beside_the_model(architecture: Architecture, workload: Workload, size: int) -> tuple[Component, ...]:
    """What vLLM loads beside the model: the draft model, in 16 bits, and a slot for each adapter.

    A slot holds both matrices of every linear layer at the highest rank (``create_lora_weights``: zeros of
    ``max_loras x rank x in`` and ``max_loras x out x rank``), whatever adapter is in it. High end: models that name
    their ``embedding_modules``, as most do, have slots for the token table and the head too.
    """
    serving = workload.serving
    if workload.engine != "vllm":
        return ()
    found = []
    if serving.draft is not None:
        terms: dict[str, Number] = {"P_d": loaded_parameters(serving.draft), "B": size}
        found.append(Component(name="weights/draft", derivation=Formula("P_d * B", terms), sources=("hf-config",)))
    if serving.adapters:
        parameters = lora_parameters(architecture, rank=serving.adapter_rank, target_modules="all-linear", packed=False)
        terms = {"N_a": serving.adapters, "P_a": parameters, "B": size}
        derivation = Formula("N_a * P_a * B", terms)
        tables = 2 * serving.adapter_rank * (architecture.vocab_size + architecture.hidden_size)
        high = derivation.bytes + serving.adapters * tables * size
        found.append(Component(name="adapters", derivation=derivation, sources=("vllm-lora",), high=high))
    return tuple(found)


def _draft_cache(workload: Workload, tokens: int) -> Component | None:
    """The draft model's own cache of the same tokens."""
    draft = workload.serving.draft if workload.engine == "vllm" else None
    cache = None if draft is None else kv_cache(draft, workload, tokens)
    return None if cache is None else replace(cache, name="kv_cache/draft")


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


def kv_cache(
    architecture: Architecture, workload: Workload, tokens: int, *, windows: bool | None = None
) -> Component | None:
    """The exact cache of the architecture; of a custom one without KV heads, the simple law."""
    name = cache_precision(workload)
    if has_simple_cache(architecture):
        formula = simple_kv_cache(architecture, batch=workload.batch, context_tokens=tokens, bits=CACHE_BITS[name])
        return Component(name="kv_cache", derivation=formula, sources=("kv-cache-2022",))
    engine = ENGINES[workload.engine].cache or workload.engine
    if engine == "transformers" and workload.serving.static_cache:
        engine = STATIC
    formula = kv_cache_formula(
        architecture,
        context_tokens=tokens,
        sequences=workload.batch,
        dtype=name,
        value_dtype=None if workload.kv_value_precision == "auto" else workload.kv_value_precision,
        engine=engine,
        ubatch=workload.serving.ubatch,
        windows=windows,
    )
    formula = _less_shared(architecture, workload, formula, tokens)
    if not formula.bytes:
        return None
    return Component(name="kv_cache", derivation=formula, sources=_cache_sources(architecture, workload))


def _less_shared(architecture: Architecture, workload: Workload, formula: Formula, tokens: int) -> Formula:
    """What requests with the same beginning do not hold twice: whole blocks of it, in layers that see all of it.

    vLLM finds blocks by the hash of what they hold and all before (``--enable-prefix-caching``, its default).
    """
    shared = min(workload.serving.prefix_tokens, tokens) // VLLM_BLOCK * VLLM_BLOCK
    width = shared_width(architecture)
    if workload.engine != "vllm" or not shared or workload.batch < 2 or not width:
        return formula
    bits = CACHE_BITS[cache_precision(workload)]
    values = workload.kv_value_precision
    if values not in ("auto", cache_precision(workload)):
        bits = (bits + CACHE_BITS[values]) / 2
    terms = {**formula.terms, "N_p": width, "s_p": shared, "b": workload.batch, "B": whole(bits / 8)}
    return Formula(f"{formula.expression} - (b - 1) * N_p * s_p * B", terms)


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
    most = workload.serving.batched_tokens if workload.engine == "vllm" else None
    tokens = prefill_tokens(workload.engine, batch=workload.batch, context_tokens=prompt, most=most)
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
