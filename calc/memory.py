"""How much memory a model needs to run or to train: the two entries of the estimator.

Both give a sum of named components. What the sum supposes is said in notes, never in silence:

* inference: weights, the full KV cache and the transients of a prefill of the whole context, together. A short prompt
  followed by a long answer needs less: the low end leaves the transients out;
* training: every component at its largest, which is what happens when gradients are accumulated over two or more
  micro-batches. With a single one, gradients grow while activations are given back, so only the larger of the two is
  there in full: the low end of the gradients leaves out what the activations fill.
"""

from dataclasses import replace

from calc.activations import Training, approximate_layers, training_activations, widest_mlp
from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention
from calc.custom import has_simple_cache, is_custom
from calc.dtypes import CACHE_BITS, DType, dtype
from calc.engines import ENGINES, prefill_tokens
from calc.errors import InvalidInput
from calc.estimate import Component, Estimate, Lora, Note, Workload, ranged
from calc.formula import Formula, Number
from calc.inventory import distinct_layers, loaded_parameters, loaded_tensors
from calc.kv_cache import kv_cache_formula
from calc.layer_laws import Regime
from calc.logits import inference_logits, training_logits
from calc.lora import Adapter, adapter_shapes, adapters
from calc.recipes import gradients, master_weights, optimizer_states
from calc.simple import simple_kv_cache
from calc.units import MIB
from calc.weights import weight_components

__all__ = [
    "Component",
    "Estimate",
    "Lora",
    "Note",
    "Workload",
    "estimate_inference",
    "estimate_training",
]

# A CUDA context with its libraries took 508 to 1,428 MiB beyond what the allocator had reserved, over published runs of
# 2023 to 2026 on A100s (nvidia-smi minus reserved). The default is the middle of that range.
RUNTIME_LOW, RUNTIME_HIGH = 508 * MIB, 1428 * MIB
RUNTIME_DEFAULT = (RUNTIME_LOW + RUNTIME_HIGH) // 2

# Reserved over allocated memory in published inference runs of Transformers: 1.00 to 1.33, median 1.04.
RESERVED_SHARE = 4  # per cent


