"""From raw inputs to HTML: the one path that the build and the worker share, so that both give the same bytes.

``regions`` renders the live regions of a calculator; ``page`` renders a whole address with those regions inside it.
Values enter the templates as plain data (``view``, ``form``) and are escaped there; an unknown name is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparison import group_of
from form import field_id, form
from jinja2 import BaseLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from mathml import Token
from view import View, view

from calc import catalog, es
from calc.calculators import CALCULATORS, InvalidInputs, fragment, run, visible
from calc.errors import CalcError, InvalidInput

if TYPE_CHECKING:
    from calc.model_sheet import ModelSheet

EXAMPLE = "llama-3-8b"
"""Model of the catalogue whose sheet the page of files shows at first."""

FIRST = ("answer", "picture", "breakdown")
"""Regions that answer a key at once."""

REST = (
    *("timeline", "recipes", "methods", "combinations", "serving", "gpus"),
    *("how", "notes", "sources", "inputs", "settings"),
)
"""Regions that may follow when no other key does: they take longer, and some need more estimates."""

DECISIONS = (("advice",), ("limits",), ("budget",))
"""Regions that take many estimates, one after the other: another key may come between them."""

LATER = ("models",)
"""Regions that are only worked out when they are opened."""

STAGES = (REST, *DECISIONS)
"""What follows the first answer, in this order."""

LIVE = (*FIRST, *REST, *(name for stage in DECISIONS for name in stage))
"""Regions that hold a result; ``errors`` is the other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An address of the site: its path from the root, its template, its calculator if it has one."""

    path: str
    template: str
    calculator: str | None = None


PAGES: Mapping[str, Page] = {
    "gpu": Page(path="", template="index.html", calculator="gpu"),
    "entrenar": Page(path="entrenar/", template="pages/entrenar.html", calculator="entrenar"),
    "acumulacion": Page(path="acumulacion/", template="pages/acumulacion.html", calculator="acumulacion"),
    "inferencia": Page(path="inferencia/", template="pages/inferencia.html", calculator="inferencia"),
    "lora": Page(path="lora/", template="pages/lora.html", calculator="lora"),
    "modelo": Page(path="modelo/", template="pages/modelo.html"),
    "metodo": Page(path="metodo/", template="pages/metodo.html"),
    "precision": Page(path="precision/", template="pages/precision.html"),
    "privacidad": Page(path="privacidad/", template="pages/privacidad.html"),
}
"""Every address, in the order of the menu."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """What changes on the page after an input.

    Args:
        html: inner HTML by region; with wrong inputs only ``errors``, as the rest keeps the last good result.
        field_errors: a sentence for each field that must be corrected.
        visible: names of the fields that apply.
        fragment: the URL fragment of these inputs.
        ok: whether there is a result.
    """

    html: dict[str, str]
    field_errors: dict[str, str]
    visible: list[str]
    fragment: str
    ok: bool


def environment(loader: BaseLoader) -> Environment:
    """The Jinja environment of the site over some templates.

    Values are escaped, unknown names are errors, and ``math`` draws a formula, each one only once.
    """
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, auto_reload=False, cache_size=-1
    )
    made.globals["page_of"] = page_of
    made.globals["math"] = lru_cache(maxsize=1024)(lambda tokens: _math(made, tokens))
    return made


def page_of(name: str, page: str) -> str:
    """The way from one page to another, relative.

    >>> page_of("lora", "gpu"), page_of("lora", "inferencia")
    ('lora/', '../lora/')
    """
    return "../" * PAGES[page].path.count("/") + PAGES[name].path


def use(made: Environment) -> None:
    """Render from now on with this environment instead of one over the source tree."""
    _State.environment = made


def _math(templates: Environment, tokens: tuple[Token, ...]) -> Markup:
    """A drawing of ``mathml`` as elements."""
    return Markup(templates.get_template("math.html").render(tokens=tokens))


class _State:
    environment: Environment | None = None


def _templates() -> Environment:
    """The environment in use, by default one over the source tree."""
    if _State.environment is None:
        root = Path(__file__).resolve().parents[2]
        _State.environment = environment(FileSystemLoader([root / "assets" / "templates", root]))
    return _State.environment


def regions(calculator: str, raw: Mapping[str, str], names: Sequence[str] = LIVE) -> Regions:
    """Calculate from text and render what changes; ``names`` are the regions wanted.

    Raises:
        KeyError: for a calculator that does not exist.
    """
    fields = CALCULATORS[calculator].fields
    shown = list(visible(fields, {field.name: raw.get(field.name, field.default) for field in fields}))
    address = fragment(calculator, raw)
    try:
        shapes = _view(calculator, tuple(sorted(raw.items())))
    except InvalidInputs as problem:
        messages = {error.place: es.error_text(error) for error in problem.errors}
        return Regions(
            html={"errors": _errors(problem.errors)}, field_errors=messages, visible=shown, fragment=address, ok=False
        )
    values = {"calculator": calculator, "view": shapes}
    html = {
        name: partial(name, **values, **({"settings": settings(calculator, raw)} if name == "settings" else {}))
        for name in names
    }
    return Regions(html={**html, "errors": _errors(())}, field_errors={}, visible=shown, fragment=address, ok=True)


def settings(calculator: str, raw: Mapping[str, str]) -> list[dict[str, Any]]:
    """The same inputs as each tool takes them, and in words what it has no place for."""
    from calc.settings import settings_for  # noqa: PLC0415 - not needed for the first answer

    return [
        {
            "id": one.name,
            "name": es.TOOLS[one.name],
            "version": one.version,
            "text": _preformatted(one.text),
            "left_out": [es.FIELD_LABELS[name] for name in one.left_out],
        }
        for one in settings_for(calculator, raw)
    ]


def _preformatted(text: str) -> Markup:
    """A text as a browser writes it inside an element: quotes stay."""
    return Markup(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


@lru_cache(maxsize=2)
def _view(calculator: str, raw: tuple[tuple[str, str], ...]) -> View:
    """What is shown for these inputs; kept, as its regions are asked for in two parts."""
    return view(run(calculator, dict(raw)), dict(raw))


def page(name: str, **context: Any) -> str:
    """One whole page, its regions rendered with the default inputs.

    ``context`` reaches the template as it is; ``root`` (the way back to the root of the site) is worked out here.
    """
    entry = PAGES[name]
    root = "../" * entry.path.count("/")
    links = [{"name": key, "href": root + one.path or "./"} for key, one in PAGES.items()]
    values: dict[str, Any] = {"name": name, "root": root, "links": links, "calculator": entry.calculator}
    if entry.calculator:
        values["regions"] = {key: Markup(html) for key, html in regions(entry.calculator, {}).html.items()}
        values["form"] = form(entry.calculator, {})
        groups = dict.fromkeys(group_of(gpu) for gpu in catalog.gpus())
        values["gpu_groups"] = [(group, es.GPU_KINDS[group]) for group in groups]
    if name == "modelo":
        model = catalog.model(EXAMPLE)
        from calc.model_sheet import sheet_of_architecture  # noqa: PLC0415 - one page has it

        sheet = sheet_of_architecture(model.name, catalog.architecture(EXAMPLE), format="config")
        values["example"] = Markup(sheet_card(sheet, example=True))
    if name == "precision":
        from precision import accuracy  # noqa: PLC0415 - the worker has neither the module nor its figures

        values["accuracy"] = accuracy()
    return _templates().get_template(entry.template).render(**values, **context)


def sheet_card(sheet: ModelSheet, *, example: bool = False) -> str:
    """The card of one opened model."""
    from sheets import card_of  # noqa: PLC0415 - one page has it

    return partial("sheet", card=card_of(sheet), example=example, root="../")


def file_errors(errors: Sequence[CalcError]) -> str:
    """What is wrong with the files that could not be opened, a sentence each."""
    return partial("file_errors", messages=[es.error_text(error) for error in errors])


def _errors(errors: tuple[InvalidInput, ...]) -> str:
    items = [
        {"id": field_id(error.place), "label": es.FIELD_LABELS[error.place], "message": es.error_text(error)}
        for error in errors
    ]
    return partial("errors", errors=items)


def partial(name: str, **values: Any) -> str:
    """One partial template with these values."""
    return _templates().get_template(f"partials/{name}.html").render(**values)
