"""What a result looks like in words and numbers: plain data for the templates, every number already formatted.

No rule of memory lives here, and no markup. Numbers become text through ``calc.es``; formulas become trees through
``mathml``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import mathml
import picture

from calc import catalog, es
from calc.calculators import Result
from calc.es.labels import SHORT_COMPONENTS, UNCERTAINTY
from calc.estimate import Component, Estimate
from calc.fit import Fit, Verdict
from calc.formula import Number
from calc.gpu import Gpu
from calc.provenance import Provenance
from calc.sources import SOURCES

DECIMAL_CALCULATORS = ("entrenar", "acumulacion")
"""The simple laws are stated in GB, and so are their answers."""

SHARED = ("apple", "integrated")
"""Kinds whose memory the processor uses too: never marked as the smallest that fits."""

USUAL = frozenset(
    "rtx-3060 rtx-3090 rtx-4060-ti-16gb rtx-4070-ti-super rtx-4080 rtx-4090 rtx-5070-ti rtx-5080 rtx-5090 "
    "rtx-a6000 rtx-6000-ada rtx-pro-6000 t4 v100-32gb a10 l4 a40 l40s a100-40gb a100-80gb h100-80gb h200 b200 "
    "rx-7900-xtx mi300x mi325x dgx-spark apple-m4-max-128gb".split()
)
"""GPUs that the table shows first; the rest are one filter away."""

_ORDER = {Verdict.FITS: 0, Verdict.TIGHT: 1, Verdict.NO_FIT: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """One GPU in the table: what it has, how full it gets, how many it takes."""

    id: str
    name: str
    group: str
    usable: str
    assumed: bool
    used: str
    width: str
    count: int
    verdict: str
    smallest: bool
    chosen: bool
    usual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The GPU that the visitor compares with; ``smallest`` is the smallest one with room to spare, if any."""

    name: str
    usable: str
    verdict: str
    free: str
    missing: str
    count: int
    smallest: str


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

    symbol: tuple[mathml.Node, ...]
    meaning: str
    value: tuple[mathml.Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One component of the breakdown."""

    name: str
    part: str
    label: str
    text: str
    bytes: str
    share: str
    exact: bool
    low: str
    high: str
    symbolic: tuple[mathml.Node, ...]
    numbers: tuple[mathml.Node, ...]
    terms: tuple[Term, ...]
    sources: tuple[Provenance, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that the live regions show."""

    answer: Answer
    chosen: Chosen | None
    bar: picture.Bar
    rows: tuple[Row, ...]
    total: str
    total_bytes: str
    range: tuple[str, str] | None
    gpus: tuple[GpuRow, ...]
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
    sources: tuple[Provenance, ...]
    alternatives: tuple[tuple[str, str], ...]


def view(result: Result) -> View:
    """Turn a result into what is shown."""
    unit = unit_of(result)
    estimate = result.estimate
    chosen = next((one for one in result.fits if one.gpu.id == result.inputs.get("gpu")), None)
    capacity = chosen.gpu.capacity if chosen else None
    ranked = sorted(result.fits, key=lambda one: (_ORDER[one.verdict], one.count or 10**9, one.gpu.capacity))
    smallest = next((one.gpu for one in ranked if one.verdict is Verdict.FITS and one.gpu.kind not in SHARED), None)
    return View(
        answer=_answer(result, unit),
        chosen=_chosen(chosen, unit, smallest) if chosen else None,
        bar=picture.draw(_parts(estimate, unit), low=estimate.low, high=estimate.high, capacity=capacity),
        rows=tuple(_row(component, estimate, unit) for component in estimate.components),
        total=es.bytes_text(estimate.total, unit),
        total_bytes=es.number_text(estimate.total),
        range=_range(estimate.low, estimate.high, unit),
        gpus=tuple(_gpu_row(one, unit, smallest, chosen) for one in ranked),
        remarks=_remarks(result.inputs),
        notes=tuple(dict.fromkeys(es.note_text(note, unit) for note in (*estimate.notes, *result.notes))),
        sources=_sources(result, chosen),
        alternatives=tuple((name, es.bytes_text(one.total, unit)) for name, one in result.alternatives.items()),
    )


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


def _chosen(one: Fit, unit: str, smallest: Gpu | None) -> Chosen:
    return Chosen(
        name=one.gpu.name,
        usable=es.bytes_text(one.gpu.capacity, unit),
        verdict=one.verdict.value,
        free=es.bytes_text(max(one.free, 0), unit),
        missing=es.bytes_text(max(-one.free, 0), unit),
        count=one.count,
        smallest=smallest.name if smallest and smallest.id != one.gpu.id else "",
    )


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


def _row(component: Component, estimate: Estimate, unit: str) -> Row:
    derivation = component.derivation
    part = component.name.partition("/")[0]
    return Row(
        name=component.name,
        part=part,
        label=es.component_name(component.name),
        text=es.bytes_text(component.bytes, unit),
        bytes=es.number_text(component.bytes),
        share=_percent(component.bytes, estimate.total),
        exact=component.exact,
        low=es.bytes_text(component.low, unit),
        high=es.bytes_text(component.high, unit),
        symbolic=mathml.symbolic(derivation.expression),
        numbers=mathml.substituted(derivation),
        terms=tuple(_term(name, value) for name, value in derivation.terms.items()),
        sources=tuple(SOURCES[key] for key in component.sources),
        why=UNCERTAINTY.get(part, ""),
    )


def _term(name: str, value: Number) -> Term:
    return Term(symbol=mathml.symbolic(name), meaning=es.SYMBOLS[name], value=(mathml.number_node(value),))


def _gpu_row(one: Fit, unit: str, smallest: Gpu | None, chosen: Fit | None) -> GpuRow:
    gpu = one.gpu
    return GpuRow(
        id=gpu.id,
        name=gpu.name,
        group=group_of(gpu),
        usable=_usable(gpu.capacity, unit),
        assumed=one.assumed_capacity,
        used=_percent(one.used, gpu.capacity),
        width=f"{min(one.used * 100 / gpu.capacity, 100):.1f}%",
        count=one.count,
        verdict=one.verdict.value,
        smallest=gpu is smallest,
        chosen=one is chosen,
        usual=gpu.id in USUAL or gpu is smallest or one is chosen,
    )


def group_of(gpu: Gpu) -> str:
    """The group under which a GPU is looked for: its kind, or AMD for all of that maker.

    >>> group_of(Gpu(id="x", name="X", kind="consumer", sold_bytes=1))
    'consumer'
    """
    return "amd" if getattr(gpu, "vendor", "") == "amd" else gpu.kind


@lru_cache(maxsize=512)
def _usable(capacity: int, unit: str) -> str:
    return es.bytes_text(capacity, unit)


def _percent(part: int, whole: int) -> str:
    """A share with three figures at most: one decimal below a hundred, none above.

    >>> _percent(1, 3), _percent(5, 2)
    ('33,3\\xa0%', '250\\xa0%')
    """
    if not whole or part >= whole:
        return es.percent_text(Fraction(part, whole or 1), 0)
    return es.percent_text(Fraction(part, whole))


def _remarks(inputs: Mapping[str, object]) -> tuple[str, ...]:
    """What the chosen options are made of, where their labels cannot say it."""
    hints = (es.CHOICE_HINTS.get(name, {}).get(str(value)) for name, value in inputs.items())
    return tuple(hint for hint in hints if hint)


def _sources(result: Result, chosen: Fit | None) -> tuple[Provenance, ...]:
    """Where the rows that were used come from: the model, the GPU, then the laws; each once."""
    found: list[Provenance | None] = []
    model = result.inputs.get("model")
    if isinstance(model, str) and model != "custom":
        found.append(catalog.model(model).provenance)
    if chosen is not None:
        gpu = catalog.gpu(chosen.gpu.id)
        found += [gpu.sold_provenance, gpu.usable_provenance]
    found += [SOURCES[key] for component in result.estimate.components for key in component.sources]
    return tuple(_once(found))


def _once(provenances: Iterable[Provenance | None]) -> Iterable[Provenance]:
    return dict.fromkeys(one for one in provenances if one is not None)
