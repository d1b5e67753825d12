"""Find which modules of Python's library the site needs, and write ``tools/library.txt``, from which the build packs.

Run ``PYTHONPATH=assets/py python -m tools.library`` after a change of Pyodide, PyScript or of what the worker imports:
it builds the site with the whole library, lets every calculator answer good and bad inputs in Chromium, and lists what
was imported. A module that is missing shows as an exception in the browser tests.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import render
from playwright.sync_api import Browser, sync_playwright

import build
from calc.calculators import CALCULATORS
from tools.chromium import launch
from tools.site_server import SiteServer

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "library.txt"
STDLIB = HERE.parent / "node_modules/pyodide/python_stdlib.zip"

ALWAYS = (
    "_pyodide",
    "asyncio",
    "collections",
    "encodings.ascii",
    "encodings.idna",
    "encodings.latin_1",
    "encodings.utf_8_sig",
    "json",
    "pprint",
    "pyodide",
    "queue",
    "re",
    "stringprep",
)
"""Modules and packages, whole, that code reaches only now and then."""

PASTED = (
    "vllm serve x --max-model-len 4k",
    "base_model: x\nlora_r: 1.5\n",
    '{"zero_optimization": {}}',
    "| 1MiB / 2MiB |",
)
"""Something of every kind that can be pasted."""

PROBES: tuple[dict[str, str], ...] = (
    {},
    {"model": "nobody"},
    {"context": "1e308", "batch": "x", "rank": "-", "steps": ""},
    {"workload": "training", "checkpointing": "sqrt", "method": "qlora"},
    {"model": "custom", "parameters": "1,5", "unit": "GB"},
)

TELL = """

def tell(_: str) -> str:
    return json.dumps(sorted(sys.modules))


__export__.append("tell")
"""

WORKER = "document.querySelector('script[name=estimador]').xworker.sync"
REST = f"([question, stage]) => {WORKER}.rest(question, stage)"
LATER = f"(question) => {WORKER}.later(question, 'models')"
OPEN = f"""async () => {{
  const made = [['{{}}', 'config.json'], ['GGUF', 'a.gguf'], ['12345678', 'a.safetensors']];
  await {WORKER}.open_files(made.map(([text, name]) => new File([text], name)));
}}"""
"""One file of every kind, all of them wrong."""

CALL = "([name, text]) => document.querySelector('script[name=estimador]').xworker.sync[name](text)"


def available() -> set[str]:
    """Return the names of all modules of the library that Pyodide ships as files."""
    with zipfile.ZipFile(STDLIB) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names}


def imported(browser: Browser, url: str, calculator: str) -> set[str]:
    """Return what the worker of a page has imported after answering the probes."""
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-state=ready]", state="attached", timeout=60_000)
    for inputs in PROBES:
        page.evaluate(CALL, ["estimate", json.dumps({"calculator": calculator, "inputs": inputs})])
    question = {"calculator": calculator, "inputs": {}}
    calls: tuple[tuple[str, Mapping[str, object]], ...] = (
        ("take", {"address": "x", "date": "2026-12-01"}),
        ("compare", {"vs": "", "add": True}),
        *(("paste", {"text": text}) for text in PASTED),
    )
    for stage in range(len(render.STAGES)):
        page.evaluate(REST, [json.dumps(question), stage])
    for name, more in calls:
        page.evaluate(CALL, [name, json.dumps({**question, **more})])
    page.evaluate(LATER, json.dumps(question))
    page.evaluate(OPEN)
    names: list[str] = json.loads(page.evaluate(CALL, ["tell", ""]))
    page.close()
    return set(names)


def main() -> None:
    """Write the list."""
    site = build.WORK / "whole-library"
    build.build(site)
    build.pack([{"source": str(STDLIB), "target": str(site / build.LIBRARY)}])
    with (site / "assets/py/worker.py").open("a", encoding="utf-8") as worker:
        worker.write(TELL)
    used: set[str] = set()
    with SiteServer(site) as server, sync_playwright() as playwright:
        browser = launch(playwright)
        for name in CALCULATORS:
            used |= imported(browser, server.url + render.PAGES[name].path, name)
        browser.close()
    shutil.rmtree(site)
    whole = {name for name in available() if any(name == one or name.startswith(f"{one}.") for one in ALWAYS)}
    OUTPUT.write_text("\n".join(sorted(used & available() | whole)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
