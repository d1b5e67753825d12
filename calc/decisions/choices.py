"""What of a list fits: the finest precision of the weights, and the models of the catalogue."""

from dataclasses import dataclass
from fractions import Fraction

from calc import catalog
from calc.calculators import CALCULATORS, InvalidInputs
from calc.decisions.question import Question
from calc.dtypes import DTYPES
from calc.estimate import Estimate
from calc.fit import Fit, Verdict, fit
from calc.gpu import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class FittingModel:
    """One model of the catalogue against a GPU."""

    id: str
    parameters: int
    fit: Fit


def precisions(question: Question) -> tuple[str, ...]:
    """Formats of the weights that the calculator offers for this question, the finest first.

    >>> precisions(Question("inferencia", {}))[0]
    'float32'
    """
    field = next((one for one in CALCULATORS[question.calculator].fields if one.name == "precision"), None)
    offered = [name for name in field.choices if name in DTYPES] if field else []
    return tuple(sorted(offered, key=lambda name: -DTYPES[name].bits))


def finest_precision(question: Question, room: Gpu | int) -> tuple[str, Estimate] | None:
    """The format with most bits per weight with which the model fits, all else as it is; ``None`` if none does.

    Of formats with as many bits the one that the calculator lists first, unless the one asked for is among them.

    >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=12 * 2**30)
    >>> finest_precision(Question("inferencia", {"model": "llama-3-8b"}), card)[0]
    'q8_0'
    """
    limit = room if isinstance(room, int) else room.capacity
    asked = question.resolved()
    own = question.raw.get("precision", "")
    bits: Fraction | None = None
    found: tuple[str, Estimate] | None = None
    for name in precisions(question):
        if bits is not None and DTYPES[name].bits < bits:
            break
        estimate = asked.changed({"precision": name}).estimate()
        if estimate.total <= limit and (found is None or name == own):
            found, bits = (name, estimate), DTYPES[name].bits
    return found


def fitting_models(question: Question, gpu: Gpu) -> tuple[FittingModel, ...]:
    """Every model of the catalogue against a GPU, the largest first, all else as it is.

    A model that cannot be used so (a layout that its heads do not allow) is left out.

    >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=24 * 2**30)
    >>> [one.id for one in fitting_models(Question("inferencia", {}), card) if one.fit.verdict == "fits"][-1]
    't5-small'
    """
    found = []
    for model in sorted(catalog.models(), key=lambda one: -one.parameters):
        try:
            estimate = question.changed(model=model.id).estimate()
        except InvalidInputs:
            continue
        (one,) = fit(estimate, (gpu,))
        found.append(FittingModel(id=model.id, parameters=model.parameters, fit=one))
    return tuple(found)


PARTIAL = ("gpu-layers", "experts-on-cpu", "tensor-parallel", "data-parallel", "pipeline-parallel", "offload")
"""Inputs with which a GPU may hold less than all weights."""


def largest_model(question: Question, gpu: Gpu) -> FittingModel | None:
    """The model of the catalogue with most parameters that fits a GPU, all else as it is; ``None`` if none does.

    A model whose weights alone are too many is not estimated, where the GPU has to hold them all.

    >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=24 * 2**30)
    >>> largest_model(Question("inferencia", {}), card).id
    'falcon-11b'
    """
    each = _least_per_parameter(question)
    for model in sorted(catalog.models(), key=lambda one: -one.parameters):
        if model.parameters * each > gpu.capacity:
            continue
        try:
            estimate = question.changed(model=model.id).estimate()
        except InvalidInputs:
            continue
        (one,) = fit(estimate, (gpu,))
        if one.verdict is not Verdict.NO_FIT:
            return FittingModel(id=model.id, parameters=model.parameters, fit=one)
    return None


def _least_per_parameter(question: Question) -> Fraction:
    """Bytes that any model takes at least for each parameter: its weight, and twice that where all of it is trained.

    0 where the GPU need not hold every weight.
    """
    parsed = question.parsed()
    usual = {field.name: field.default for field in CALCULATORS[question.calculator].fields}
    precision = str(parsed.values.get("precision", ""))
    if precision not in DTYPES or any(parsed.text[name] != usual[name] for name in PARTIAL if name in parsed.visible):
        return Fraction(0)
    trained = parsed.values.get("workload") == "training" or parsed.values.get("method") == "full"
    if parsed.values.get("method") == "qlora":
        return Fraction(1, 2)
    return DTYPES[precision].bits / 8 * (2 if trained else 1)
