"""Gradient accumulation: the effective batch grows with the steps, the memory does not.

Laws: E = b · a · g and M = b · A, with b samples per micro-batch, a accumulation steps, g data-parallel GPUs and A
bytes of activations per sample. GB are decimal here, as in the law's usual statement.
"""

from fractions import Fraction
from math import ceil

from calc.calculators.calculator import Calculator, inputs
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.estimate import Component, Estimate, Note
from calc.formula import Formula
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
)


def calculate(parsed: Parsed) -> Result:
    """Effective batch and activation memory of one GPU.

    Example:
        >>> from calc.calculators.fields import parse
        >>> result = calculate(parse(FIELDS, {"gpus": "4"}))
        >>> result.figures["effective_batch"], result.estimate.total
        (128, 2000000000)
    """
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
        figures={"effective_batch": batch.bytes, "without_accumulation_bytes": without, "sample_bytes": sample},
    )


ACUMULACION = Calculator(name="acumulacion", fields=FIELDS, calculate=calculate)