def estimate_inference(architecture: Architecture, workload: Workload) -> Estimate:
    """Memory to run a model: weights + KV cache + prefill transients + logits + runtime.

    Source: each component names its own; the sum is checked against Qwen2.5's published table (``tests``).

    Example:
        >>> from calc.custom import custom_architecture
        >>> estimate = estimate_inference(custom_architecture(7 * 10**9, 4096, 32), Workload(context_tokens=4096))
        >>> estimate.component("weights"), estimate.component("kv_cache") // 2**30
        (14000000000, 2)

    Raises:
        InvalidInput: a choice is unknown or a number below 1; ``place`` is the field.
    """
    _check(workload)
    weights = dtype(workload.precision)
    held = [*weight_components(architecture, weights), _kv_cache(architecture, workload)]
    size = sum(one.bytes for one in held if one is not None)
    components = [
        *held,
        _prefill(architecture, workload, weights, held=size),
        inference_logits(architecture, sequences=workload.batch, element_bytes=weights.compute_bits // 8),
        _runtime(workload),
    ]
    present = tuple(one for one in components if one is not None)
    return Estimate(components=present, notes=tuple(_model_notes(architecture, workload)))


def estimate_training(architecture: Architecture, workload: Workload) -> Estimate:
    """Memory to train a model: weights, gradients, optimizer states, master copy, activations, logits, runtime.

    With ``workload.lora`` the weights are frozen in ``workload.precision`` and only the adapters are trained.

    Example:
        >>> from calc.custom import custom_architecture
        >>> estimate = estimate_training(custom_architecture(7 * 10**9, 4096, 32), Workload(context_tokens=2048))
        >>> [estimate.component(name) // 10**9 for name in ("weights", "gradients", "optimizer", "master_weights")]
        [14, 14, 56, 28]

    Raises:
        InvalidInput: a choice is unknown, a number below 1, or no module matches a target; ``place`` is the field.
    """
    _check(workload)
    weights = dtype(workload.precision)
    found = adapters(architecture, workload.lora.target_modules) if workload.lora else ()
    training = _training(workload, weights, found)
    if workload.lora:
        states = _adapter_states(found, workload.lora, workload)
    else:
        states = _full_states(architecture, workload, weights)
    tokens, element_bytes = workload.batch * workload.context_tokens, training.regime.element_bytes
    working = [
        training_activations(architecture, training),
        training_logits(architecture, tokens=tokens, element_bytes=element_bytes),
    ]
    components = [*weight_components(architecture, weights), *states, *working, _runtime(workload)]
    present = [one for one in components if one is not None]
    if workload.lora and weights.quantized:
        present = [_with_float32_residual(one, architecture, training) for one in present]
    notes = _training_notes(architecture, workload, weights, training)
    return Estimate(components=_single_step_low(present), notes=(*_model_notes(architecture, workload), *notes))


def _training(workload: Workload, weights: DType, found: tuple[Adapter, ...]) -> Training:
    regime = Regime(
        element_bytes=weights.compute_bits // 8,
        eager=workload.attention_kernel == "eager",
        adapted=frozenset(one.module for one in found) if workload.lora else None,
    )
    return Training(
        batch=workload.batch,
        context_tokens=workload.context_tokens,
        regime=regime,
        checkpointing=workload.checkpointing,
        rank=workload.lora.rank if workload.lora else 0,
    )


def _check(workload: Workload) -> None:
    for place, value in {"batch": workload.batch, "context": workload.context_tokens}.items():
        if value < 1:
            raise InvalidInput("too_small", place=place, minimum=1)
    if workload.lora and workload.lora.rank < 1:
        raise InvalidInput("too_small", place="rank", minimum=1)
    if workload.runtime_bytes is not None and workload.runtime_bytes < 0:
        raise InvalidInput("too_small", place="runtime", minimum=0)
    choices = {
        "kv-precision": (workload.kv_precision, ("auto", *CACHE_BITS)),
        "attention-kernel": (workload.attention_kernel, ("flash", "eager")),
        "engine": (workload.engine, tuple(ENGINES)),
    }
    for place, (choice, known) in choices.items():
        if choice not in known:
            raise InvalidInput("unknown_choice", place=place, value=choice, known=known)


def _kv_cache(architecture: Architecture, workload: Workload) -> Component | None:
    """The exact cache of the architecture; of a custom one without KV heads, the simple law."""
    name = cache_precision(workload)
    if has_simple_cache(architecture):
        formula = simple_kv_cache(
            architecture, batch=workload.batch, context_tokens=workload.context_tokens, bits=CACHE_BITS[name]
        )
        return Component(name="kv_cache", derivation=formula, sources=("kv-cache-2022",))
    formula = kv_cache_formula(
        architecture,
        context_tokens=workload.context_tokens,
        sequences=workload.batch,
        dtype=name,
        engine=workload.engine,
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


def _prefill(architecture: Architecture, workload: Workload, weights: DType, *, held: int) -> Component:
    """Transients of the largest pass, ``B t (3 h + 3 f)``.

    Range: none for a short prompt; above, what the allocator reserves beyond what is in use (a share of all that is
    ``held``).
    """
    tokens = prefill_tokens(workload.engine, batch=workload.batch, context_tokens=workload.context_tokens)
    terms: dict[str, Number] = {"B": weights.compute_bits // 8, "t": tokens}
    terms |= {"h": architecture.hidden_size, "f": widest_mlp(architecture)}
    formula = Formula("B * t * (3 * h + 3 * f)", terms)
    size = formula.bytes
    sources = (ENGINES[workload.engine].source, "cuda-allocator")
    high = size + (size + held) * RESERVED_SHARE // 100
    return Component(name="activations", derivation=formula, sources=sources, low=0, high=high)


def _runtime(workload: Workload) -> Component:
    if workload.runtime_bytes is not None:
        return Component(name="runtime", derivation=Formula("O", {"O": workload.runtime_bytes}), sources=())
    return ranged("runtime", "O", {"O": RUNTIME_DEFAULT}, ("cuda-context-2026",), low=RUNTIME_LOW, high=RUNTIME_HIGH)


def _full_states(architecture: Architecture, workload: Workload, weights: DType) -> list[Component]:
    trained = loaded_parameters(architecture)
    shapes = [(tensor.shape, times) for tensor, times in loaded_tensors(architecture)]
    states = [gradients(trained, weights), optimizer_states(workload.optimizer, shapes)]
    return [*states, master_weights(trained)] if _has_master(weights, workload) else states


def _adapter_states(found: tuple[Adapter, ...], lora: Lora, workload: Workload) -> list[Component]:
    precision = dtype(lora.precision, place="adapter-precision")
    shapes = adapter_shapes(found, lora.rank)
    trained = sum(one.parameters(lora.rank) for one in found)
    weights = Component(
        name="adapters",
        derivation=Formula("P_a * B", {"P_a": trained, "B": precision.compute_bits // 8}),
        sources=("lora-2021", "peft-lora"),
    )
    optimizer = optimizer_states(workload.optimizer, shapes, symbol="P_a")
    states = [weights, gradients(trained, precision, symbol="P_a"), optimizer]
    return [*states, master_weights(trained, symbol="P_a")] if _has_master(precision, workload) else states


def _with_float32_residual(component: Component, architecture: Architecture, training: Training) -> Component:
    """Raise the high end for a base that PEFT prepares with ``prepare_model_for_kbit_training``.

    It casts what is not quantized to float32, and with it the residual stream, of which every layer keeps one tensor.
    Measured: 4.0 GiB more per 16,384 tokens of Mistral 7B in QLoRA than in LoRA (fms-acceleration); this gives 4.0.
    """
    if component.name == "weights/unquantized":
        return replace(component, high=component.bytes * 32 // 16)
    if component.name == "activations":
        residual = training.batch * training.context_tokens * architecture.hidden_size * len(architecture.layers)
        return replace(component, high=component.high + training.regime.element_bytes * residual)
    return component


def _has_master(weights: DType, workload: Workload) -> bool:
    return workload.mixed_precision and weights.compute_bits == 16


def _single_step_low(components: list[Component]) -> tuple[Component, ...]:
    """Lower the low end of the gradients by what activations and logits fill: with one micro-batch they swap places."""
    working = sum(one.low for one in components if one.name in ("activations", "logits"))
    return tuple(replace(one, low=max(0, one.low - working)) if one.name == "gradients" else one for one in components)


def _model_notes(architecture: Architecture, workload: Workload) -> list[Note]:
    notes = []
    if is_custom(architecture):
        notes.append(Note(code="custom_assumptions", params={"intermediate_size": widest_mlp(architecture)}))
    if not architecture.vocab_size:
        notes.append(Note(code="logits_not_counted"))
    if any(tower.loaded for tower in architecture.towers):
        notes.append(Note(code="tower_activations_not_counted"))
    limit = architecture.max_position_embeddings
    if limit is not None and workload.context_tokens > limit:
        notes.append(Note(code="context_over_limit", params={"context": workload.context_tokens, "limit": limit}))
    return notes


def _training_notes(architecture: Architecture, workload: Workload, weights: DType, training: Training) -> list[Note]:
    notes = [Note(code="training_sum_of_parts")]
    doubtful = approximate_layers(architecture, training.regime)
    if doubtful:
        params = {"layers": doubtful, "of": len(architecture.layers)}
        notes.append(Note(code="approximate_activations", params=params))
    if weights.quantized and not workload.lora:
        notes.append(Note(code="quantized_training", params={"precision": weights.name}))
    if workload.optimizer == "adamw" and weights.compute_bits == 16 and not workload.mixed_precision:
        notes.append(Note(code="optimizer_states_float32"))
    return notes
