"""The worker's side: Pyodide answers the page with rendered regions. JSON text in, JSON text out.

The only file that runs in the worker and knows how it is called. Everything that it imports travels in ``app.zip``.
"""

import json
import sys

APP = "/home/pyodide/app.zip"
"""Where pyscript.toml puts our archive."""

sys.path.insert(0, APP)

import render  # noqa: E402
from jinja2 import ModuleLoader  # noqa: E402

from calc.calculators import from_fragment  # noqa: E402

render.environment(ModuleLoader(f"{APP}/templates"))


def estimate(message: str) -> str:
    """Compute and render what the page asks for.

    ``message`` is the JSON of ``{"calculator", "inputs": {name: text}}`` or ``{"calculator", "fragment": text}``.
    The answer is the JSON of ``render.Regions`` plus ``"inputs"``, what the form has to show after a fragment.
    """
    request = json.loads(message)
    calculator = request["calculator"]
    inputs = request["inputs"] if "inputs" in request else from_fragment(calculator, request["fragment"])
    regions = render.regions(calculator, inputs)
    answer = {
        "html": regions.html,
        "field_errors": regions.field_errors,
        "visible": regions.visible,
        "fragment": regions.fragment,
        "ok": regions.ok,
        "inputs": inputs,
    }
    return json.dumps(answer)


__export__ = ["estimate"]
