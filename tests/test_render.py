"""Pages and live regions: well-formed, the same every time, and deaf to markup in values."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import render
from jinja2 import DictLoader, UndefinedError
from markupsafe import escape

from calc.calculators import CALCULATORS

VOID = {"area", "br", "hr", "img", "input", "link", "meta", "wbr"}
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
CASES = [
    ("gpu", {}),
    ("gpu", {"workload": "training", "context": "2048"}),
    ("gpu", {"model": "custom", "precision": "int4"}),
    ("gpu", {"model": "llama-3.1-405b", "unit": "GB", "workload": "training"}),
    ("entrenar", {}),
    ("entrenar", {"activations": "20"}),
    ("acumulacion", {}),
    ("inferencia", {}),
    ("lora", {}),
    ("lora", {"method": "qlora"}),
]


class Reader(HTMLParser):
    """Reads a document into a flat list of elements, and checks that every tag is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"not closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"repeated attribute: {tag} {names}")
        self.faults += [f"attribute without value: {tag} {name}" for name, value in attrs if value is None]
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Refuse ``<tag/>``, which a browser would write otherwise."""
        self.faults.append(f"self-closing: {tag}")

    def handle_endtag(self, tag: str) -> None:
        """Close the last element."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"closed out of order: {tag}")

    def all(self, tag: str) -> Iterator[dict[str, str]]:
        """The attributes of every element of a kind."""
        return (attributes for name, attributes in self.elements if name == tag)


@pytest.fixture(scope="module")
def pages() -> dict[str, Reader]:
    """Every page, read."""
    return {name: Reader(render.page(name)) for name in render.PAGES}


def test_every_page_is_well_formed(pages: dict[str, Reader]) -> None:
    """Each tag is closed in order, each attribute has a value and stands once."""
    assert {name: page.faults for name, page in pages.items() if page.faults} == {}


def test_ids_are_unique(pages: dict[str, Reader]) -> None:
    """No page holds the same id twice."""
    for page in pages.values():
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert sorted(ids) == sorted(set(ids))


def test_every_reference_to_an_id_is_good(pages: dict[str, Reader]) -> None:
    """Labels, descriptions and links inside a page lead somewhere."""
    for page in pages.values():
        ids = {attributes.get("id", "") for _, attributes in page.elements}
        for _, attributes in page.elements:
            wanted = " ".join(attributes.get(key, "") for key in ("for", "aria-describedby", "aria-labelledby")).split()
            link = attributes.get("href", "")
            wanted += [link[1:]] if link.startswith("#") and "=" not in link and link != "#" else []
            assert set(wanted) <= ids


def test_headings_descend_one_level_at_a_time(pages: dict[str, Reader]) -> None:
    """One h1 comes first, and no level is skipped."""
    for page in pages.values():
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


@pytest.mark.parametrize("name", CALCULATORS)
def test_every_field_has_the_same_anatomy(pages: dict[str, Reader], name: str) -> None:
    """A wrapper by its name, a control by its name, a label, and one slot for an error."""
    page = pages[name]
    fields = [field.name for field in CALCULATORS[name].fields]
    assert sorted(a["data-field"] for _, a in page.elements if "data-field" in a) == sorted(fields)
    controls = [a for tag, a in page.elements if tag in {"input", "select", "textarea"} and "name" in a]
    named = {a["name"] for a in controls} - {"tipo"}
    assert named == set(fields)
    assert sum("data-error" in a for _, a in page.elements) == len(fields)
    labelled = {a["for"] for a in page.all("label") if "for" in a}
    assert {a["id"] for tag, a in page.elements if tag in {"input", "select", "textarea"} and "id" in a} - labelled <= {
        a["id"] for a in page.all("input") if a["type"] == "radio" and "id" in a
    }


def test_nothing_is_asked_of_another_host(pages: dict[str, Reader]) -> None:
    """Styles, icons and scripts come from this site, by relative addresses; links are the only absolute ones."""
    for page in pages.values():
        loaded = [a.get("src", "") for _, a in page.elements] + [a["href"] for a in page.all("link")]
        assert not [address for address in loaded if re.match("[a-z]+:|/", address)]


def test_nothing_is_styled_or_scripted_inline(pages: dict[str, Reader]) -> None:
    """No style attribute, no handler, no style element: a strict policy can be set."""
    for page in pages.values():
        assert not [a for _, a in page.elements if "style" in a or any(key.startswith("on") for key in a)]
        assert not list(page.all("style"))


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_page_holds_its_regions_as_the_worker_gives_them(name: str) -> None:
    """The build and the live page share one path: the same bytes, verbatim."""
    html = render.page(name)
    for region, inner in render.regions(name, {}).html.items():
        if f'data-region="{region}"' in html:
            assert re.search(f'data-region="{region}"[^>]*>' + re.escape(inner) + "</div>", html)


@pytest.mark.parametrize(("name", "raw"), CASES)
def test_regions_are_well_formed_and_the_same_every_time(name: str, raw: dict[str, str]) -> None:
    """Rendering twice gives the same bytes, and each region is a fragment that a browser leaves as it is."""
    first, second = render.regions(name, raw), render.regions(name, raw)
    assert first == second
    assert first.ok
    assert set(first.html) == {*render.LIVE, "errors"}
    for html in first.html.values():
        assert Reader(html).faults == []
        assert not re.search("&(?!(amp|lt|gt);)", html)


def test_wrong_inputs_leave_the_last_result_alone() -> None:
    """Only the summary of errors changes, and it links to each field."""
    answer = render.regions("acumulacion", {"steps": "0", "micro-batch": "", "gpus": "x"})
    assert not answer.ok
    assert set(answer.html) == {"errors"}
    assert set(answer.field_errors) == {"steps", "micro-batch", "gpus"}
    assert answer.field_errors["micro-batch"] == "Introduce un valor para ver los resultados."
    assert [a["href"] for a in Reader(answer.html["errors"]).all("a")] == [
        "#campo-micro-batch",
        "#campo-steps",
        "#campo-gpus",
    ]


@pytest.mark.parametrize("name", CALCULATORS)
def test_markup_in_a_value_is_text(name: str) -> None:
    """Whatever a field holds, no element comes of it."""
    for field in CALCULATORS[name].fields:
        answer = render.regions(name, {field.name: HOSTILE})
        html = "".join(answer.html.values())
        assert not list(Reader(html).all("img"))
        assert HOSTILE not in html
        assert "onerror" not in answer.fragment or "%3C" in answer.fragment


def test_a_form_keeps_what_was_typed() -> None:
    """A value goes back into its control as text, markup and all."""
    template = render.environment(DictLoader({"x": '<input value="{{ value }}">'})).get_template("x")
    assert template.render(value=HOSTILE) == f'<input value="{escape(HOSTILE)}">'


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    """A misspelt variable fails the build instead of leaving a gap."""
    template = render.environment(DictLoader({"x": "{{ nothing }}"})).get_template("x")
    with pytest.raises(UndefinedError):
        template.render()


def test_the_fields_that_apply_are_listed() -> None:
    """The page shows what the worker says applies."""
    assert "optimizer" not in render.regions("gpu", {}).visible
    assert "optimizer" in render.regions("gpu", {"workload": "training"}).visible


def test_pages_lie_where_the_design_says() -> None:
    """Nine addresses."""
    assert [page.path for page in render.PAGES.values()] == [
        *("", "entrenar/", "acumulacion/", "inferencia/", "lora/", "modelo/", "metodo/", "precision/", "privacidad/")
    ]
