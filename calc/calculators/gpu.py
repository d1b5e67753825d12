"""The flagship: memory of a whole model, to run it or to train it, and the GPUs that hold it.

Everything comes from the exact architecture (``calc.memory``). The simple laws that other calculators use are computed
for the same inputs and stand beside it: how far off they would be is part of the answer.
"""

from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.cards import GPU_FIELDS, gpus_for
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Figure, Result
from calc.calculators.shared import (
    CONFIG,
    CUSTOM_FIELDS,
    INFERENCE,
    MODEL_OR_CUSTOM,
    PRECISION,
    RUNTIME,
    TRAINING,
    UNIT,
    architecture_of,
    batch,
    cache_remarks,
    checkpointing,
    context,
    kv_precision,
    optimizer,
    remarks,
    runtime_bytes,
)
from calc.calculators.training_fields import layout_fields, step_fields, step_options
from calc.dtypes import CACHE_BITS
from calc.estimate import Estimate, Note, Workload
from calc.fit import fit
from calc.ladder import inference_ladder, training_ladder
from calc.memory import cache_precision, estimate_inference, estimate_training
from calc.parameters import count_parameters
from calc.recipes import OPTIMIZERS
from calc.simple import simple_inference, simple_kv_cache, simple_training

FIELDS = (
    MODEL_OR_CUSTOM,
    CONFIG,
    *CUSTOM_FIELDS,
    Field(name="workload", kind=Kind.CHOICE, default="inference", choices=("inference", "training")),
    PRECISION,
    batch(),
    context("8192"),
    optimizer(tuple(OPTIMIZERS), TRAINING),
    Field(name="mixed-precision", kind=Kind.FLAG, default="yes", advanced=True, shown_when=TRAINING),
    checkpointing("none", TRAINING),
    Field(
        name="attention-kernel",
        kind=Kind.CHOICE,
        default="flash",
        choices=("flash", "eager"),
        advanced=True,
        shown_when=TRAINING,
    ),
    *step_fields(TRAINING),
    *layout_fields(TRAINING),
    kv_precision(INFERENCE),
    RUNTIME,
    *GPU_FIELDS,
    UNIT,
)


def calculate(parsed: Parsed) -> Result:
    """The answer for a model of the catalogue or «Personalizado».

    Example:
        >>> from calc.calculators.fields import parse
        >>> result = calculate(parse(FIELDS, {}))
        >>> result.figures["parameters"], result.estimate.component("kv_cache") == 2**30
        (8030261248, True)
        >>> result.figures["simple_kv_cache_bytes"] // 2**30
        4
    """
    return calculate_for(parsed, architecture_of(parsed))


def calculate_for(parsed: Parsed, architecture: Architecture) -> Result:
    """The answer for any architecture; the field ``model`` is not looked at."""
    training = parsed.word("workload") == "training"
    workload = _workload(parsed, training=training)
    estimate = estimate_for(parsed, architecture)
    figures = _figures(architecture, workload, estimate, training=training)
    cache = [] if training else cache_remarks(workload)
    return Result(
        calculator="gpu",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(
            estimate,
            gpus_for(parsed.values),
            parts=workload.layout.gpus if workload.layout else 1,
            ladder=(training_ladder if training else inference_ladder)(architecture, workload),
        ),
        notes=(*estimate.notes, *_notes(figures, training=training), *cache, *remarks(estimate)),
        figures=figures,
    )


def estimate_for(parsed: Parsed, architecture: Architecture) -> Estimate:
    """The memory alone."""
    training = parsed.word("workload") == "training"
    workload = _workload(parsed, training=training)
    return (estimate_training if training else estimate_inference)(architecture, workload)


def _workload(parsed: Parsed, *, training: bool) -> Workload:
    return Workload(
        precision=parsed.word("precision"),
        batch=parsed.integer("batch"),
        context_tokens=parsed.integer("context"),
        runtime_bytes=runtime_bytes(parsed),
        kv_precision="auto" if training else parsed.word("kv-precision"),
        optimizer=parsed.word("optimizer") if training else "adamw",
        mixed_precision=parsed.flag("mixed-precision", otherwise=True),
        checkpointing=parsed.word("checkpointing") if training else "none",
        attention_kernel=parsed.word("attention-kernel") if training else "flash",
        **(step_options(parsed) if training else {}),
    )


def _figures(
    architecture: Architecture, workload: Workload, estimate: Estimate, *, training: bool
) -> dict[str, Figure]:
    count = count_parameters(architecture)
    figures: dict[str, Figure] = {"parameters": count.total, "active_parameters": count.active}
    size = {"batch": workload.batch, "context_tokens": workload.context_tokens}
    if training:
        return figures | {"simple_bytes": simple_training(architecture, **size).bytes}
    bits = CACHE_BITS[cache_precision(workload)]
    return figures | {
        "kv_cache_bytes": estimate.component("kv_cache"),
        "simple_kv_cache_bytes": simple_kv_cache(architecture, **size, bits=bits).bytes,
        "simple_bytes": simple_inference(architecture, precision=workload.precision).bytes,
    }


def _notes(figures: dict[str, Figure], *, training: bool) -> list[Note]:
    simple = int(figures["simple_bytes"])
    if training:
        return [Note(code="simple_training", params={"simple_bytes": simple})]
    exact, by_heart = int(figures["kv_cache_bytes"]), int(figures["simple_kv_cache_bytes"])
    params = {"simple_bytes": by_heart, "exact_bytes": exact}
    same = exact == by_heart
    first = Note(code="simple_kv_cache_agrees") if same else Note(code="simple_kv_cache", params=params)
    return [first, Note(code="simple_inference", params={"simple_bytes": simple})]


VRAM = Calculator(
    name="gpu", fields=FIELDS, calculate=calculate, calculate_for=calculate_for, estimate_for=estimate_for
)
