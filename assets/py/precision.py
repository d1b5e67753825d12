"""The rows of the page on accuracy, from the figures that ``python -m tests.accuracy FILE --page`` writes.

Only the build reads this: the worker never renders the page.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from calc.es import number_text, percent_text
from calc.es.labels import date_text

FIGURES = Path(__file__).resolve().parent.parent / "accuracy.json"


def accuracy(figures: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the templates of the page print: kinds in the order of the file, sources by name, reasons by number."""
    found = figures or json.loads(FIGURES.read_text(encoding="utf-8"))
    kinds = found["kinds"]
    return {
        "date": date_text(found["date"]),
        "sum": [found["sha256"][start : start + 16] for start in range(0, 64, 16)],
        "rows": number_text(found["rows"]),
        "counted": number_text(found["counted"]),
        "share": percent_text(Fraction(found["estimated"], found["counted"]), 0),
        "kinds": [_line(name, one) for name, one in kinds.items()],
        "sources": [
            _line(name, one) | {"kind": kind}
            for kind, whole in kinds.items()
            for name, one in sorted(whole["sources"].items())
            if one["estimated"]
        ],
        "skipped": sorted(found["skipped"].items(), key=lambda pair: -pair[1]),
    }


def _line(name: str, figures: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: _percent(figures.get(key)) for key in ("median", "p90", "inside", "simple")}
    return {"name": name, "rows": number_text(figures["rows"]), "estimated": number_text(figures["estimated"]), **texts}


def _percent(value: float | None) -> str:
    """A percentage with one decimal; a dash where there is none.

    >>> _percent(0.04) == "0,0\u00a0%", _percent(None)
    (True, '–')
    """
    return "–" if value is None else percent_text(Fraction(value) / 100)
