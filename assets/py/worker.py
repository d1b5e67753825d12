"""The worker's side: Pyodide answers the page with rendered regions. JSON text in, JSON text out.

The only file that runs in the worker and knows how it is called. Everything that it imports travels in ``app.pack``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calc.model_file import Piece

APP = "/home/pyodide/app.zip"
"""Where the interpreter module puts our archive."""

sys.path.insert(0, APP)
gc.disable()  # nothing of what is imported is garbage

import render  # noqa: E402
from jinja2 import ModuleLoader  # noqa: E402

from calc.calculators import InvalidInputs, from_fragment  # noqa: E402
from calc.checkpoint import FIRST_READ, InvalidFile, NeedMoreBytes, shown_name  # noqa: E402
from calc.errors import CalcError  # noqa: E402

render.use(render.environment(ModuleLoader(f"{APP}/templates")))
gc.freeze()
gc.enable()

WARM_ANSWERS = 12
"""Answers to nobody after the first one: the browser compiles WebAssembly better once it has run for a while."""
WARM_PAUSE_S = 0.03
"""Between two of them, so that a question never waits for more than one."""


def estimate(message: str) -> str:
    """Compute and render what the page asks for, as far as it is needed at once.

    ``message`` is the JSON of ``{"calculator", "inputs": {name: text}}`` or ``{"calculator", "fragment": text}``.
    The answer is the JSON of ``render.Regions`` plus ``"inputs"``, what the form has to show after a fragment.
    """
    calculator, inputs = asked(message)
    regions = render.regions(calculator, inputs, render.FIRST)
    answer = {
        "html": regions.html,
        "field_errors": regions.field_errors,
        "visible": regions.visible,
        "fragment": regions.fragment,
        "ok": regions.ok,
        "inputs": inputs,
    }
    warm_up(calculator)
    return json.dumps(answer)


def rest(message: str, stage: int = 0) -> str:
    """Render what follows the answer to the same message, one stage after the other.

    The answer is the JSON of ``{"html": HTML by region, "more": whether another stage follows}``.
    """
    regions = render.regions(*asked(message), render.STAGES[stage])
    more = regions.ok and stage + 1 < len(render.STAGES)
    return json.dumps({"html": regions.html if regions.ok else {}, "more": more})


def later(message: str, region: str) -> str:
    """Render a region that has been opened, for the answer to the same message: its HTML, empty without a result."""
    if region not in render.LATER:
        raise KeyError(region)
    regions = render.regions(*asked(message), (region,))
    return regions.html[region] if regions.ok else ""


def asked(message: str) -> tuple[str, dict[str, str]]:
    """The calculator and the inputs of a message."""
    request = json.loads(message)
    calculator = request["calculator"]
    return calculator, request["inputs"] if "inputs" in request else from_fragment(calculator, request["fragment"])


@cache
def warm_up(calculator: str) -> None:
    """Answer a few questions in idle time, once, so that the visitor's are fast from the first."""
    loop = asyncio.get_event_loop()
    for number in range(WARM_ANSWERS):
        inputs = {"context": str(1000 + number), "steps": str(1 + number), "activations": str(number)}
        loop.call_later(WARM_PAUSE_S * (number + 10), render.regions, calculator, inputs)


def compare(message: str) -> str:
    """Lay the list of an address out beside the inputs of the page, or change it first.

    ``message`` is that of ``estimate`` with ``"vs"``, the list as it stands in the address, and perhaps ``"add": true``
    or ``"remove": place``. The answer is the JSON of ``{"html": {"compare"}, "vs", "said"}``.
    """
    from scenarios import change  # noqa: PLC0415 - few visitors compare

    from calc.decisions.scenarios import Scenario  # noqa: PLC0415

    request = json.loads(message)
    done = change(
        Scenario.of(*asked(message)),
        request["vs"],
        add=bool(request.get("add")),
        remove=request.get("remove"),
        root="../" * render.PAGES[request["calculator"]].path.count("/"),
    )
    html = {"compare": render.partial("compare", comparison=done.comparison)}
    return json.dumps({"html": html, "vs": done.text, "said": done.said})


def paste(message: str) -> str:
    """Read what was pasted beside the inputs of the page: ``message`` is that of ``estimate`` with ``"text"``.

    The answer is the HTML of the region ``pasted``.
    """
    from pasting import paste as read  # noqa: PLC0415 - few visitors paste

    calculator, inputs = asked(message)
    found = read(json.loads(message)["text"], calculator, inputs)
    return render.partial("pasted", found=found, calculator=calculator)


def take(message: str) -> str:
    """The texts that a visitor takes away.

    ``message`` is that of ``estimate`` with ``"address"`` and ``"date"`` (ISO) to say in them, and perhaps ``"kinds"``,
    those wanted of ``text``, ``markdown``, ``csv``, ``json`` and ``svg``. The answer is the JSON of text by kind, empty
    without a result.
    """
    from takeaway import KINDS, origin_of, take_away  # noqa: PLC0415 - not needed to start

    request = json.loads(message)
    origin = origin_of(request.get("address", ""), request.get("date", ""))
    try:
        return json.dumps(take_away(*asked(message), request.get("kinds", KINDS), origin))
    except InvalidInputs:
        return "{}"


async def open_files(files: Any) -> str:
    """Read the headers of the browser's ``File`` objects and render a card for each model that they make.

    The answer is the JSON of ``{"cards": [html], "errors": html}``. A file that cannot be read leaves the others be.
    """
    from calc.model_file import assemble  # noqa: PLC0415 - what opens files is not needed to start
    from calc.model_sheet import model_sheet  # noqa: PLC0415

    pieces: list[Piece] = []
    errors: list[CalcError] = []
    cards: list[str] = []
    for file in files:
        try:
            pieces.append(await read_piece(file))
        except CalcError as error:
            errors.append(error)
    try:
        cards = [render.sheet_card(model_sheet(model)) for model in assemble(pieces)] if pieces else []
    except CalcError as error:
        errors.append(error)
    return json.dumps({"cards": cards, "errors": render.file_errors(errors)})


async def read_piece(file: Any) -> Piece:
    """Read one file, only as far as its door asks for."""
    from calc.model_file import read_file  # noqa: PLC0415

    data = bytes(await read_slice(file, 0, FIRST_READ))
    while True:
        try:
            return read_file(file.name, data, int(file.size))
        except NeedMoreBytes as more:
            rest = await read_slice(file, len(data), more.length)
            if not rest:
                name = shown_name(file.name)
                raise InvalidFile("truncated", place="header", needed=more.length, bytes=len(data), file=name) from None
            data += rest


async def read_slice(file: Any, start: int, end: int) -> bytes:
    """Bytes ``start`` to ``end`` of a ``File``, fewer at its end."""
    buffer = await file.slice(start, end).arrayBuffer()
    data: bytes = buffer.to_bytes()
    return data


__export__ = ["compare", "estimate", "later", "open_files", "paste", "rest", "take"]
