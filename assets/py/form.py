"""The form of a calculator as plain data: each declared field with its words, its control and its options."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from comparison import group_of

from calc import catalog, es
from calc.calculators import CALCULATORS, Field, Kind, visible
from calc.calculators.cards import OWN_GPU

CUSTOM, FILE = "custom", "file"
SEGMENTS = 4
"""Up to this many choices stand side by side."""
SEGMENT_LETTERS = 36
"""And only if their words are short: all of them together."""
BESIDE_ANSWER = ("gpu", "gpu-memory", "unit")
"""Fields that stand next to the answer, because they change how it is read and not what is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One choice: what is sent and what is read."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Choices under a heading; an empty heading for none."""

    label: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field as the templates draw it.

    ``control`` is ``text``, ``textarea``, ``select``, ``combobox`` (a select with a search) or ``segments``.
    """

    name: str
    id: str
    label: str
    hint: str
    unit: str
    control: str
    inputmode: str
    value: str
    optional: bool
    visible: bool
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldGroup:
    """Fields under a heading that opens and closes."""

    label: str
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormView:
    """The fields of a calculator by where they stand; ``groups`` are those with a heading of their own, by id."""

    first: tuple[FieldView, ...]
    advanced: tuple[FieldView, ...]
    groups: Mapping[str, FieldGroup]
    beside: Mapping[str, FieldView]


def form(calculator: str, raw: Mapping[str, str]) -> FormView:
    """The form of a calculator, filled with these texts and its defaults."""
    fields = CALCULATORS[calculator].fields
    texts = {field.name: raw.get(field.name, field.default) for field in fields}
    shown = visible(fields, texts)
    views = {field.name: _field(field, texts[field.name], field.name in shown) for field in fields}
    grouped: dict[str, list[FieldView]] = {}
    for field in fields:
        place = field.group or ("beside" if field.name in BESIDE_ANSWER else "more" if field.advanced else "first")
        grouped.setdefault(place, []).append(views[field.name])
    first, more, beside = (tuple(grouped.pop(place, ())) for place in ("first", "more", "beside"))
    return FormView(
        first=first,
        advanced=more,
        groups={name: FieldGroup(label=es.GROUPS[name], fields=tuple(own)) for name, own in grouped.items()},
        beside={view.name: view for view in beside},
    )


def field_id(name: str) -> str:
    """The id of a field's control, to which its label and the summary of errors point.

    >>> field_id("micro-batch")
    'campo-micro-batch'
    """
    return f"campo-{name}"


def _field(field: Field, text: str, shown: bool) -> FieldView:
    groups = _groups(field)
    options = [option for group in groups for option in group.options]
    listed = field.kind in (Kind.MODEL, Kind.GPU) or not _short(options)
    return FieldView(
        name=field.name,
        id=field_id(field.name),
        label=es.FIELD_LABELS[field.name],
        hint=es.FIELD_HINTS.get(field.name, ""),
        unit=es.UNITS[field.unit] if field.unit else "",
        control=_control(field) if not groups else _list(field) if listed else "segments",
        inputmode="numeric" if field.kind is Kind.INTEGER else "decimal",
        value=text,
        optional=field.optional,
        visible=shown,
        groups=groups,
    )


def _control(field: Field) -> str:
    return "text" if field.kind in (Kind.INTEGER, Kind.DECIMAL) else "textarea"


def _list(field: Field) -> str:
    return "combobox" if field.kind is Kind.MODEL else "select"


def _short(options: Sequence[Option]) -> bool:
    return len(options) <= SEGMENTS and sum(len(option.label) for option in options) <= SEGMENT_LETTERS


def _groups(field: Field) -> tuple[Group, ...]:
    match field.kind:
        case Kind.MODEL:
            return _models([name for name in (CUSTOM, FILE) if name in field.options()])
        case Kind.GPU:
            return _gpus()
    if not field.options():
        return ()
    usual = [name for name in field.options() if name not in field.finer]
    groups = [Group(label="", options=_options(field.name, usual))]
    if field.finer:
        groups.append(Group(label=es.GROUPS["finer"], options=_options(field.name, field.finer)))
    return tuple(groups)


def _options(name: str, ids: Iterable[str]) -> tuple[Option, ...]:
    words = es.CHOICES[name]
    return tuple(Option(value=one, label=words[one]) for one in ids)


def _models(own: Sequence[str]) -> tuple[Group, ...]:
    first = [Option(value=one.id, label=one.name) for one in catalog.models() if one.featured]
    first += [Option(value=name, label=es.CHOICES["model"][name]) for name in own]
    families: dict[str, list[Option]] = {}
    for one in catalog.models():
        if not one.featured:
            families.setdefault(one.family, []).append(Option(value=one.id, label=one.name))
    rest = [Group(label=family, options=tuple(options)) for family, options in families.items()]
    return (Group(label=es.GROUPS["featured"], options=tuple(first)), *rest)


def _gpus() -> tuple[Group, ...]:
    groups: dict[str, list[Option]] = {}
    for gpu in catalog.gpus():
        groups.setdefault(group_of(gpu), []).append(Option(value=gpu.id, label=gpu.name))
    own = Option(value=OWN_GPU, label=es.CHOICES["gpu"][OWN_GPU])
    listed = (Group(label=es.GPU_KINDS[name], options=tuple(options)) for name, options in groups.items())
    return (*listed, Group(label="", options=(own,)))
