"""What a calculator asks for, declared once.

The HTML form, the URL, the command line and the JSON all read these declarations and share their names. ``parse`` is
the one door for what was typed: text in, exact values or coded errors out. Text is only ever text: nothing here
interprets markup, and a wrong value is kept as typed so that it can be corrected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeVar

from calc import catalog
from calc.calculators.numerals import read_decimal, read_integer
from calc.errors import InvalidInput

NumberT = TypeVar("NumberT", int, Fraction)

Value = int | Fraction | str | bool | None
"""What a field holds once read: ``bool`` for a flag, ``None`` for an optional field left empty."""

MAX_TEXT: Final = 200
"""Longest text that a field reads; more is refused as ``too_long`` before anything looks at it."""

MAX_DESCRIPTION: Final = 32_768
"""The same for the text of a model (``calc.described``)."""

SHOWN_TEXT: Final = 40
"""How much of a wrong value an error repeats."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "f16": "float16", "f32": "float32"}
)
"""Other usual names of a choice."""

FLAG_WORDS: Final[Mapping[str, bool]] = MappingProxyType(
    {"yes": True, "no": False, "sí": True, "si": True, "true": True, "false": False, "on": True, "off": False}
)
"""What a flag may say; ``yes`` and ``no`` are what the form and the URL write."""


class Kind(StrEnum):
    """What a field holds, and so how it is drawn and read."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    CHOICE = "choice"
    MODEL = "model"  # an id of the catalogue, or ``custom`` where the field allows it
    GPU = "gpu"  # an id of the catalogue
    FLAG = "flag"  # yes or no
    DESCRIPTION = "description"  # a model of one's own as text (``calc.description``)


ALWAYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One input.

    Args:
        name: the flag, URL key, form name and JSON key, with hyphens.
        kind: see ``Kind``.
        default: the text that the form starts with; empty only where ``optional``.
        unit: id of ``calc.es.UNITS`` shown beside the input; empty for none.
        minimum: least value accepted, for numbers.
        maximum: largest value accepted, for numbers.
        choices: ids offered, in order, for a choice. The catalogue's for models and GPUs: use ``options()``.
        finer: those of ``choices`` that go in a second group, for people who know them.
        custom: whether a model field also offers ``custom``.
        file: whether a model field also offers ``file``: a model of one's own, in the field ``config``.
        optional: whether it may be left empty.
        advanced: whether it belongs under «Más opciones».
        group: id of the group of its own that it belongs to instead (``layout``, ``comparison``); empty for none.
        shown_when: other fields and the values of theirs with which this one applies; all must hold. A field that
            does not apply is neither read nor used.

    Example:
        >>> Field(name="unit", kind=Kind.CHOICE, default="GiB", choices=("GiB", "GB")).options()
        ('GiB', 'GB')
    """

    name: str
    kind: Kind
    default: str = ""
    unit: str = ""
    minimum: int | Fraction | None = None
    maximum: int | Fraction | None = None
    choices: tuple[str, ...] = ()
    finer: tuple[str, ...] = ()
    custom: bool = False
    file: bool = False
    optional: bool = False
    advanced: bool = False
    group: str = ""
    shown_when: Mapping[str, tuple[str, ...]] = attribute(default_factory=lambda: ALWAYS)

    def options(self) -> tuple[str, ...]:
        """Ids that the field accepts, in the order to offer them; none for numbers."""
        match self.kind:
            case Kind.MODEL:
                more = [name for name, offered in (("custom", self.custom), ("file", self.file)) if offered]
                return (*(model.id for model in catalog.models()), *more)
            case Kind.GPU:
                return (*(gpu.id for gpu in catalog.gpus()), *(("own-gpu",) if self.custom else ()))
            case Kind.FLAG:
                return ("yes", "no")
        return self.choices

    @property
    def longest(self) -> int:
        """Most characters that the field reads."""
        return MAX_DESCRIPTION if self.kind is Kind.DESCRIPTION else MAX_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What was read from one set of inputs.

    Args:
        values: by name, of the fields that apply and hold a good value.
        errors: one per field that applies and does not, in the order of the form.
        text: the text of every field: as typed, or the default where nothing was given.
        visible: names of the fields that apply, in the order of the form.
    """

    values: Mapping[str, Value]
    errors: tuple[InvalidInput, ...]
    text: Mapping[str, str]
    visible: tuple[str, ...]

    def integer(self, name: str) -> int:
        """The whole number in this field.

        Raises:
            TypeError: if the field is not of that kind: a mistake of ours, not of the visitor.
        """
        value = self.values[name]
        if isinstance(value, int):
            return value
        raise TypeError(name)

    def decimal(self, name: str) -> Fraction:
        """The exact number in this field; errors as ``integer``."""
        value = self.values[name]
        if isinstance(value, Fraction):
            return value
        raise TypeError(name)

    def word(self, name: str) -> str:
        """The id in this field; errors as ``integer``."""
        value = self.values[name]
        if isinstance(value, str):
            return value
        raise TypeError(name)

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """The yes or no in this field, or ``otherwise`` where the field does not apply."""
        return bool(self.values.get(name, otherwise))

    def has(self, name: str) -> bool:
        """Whether the field applies and holds something."""
        return self.values.get(name) is not None


def parse(fields: Iterable[Field], raw: Mapping[str, str]) -> Parsed:
    """Read a set of inputs. Keys that no field has are ignored.

    Example:
        >>> batch = Field(name="batch", kind=Kind.INTEGER, default="1", minimum=1)
        >>> parse([batch], {"batch": " 1.024 ", "other": "x"}).integer("batch")
        1024
        >>> [(error.code, error.place) for error in parse([batch], {"batch": "-3"}).errors]
        [('negative', 'batch')]
    """
    declared = tuple(fields)
    text = {field.name: raw.get(field.name, field.default) for field in declared}
    shown = visible(declared, text)
    values: dict[str, Value] = {}
    errors = []
    for field in declared:
        if field.name in shown:
            try:
                values[field.name] = read(field, text[field.name])
            except InvalidInput as error:
                errors.append(error)
    return Parsed(values=values, errors=tuple(errors), text=text, visible=shown)


def visible(fields: Iterable[Field], text: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the fields that apply to these texts; one that hangs on a hidden field is hidden too.

    Example:
        >>> model = Field(name="model", kind=Kind.MODEL, default="gpt2", custom=True)
        >>> layers = Field(name="layers", kind=Kind.INTEGER, default="32", shown_when={"model": ("custom",)})
        >>> visible([model, layers], {"model": " Custom "}), visible([model, layers], {"model": "gpt2"})
        (('model', 'layers'), ('model',))
    """
    names: list[str] = []
    for field in fields:
        if all(key in names and canonical(text[key]) in wanted for key, wanted in field.shown_when.items()):
            names.append(field.name)
    return tuple(names)


