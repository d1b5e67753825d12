"""LoRA and QLoRA: parameters, file and training memory of an adapter, beside full fine-tuning of the same model.

QLoRA is LoRA on a base in NF4 with double quantization (Dettmers et al. 2023, arXiv 2305.14314v1, section 3).
"""

from dataclasses import replace
from fractions import Fraction
from typing import Final

from calc import catalog
from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.calculators.shared import (
    CONFIG,
    GPU,
    MODEL,
    RUNTIME,
    UNIT,
    architecture_of,
    batch,
    checkpointing,
    context,
    optimizer,
    remarks,
    runtime_bytes,
)
from calc.estimate import Estimate, Lora, Note, Workload
from calc.fit import fit
from calc.lora import ALL_LINEAR, adapter_file_bytes, adapters, lora_parameters
from calc.memory import estimate_training
from calc.parameters import count_parameters
from calc.recipes import OPTIMIZERS

QLORA_BASE: Final = "nf4-dq"
"""Precision of the frozen weights in QLoRA: 4-bit NormalFloat with its constants quantized again."""

FIELDS = (
    MODEL,
    CONFIG,
    Field(name="method", kind=Kind.CHOICE, default="lora", choices=("lora", "qlora")),
    Field(name="rank", kind=Kind.INTEGER, default="16", minimum=1, maximum=65536),
    Field(name="targets", kind=Kind.CHOICE, default="all-linear", choices=("all-linear", "attention", "q-v")),
    batch(),
    context("2048"),
    Field(
        name="precision",
        kind=Kind.CHOICE,
        default="bfloat16",
        choices=("float32", "bfloat16", "float16", "int8"),
        advanced=True,
        shown_when={"method": ("lora",)},
    ),
    optimizer(tuple(OPTIMIZERS)),
    checkpointing("full"),
    RUNTIME,
    GPU,
    UNIT,
)


def calculate(parsed: Parsed) -> Result:
    """The answer for a model of the catalogue.

    Example:
        >>> from calc.calculators.fields import parse
        >>> calculate(parse(FIELDS, {"rank": "16"})).figures["trainable_parameters"]
        41943040
    """
    return calculate_for(parsed, architecture_of(parsed))


def calculate_for(parsed: Parsed, architecture: Architecture) -> Result:
    """The answer for any architecture; the field ``model`` is not looked at."""
    method, rank, targets = parsed.word("method"), parsed.integer("rank"), parsed.word("targets")
    trainable = lora_parameters(architecture, rank=rank, target_modules=targets)
    total = count_parameters(architecture).total
    alternatives = _alternatives(parsed, architecture, Lora(rank=rank, target_modules=targets))
    estimate = alternatives[method]
    notes = [Note(code="compared_with_full", params={"full_bytes": alternatives["full"].total})]
    notes += _expert_notes(architecture, targets)
    if method == "qlora":
        notes.insert(0, Note(code="qlora_base"))
    return Result(
        calculator="lora",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(estimate, catalog.gpus()),
        notes=(*estimate.notes, *notes, *remarks(estimate)),
        figures={
            "parameters": total,
            "trainable_parameters": trainable,
            "share": Fraction(trainable, total),
            "file_bytes": adapter_file_bytes(trainable),
        },
        alternatives=alternatives,
    )


def _expert_notes(architecture: Architecture, targets: str) -> list[Note]:
    """Which convention counts the routed experts; nothing where the targets leave them out, or there are none."""
    experts = [tensor for layer in architecture.layers for tensor in layer.tensors if tensor.active is not None]
    if not experts or targets != ALL_LINEAR:
        return []
    adapted = {one.module for one in adapters(architecture, targets)}
    separate = any(tensor.name.removesuffix(".weight") in adapted for tensor in experts)
    return [Note(code="lora_separate_experts" if separate else "lora_stacked_experts")]


def _alternatives(parsed: Parsed, architecture: Architecture, lora: Lora) -> dict[str, Estimate]:
    """The same step of training done in the three ways: full in 16 bits (32 if the base is), LoRA, QLoRA."""
    precision = str(parsed.values.get("precision", "bfloat16"))
    adapted = Workload(
        precision=precision,
        batch=parsed.integer("batch"),
        context_tokens=parsed.integer("context"),
        optimizer=parsed.word("optimizer"),
        checkpointing=parsed.word("checkpointing"),
        runtime_bytes=runtime_bytes(parsed),
        lora=lora,
    )
    full = replace(adapted, lora=None, precision="bfloat16" if precision == "int8" else precision)
    return {
        "full": estimate_training(architecture, full),
        "lora": estimate_training(architecture, adapted),
        "qlora": estimate_training(architecture, replace(adapted, precision=QLORA_BASE)),
    }


LORA = Calculator(name="lora", fields=FIELDS, calculate=calculate, calculate_for=calculate_for)
