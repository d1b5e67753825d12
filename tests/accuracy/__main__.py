"""``python -m tests.accuracy FILE.csv [--json] [--models measured_models.json] [--page assets/accuracy.json]``."""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.accuracy import components, running, training
from tests.accuracy.models import Models
from tests.accuracy.prediction import Prediction
from tests.accuracy.report import Result, page_figures, summary, text
from tests.accuracy.rows import Answer, Question, Skip, read

TRAINING = ("full_ft", "lora", "qlora", "pretrain")


def predict(question: Question, models: Models) -> Prediction:
    """The estimate of one row.

    Raises:
        Skip: with the reason for which there is none.
    """
    if question["grade"] == "C":
        raise Skip("grade C: the configuration has a hole, for sanity only")
    kind = question["kind"]
    if "component, no model" in question["hf_id"]:
        return components.alone(question)
    architecture = models.find(question["hf_id"] or question["model"])
    if kind in TRAINING:
        return training.predict(question, architecture)
    if kind == "inference":
        return running.predict(question, architecture)
    return components.predict(question, architecture)


def result_of(question: Question, answer: Answer, models: Models) -> Result:
    """Estimate a row, and only then put the answer beside it."""
    try:
        prediction = predict(question, models)
    except Skip as skip:
        return Result(question, answer, skipped=skip.reason)
    if answer.bytes is None:
        return Result(question, answer, skipped="unit unknown")
    return Result(question, answer, prediction)


def results(path: Path, models: Path | None) -> list[Result]:
    """Every row of a file."""
    known = Models(models)
    return [result_of(question, answer, known) for question, answer in read(path)]


def figures_of(file: Path, report: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of the page, with the day and the file that they are of."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"date": datetime.now(UTC).date().isoformat(), "sha256": digest, **page_figures(report)}


def main(arguments: list[str]) -> int:
    """Run the program; 0 if it could read the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", type=Path, help="architectures of models that the catalogue does not have")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", action="store_true", help="one line per estimated row as well")
    parser.add_argument("--page", type=Path, help="write the figures of the page /precision/ to this file")
    given = parser.parse_args(arguments)
    beside = given.file.parent / "measured_models.json"
    models = given.models or (beside if beside.exists() else None)
    found = results(given.file, models)
    if given.rows:
        for one in found:
            if one.prediction:
                print(one.question["id"], f"{one.error:+.1f} %", "inside" if one.inside else "outside", sep="\t")
    report = summary(found)
    if given.page:
        given.page.write_text(json.dumps(figures_of(given.file, report), indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, ensure_ascii=False, indent=1) if given.json else text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
