"""The texts of the pages: well formed, impersonal, and linked to what exists."""

import re

import pytest
from render import PAGES

from tests.texts import FILES, fragments

SECOND_PERSON = r"tú|tus?|ti|contigo|usted|puedes|debes|necesitas|quieres|tienes|sabes|eres|haz"
VERSIONS = r"(?:PyTorch\W|Transformers\W|Formats\W|Qwen|sección\W)\d\.\d+"


def test_every_text_is_balanced_html_without_scripts_or_embedded_content() -> None:
    """Every text is balanced HTML, its table headings have a scope, and nothing in it loads anything."""
    assert [(name, one.problems) for name, one in fragments().items() if one.problems] == []
    assert len(FILES) >= 25


def test_every_calculator_has_a_guide_an_example_and_questions() -> None:
    """Each calculator explains, works an example and answers questions."""
    for name, page in PAGES.items():
        wanted = ("guide", "example", "questions") if page.calculator else ("guide",)
        assert [one for one in wanted if f"content/{name}/{one}.html" not in FILES] == [], name


@pytest.mark.parametrize("page", PAGES)
def test_ids_are_unique_in_a_page_and_start_with_its_name(page: str) -> None:
    """No two elements of a page share an id, and every section's label exists."""
    parts = [fragment for name, fragment in fragments().items() if name.startswith(f"content/{page}/")]
    whole = [part for part in parts if part.file.endswith(("guide.html", "example.html", "questions.html"))]
    ids = [one for part in whole for one in part.ids]
    assert sorted(set(ids)) == sorted(ids)
    assert [one for one in ids if not one.startswith(f"{page}-")] == []
    assert {one for part in whole for one in part.references} <= set(ids)


def test_headings_start_at_the_second_level_and_never_skip_one() -> None:
    """A screen reader finds a heading at each level."""
    for name, fragment in fragments().items():
        levels = fragment.headings
        assert all(2 <= level <= 3 for level in levels), name
        assert levels[:1] in ([], [2]), name


def test_nobody_is_addressed_as_tu_and_a_milliard_is_never_called_a_billion() -> None:
    """The texts are impersonal and write «miles de millones»."""
    for name, fragment in fragments().items():
        assert re.findall(rf"(?i)\b(?:{SECOND_PERSON})\b", fragment.text) == [], name
        assert "billon" not in fragment.text.lower().replace("billón", "billon"), name


def test_links_lead_to_pages_that_exist_or_name_a_source() -> None:
    """A relative link is an address of the site; any other is a source over https that learns nothing of the page."""
    known = {"../" + page.path for page in PAGES.values()}
    for name, link in [(name, link) for name, one in fragments().items() for link in one.links]:
        address = link["href"] or ""
        if address.startswith("https://"):
            assert link.get("rel") == "noreferrer", (name, address)
        else:
            assert address in known, (name, address)


def test_numbers_are_written_the_spanish_way() -> None:
    """Decimal comma, groups from five digits on, and a no-break space before a unit."""
    for name, fragment in fragments().items():
        text = re.sub(VERSIONS, "", fragment.text)
        assert re.findall(r"\d{5,}", text) == [], name
        assert re.findall(r"\b\d\u202f\d{3}\b(?!\u202f)", text) == [], name
        assert re.findall(r"\d (?:%|[GMK]i?B|B|bits?|bytes?)\b", text) == [], name
        assert re.findall(r"\d\.\d", text) == [], name
