"""The table: for each kind of row, how far the estimates are from what was measured."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

from tests.accuracy.prediction import Prediction
from tests.accuracy.rows import Answer, Question

GRADES_THAT_COUNT = ("A", "B")


@dataclass(frozen=True)
class Result:
    """One row with its estimate, or with the reason for which there is none."""

    question: Question
    answer: Answer
    prediction: Prediction | None = None
    skipped: str = ""

    @property
    def error(self) -> float:
        """Estimate over measurement, less one, in per cent."""
        return _error(self.prediction.value if self.prediction else 0, self.answer)

    @property
    def simple_error(self) -> float | None:
        """The same of the simple law."""
        if self.prediction is None or self.prediction.simple is None:
            return None
        return _error(self.prediction.simple, self.answer)

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the stated range, rounding of the printed value included."""
        measured, one = self.answer.bytes, self.prediction
        spare = self.answer.rounding
        return bool(one and measured and one.low - spare <= measured <= one.high + spare)


def _error(value: float, answer: Answer) -> float:
    return 100 * (value / (answer.bytes or 1) - 1)


def summary(results: Iterable[Result]) -> dict[str, Any]:
    """Rows, estimated ones and errors in per cent, by kind."""
    kinds: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        kinds[result.question["kind"]].append(result)
    return {"kinds": {kind: _kind(found) for kind, found in sorted(kinds.items())}}


def _kind(results: list[Result]) -> dict[str, Any]:
    sources: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        sources[result.question["source_group"]].append(result)
    counted = [one for one in results if one.question["grade"] in GRADES_THAT_COUNT]
    return {
        **_figures(results),
        "rows_ab": len(counted),
        "estimated_ab": sum(one.prediction is not None for one in counted),
        "by_source": {source: _figures(found) for source, found in sorted(sources.items())},
        "simple": _errors([one.simple_error for one in results if one.simple_error is not None]),
        "skipped": dict(Counter(one.skipped for one in results if one.skipped).most_common()),
    }


def _figures(results: list[Result]) -> dict[str, Any]:
    estimated = [one for one in results if one.prediction is not None]
    inside = sum(one.inside for one in estimated)
    return {
        "rows": len(results),
        "estimated": len(estimated),
        **_errors([one.error for one in estimated]),
        "inside_range": round(inside / len(estimated), 4) if estimated else None,
    }


def _errors(errors: list[float]) -> dict[str, float | None]:
    if not errors:
        return {"median_abs_error": None, "p90_abs_error": None}
    sizes = sorted(abs(error) for error in errors)
    return {
        "median_abs_error": round(median(sizes), 3),
        "p90_abs_error": round(sizes[ceil(0.9 * len(sizes)) - 1], 3),
    }


def page_figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page ``/precision/`` shows of a report, errors and shares in per cent."""
    skipped: Counter[str] = Counter()
    for one in report["kinds"].values():
        skipped.update(one["skipped"])
    return {
        "rows": sum(one["rows"] for one in report["kinds"].values()),
        "counted": sum(one["rows_ab"] for one in report["kinds"].values()),
        "estimated": sum(one["estimated_ab"] for one in report["kinds"].values()),
        "kinds": {
            kind: _shown(one)
            | {"simple": one["simple"]["median_abs_error"]}
            | {"sources": {source: _shown(part) for source, part in one["by_source"].items()}}
            for kind, one in report["kinds"].items()
        },
        "skipped": dict(skipped.most_common()),
    }


def _shown(figures: Mapping[str, Any]) -> dict[str, Any]:
    inside = figures["inside_range"]
    return {
        "rows": figures["rows"],
        "estimated": figures["estimated"],
        "median": figures["median_abs_error"],
        "p90": figures["p90_abs_error"],
        "inside": None if inside is None else round(100 * inside, 2),
    }


def text(report: Mapping[str, Any]) -> str:
    """The table for people: one line per kind and, under it, one per source."""
    lines = [f"{'kind':28}{'rows':>6}{'est.':>6}{'median':>9}{'p90':>9}{'inside':>8}{'simple':>9}"]
    for kind, figures in report["kinds"].items():
        lines.append(_line(kind, figures, figures["simple"]["median_abs_error"]))
        lines += [_line(f"  {source}", one, None) for source, one in figures["by_source"].items()]
        lines += [f"    skipped {count}: {reason}" for reason, count in figures["skipped"].items()]
    counted = sum(one["rows_ab"] for one in report["kinds"].values())
    estimated = sum(one["estimated_ab"] for one in report["kinds"].values())
    lines.append(
        f"rows of grades A and B: {counted}, estimated {estimated} ({100 * estimated / max(counted, 1):.1f} %)"
    )
    return "\n".join(lines)


def _line(name: str, figures: Mapping[str, Any], simple: float | None) -> str:
    inside = figures["inside_range"]
    cells = (
        _cell(figures["median_abs_error"], 9),
        _cell(figures["p90_abs_error"], 9),
        _cell(None if inside is None else 100 * inside, 8),
        _cell(simple, 9),
    )
    return f"{name:28}{figures['rows']:6}{figures['estimated']:6}{''.join(cells)}"


def _cell(value: float | None, width: int) -> str:
    return f"{'–' if value is None else f'{value:.2f}':>{width}}"
