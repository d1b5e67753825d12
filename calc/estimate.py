"""What an estimate is: a sum of named components, each with its formula, its source and its range.

``calc.memory`` builds them; the calculators, the command line and the page only read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from calc.architecture import Architecture
from calc.formula import Formula, Number
from calc.layout import Layout

NOTHING: Mapping[str, int | str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One named part of the memory.

    Args:
        name: ``weights``, ``gradients``, ``optimizer``, ``master_weights``, ``kv_cache``, ``activations``, ``logits``,
            ``adapters`` or ``runtime``, finer after a slash (``weights/scales``).
        bytes: the estimate [B]; always ``derivation.bytes``.
        low: nine measurements out of ten should be at or above this [B]; equal to ``bytes`` where the count is exact.
        high: and at or below this [B].
        derivation: the formula that was run, with its numbers.
        sources: keys of ``calc.sources.SOURCES``.

    Example:
        >>> Component(name="weights", derivation=Formula("P * q / 8", {"P": 8, "q": 16}), sources=()).bytes
        16
    """

    name: str
    derivation: Formula
    sources: tuple[str, ...]
    bytes: int = -1
    low: int = -1
    high: int = -1

    def __post_init__(self) -> None:
        """Fill what was left out from the derivation: an exact component states no range of its own."""
        size = self.derivation.bytes if self.bytes < 0 else self.bytes
        object.__setattr__(self, "bytes", size)
        object.__setattr__(self, "low", size if self.low < 0 else self.low)
        object.__setattr__(self, "high", size if self.high < 0 else self.high)

    @property
    def exact(self) -> bool:
        """Whether the component is counted, not estimated."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something the reader must know about the estimate: a code and its values; the words are in ``calc.es``."""

    code: str
    params: Mapping[str, int | str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One moment of a run and what is in memory then.

    Args:
        name: ``forward``, ``loss``, ``first_backward``, ``last_backward`` or ``optimizer_step`` in training,
            ``prefill`` or ``decode`` in inference.
        components: what is alive, in the order of an estimate.
    """

    name: str
    components: tuple[Component, ...]

    @property
    def total(self) -> int:
        """Sum of the components [B]."""
        return sum(component.bytes for component in self.components)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Components in a stable order, and notes; ``timeline`` has every moment, of which the components are the largest.

    Example:
        >>> eight = Formula("P * q / 8", {"P": 4, "q": 16})
        >>> estimate = Estimate(components=(Component(name="weights", derivation=eight, sources=()),))
        >>> estimate.total, estimate.component("weights"), estimate.component("kv_cache")
        (8, 8, 0)
    """

    components: tuple[Component, ...]
    notes: tuple[Note, ...] = ()
    timeline: tuple[Phase, ...] = ()

    @property
    def total(self) -> int:
        """Sum of the components [B]."""
        return sum(component.bytes for component in self.components)

    @property
    def low(self) -> int:
        """Sum of the low ends [B]."""
        return sum(component.low for component in self.components)

    @property
    def high(self) -> int:
        """Sum of the high ends [B]."""
        return sum(component.high for component in self.components)

    def component(self, name: str) -> int:
        """Bytes of the component of this name and of its finer parts; 0 if there is none [B]."""
        return sum(part.bytes for part in self.components if part.name == name or part.name.startswith(f"{name}/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters on a frozen base (Hu et al. 2021).

    Args:
        rank: ``r``.
        target_modules: ``all-linear``, ``attention``, ``q-v``, or module names (``("q_proj", "v_proj")``).
        precision: data type of the adapters' weights and gradients; the base keeps ``Workload.precision``
            (a 4-bit one makes it QLoRA).
        dropout: adapters drop part of their input (``lora_dropout``), and each keeps what it was left with.
        dora: a magnitude per output of each adapted matrix is trained as well (DoRA, arXiv 2402.09353).
        trained_modules: ``embedding`` and ``head`` trained whole beside the adapters (PEFT's ``modules_to_save``).
        float32_residual: PEFT's ``prepare_model_for_kbit_training`` has cast what is not quantized to float32.
        packed_experts: experts stacked in one tensor each (Transformers 5, PEFT 0.21) instead of one matrix each.
    """

    rank: int = 16
    target_modules: str | tuple[str, ...] = "all-linear"
    precision: str = "bfloat16"
    dropout: bool = False
    dora: bool = False
    trained_modules: tuple[str, ...] = ()
    float32_residual: bool = False
    packed_experts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How an engine is told to serve: each option belongs to one engine, and the others do not look at it.

    Args:
        batched_tokens: vLLM's ``--max-num-batched-tokens``; ``None`` for that of a large GPU (``calc.engines``).
        prefix_tokens: vLLM: tokens at the beginning that all requests share, kept once (``--enable-prefix-caching``).
        draft: vLLM: a smaller model that proposes tokens (speculative decoding), with weights and cache of its own.
        adapters: vLLM: LoRA adapters on the GPU at a time (``--max-loras``), each a slot that is reserved.
        adapter_rank: their rank (``--max-lora-rank``).
        gpu_layers: llama.cpp's ``--n-gpu-layers``; ``None`` for all. The output matrix counts as one layer, the last.
        ubatch: llama.cpp's ``--ubatch-size``.
        experts_on_cpu: llama.cpp's ``--cpu-moe``: the routed experts stay in the computer's memory.
        static_cache: Transformers' ``cache_implementation="static"``: the whole context is taken at the beginning.
    """

    batched_tokens: int | None = None
    prefix_tokens: int = 0
    draft: Architecture | None = None
    adapters: int = 0
    adapter_rank: int = 16
    gpu_layers: int | None = None
    ubatch: int = 512
    experts_on_cpu: bool = False
    static_cache: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is done with the model. Names are those of the form's fields, with underscores.

    Args:
        precision: id of ``calc.dtypes.DTYPES`` for the weights.
        kv_precision: id for the KV cache; ``auto`` is 16 bits, or 32 with float32 weights.
        kv_value_precision: id for the values of the cache; ``auto`` is that of the keys.
        batch: sequences at a time (micro-batch in training, concurrent requests in inference).
        context_tokens: tokens per sequence, prompt and answer together.
        optimizer: id of ``calc.recipes.OPTIMIZERS``.
        mixed_precision: 16-bit training keeps a float32 master copy.
        checkpointing: ``none``, ``selective``, ``full`` or ``sqrt`` (``calc.activations``).
        attention_kernel: ``flash`` (scores never stored; PyTorch's SDPA too) or ``eager``.
        runtime_bytes: context and libraries of the device [B]; ``None`` for the documented default.
        engine: id of ``calc.engines.ENGINES``.
        lora: adapters, or ``None`` for full training.
        accumulation_steps: micro-batches per optimizer step; from the second on, gradients are there in the forward.
        gradient_precision: ``auto`` (as computed), ``float32`` (Megatron's main gradients) or ``both`` (DeepSpeed's
            float32 accumulation beside the 16-bit gradients).
        step_kernel: ``fused``, or ``foreach``, PyTorch's default for AdamW, which makes temporaries in the step.
        compute_precision: ``auto``, or ``bfloat16`` where float32 weights are cast to compute (autocast, FSDP's
            mixed precision).
        loss_kernel: id of ``calc.logits.LOSSES``.
        fused_norms: norms that save only their input (Liger, Apex, Transformer Engine).
        repeated_keys: keys and values repeated for every query head before the kernel (older Transformers).
        experts: ``grouped``, all of a token's experts in one operation (Transformers 5), or ``loop``, one by one.
        dropout: dropout on residuals and attention, as in GPT-2 and Megatron's defaults.
        layout: how the model is spread over GPUs; ``None`` for one.
        prompt_tokens: how many of ``context_tokens`` are computed at once in inference, the rest being generated;
            ``None`` for all.
        expandable_segments: the allocator grows its blocks instead of keeping them (``PYTORCH_CUDA_ALLOC_CONF``).
        reentrant: checkpointing by a nested backward pass (``use_reentrant=True``, the default of older Transformers).
        statistic: ``needed``, ``allocated``, ``reserved`` or ``device`` (``calc.allocator``).
        serving: options of the engines, in inference.
    """

    precision: str = "bfloat16"
    kv_precision: str = "auto"
    kv_value_precision: str = "auto"
    batch: int = 1
    context_tokens: int = 8192
    optimizer: str = "adamw"
    mixed_precision: bool = True
    checkpointing: str = "none"
    attention_kernel: str = "flash"
    runtime_bytes: int | None = None
    engine: str = "exact"
    lora: Lora | None = None
    accumulation_steps: int = 2
    gradient_precision: str = "auto"
    step_kernel: str = "fused"
    compute_precision: str = "auto"
    loss_kernel: str = "standard"
    fused_norms: bool = False
    repeated_keys: bool = False
    experts: str = "grouped"
    dropout: bool = False
    layout: Layout | None = None
    prompt_tokens: int | None = None
    statistic: str = "needed"
    expandable_segments: bool = False
    reentrant: bool = False
    serving: Serving = field(default_factory=Serving)


def ranged(  # noqa: PLR0913 - the parts of a component
    name: str, expression: str, terms: Mapping[str, Number], sources: tuple[str, ...], *, low: int, high: int
) -> Component:
    """A component with a range of its own, widened if need be so that it contains the value.

    >>> ranged("runtime", "O", {"O": 900}, (), low=508, high=1428).high
    1428
    """
    derivation = Formula(expression, terms)
    size = derivation.bytes
    return Component(
        name=name, bytes=size, derivation=derivation, sources=sources, low=min(low, size), high=max(high, size)
    )