def canonical(text: str) -> str:
    """The id that a text stands for, in lower case: no outer spaces, inner ones as hyphens, usual aliases resolved.

    >>> canonical(" BF16 "), canonical("RTX 4090"), canonical("GiB")
    ('bfloat16', 'rtx-4090', 'gib')
    """
    word = "-".join(text[:MAX_TEXT].lower().split())
    return ALIASES.get(word, word)


def read(field: Field, text: str) -> Value:
    """Read the text of one field.

    Raises:
        InvalidInput: ``empty``, ``too_long``, ``unknown_choice``, ``unknown_model``, ``unknown_gpu``, ``not_a_flag``,
            the codes of ``calc.calculators.numerals``, ``zero``, ``too_small``, ``too_large``.
    """
    if not text.strip():
        if field.optional:
            return None
        raise InvalidInput("empty", place=field.name)
    if len(text) > field.longest:
        raise InvalidInput("too_long", place=field.name, maximum=field.longest)
    match field.kind:
        case Kind.DESCRIPTION:
            return text.strip()
        case Kind.INTEGER:
            return _bounded(field, read_integer(text, field.name))
        case Kind.DECIMAL:
            return _bounded(field, read_decimal(text, field.name))
        case Kind.FLAG:
            return _flag(field, text)
    return _choice(field, text)


def _bounded(field: Field, value: NumberT) -> NumberT:
    if field.minimum is not None and value < field.minimum:
        raise InvalidInput("too_small" if value else "zero", place=field.name, minimum=field.minimum)
    if field.maximum is not None and value > field.maximum:
        raise InvalidInput("too_large", place=field.name, maximum=field.maximum)
    return value


def _flag(field: Field, text: str) -> bool:
    value = FLAG_WORDS.get(text.strip().lower())
    if value is None:
        raise InvalidInput("not_a_flag", place=field.name, value=text.strip()[:SHOWN_TEXT])
    return value


def _choice(field: Field, text: str) -> str:
    known = {option.lower(): option for option in field.options()}
    found = known.get(canonical(text))
    if found is not None:
        return found
    near = get_close_matches(canonical(text), known, n=3, cutoff=0.5)
    raise InvalidInput(
        {Kind.MODEL: "unknown_model", Kind.GPU: "unknown_gpu"}.get(field.kind, "unknown_choice"),
        place=field.name,
        value=text.strip()[:SHOWN_TEXT],
        closest=tuple(known[word] for word in near),
        options=field.choices,
    )
