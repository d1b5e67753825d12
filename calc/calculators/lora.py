"""LoRA and QLoRA: parameters, file and training memory of an adapter, beside full fine-tuning of the same model.

QLoRA is LoRA on a base in NF4 with double quantization (Dettmers et al. 2023, arXiv 2305.14314v1, section 3).
"""

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Final

from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.cards import GPU_FIELDS, gpus_for
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.calculators.shared import (
    CONFIG,
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
from calc.calculators.training_fields import layout_fields, layout_of, step_fields, step_options
from calc.estimate import Estimate, Lora, Note, Workload
from calc.fit import fit
from calc.ladder import training_ladder
from calc.lora import ALL_LINEAR, adapter_file_bytes, adapters, extra_shapes
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
    Field(name="dora", kind=Kind.FLAG, default="no", advanced=True),
    Field(name="adapter-dropout", kind=Kind.FLAG, default="no", advanced=True),
    Field(name="packed-experts", kind=Kind.FLAG, default="yes", advanced=True),
    Field(
        name="trained-modules",
        kind=Kind.CHOICE,
        default="none",
        choices=("none", "embedding", "head", "embedding-head"),
        advanced=True,
    ),
    *step_fields(),
    *layout_fields(names=("data-parallel", "zero", "offload")),
    RUNTIME,
    *GPU_FIELDS,
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
    method = parsed.word("method")
    adapter = _adapter(parsed)
    trainable = _trainable(architecture, adapter)
    total = count_parameters(architecture).total
    workloads = _workloads(parsed, adapter)
    alternatives = {name: estimate_training(architecture, one) for name, one in workloads.items()}
    estimate = alternatives[method]
    layout = layout_of(parsed)
    notes = [Note(code="compared_with_full", params={"full_bytes": alternatives["full"].total})]
    notes += _expert_notes(architecture, adapter)
    if method == "qlora":
        notes.insert(0, Note(code="qlora_base"))
    return Result(
        calculator="lora",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(
            estimate,
            gpus_for(parsed.values),
            parts=layout.gpus if layout else 1,
            ladder=training_ladder(architecture, workloads[method]),
        ),
        notes=(*estimate.notes, *notes, *remarks(estimate)),
        figures={
            "parameters": total,
            "trainable_parameters": trainable,
            "share": Fraction(trainable, total),
            "file_bytes": adapter_file_bytes(trainable),
        },
        alternatives=alternatives,
    )


def _adapter(parsed: Parsed) -> Lora:
    modules = {"none": (), "embedding-head": ("embedding", "head")}
    chosen = parsed.word("trained-modules")
    return Lora(
        rank=parsed.integer("rank"),
        target_modules=parsed.word("targets"),
        dropout=parsed.flag("adapter-dropout", otherwise=False),
        dora=parsed.flag("dora", otherwise=False),
        packed_experts=parsed.flag("packed-experts", otherwise=True),
        trained_modules=modules.get(chosen, (chosen,)),
    )


def _trainable(architecture: Architecture, adapter: Lora) -> int:
    """Parameters of the adapters, and what is trained beside them."""
    found = adapters(architecture, adapter.target_modules, packed=adapter.packed_experts)
    extra = sum(prod(shape) * times for shape, times in extra_shapes(architecture, found, adapter))
    return sum(one.parameters(adapter.rank) for one in found) + extra


def _expert_notes(architecture: Architecture, adapter: Lora) -> list[Note]:
    """Which convention counts the routed experts; nothing where the targets leave them out, or there are none."""
    experts = [tensor for layer in architecture.layers for tensor in layer.tensors if tensor.active is not None]
    if not experts or adapter.target_modules != ALL_LINEAR:
        return []
    adapted = {one.module for one in adapters(architecture, adapter.target_modules, packed=adapter.packed_experts)}
    if not any(tensor.name.removesuffix(".weight") in adapted for tensor in experts):
        return [Note(code="lora_stacked_experts")]
    return [Note(code="lora_packed_experts" if adapter.packed_experts else "lora_separate_experts")]


def estimate_for(parsed: Parsed, architecture: Architecture) -> Estimate:
    """The memory of the chosen method alone."""
    return estimate_training(architecture, _workloads(parsed, _adapter(parsed))[parsed.word("method")])


def _workloads(parsed: Parsed, lora: Lora) -> dict[str, Workload]:
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
        **step_options(parsed),
    )
    full = replace(adapted, lora=None, precision="bfloat16" if precision == "int8" else precision)
    return {
        "full": full,
        "lora": adapted,
        "qlora": replace(adapted, precision=QLORA_BASE),
    }


LORA = Calculator(
    name="lora", fields=FIELDS, calculate=calculate, calculate_for=calculate_for, estimate_for=estimate_for
)
