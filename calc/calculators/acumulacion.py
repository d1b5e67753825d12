"""Gradient accumulation: the effective batch grows with the steps, the memory does not.

Laws: E = b · a · g and M = b · A, with b samples per micro-batch, a accumulation steps, g data-parallel GPUs and A
bytes of activations per sample. GB are decimal here, as in the law's usual statement.

Beside the simple answer, every way to the same effective batch is estimated for a whole model (``combinations``).
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.cards import GPU, GPU_MEMORY, RESERVE, chosen_gpu
from calc.calculators.combinations import Combination, combinations, count, memory
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Later, Result, Row
from calc.calculators.shared import CONFIG, MODEL, architecture_of, checkpointing, context, optimizer
from calc.calculators.training_fields import layout_fields
from calc.estimate import Component, Estimate, Note, Workload
from calc.fit import fit
from calc.formula import Formula
from calc.layout import Layout
from calc.recipes import OPTIMIZERS
from calc.units import GB

FIELDS = (
    Field(name="micro-batch", kind=Kind.INTEGER, default="4", unit="samples", minimum=1, maximum=10**6),
    Field(name="steps", kind=Kind.INTEGER, default="8", unit="steps", minimum=1, maximum=10**6),
    Field(name="gpus", kind=Kind.INTEGER, default="1", unit="gpus", minimum=1, maximum=10**6),
    Field(
        name="activation-per-sample",
        kind=Kind.DECIMAL,
        default="0,5",
        unit="GB",
        minimum=Fraction(1, GB),
        maximum=10**6,
    ),
    *(
        replace(field, advanced=False, group="comparison")
        for field in (
            replace(MODEL, default="llama-3.2-1b"),
            CONFIG,
            context("2048"),
            optimizer(tuple(OPTIMIZERS)),
            checkpointing("none"),
            *layout_fields(names=("zero",)),
            replace(GPU, default="h100-80gb"),
            GPU_MEMORY,
            RESERVE,
        )
    ),
)


def calculate(parsed: Parsed) -> Result:
    """Effective batch and activation memory of one GPU; the comparison for a model of the catalogue.

    Example:
        >>> from calc.calculators.fields import parse
        >>> result = calculate(parse(FIELDS, {"gpus": "4"}))
        >>> result.figures["effective_batch"], result.estimate.total
        (128, 2000000000)
        >>> next(row["micro_batch"] for row in result.tables["combinations"] if row["chosen"])
        4
    """
    return calculate_for(parsed, architecture_of(parsed))


def calculate_for(parsed: Parsed, architecture: Architecture) -> Result:
    """The same with the comparison for any architecture."""
    micro_batch, steps, gpus = (parsed.integer(name) for name in ("micro-batch", "steps", "gpus"))
    sample = ceil(parsed.decimal("activation-per-sample") * GB)
    batch = Formula("b * a * g", {"b": micro_batch, "a": steps, "g": gpus})
    activations = Component(
        name="activations",
        derivation=Formula("b * A", {"b": micro_batch, "A": sample}),
        sources=("large-batch-2017", "gradient-accumulation"),
    )
    without = micro_batch * steps * sample
    notes = [Note(code="steps_add_no_activations", params={"steps": steps, "without_bytes": without})]
    if steps > 1:
        notes.append(Note(code="gradients_stay_allocated"))
    if gpus > 1:
        notes.append(Note(code="each_gpu_holds_its_own", params={"gpus": gpus}))
    return Result(
        calculator="acumulacion",
        inputs=inputs(parsed),
        estimate=Estimate(components=(activations,)),
        notes=tuple(notes),
        figures={
            "effective_batch": batch.bytes,
            "without_accumulation_bytes": without,
            "sample_bytes": sample,
            "combinations": count((micro_batch, steps, gpus)),
        },
        tables=Later({"combinations": lambda: _rows(parsed, architecture, (micro_batch, steps, gpus), sample)}),
    )


def _rows(parsed: Parsed, architecture: Architecture, asked: Combination, sample: int) -> tuple[Row, ...]:
    """The ways to the same effective batch, each with the memory of one GPU and whether the chosen card holds it."""
    workload = Workload(
        context_tokens=parsed.integer("context"),
        optimizer=parsed.word("optimizer"),
        checkpointing=parsed.word("checkpointing"),
        layout=Layout(zero=int(parsed.word("zero"))),
    )
    card = chosen_gpu(parsed.values)
    rows: list[Row] = []
    for one in combinations(asked):
        estimate = memory(architecture, workload, one)
        (held,) = fit(estimate, (card,))
        rows.append(
            {
                "micro_batch": one[0],
                "steps": one[1],
                "gpus": one[2],
                "activations_bytes": one[0] * sample,
                "total_bytes": estimate.total,
                "moment": next(note.params["moment"] for note in estimate.notes if note.code == "peak_moment"),
                "verdict": held.verdict.value,
                "chosen": one == asked,
            }
        )
    return tuple(rows)


ACUMULACION = Calculator(name="acumulacion", fields=FIELDS, calculate=calculate, calculate_for=calculate_for)
