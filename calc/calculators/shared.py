"""Fields and steps that the calculators of a whole model share: ``gpu``, ``inferencia`` and ``lora``."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Final

from calc import catalog
from calc.architecture import Architecture
from calc.calculators.fields import ALWAYS, Field, Kind, Parsed
from calc.custom import CUSTOM, custom_architecture
from calc.dtypes import CACHE_BITS, DTYPES, STORED, dtype
from calc.errors import InvalidInput
from calc.estimate import Estimate, Note, Workload
from calc.memory import cache_precision
from calc.units import BILLION, GIB

USUAL_PRECISIONS: Final = ("float32", "bfloat16", "float16", "fp8", "int8", "int4")
CHECKPOINTING: Final = ("none", "selective", "full", "sqrt")

FILE: Final = "file"
"""Id of a model of one's own, described in the field ``config``."""

MODEL: Final = Field(name="model", kind=Kind.MODEL, default="llama-3-8b", file=True)
MODEL_OR_CUSTOM: Final = Field(name="model", kind=Kind.MODEL, default="llama-3-8b", custom=True, file=True)
CONFIG: Final = Field(name="config", kind=Kind.DESCRIPTION, optional=True, shown_when={"model": (FILE,)})
UNIT: Final = Field(name="unit", kind=Kind.CHOICE, default="GiB", choices=("GiB", "GB"), advanced=True)
PRECISION: Final = Field(
    name="precision",
    kind=Kind.CHOICE,
    default="bfloat16",
    choices=(*DTYPES, STORED.name),
    finer=(*(name for name in DTYPES if name not in USUAL_PRECISIONS), STORED.name),
)
RUNTIME: Final = Field(
    name="runtime", kind=Kind.DECIMAL, unit="GiB", minimum=0, maximum=1000, optional=True, advanced=True
)

TRAINING: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"workload": ("training",)})
INFERENCE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"workload": ("inference",)})


def context(default: str) -> Field:
    """Tokens of a sequence."""
    return Field(name="context", kind=Kind.INTEGER, default=default, unit="tokens", minimum=1, maximum=10**8)


def batch(default: str = "1") -> Field:
    """Sequences at a time."""
    return Field(name="batch", kind=Kind.INTEGER, default=default, unit="sequences", minimum=1, maximum=10**6)


def kv_precision(shown_when: Mapping[str, tuple[str, ...]] = ALWAYS) -> Field:
    """Format of the KV cache."""
    return Field(
        name="kv-precision",
        kind=Kind.CHOICE,
        default="auto",
        choices=("auto", *CACHE_BITS),
        advanced=True,
        shown_when=shown_when,
    )


KV_VALUE_PRECISION: Final = Field(
    name="kv-value-precision", kind=Kind.CHOICE, default="auto", choices=("auto", *CACHE_BITS), advanced=True
)


def checkpointing(default: str, shown_when: Mapping[str, tuple[str, ...]] = ALWAYS) -> Field:
    """What the forward pass keeps for the backward pass."""
    return Field(
        name="checkpointing",
        kind=Kind.CHOICE,
        default=default,
        choices=CHECKPOINTING,
        advanced=True,
        shown_when=shown_when,
    )


def optimizer(choices: tuple[str, ...], shown_when: Mapping[str, tuple[str, ...]] = ALWAYS) -> Field:
    """Which states are kept for each trained parameter."""
    return Field(
        name="optimizer", kind=Kind.CHOICE, default="adamw", choices=choices, advanced=True, shown_when=shown_when
    )


def architecture_of(parsed: Parsed) -> Architecture:
    """The architecture that the form describes: one of the catalogue, one's own, or «Personalizado».

    Raises:
        InvalidInput: for custom numbers that make no model, or for a text that describes none.
    """
    model = parsed.word("model")
    if model == FILE:
        if not parsed.has("config"):
            raise InvalidInput("empty_description", place="config")
        from calc.described import load  # noqa: PLC0415 - only for a model of one's own

        return load(parsed.word("config")).architecture
    if model != CUSTOM:
        return catalog.architecture(model)
    return custom_architecture(
        ceil(parsed.decimal("parameters") * BILLION),
        parsed.integer("hidden-size"),
        parsed.integer("layers"),
        kv_heads=parsed.integer("kv-heads") if parsed.has("kv-heads") else None,
        head_dim=parsed.integer("head-dim") if parsed.has("head-dim") else None,
    )


def runtime_bytes(parsed: Parsed) -> int | None:
    """What the visitor gave for context and libraries [B]; ``None`` for the documented default."""
    return ceil(parsed.decimal("runtime") * GIB) if parsed.has("runtime") else None


def cache_remarks(workload: Workload) -> list[Note]:
    """That the KV cache keeps its own precision: quantizing the weights does not shrink it."""
    name = cache_precision(workload)
    if workload.kv_precision == "auto" and dtype(workload.precision).quantized:
        return [Note(code="cache_not_quantized", params={"precision": workload.precision, "kv_precision": name})]
    return []


def remarks(estimate: Estimate) -> list[Note]:
    """What is worth saying of any estimate: which part weighs most, and the same total in the other unit."""
    parts: dict[str, int] = {}
    for component in estimate.components:
        whole = component.name.partition("/")[0]
        parts[whole] = parts.get(whole, 0) + component.bytes
    largest = max(parts, key=lambda name: parts[name])
    percent = round(Fraction(100 * parts[largest], max(estimate.total, 1)))
    return [
        Note(code="largest_component", params={"component": largest, "percent": percent}),
        Note(code="both_units", params={"total_bytes": estimate.total}),
    ]


CUSTOM_FIELDS: Final = tuple(
    Field(
        name=name,
        kind=kind,
        default=default,
        unit=unit,
        minimum=minimum,
        maximum=maximum,
        optional=not default,
        shown_when={"model": (CUSTOM,)},
    )
    for name, kind, default, unit, minimum, maximum in (
        ("parameters", Kind.DECIMAL, "7", "billion", Fraction(1, 1000), 10**6),
        ("hidden-size", Kind.INTEGER, "4096", "", 1, 10**6),
        ("layers", Kind.INTEGER, "32", "", 1, 10**4),
        ("kv-heads", Kind.INTEGER, "", "", 1, 10**4),
        ("head-dim", Kind.INTEGER, "", "", 1, 10**4),
    )
)
"""What «Personalizado» asks for instead of a model of the catalogue."""
