"""The program that compares estimates with measurements: it estimates before it looks, and says what it skips."""

import csv
import json
from pathlib import Path

import pytest
from precision import FIGURES

from tests.accuracy.__main__ import figures_of, main, results
from tests.accuracy.report import summary
from tests.accuracy.rows import ANSWERS, read

# Three rows in the form of the published table: Qwen2.5 7B (QwenLM/Qwen3 at 2abc0f3, speed benchmark), Mistral 7B
# (fms-acceleration at 876e2ed, a100_80gb.csv), and one that does not say how long its sequences are.
COLUMNS = (
    *("id", "kind", "hf_id", "framework", "framework_version", "precision_or_quant", "batch_size", "micro_batch"),
    *("grad_accum", "seq_len", "context_len", "optimizer", "master_weights", "grad_checkpointing", "attention_impl"),
    *("parallelism", "gpus", "metric", "measured_value", "unit", "unit_resolved", "value_gib", "scope", "source_group"),
    *("notes", "grade", "date"),
)
ROWS = (
    {"id": "a", "kind": "inference", "hf_id": "Qwen/Qwen2.5-7B-Instruct", "framework": "transformers"}
    | {"framework_version": "transformers 4.46.0", "precision_or_quant": "BF16", "batch_size": "1"}
    | {"seq_len": "6144", "context_len": "8192", "attention_impl": "flash", "gpus": "1"}
    | {"metric": "peak_allocated", "measured_value": "15.38", "unit": "GB", "unit_resolved": "GiB"}
    | {"source_group": "one", "grade": "A"},
    {"id": "b", "kind": "full_ft", "hf_id": "mistralai/Mistral-7B-v0.1", "framework": "HF Trainer"}
    | {"framework_version": "transformers 4.48.1", "precision_or_quant": "bfloat16", "micro_batch": "4"}
    | {"grad_accum": "1", "seq_len": "4096", "optimizer": "adamw_torch", "master_weights": "no", "gpus": "1"}
    | {"grad_checkpointing": "full", "attention_impl": "flash", "parallelism": "none"}
    | {"metric": "peak_allocated", "measured_value": "72434835456", "unit": "bytes", "unit_resolved": "bytes"}
    | {"source_group": "two", "grade": "A"},
    {"id": "c", "kind": "full_ft", "hf_id": "mistralai/Mistral-7B-v0.1", "framework": "HF Trainer"}
    | {"precision_or_quant": "bfloat16", "micro_batch": "4", "optimizer": "adamw_torch", "gpus": "1"}
    | {"grad_checkpointing": "full", "metric": "peak_allocated", "measured_value": "1", "unit": "GiB"}
    | {"source_group": "two", "grade": "B"},
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file with the three rows."""
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(ROWS)
    return path


def test_the_question_knows_nothing_of_the_answer(table: Path) -> None:
    """No column of the measured value reaches the estimate."""
    for question, _ in read(table):
        assert not set(ANSWERS) & set(question.text)


def test_published_rows_are_met_and_the_rest_is_skipped_with_a_reason(table: Path) -> None:
    """Errors of 1 % and less, inside the range; a row without a sequence has no estimate."""
    found = {one.question["id"]: one for one in results(table, None)}
    assert abs(found["a"].error) < 2
    assert found["a"].inside
    assert abs(found["b"].error) < 1
    assert found["b"].inside
    assert (found["c"].prediction, found["c"].skipped) == (None, "sequence unknown")


def test_the_measured_value_changes_no_estimate(table: Path) -> None:
    """Ten times the measurement: the same estimates."""
    before = [one.prediction for one in results(table, None)]
    text = table.read_text(encoding="utf-8").replace("15.38", "153.8").replace("72434835456", "724348354560")
    table.write_text(text, encoding="utf-8")
    assert [one.prediction for one in results(table, None)] == before


def test_the_json_has_the_promised_shape(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kinds of the file, with rows, errors in per cent, share inside, sources and the simple law."""
    assert main([str(table), "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    assert set(kinds) == {"inference", "full_ft"}
    promised = {"rows", "estimated", "median_abs_error", "p90_abs_error", "inside_range", "by_source", "simple"}
    for figures in kinds.values():
        assert promised <= set(figures)
    assert (kinds["full_ft"]["rows"], kinds["full_ft"]["estimated"]) == (2, 1)
    assert kinds["full_ft"]["by_source"]["two"]["rows"] == 2


def test_no_range_is_wider_than_a_fifth(table: Path) -> None:
    """Either way."""
    for one in results(table, None):
        if one.prediction:
            assert one.prediction.low >= 0.799 * one.prediction.value
            assert one.prediction.high <= 1.201 * one.prediction.value


def test_an_empty_table_has_no_kinds() -> None:
    """Nothing is made up."""
    assert summary([]) == {"kinds": {}}


MEASUREMENTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "measurements.csv"


@pytest.mark.skipif(not MEASUREMENTS.exists(), reason="the measurements lie beside some checkouts only")
def test_the_page_shows_what_the_program_finds() -> None:
    """The committed figures are those of this code over that file, but for the day."""
    shown = json.loads(FIGURES.read_text(encoding="utf-8"))
    report = summary(results(MEASUREMENTS, MEASUREMENTS.parent / "measured_models.json"))
    assert shown == {**figures_of(MEASUREMENTS, report), "date": shown["date"]}


def test_the_figures_of_the_page_come_from_the_report(table: Path, tmp_path: Path) -> None:
    """Counts add up over the kinds, and shares are in per cent."""
    target = tmp_path / "page.json"
    assert main([str(table), "--page", str(target)]) == 0
    written = json.loads(target.read_text(encoding="utf-8"))
    assert (written["rows"], written["counted"], written["estimated"]) == (3, 3, 2)
    assert written["kinds"]["full_ft"]["sources"]["two"]["inside"] == 100
    assert sum(written["skipped"].values()) == 1
