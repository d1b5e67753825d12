"""The sources that estimates cite."""

import re
from datetime import date
from pathlib import Path

import pytest

from calc.provenance import Provenance
from calc.sources import SOURCES

CALC = Path(__file__).parent.parent / "calc"


@pytest.mark.parametrize(("key", "source"), SOURCES.items(), ids=list(SOURCES))
def test_a_source_has_a_title_a_secure_address_and_a_date(key: str, source: Provenance) -> None:
    """A source has a title a secure address and a date."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
    assert source.title.strip() == source.title != ""
    assert source.url.startswith("https://")
    assert date.fromisoformat(source.retrieved) <= date(2026, 12, 1)


@pytest.mark.parametrize("source", [one for one in SOURCES.values() if "arxiv.org" in one.url], ids=lambda one: one.url)
def test_a_paper_is_pinned_to_a_version(source: Provenance) -> None:
    """A paper is pinned to a version."""
    assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{4,5}v\d+", source.url)


@pytest.mark.parametrize("source", [one for one in SOURCES.values() if "/blob/" in one.url], ids=lambda one: one.url)
def test_a_file_of_a_repository_is_pinned_to_a_tag_or_commit(source: Provenance) -> None:
    """A file of a repository is pinned to a tag or commit."""
    revision = source.url.split("/blob/")[1].split("/")[0]
    assert revision not in {"main", "master"}


def test_no_two_keys_cite_the_same_place() -> None:
    """No two keys cite the same place."""
    places = [(source.url, source.note) for source in SOURCES.values()]
    assert len(set(places)) == len(places)


def test_every_key_that_the_code_cites_exists() -> None:
    """Every key that the code cites exists."""
    cited = set()
    for module in CALC.rglob("*.py"):
        for tuple_text in re.findall(r"sources=\(([^()]*)\)", module.read_text(encoding="utf-8")):
            cited |= set(re.findall(r'"([a-z0-9-]+)"', tuple_text))
    assert cited <= set(SOURCES)
    assert "nvidia-smi-readings" in cited
