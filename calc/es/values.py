"""The values of a form in words, and names for sets of them."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from calc import catalog
from calc.calculators import CALCULATORS, Field, Kind, Result, Value
from calc.calculators.fields import read
from calc.es.forms import CHOICES, FIELD_LABELS, UNITS
from calc.es.numbers import SPACE, number_text

OWN_FILE: Final = "el que describe su archivo"
"""What stands for the text of a model of one's own."""

SINGULAR: Final = {
    **UNITS,
    "tokens": "token",
    "sequences": "secuencia",
    "requests": "petición",
    "samples": "muestra",
    "steps": "paso",
    "billion": "mil millones",
}
"""Units beside a one."""

ALONE: Final = frozenset(("model", "precision", "gpu", "engine", "method", "optimizer", "workload", "targets"))
"""Fields whose values say by themselves what they are."""

SHORT_NAMES: Final = {
    "gpu": "VRAM de GPU",
    "entrenar": "Entrenar",
    "acumulacion": "Acumulación",
    "inferencia": "Inferencia",
    "lora": "LoRA",
}
"""What each calculator is called where there is little room."""


def value_text(field: Field, value: Value) -> str:
    """One value as the form shows it, with its unit; empty for none.

    >>> fields = {field.name: field for field in CALCULATORS["gpu"].fields}
    >>> value_text(fields["context"], 8192).replace("\u00a0", " "), value_text(fields["model"], "llama-3-8b")
    ('8192 tokens', 'Llama 3 8B')
    """
    if value is None:
        return ""
    if field.kind is Kind.DESCRIPTION:
        return OWN_FILE
    if isinstance(value, bool):
        return CHOICES[field.name]["yes" if value else "no"]
    if isinstance(value, int | Fraction):
        number = number_text(value, 9)
        unit = (SINGULAR if value == 1 else UNITS)[field.unit] if field.unit else ""
        return f"{number}{SPACE}{unit}" if unit else number
    if value in CHOICES.get(field.name, {}):
        return CHOICES[field.name][value]
    return catalog.model(value).name if field.kind is Kind.MODEL else catalog.gpu(value).name


def inputs_text(result: Result) -> tuple[tuple[str, str], ...]:
    """The inputs that an answer is for, less the unit that it is read in: label and value of each.

    >>> from calc.calculators import run
    >>> inputs_text(run("entrenar", {}))[0]
    ('Parámetros', '7\\xa0miles de millones')
    """
    fields = {field.name: field for field in CALCULATORS[result.calculator].fields}
    pairs = (
        (FIELD_LABELS[name], value_text(fields[name], value)) for name, value in result.inputs.items() if name != "unit"
    )
    return tuple((label, text) for label, text in pairs if text)


def scenario_name(calculator: str, values: Iterable[tuple[str, Value]], *, of_many: bool) -> str:
    """A name out of some inputs; with ``of_many`` calculators in the list, that of its own comes first.

    >>> scenario_name("lora", [("model", "llama-3-8b"), ("rank", 8)], of_many=True)
    'LoRA: Llama 3 8B, rango 8'
    >>> scenario_name("lora", [], of_many=False)
    'LoRA'
    """
    fields = {field.name: field for field in CALCULATORS[calculator].fields}
    words = ", ".join(filter(None, (short_text(fields[name], value) for name, value in values)))
    if not words:
        return SHORT_NAMES[calculator]
    return f"{SHORT_NAMES[calculator]}: {words}" if of_many else words


def summary_text(result: Result) -> tuple[str, ...]:
    """The inputs that matter most in a few words each: the first ones of the form, and what is not as it starts.

    >>> from calc.calculators import run
    >>> "DoRA: Sí" in summary_text(run("lora", {"dora": "yes"})), len(summary_text(run("gpu", {})))
    (True, 5)
    """
    fields = {field.name: field for field in CALCULATORS[result.calculator].fields}
    told = [
        short_text(fields[name], value)
        for name, value in result.inputs.items()
        if name not in ("unit", "gpu") and (_first(fields[name]) or value != read(fields[name], fields[name].default))
    ]
    return tuple(filter(None, told))


def _first(field: Field) -> bool:
    return not field.advanced and not field.group


def short_text(field: Field, value: Value) -> str:
    """One value in a few words, with the name of its field where it needs it.

    >>> rank = next(one for one in CALCULATORS["lora"].fields if one.name == "rank")
    >>> short_text(rank, 8)
    'rango 8'
    """
    text = value_text(field, value).partition(" (")[0]
    if not text or (field.unit and not isinstance(value, str)) or field.name in ALONE:
        return text
    label = FIELD_LABELS[field.name]
    label = label[0].lower() + label[1:] if label.split()[0][1:].islower() else label
    return f"{label} {text}" if text[0].isdecimal() and not isinstance(value, str) else f"{label}: {text}"
