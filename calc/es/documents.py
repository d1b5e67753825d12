"""A result to take away: as plain text, as Markdown, as a table of comma-separated values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from calc.calculators import Result
from calc.es.forms import CALCULATORS
from calc.es.messages import VERDICTS, note_text
from calc.es.nomenclature import component_name
from calc.es.numbers import bytes_text
from calc.es.report import figure_lines, report
from calc.es.values import inputs_text
from calc.sources import SOURCES

CSV_HEAD: Final = ("component", "label", "bytes", "low_bytes", "high_bytes", "formula", "source")
"""Columns of the table: words that programs know, but for the label."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when a result was read: an address and a date in words, either of them empty if unknown."""

    address: str = ""
    date: str = ""

    def lines(self) -> tuple[str, ...]:
        """What stands at the foot of a document.

        >>> Origin(date="1 de diciembre de 2026").lines()
        ('Calculado el 1 de diciembre de 2026.',)
        """
        when = f"Calculado el {self.date}." if self.date else ""
        return tuple(filter(None, (when, self.address)))


def chosen_gpu_text(result: Result, unit: str) -> str:
    """The GPU that the visitor compares with, in one sentence; empty where there is none.

    >>> from calc.calculators import run
    >>> chosen_gpu_text(run("gpu", {}), "GiB").replace("\u00a0", " ")
    'RTX 4090: cabe, quedan 6,24 GiB.'
    """
    one = next((one for one in result.fits if one.gpu.id == result.inputs.get("gpu")), None)
    if one is None:
        return ""
    verdict = VERDICTS[one.verdict.value].lower()
    room = bytes_text(abs(one.free), unit)
    parts = f", en la más cargada de {one.parts}" if one.parts > 1 else ""
    return f"{one.gpu.name}: {verdict}, {'faltan' if one.free < 0 else 'quedan'} {room}{parts}."


def plain_text(result: Result, unit: str, origin: Origin) -> str:
    """The report of the command line with its inputs, where it comes from and the date."""
    blocks = [
        report(result),
        "\n".join(f"{label}: {text}" for label, text in inputs_text(result)),
        "\n".join(origin.lines()),
    ]
    gpu = chosen_gpu_text(result, unit)
    if gpu:
        blocks.insert(1, gpu)
    return "\n\n".join(filter(None, blocks)) + "\n"


def markdown(result: Result, unit: str, origin: Origin) -> str:
    """The answer, its parts, its inputs and its remarks as Markdown."""
    other = "GB" if unit == "GiB" else "GiB"
    first, *more = figure_lines(result, unit)
    estimate = result.estimate
    rows = [
        (
            component_name(part.name),
            bytes_text(part.bytes, unit),
            bytes_text(part.bytes, other),
            "exacto" if part.exact else f"{bytes_text(part.low, unit)} – {bytes_text(part.high, unit)}",
        )
        for part in estimate.components
    ]
    rows.append(("**Total**", f"**{bytes_text(estimate.total, unit)}**", bytes_text(estimate.total, other), ""))
    notes = dict.fromkeys(note_text(note, unit) for note in (*estimate.notes, *result.notes))
    blocks = [
        f"# {CALCULATORS[result.calculator]}",
        f"**{first}**",
        *more,
        chosen_gpu_text(result, unit),
        _grid(("Parte", unit, other, "Intervalo"), rows),
        "## Datos",
        _grid(("Dato", "Valor"), inputs_text(result)),
        "## Notas" if notes else "",
        "\n".join(f"- {text}" for text in notes),
        "  \n".join(origin.lines()),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown, the first column to the left and the others to the right."""
    marks = ("---", *("---:" for _ in heads[1:]))
    lines = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in (heads, marks, *rows))
    return "\n".join(f"| {line} |" for line in lines)


def csv_text(result: Result) -> str:
    """The components and their total as RFC 4180 writes them: whole bytes, commas, CRLF.

    >>> from calc.calculators import run
    >>> csv_text(run("acumulacion", {})).splitlines()[1].split(",")[:3]
    ['activations', 'Activaciones', '2000000000']
    """
    estimate = result.estimate
    rows: list[Sequence[object]] = [
        (
            *(part.name, component_name(part.name), part.bytes, part.low, part.high, part.derivation.expression),
            "; ".join(SOURCES[key].url or SOURCES[key].title for key in part.sources),
        )
        for part in estimate.components
    ]
    rows.append(("total", "Total", estimate.total, estimate.low, estimate.high, "", ""))
    return "".join(",".join(_cell(str(cell)) for cell in row) + "\r\n" for row in (CSV_HEAD, *rows))


def _cell(text: str) -> str:
    """A cell, between quotes where it holds what would end it.

    >>> print(_cell("a,b"))
    "a,b"
    """
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
