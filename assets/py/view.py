"""What a result looks like in words and numbers: plain data for the templates, every number already formatted.

No rule of memory lives here, and no markup. Numbers become text through ``calc.es``; formulas become trees through
``mathml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import mathml
import picture
from comparison import Chosen, GpuRow, capacity_of, chosen_card, compare, percent

from calc import catalog, es
from calc.calculators import Result
from calc.calculators.cards import OWN_GPU
from calc.es.labels import SHORT_COMPONENTS, UNCERTAINTY, date_text
from calc.es.values import inputs_text
from calc.estimate import Component, Estimate
from calc.formula import Formula, Number
from calc.provenance import Provenance
from calc.sources import SOURCES

if TYPE_CHECKING:
    from budget import Budget
    from combinations import Ways
    from limits import Limits, ModelRow
    from moments import Moments
    from serving import ServingView
    from suggestions import Suggestion
    from tables import Methods, RecipeRow

OWN_MODELS = ("custom", "file")
"""Models that the visitor describes: the catalogue knows no source for them."""

DECIMAL_CALCULATORS = ("entrenar", "acumulacion")
"""The simple laws are stated in GB, and so are their answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer in big; an empty text is not shown."""

    total: str
    unit: str
    low: str = ""
    high: str = ""
    effective_batch: str = ""
    trainable: str = ""
    share: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A symbol of a formula, what it stands for and its value here."""

    symbol: tuple[mathml.Token, ...]
    meaning: str
    value: tuple[mathml.Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One entry of the foot: where a row of data or a law was read, and when."""

    origin: Provenance
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One component of the breakdown; ``plain`` where its formula is a lone symbol, with nothing to work out."""

    name: str
    part: str
    label: str
    text: str
    bytes: str
    share: str
    exact: bool
    low: str
    high: str
    symbolic: tuple[mathml.Token, ...]
    numbers: tuple[mathml.Token, ...]
    plain: bool
    terms: tuple[Term, ...]
    sources: tuple[Provenance, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """A formula beside its numbers and its value, for what is not memory."""

    symbolic: tuple[mathml.Token, ...]
    numbers: tuple[mathml.Token, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another way of doing the same, to compare with."""

    name: str
    text: str
    width: str
    chosen: bool


class View:
    """Everything that the live regions show, each part worked out when a template first asks for it.

    What the first answer does not need is imported when it is asked for: the start does not wait for it.
    """

    def __init__(self, result: Result, raw: Mapping[str, str]) -> None:
        self._result = result
        self._raw = raw
        self._unit = unit_of(result)
        self._gpu = str(result.inputs.get("gpu", ""))
        self._line = capacity_of(result.fits, self._gpu) or int(result.figures.get("without_accumulation_bytes", 0))

    @cached_property
    def answer(self) -> Answer:
        """The number in big and what stands under it."""
        return _answer(self._result, self._unit)

    @cached_property
    def chosen(self) -> Chosen | None:
        """The card that the visitor compares with."""
        return chosen_card(self._result.fits, self._gpu, self._unit)

    @cached_property
    def serving(self) -> ServingView | None:
        """What the engine does with the chosen GPU."""
        from serving import serving  # noqa: PLC0415

        return serving(self._result, self._unit)

    @cached_property
    def bar(self) -> picture.Bar:
        """The picture."""
        estimate = self._result.estimate
        parts = _parts(estimate, self._unit)
        return picture.draw(parts, low=estimate.low, high=estimate.high, capacity=self._line or None)

    @cached_property
    def reference(self) -> str:
        """What the line across the bar stands for, in words."""
        return es.bytes_text(self._line, self._unit) if self._line else ""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The breakdown."""
        return tuple(_row(component, self._result, self._unit) for component in self._result.estimate.components)

    @cached_property
    def total(self) -> str:
        """The total with its unit."""
        return es.bytes_text(self._result.estimate.total, self._unit)

    @cached_property
    def total_bytes(self) -> str:
        """The total as a number of bytes."""
        return es.number_text(self._result.estimate.total)

    @cached_property
    def range(self) -> tuple[str, str] | None:
        """Both ends of the range; ``None`` for an exact total."""
        return _range(self._result.estimate.low, self._result.estimate.high, self._unit)

    @cached_property
    def gpus(self) -> tuple[GpuRow, ...]:
        """The table of GPUs."""
        return compare(self._result.fits, self._gpu, self._unit)

    @cached_property
    def batch(self) -> Equation | None:
        """How the effective batch comes about, where there is one."""
        return _batch(self._result)

    @cached_property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        """What the chosen options are made of."""
        return _remarks(self._result.inputs)

    @cached_property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """The inputs in words, for paper."""
        return inputs_text(self._result)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The remarks of the estimate and of the calculator, each once."""
        notes = (*self._result.estimate.notes, *self._result.notes)
        return tuple(dict.fromkeys(es.note_text(note, self._unit) for note in notes))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Where data and laws come from."""
        return _sources(self._result)

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other ways of doing the same, as bars."""
        return _alternatives(self._result, self._unit)

    @cached_property
    def methods(self) -> Methods | None:
        """The ways of fine-tuning, part by part."""
        from tables import methods  # noqa: PLC0415

        return methods(self._result, self._unit)

    @cached_property
    def moments(self) -> Moments | None:
        """The moments of a step."""
        from moments import moments  # noqa: PLC0415

        return moments(self._result, capacity_of(self._result.fits, self._gpu), self._unit)

    @cached_property
    def recipes(self) -> tuple[RecipeRow, ...]:
        """The recipes of training, side by side."""
        from tables import recipe_rows  # noqa: PLC0415

        return recipe_rows(self._result, self._unit)

    @cached_property
    def ways(self) -> Ways | None:
        """The ways to the same effective batch."""
        from combinations import ways  # noqa: PLC0415

        return ways(self._result)

    @cached_property
    def limits(self) -> Limits | None:
        """How far each input can go on the chosen GPU."""
        from limits import limits  # noqa: PLC0415

        return limits(self._result, self._raw, self._unit)

    @cached_property
    def advice(self) -> tuple[Suggestion, ...]:
        """What to change so that it fits."""
        from suggestions import suggestions  # noqa: PLC0415

        return suggestions(self._result, self._raw, self._unit)

    @cached_property
    def budget(self) -> Budget | None:
        """Memory for every pair of two inputs, and along one of them."""
        from budget import budget  # noqa: PLC0415

        return budget(self._result, self._raw, self._unit)

    @cached_property
    def models(self) -> tuple[ModelRow, ...]:
        """The models of the catalogue that fit the chosen GPU."""
        from limits import models  # noqa: PLC0415

        return models(self._result, self._raw, self._unit)


def view(result: Result, raw: Mapping[str, str]) -> View:
    """What is shown of a result and of the texts that it is for."""
    return View(result, raw)


def unit_of(result: Result) -> str:
    """The unit in which the visitor reads memory: the one chosen, GB for the simple laws, else GiB."""
    fallback = "GB" if result.calculator in DECIMAL_CALCULATORS else "GiB"
    return str(result.inputs.get("unit", fallback))


def _answer(result: Result, unit: str) -> Answer:
    estimate, figures = result.estimate, result.figures
    ends = _range(estimate.low, estimate.high, unit)
    total, shown = es.measure(estimate.total, unit)
    return Answer(
        total=total,
        unit=shown,
        low=ends[0] if ends else "",
        high=ends[1] if ends else "",
        effective_batch=_count(figures, "effective_batch"),
        trainable=_count(figures, "trainable_parameters"),
        share=_share(figures.get("share")),
        file=es.bytes_text(int(figures["file_bytes"]), unit) if "file_bytes" in figures else "",
    )


def _range(low: int, high: int, unit: str) -> tuple[str, str] | None:
    """Both ends in words; the unit stands once where it is the same."""
    if low >= high:
        return None
    first, second = es.measure(low, unit), es.bytes_text(high, unit)
    same = second.endswith(es.SPACE + first[1])
    return (first[0] if same else es.SPACE.join(first), second)


def _count(figures: Mapping[str, Number | str], name: str) -> str:
    return es.number_text(int(figures[name])) if name in figures else ""


def _share(value: Number | str | None) -> str:
    return es.percent_text(Fraction(value), 2) if value else ""


def _parts(estimate: Estimate, unit: str) -> list[picture.Part]:
    """The components by their first word: the finer parts of one share a colour and a label."""
    sizes: dict[str, int] = {}
    for component in estimate.components:
        name = component.name.partition("/")[0]
        sizes[name] = sizes.get(name, 0) + component.bytes
    return [
        picture.Part(name=name, label=SHORT_COMPONENTS[name], text=es.bytes_text(size, unit), size=size)
        for name, size in sizes.items()
        if size
    ]


def _row(component: Component, result: Result, unit: str) -> Row:
    derivation = component.derivation
    part = component.name.partition("/")[0]
    return Row(
        name=component.name,
        part=part,
        label=es.component_name(component.name),
        text=es.bytes_text(component.bytes, unit),
        bytes=es.number_text(component.bytes),
        share=percent(component.bytes, result.estimate.total),
        exact=component.exact,
        low=es.bytes_text(component.low, unit),
        high=es.bytes_text(component.high, unit),
        symbolic=mathml.symbol_tokens(derivation.expression),
        numbers=mathml.tokens(mathml.substituted(derivation)),
        plain=derivation.expression.isidentifier(),
        terms=tuple(_term(name, value, result.calculator) for name, value in derivation.terms.items()),
        sources=tuple(SOURCES[key] for key in component.sources),
        why=UNCERTAINTY.get(part, ""),
    )


def _term(name: str, value: Number, calculator: str) -> Term:
    meaning = es.symbol_meaning(name, calculator)
    return Term(symbol=mathml.symbol_tokens(name), meaning=meaning, value=mathml.number_tokens(value))


def _batch(result: Result) -> Equation | None:
    """How the effective batch comes about, where there is one."""
    if "effective_batch" not in result.figures:
        return None
    names = {"b": "micro-batch", "a": "steps", "g": "gpus"}
    terms = {symbol: Fraction(str(result.inputs[name])) for symbol, name in names.items()}
    formula = Formula("b * a * g", terms)
    return Equation(
        symbolic=mathml.symbol_tokens(formula.expression),
        numbers=mathml.tokens(mathml.substituted(formula)),
        text=es.number_text(formula.value),
    )


def _alternatives(result: Result, unit: str) -> tuple[Alternative, ...]:
    totals = {name: one.total for name, one in result.alternatives.items()}
    largest = max(totals.values(), default=1)
    return tuple(
        Alternative(
            name=name,
            text=es.bytes_text(total, unit),
            width=f"{total * 100 / largest:.1f}%",
            chosen=name == result.inputs.get("method"),
        )
        for name, total in totals.items()
    )


def _remarks(inputs: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """What the chosen options are made of, where their labels cannot say it: label of the field, sentence."""
    hints = {name: es.CHOICE_HINTS.get(name, {}).get(str(value)) for name, value in inputs.items()}
    return tuple((es.FIELD_LABELS[name], hint) for name, hint in hints.items() if hint)


def _sources(result: Result) -> tuple[Source, ...]:
    """Where the rows that were used come from: the model, the GPU, then the laws; each once."""
    found: list[Provenance | None] = []
    model = result.inputs.get("model")
    if isinstance(model, str) and model not in OWN_MODELS:
        found.append(catalog.model(model).provenance)
    if "gpu" in result.inputs:
        name = str(result.inputs["gpu"])
        gpu = None if name == OWN_GPU else catalog.gpu(name)
        found += [gpu.sold_provenance, gpu.usable_provenance] if gpu else []
    found += [SOURCES[key] for component in result.estimate.components for key in component.sources]
    return tuple(Source(origin=one, date=date_text(one.retrieved)) for one in _once(found))


def _once(provenances: Iterable[Provenance | None]) -> Iterable[Provenance]:
    return dict.fromkeys(one for one in provenances if one is not None)
