"""What is taken away: texts that agree with the result and with the command line, and a picture that stands alone."""

import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from takeaway import COLOURS, KINDS, origin_of, take_away

from calc import es
from calc.calculators import CALCULATORS, InvalidInputs, run

ROOT = Path(__file__).parent.parent
ORIGIN = origin_of("https://ejemplo/#context=4096", "2026-12-01")
CASES = [
    ("gpu", {}),
    ("gpu", {"workload": "training", "model": "mixtral-8x7b", "unit": "GB"}),
    ("gpu", {"model": "custom", "precision": "int4"}),
    ("entrenar", {"activations": "20"}),
    ("acumulacion", {"gpus": "4"}),
    ("inferencia", {"engine": "llama.cpp", "precision": "q4_k"}),
    ("lora", {"method": "qlora"}),
]


@pytest.mark.parametrize(("name", "raw"), CASES)
def test_the_json_is_that_of_the_command_line(name: str, raw: dict[str, str]) -> None:
    """The JSON is what ``python -m calc … --json`` prints for the same inputs, to the byte."""
    flags = [word for key, value in raw.items() for word in (f"--{key}", value)]
    command = [sys.executable, "-m", "calc", name, *flags, "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, encoding="utf-8").stdout
    assert take_away(name, raw, ["json"], ORIGIN) == {"json": printed}


@pytest.mark.parametrize(("name", "raw"), CASES)
def test_the_csv_adds_up(name: str, raw: dict[str, str]) -> None:
    """The table has one row for each component, whole bytes, and a last row that is their sum."""
    text = take_away(name, raw, ["csv"], ORIGIN)["csv"]
    *rows, total = csv.DictReader(io.StringIO(text, newline=""))
    estimate = run(name, raw).estimate
    assert [(row["component"], int(row["bytes"])) for row in rows] == [(c.name, c.bytes) for c in estimate.components]
    assert total["component"] == "total"
    for key in ("bytes", "low_bytes", "high_bytes"):
        assert sum(int(row[key]) for row in rows) == int(total[key])
    assert all(None not in row for row in rows)


@pytest.mark.parametrize(("name", "raw"), CASES)
def test_texts_hold_the_answer_its_parts_its_inputs_and_where_it_comes_from(name: str, raw: dict[str, str]) -> None:
    """Text and Markdown have the total, each component, each input, the address and the date."""
    result = run(name, raw)
    unit = str(result.inputs.get("unit", "GB" if name in ("entrenar", "acumulacion") else "GiB"))
    for text in take_away(name, raw, ["text", "markdown"], ORIGIN).values():
        assert es.bytes_text(result.estimate.total, unit) in text
        for component in result.estimate.components:
            assert es.component_name(component.name) in text
            assert es.bytes_text(component.bytes, unit) in text
        for key in result.inputs:
            assert key == "unit" or es.FIELD_LABELS[key] in text
        assert "https://ejemplo/#context=4096" in text
        assert "1\u00a0de\u00a0diciembre\u00a0de\u00a02026" in text


def test_markdown_tables_are_rectangles() -> None:
    """Every table of the Markdown has as many cells in each row as in its head."""
    for name, raw in CASES:
        text = take_away(name, raw, ["markdown"], ORIGIN)["markdown"]
        for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
            assert len({len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


@pytest.mark.parametrize(("name", "raw"), CASES)
def test_the_drawing_stands_alone(name: str, raw: dict[str, str]) -> None:
    """The SVG is well-formed, loads nothing, holds no script, and says the total and every part."""
    text = take_away(name, raw, ["svg"], ORIGIN)["svg"]
    drawn = ET.fromstring(text)
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"(?:href|src|@import|<script|<image|foreignObject|url\((?!#trama))", text)
    for reference in re.findall(r"url\(#([\w-]+)\)", text):
        assert f'id="{reference}"' in text
    words = "".join(drawn.itertext())
    result = run(name, raw)
    unit = str(result.inputs.get("unit", "GB" if name in ("entrenar", "acumulacion") else "GiB"))
    assert es.bytes_text(result.estimate.total, unit) in words
    gpu = next((one.gpu.name for one in result.fits if one.gpu.id == result.inputs.get("gpu")), "")
    assert gpu in words


def test_the_drawing_has_the_colours_of_the_page() -> None:
    """Each component has in the file the colour that the style sheet gives it in light."""
    style = (ROOT / "assets/styles/site.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", style.partition("@media")[0]))
    assert {name: light[name] for name in COLOURS} == dict(COLOURS)


def test_markup_in_a_value_is_only_text() -> None:
    """What a visitor types cannot become an element of the drawing."""
    hostile = origin_of("https://ejemplo/#<script>", "")
    assert "<script" not in take_away("gpu", {}, ["svg"], hostile)["svg"]


def test_without_a_result_there_is_nothing_to_take() -> None:
    """Wrong inputs are refused, and only what is asked for is made."""
    with pytest.raises(InvalidInputs):
        take_away("gpu", {"context": "mucho"}, KINDS, ORIGIN)
    assert set(take_away("gpu", {}, KINDS, ORIGIN)) == set(KINDS)
    assert set(CALCULATORS) == {name for name, _ in CASES}
