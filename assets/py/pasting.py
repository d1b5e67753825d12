"""What a visitor pastes, as plain data: a command or a configuration becomes inputs, a log stands beside the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from pasted import read_paste
from view import unit_of

from calc import es
from calc.calculators import CALCULATORS, InvalidInputs, Result, fragment, run
from calc.calculators.fields import read
from calc.errors import CalcError, InvalidInput
from calc.es import logs as words
from calc.es.paste import KINDS
from calc.es.values import value_text
from calc.paste.logs import Comparison, Log, Reading, beside, no_runtime_reason, runtime_of
from calc.paste.pasted import Pasted
from calc.units import GIB

MOST_READINGS = 40
"""Figures of a log that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One part, measured and estimated; ``difference`` is empty where there is none to speak of."""

    label: str
    measured: str
    estimated: str
    difference: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PasteView:
    """What was recognised. ``error`` stands alone; an address is empty where it would change nothing.

    ``page`` is the calculator that the inputs belong to, if another; ``runtime`` what the log tells of the visitor's
    own context and libraries, or ``no_runtime`` why it does not.
    """

    error: str = ""
    kind: str = ""
    page: str = ""
    address: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    readings: tuple[tuple[str, str, str], ...] = ()
    failure: str = ""
    measured: tuple[Measured, ...] = ()
    runtime: str = ""
    runtime_address: str = ""
    no_runtime: str = ""


def paste(text: str, calculator: str, raw: Mapping[str, str]) -> PasteView:
    """What a pasted text says to someone at a calculator with these inputs."""
    try:
        found = read_paste(text)
        if found is None:
            raise InvalidInput("nothing_recognised" if text.strip() else "empty", place="paste")
        return _log(found, calculator, raw) if isinstance(found, Log) else _inputs(found, calculator)
    except InvalidInputs as problem:
        return PasteView(error=" ".join(es.error_text(error) for error in problem.errors))
    except CalcError as error:
        return PasteView(error=es.error_text(error))


def _inputs(found: Pasted, calculator: str) -> PasteView:
    return PasteView(
        kind=KINDS[found.kind],
        page="" if found.calculator == calculator else found.calculator,
        address="#" + fragment(found.calculator, found.inputs) if found.inputs else "",
        fields=_fields(found.calculator, found.inputs),
        ignored=found.ignored,
        not_understood=found.not_understood,
    )


def _fields(calculator: str, inputs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    fields = {field.name: field for field in CALCULATORS[calculator].fields}
    return tuple(
        (es.FIELD_LABELS[name], value_text(fields[name], read(fields[name], text))) for name, text in inputs.items()
    )


def _log(log: Log, calculator: str, raw: Mapping[str, str]) -> PasteView:
    result = run(calculator, dict(raw))
    unit, own = unit_of(result), _own_inputs(log, calculator, raw)
    runtime = runtime_of(log, result.estimate) if "runtime" in result_fields(calculator) else None
    reason = no_runtime_reason(log, result.estimate)
    return PasteView(
        kind=words.KINDS[log.kind],
        address="#" + fragment(calculator, {**raw, **own}) if own else "",
        fields=_fields(calculator, own),
        not_understood=_said(log, own),
        readings=tuple(_reading(one, unit) for one in log.readings[:MOST_READINGS]),
        failure=words.FAILURES.get(log.settings.get("failure", ""), ""),
        measured=tuple(_measured(one, unit) for one in beside(log, result.estimate, gpus=_gpus(result))),
        runtime=es.bytes_text(runtime, unit) if runtime is not None else "",
        runtime_address=_with_runtime(calculator, raw, runtime) if runtime is not None else "",
        no_runtime=words.NO_RUNTIME[reason] if reason else "",
    )


def result_fields(calculator: str) -> frozenset[str]:
    """Names of the fields of a calculator."""
    return frozenset(field.name for field in CALCULATORS[calculator].fields)


def _own_inputs(log: Log, calculator: str, raw: Mapping[str, str]) -> dict[str, str]:
    """Inputs that the log tells in the words of the form, and that are not there yet."""
    known = ("engine", "context", "concurrency", "precision", "kv-precision", "kv-value-precision")
    fields = {field.name: field for field in CALCULATORS[calculator].fields}
    return {
        name: log.settings[name]
        for name in known
        if name in log.settings and name in fields and raw.get(name, fields[name].default) != log.settings[name]
    }


def _said(log: Log, own: Mapping[str, str]) -> tuple[str, ...]:
    """What else the log says of the run, which no field holds."""
    return tuple(
        f"{words.SETTINGS[name]}: {text}"
        for name, text in log.settings.items()
        if name not in own and name != "failure"
    )


def _reading(one: Reading, unit: str) -> tuple[str, str, str]:
    return words.READINGS[one.name], one.device, es.bytes_text(one.bytes, unit)


def _measured(one: Comparison, unit: str) -> Measured:
    difference = "" if one.difference is None else es.percent_text(abs(one.difference), 1)
    sign = "+" if one.difference and one.difference > 0 else "−" if one.difference else ""
    return Measured(
        label=words.COMPARISONS[one.name],
        measured=es.bytes_text(one.measured, unit),
        estimated=es.bytes_text(one.estimated, unit),
        difference=sign + difference,
        note=words.NOTES[one.note],
    )


def _gpus(result: Result) -> int:
    return next((one.parts for one in result.fits), 1)


def _with_runtime(calculator: str, raw: Mapping[str, str], runtime: int) -> str:
    """The address with the measured context, in GiB with three decimals, rounded up."""
    thousandths = ceil(Fraction(runtime * 1000, GIB))
    text = f"{thousandths // 1000},{thousandths % 1000:03d}"
    return "#" + fragment(calculator, {**raw, "runtime": text})
