"""How much memory training needs: the largest moment of a step, on the rank that holds most.

The moments and what they hold are in ``calc.timeline``; states in ``calc.states``; activations in ``calc.activations``;
the loss in ``calc.logits``; the part of a rank in ``calc.parallelism``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from calc.activations import Training, approximate_layers, live_formula, saved_component
from calc.allocator import ALONE, SHARDED, TRAINING, Reserve, instrument
from calc.architecture import Architecture, TensorKind
from calc.checks import check_workload
from calc.dtypes import dtype
from calc.estimate import Component, Estimate, Note, Phase, Workload
from calc.formula import Formula
from calc.layer_laws import Regime
from calc.layout import Layout
from calc.logits import forward_logits, loss_of, training_logits
from calc.lora import Adapter, adapters, extra_shapes
from calc.notes import model_notes
from calc.parallelism import check_layout, in_flight, part, stages
from calc.recipes import Shapes
from calc.states import (
    Trained,
    cast_weights,
    compute_bytes,
    flattened_gradients,
    gathered,
    gradients,
    held,
    step_temporaries,
    trained_on,
    weights,
    whole_gradients,
)
from calc.timeline import peak, phase

ZERO_WEIGHTS = 3
"""The stage of ZeRO that shards the weights as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank: its part of the model and what it trains."""

    architecture: Architecture
    workload: Workload
    stage: int
    training: Training
    trained: Trained
    layout: Layout

    @property
    def last(self) -> bool:
        """Whether it has the head and the loss."""
        return self.stage == self.layout.pipeline - 1

    @property
    def copies(self) -> int:
        """Micro-batches whose activations are there at a time."""
        return in_flight(self.layout, self.stage, self.layout.micro_batches or self.workload.accumulation_steps)


def estimate_training(architecture: Architecture, workload: Workload, *, stage: int | None = None) -> Estimate:
    """Memory to train a model: what is there at the fullest moment of a step, on one GPU, the fullest of all.

    With ``workload.lora`` the weights are frozen in ``workload.precision`` and only the adapters are trained.
    ``timeline`` has all the moments of that GPU. ``stage`` asks for one stage of a pipeline instead of the fullest.

    Example:
        >>> from calc.custom import custom_architecture
        >>> estimate = estimate_training(custom_architecture(7 * 10**9, 4096, 32), Workload(context_tokens=2048))
        >>> [estimate.component(name) // 10**9 for name in ("weights", "gradients", "optimizer", "master_weights")]
        [14, 14, 56, 28]

    Raises:
        InvalidInput: a choice is unknown, a number below 1, no module matches a target, or the model cannot be laid out
            over the GPUs as asked; ``place`` is the field.
    """
    check_workload(workload)
    layout = workload.layout or Layout()
    check_layout(architecture, layout)
    found = _adapters(architecture, workload)
    chosen = stages(layout) if stage is None else (stage,)
    ranks = [_rank(architecture, workload, layout, stage, found) for stage in chosen]
    timelines = [(rank, _timeline(rank)) for rank in ranks]
    rank, moments = max(timelines, key=lambda pair: peak(pair[1]).total)
    fullest = peak(moments)
    shown = instrument(
        workload.statistic,
        fullest.components,
        _reserve(workload, layout),
        workload.runtime_bytes,
        every_part=0 if workload.expandable_segments else _every_part(moments) + _replaced(rank),
    )
    return Estimate(
        components=(*fullest.components, *shown),
        notes=(*model_notes(architecture, workload), *_notes(architecture, rank, fullest)),
        timeline=tuple(replace(moment, components=(*moment.components, *shown)) for moment in moments),
    )


def _reserve(workload: Workload, layout: Layout) -> Reserve:
    if layout.gpus == 1:
        return ALONE
    return SHARDED if layout.zero == 3 and not workload.expandable_segments else TRAINING


def _every_part(moments: tuple[Phase, ...]) -> int:
    """Each part at its largest moment, added [B]."""
    largest: dict[str, int] = {}
    for moment in moments:
        for one in moment.components:
            largest[one.name] = max(largest.get(one.name, 0), one.bytes)
    return sum(largest.values())


def _replaced(rank: Rank) -> int:
    """Blocks of logits that were copied to float32 and freed [B] (``calc.logits.Loss.replaced``)."""
    if not rank.last:
        return 0
    tokens = rank.training.batch * rank.training.context_tokens
    count = loss_of(rank.workload.loss_kernel).replaced * rank.training.regime.element_bytes
    return count * tokens * rank.architecture.vocab_size // rank.layout.tensor


def _rank(
    architecture: Architecture, workload: Workload, layout: Layout, stage: int, found: tuple[Adapter, ...]
) -> Rank:
    mine = part(architecture, layout, stage)
    extra: Shapes = ()
    if workload.lora:
        found = _adapters(mine, workload) if mine is not architecture else found
        extra = extra_shapes(mine, found, workload.lora)
    return Rank(
        architecture=mine,
        workload=workload,
        stage=stage,
        training=replace(_training(mine, workload, layout, found), outside=stage == layout.pipeline - 1),
        trained=trained_on(mine, workload, found, extra),
        layout=layout,
    )


def _adapters(architecture: Architecture, workload: Workload) -> tuple[Adapter, ...]:
    lora = workload.lora
    return adapters(architecture, lora.target_modules, packed=lora.packed_experts) if lora else ()


def widens(architecture: Architecture, workload: Workload) -> bool:
    """Whether a 4- or 8-bit base is computed in float32 in all but its products.

    Autocast runs ``layer_norm`` in float32, and ``Linear4bit.forward`` (bitsandbytes) gives back the format that it was
    given (``out.to(inp_dtype)``), where a matrix in 16 bits gives 16: from the first LayerNorm on, all that follows is
    float32, the stream between the layers included. An RMS norm is plain Python that autocast leaves alone. That the
    logits are float32 with it is seen and not read in the code: four copies of 4 bytes and, with a cross-entropy
    in place, three (GPT-BigCode in fms-acceleration, where full training holds four and three of 2 bytes).
    """
    bitsandbytes = dtype(workload.precision).family == "bitsandbytes"
    return bool(workload.lora) and bitsandbytes and architecture.norm == "layer"


def _training(mine: Architecture, workload: Workload, layout: Layout, found: tuple[Adapter, ...]) -> Training:
    lora = workload.lora
    wide = widens(mine, workload)
    regime = Regime(
        element_bytes=4 if wide else compute_bytes(workload),
        eager=workload.attention_kernel == "eager",
        adapted=frozenset(one.module for one in found) if lora else None,
        fused_norm=workload.fused_norms,
        adapter_dropout=lora.dropout if lora else False,
        dropout=workload.dropout,
        half_softmax=workload.dropout,
        repeats_keys=workload.repeated_keys,
        expert_loop=workload.experts == "loop",
        sequence_shards=layout.tensor if layout.sequence else 1,
    )
    return Training(
        batch=workload.batch,
        context_tokens=-(-workload.context_tokens // layout.context),
        regime=regime,
        checkpointing=workload.checkpointing,
        rank=lora.rank if lora else 0,
        float32_residual=lora.float32_residual if lora else False,
    )


def _timeline(rank: Rank) -> tuple[Phase, ...]:
    """The moments of one step on one rank."""
    workload, architecture, trained = rank.workload, rank.architecture, rank.trained
    frozen, states = weights(architecture, workload), held(architecture, workload, trained)
    kept = saved_component(architecture, rank.training, copies=rank.copies)
    alone = saved_component(architecture, rank.training, copies=max(0, rank.copies - 1)) if rank.copies > 1 else None
    logits = _logits(rank)
    accumulated = workload.accumulation_steps > 1 or rank.copies > 1
    early, late = (None, None) if not accumulated else (gradients(workload, trained),) * 2
    early = early or gradients(workload, trained, _head_parameters(rank))
    late = late or gradients(workload, trained, trained.parameters - _table_parameters(rank))
    before = gradients(workload, trained) if accumulated else None
    live, buckets = _live(rank), whole_gradients(architecture, workload, trained)
    one, two = gathered(architecture, workload, layers=1), gathered(architecture, workload, layers=2)
    flattened = flattened_gradients(workload, trained)
    cast = cast_weights(architecture, workload)
    hooked = _hooked(rank)
    last = (kept, hooked) if hooked else (alone,)

    def moment(name: str, gradient: Iterable[Component | None], *working: Component | None) -> Phase:
        whole = working[0] if working and working[0] and working[0].name.startswith("weights/") else None
        rest = working[1:] if whole else working
        return phase(name, [*frozen, whole, *_ordered(states, gradient), *rest])

    return (
        moment("forward", [before], one or cast, kept, logits[0]),
        moment("loss", [before], one or cast, kept, logits[1]),
        moment("first_backward", [early, buckets], two or cast, kept, live),
        moment("last_backward", [late, buckets], two, *last, live),
        moment("optimizer_step", [gradients(workload, trained), flattened, step_temporaries(workload, trained)]),
    )


def _ordered(states: list[Component], gradient: Iterable[Component | None]) -> list[Component | None]:
    """Adapters, gradients, optimizer states, master copy: the order of an estimate."""
    first = [one for one in states if one.name == "adapters"]
    given = list(gradient)
    temporaries = [one for one in given if one and one.name.startswith("optimizer/")]
    grown = [one for one in given if one and not one.name.startswith("optimizer/")]
    optimizer = [one for one in states if one.name == "optimizer"]
    return [*first, *grown, *optimizer, *temporaries, *(one for one in states if one.name == "master_weights")]


def _logits(rank: Rank) -> tuple[Component | None, Component | None]:
    """At the end of the forward pass and at the start of the backward pass; only on the stage that has the head."""
    if not rank.last:
        return None, None
    loss = loss_of(rank.workload.loss_kernel)
    tokens = rank.training.batch * rank.training.context_tokens
    size, parts = rank.training.regime.element_bytes, rank.layout.tensor
    return (
        forward_logits(rank.architecture, tokens=tokens, element_bytes=size, loss=loss, shards=parts),
        training_logits(rank.architecture, tokens=tokens, element_bytes=size, loss=loss, shards=parts),
    )


def _live(rank: Rank) -> Component:
    """The layer in backward, between its fused and its unfused form; above, what FSDP may keep (``_hooked``)."""
    formula = live_formula(rank.architecture, rank.training)
    fused = replace(rank.training, regime=replace(rank.training.regime, fused_norm=True))
    spare = 0 if rank.workload.reentrant or not _frozen_units(rank) else _inputs(rank).bytes
    return Component(
        name="activations/live",
        derivation=formula,
        low=min(live_formula(rank.architecture, fused).bytes, formula.bytes * 6 // 10),
        high=formula.bytes * 115 // 100 + spare,
        sources=("saved-tensors-2026", "fms-acceleration"),
    )


def _hooked(rank: Rank) -> Component | None:
    """Gradients of the layers' inputs, ``B t h`` each, that FSDP keeps to the end of the backward pass, and with them
    the inputs themselves: beside the layer in backward, all checkpoints are still there, and as many gradients.

    Where a unit's parameters are frozen, FSDP learns that it may free them from a hook on the unit's inputs
    (``_register_post_backward_reshard_only_hook``), which it lets go of only after the whole backward pass. Reentrant
    checkpointing makes those inputs leaves, whose gradients pile up in ``.grad``; the hook holds their
    ``AccumulateGrad`` nodes, and these hold both. It is not so where checkpointing is not reentrant, nor where all
    parameters are trained, which have another hook.

    Seen in Llama 3 8B, Mistral 7B and Llama 2 70B, in 16 bits, NF4 and GPTQ, on 2 and 4 GPUs: nothing more at the
    loss, ``B L t h`` more than on one GPU at the end (fms-acceleration); and not in Answer.AI's FSDP-QLoRA, whose
    checkpoints are not reentrant.
    """
    if not (rank.workload.reentrant and _frozen_units(rank)):
        return None
    return Component(name="activations/gradients", derivation=_inputs(rank), low=0, sources=("fsdp-frozen",))


def _frozen_units(rank: Rank) -> bool:
    """Whether FSDP shards layers that are frozen and checkpointed."""
    sharded = rank.layout.zero == ZERO_WEIGHTS and rank.layout.shards > 1
    return bool(rank.workload.lora) and sharded and rank.workload.checkpointing == "full"


def _inputs(rank: Rank) -> Formula:
    """One tensor of the residual stream for each layer [B]."""
    tokens = rank.training.batch * rank.training.context_tokens
    values = {"L": len(rank.architecture.layers), "B": rank.training.residual_bytes}
    return Formula("L * B * t * h", {**values, "t": tokens, "h": rank.architecture.hidden_size})


def _head_parameters(rank: Rank) -> int:
    """What the backward pass has been through before the first layer: the head, or the table that is the head."""
    if rank.workload.lora or not rank.last:
        return rank.trained.parameters if rank.workload.lora else 0
    kind = TensorKind.EMBEDDING if rank.architecture.tie_word_embeddings else TensorKind.HEAD
    return sum(prod(one.shape) * one.count for one in rank.architecture.tensors if one.kind is kind)


def _table_parameters(rank: Rank) -> int:
    """What the backward pass has not reached at the last layer: the token table, unless it is the head."""
    if rank.workload.lora or rank.architecture.tie_word_embeddings:
        return 0
    return sum(one.parameters for one in rank.architecture.tensors if one.kind is TensorKind.EMBEDDING)


def _notes(architecture: Architecture, rank: Rank, fullest: Phase) -> list[Note]:
    workload, precision = rank.workload, dtype(rank.workload.precision)
    notes = [Note(code="peak_moment", params={"moment": fullest.name})]
    if rank.layout.gpus > 1:
        notes.append(Note(code="one_gpu_of_many", params={"gpus": rank.layout.gpus}))
    if rank.layout.pipeline > 1:
        params = {"stage": rank.stage + 1, "stages": rank.layout.pipeline, "micro_batches": rank.copies}
        notes.append(Note(code="fullest_stage", params=params))
    doubtful = approximate_layers(architecture, rank.training.regime)
    if doubtful:
        params = {"layers": doubtful, "of": len(architecture.layers)}
        notes.append(Note(code="approximate_activations", params=params))
    if precision.quantized and not workload.lora:
        notes.append(Note(code="quantized_training", params={"precision": precision.name}))
    if workload.optimizer == "adamw" and precision.compute_bits == 16 and not workload.mixed_precision:
        notes.append(Note(code="optimizer_states_float32"))
    return notes
