"""The inverse questions as plain data: how far each input can go on the chosen GPU, and which models it holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from calc import catalog, es
from calc.calculators import Result, fragment
from calc.calculators.cards import chosen_gpu
from calc.decisions import SOLVABLE, Question, Solution, solve
from calc.decisions.choices import FittingModel, finest_precision, fitting_models, largest_model
from calc.fit import Verdict
from calc.gpu import Gpu

MOST_SOUGHT = 10**7
"""Numbers beyond this are said as «more than»: no model reads so much, no server answers so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One input: how far it can go, what is left then, and the address of the calculator with that value."""

    name: str
    label: str
    value: str
    left: str
    missing: str
    note: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the chosen GPU can hold: ``precision`` and ``model`` are ``None`` where none fits or none is asked."""

    gpu: str
    usable: str
    reserve: str
    free: str
    missing: str
    share: str
    rows: tuple[Limit, ...]
    precision: Limit | None
    model: Limit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model of the catalogue on the chosen GPU."""

    name: str
    parameters: str
    total: str
    used: str
    verdict: str
    address: str


def limits(result: Result, raw: Mapping[str, str], unit: str) -> Limits | None:
    """How far the inputs can go; ``None`` for a calculator that knows no models."""
    if result.calculator not in SOLVABLE:
        return None
    gpu, question = chosen_gpu(result.inputs), Question(result.calculator, raw).resolved()
    free = gpu.capacity - result.estimate.total
    return Limits(
        gpu=es.gpu_name(gpu.id),
        usable=es.bytes_text(gpu.capacity, unit),
        reserve=es.bytes_text(gpu.reserve_bytes, unit) if gpu.reserve_bytes else "",
        free=es.bytes_text(max(free, 0), unit),
        missing=es.bytes_text(-free, unit) if free < 0 else "",
        share=es.percent_text(Fraction(abs(free), gpu.capacity), 0),
        rows=tuple(_limit(question, solve(question, name, gpu), unit) for name in SOLVABLE[result.calculator]),
        precision=_precision(question, gpu, unit) if _chooses_precision(result) else None,
        model=_largest(question, gpu, unit),
    )


def models(result: Result, raw: Mapping[str, str], unit: str) -> tuple[ModelRow, ...]:
    """The models of the catalogue that the chosen GPU holds, the largest first."""
    if result.calculator not in SOLVABLE:
        return ()
    question = Question(result.calculator, raw)
    found = fitting_models(question, chosen_gpu(result.inputs))
    return tuple(_model_row(question, one, unit) for one in found if one.fit.verdict is not Verdict.NO_FIT)


def _chooses_precision(result: Result) -> bool:
    """Whether the weights may take any format: a model that is trained is not quantized."""
    return result.inputs.get("workload", "inference") == "inference" and result.calculator != "lora"


def _limit(question: Question, found: Solution, unit: str) -> Limit:
    reach = question.architecture.max_position_embeddings if question.architecture else None
    beyond = found.field == "context" and reach is not None and found.value > reach
    shown = min(found.value, MOST_SOUGHT)
    value = es.number_text(shown) if found.value else ""
    return Limit(
        name=found.field,
        label=es.FIELD_LABELS[found.field],
        value=f"más de {value}" if found.value > MOST_SOUGHT else value,
        left=es.bytes_text(max(found.free, 0), unit),
        missing=es.bytes_text(-found.free, unit) if not found.value else "",
        note=es.number_text(reach or 0) if beyond else "",
        address=_address(question, {found.field: str(shown)}) if found.value else "",
    )


def _precision(question: Question, gpu: Gpu, unit: str) -> Limit | None:
    found = finest_precision(question, gpu)
    if found is None:
        return None
    name, estimate = found
    return Limit(
        name="precision",
        label=es.FIELD_LABELS["precision"],
        value=es.CHOICES["precision"][name],
        left=es.bytes_text(gpu.capacity - estimate.total, unit),
        missing="",
        note="",
        address=_address(question, {"precision": name}),
    )


def _largest(question: Question, gpu: Gpu, unit: str) -> Limit | None:
    found = largest_model(question, gpu)
    if found is None:
        return None
    return Limit(
        name="model",
        label=es.FIELD_LABELS["model"],
        value=catalog.model(found.id).name,
        left=es.bytes_text(found.fit.free, unit),
        missing="",
        note="",
        address=_address(question, {"model": found.id}),
    )


def _model_row(question: Question, one: FittingModel, unit: str) -> ModelRow:
    return ModelRow(
        name=catalog.model(one.id).name,
        parameters=es.count_text(one.parameters),
        total=es.bytes_text(one.fit.used, unit),
        used=es.percent_text(one.fit.used_fraction, 0),
        verdict=one.fit.verdict.value,
        address=_address(question, {"model": one.id}),
    )


def _address(question: Question, texts: Mapping[str, str]) -> str:
    """The address, on the same page, of the calculator with these texts in it."""
    return "#" + fragment(question.calculator, {**question.raw, **texts})
