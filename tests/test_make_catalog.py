"""The script that writes the catalogue of models."""

import csv
import json

import pytest

from calc.errors import CalcError
from tools import make_catalog


def listed() -> dict[str, dict[str, str]]:
    """The public names, by the name of the configuration."""
    with (make_catalog.HERE / "catalog_models.csv").open(newline="", encoding="utf-8") as file:
        return {line["file"]: line for line in csv.DictReader(file)}


def test_every_row_comes_out_of_the_script_as_it_is_kept() -> None:
    """Every row comes out of the script as it is kept."""
    names = listed()
    for fact in make_catalog.from_catalog(names):
        assert make_catalog.row(names[fact["name"]], fact) == fact["row"]


def test_every_addition_is_in_the_catalogue_with_its_own_facts() -> None:
    """Every addition is in the catalogue with its own facts."""
    names = listed()
    kept = {one["id"]: one for one in make_catalog.read(make_catalog.TARGET)["models"]}
    for fact in make_catalog.additions():
        assert json.loads(json.dumps(make_catalog.row(names[fact["name"]], fact))) == kept[names[fact["name"]]["id"]]


def test_a_row_that_counts_another_total_than_the_published_is_refused() -> None:
    """A row that counts another total than the published is refused."""
    fact = next(iter(make_catalog.additions())) | {"published": 1}
    with pytest.raises(CalcError) as raised:
        make_catalog.row(listed()[fact["name"]], fact)
    assert raised.value.code == "differs_from_published"


def test_only_keys_that_decide_memory_are_kept() -> None:
    """Only keys that decide memory are kept."""
    config = {"hidden_size": 8, "bos_token_id": 1, "rope_theta": 1e4, "time_step_rank": 2, "time_step_min": 0.1}
    assert make_catalog.architecture_keys(config) == {"hidden_size": 8, "time_step_rank": 2}


@pytest.mark.parametrize(
    ("source", "kind", "place", "item"),
    [
        ("o/r@0ab1:a/b.py['x']", "github", "o/r/blob/0ab1/a/b.py", "x"),
        ("o/r@0ab1 (cached configs)", "github", "o/r/tree/0ab1", "cached configs"),
        (
            "transformers 5.24.0 gemma3n_text config class defaults",
            "transformers",
            "gemma3n/configuration_gemma3n.py",
            "",
        ),
        ("from memory; checked against a total", "hub", "a/b", ""),
    ],
)
def test_the_source_of_a_configuration_becomes_an_address(source: str, kind: str, place: str, item: str) -> None:
    """The source of a configuration becomes an address."""
    assert make_catalog.source_of({"hub_id": "a/b", "source": source}) == ([kind, place], item)
