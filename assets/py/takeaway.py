"""What a visitor takes away of a result: texts for the clipboard and files, each made when it is asked for."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import render
from view import View, unit_of

from calc import es
from calc.calculators import Result, run, to_json
from calc.es.documents import Origin, chosen_gpu_text, csv_text, markdown, plain_text
from calc.es.labels import date_text
from calc.es.values import summary_text

KINDS: Final = ("text", "markdown", "csv", "json", "svg")
"""What can be asked for."""

COLOURS: Final[Mapping[str, str]] = {
    "weights": "#2b4f9e",
    "gradients": "#9b2b62",
    "optimizer": "#6847ad",
    "master_weights": "#1676a0",
    "kv_cache": "#a84f08",
    "activations": "#2d7740",
    "logits": "#76600d",
    "adapters": "#bd342b",
    "runtime": "#5a6670",
}
"""Colour of each component in light, as in ``site.css``: a file of its own is always drawn on its own light ground."""

LINE: Final = 118
"""Characters of the inputs in one line of the picture."""

COLUMN: Final = 3
"""Columns of the list of parts under the bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One part in the list under the bar: its colour's name, its words, and the cell where it stands."""

    part: str
    label: str
    text: str
    column: int
    row: int


def take_away(calculator: str, raw: Mapping[str, str], kinds: Sequence[str], origin: Origin) -> dict[str, str]:
    """The texts of these kinds: ``text``, ``markdown``, ``csv``, ``json`` and ``svg``.

    Raises:
        InvalidInputs: where there is no result to take away.
    """
    result = run(calculator, raw)
    makers: Mapping[str, Callable[[], str]] = {
        "text": lambda: plain_text(result, unit_of(result), origin),
        "markdown": lambda: markdown(result, unit_of(result), origin),
        "csv": lambda: csv_text(result),
        "json": lambda: json.dumps(to_json(result), ensure_ascii=False, indent=2) + "\n",
        "svg": lambda: drawing(result, origin),
    }
    return {kind: makers[kind]() for kind in kinds}


def origin_of(address: str, iso: str) -> Origin:
    """Where and when, from what the page says: an address and an ISO date, either of them empty."""
    return Origin(address=address, date=date_text(iso) if iso else "")


def drawing(result: Result, origin: Origin) -> str:
    """The picture as an SVG file that needs nothing else."""
    view, unit = View(result, {}), unit_of(result)  # no decision is drawn
    parts = [segment.part for segment in view.bar.segments]
    entries = tuple(
        Entry(part=one.name, label=one.label, text=one.text, column=place % COLUMN, row=place // COLUMN)
        for place, one in enumerate(parts)
    )
    return render.partial(
        "drawing",
        view=view,
        title=es.CALCULATORS[result.calculator],
        inputs=_lines(summary_text(result)),
        verdict=chosen_gpu_text(result, unit),
        entries=entries,
        rows=-(-len(entries) // COLUMN),
        colours=COLOURS,
        date=origin.date,
    )


def _lines(words: Sequence[str]) -> list[str]:
    """The words with dots between them, in lines of bounded length."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 3 <= LINE:
            lines[-1] += f" · {word}"
        else:
            lines.append(word)
    return lines
