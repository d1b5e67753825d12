"""The one-file edition: every page of the built site in one HTML file that asks no network for anything.

The parts that run travel as text inside the file: scripts in base64 of raw deflate, archives in base64 as they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import render
from jinja2 import FileSystemLoader
from markupsafe import Markup

NAME = "calculadora-vram.html"

STYLES = ("pico.min.css", "site.css", "calculator.css", "tables.css")
PRINT = "print.css"

DEFLATED = (
    "pyodide/pyodide.asm.wasm",
    "pyodide/pyodide.asm.js",
    "pyodide/pyodide.js",
    "micropython/micropython.mjs",
    "micropython/micropython.wasm",
)
"""Files of the runtime that are worth compressing, by the name that they have here."""

MODULE = {"export default _createPyodideModule;": "", "import.meta.url": '"archivo://pyodide/pyodide.asm.js"'}
"""What makes a module of Pyodide's glue -> what stands there in a plain script, which a worker can hold inside."""

OWN_TEXT = ("privacidad",)
"""Pages that say something else here."""

MAIN = re.compile(r"<main [^>]*>\n?(.*)</main>", re.DOTALL)
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
CODE = re.compile(r'<script type="mpy" src="[^"]*?(\w+\.py)"')
PYSCRIPT = re.compile(r'<p class="no-start">.*?</script>\n', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page inside the file: its name, title, contents, and the Python that goes with it, if any."""

    name: str
    title: Markup
    html: Markup
    code: str = ""


def one_file(dist: Path, *, assets: Path, deflated: Mapping[str, bytes], lock: str, modules: Sequence[str]) -> str:
    """Return the file for a built site.

    Args:
        dist: the built site, pages included.
        assets: folder of the templates and of our scripts.
        deflated: raw deflate data of each of ``DEFLATED``.
        lock: JSON that Pyodide wants to know of its own build.
        modules: names of the Python files that the page's code imports.
    """
    environment = render.environment(FileSystemLoader([assets / "templates", assets.parent]))
    script = (assets / "onefile/page.mjs").read_text(encoding="utf-8")
    style = styles(dist / "assets/styles")
    python = {
        name: (dist / "assets/py" / name).read_text(encoding="utf-8") for name in ("page.py", "files.py", "worker.py")
    }
    parts = {
        **{name.split("/")[-1]: encoded(data) for name, data in deflated.items()},
        "library.pack": encoded((dist / "assets/runtime/pyodide/library.pack").read_bytes()),
        "app.pack": encoded((dist / "assets/app.pack").read_bytes()),
        "worker.js": raw((assets / "onefile/worker.js").read_text(encoding="utf-8")),
        "lock.json": raw(lock),
        **{name: raw(text) for name, text in python.items()},
    }
    privacy = environment.get_template("content/privacidad/onefile.html").render(root="../")
    views = [view(dist, name, privacy if name in OWN_TEXT else None) for name in render.PAGES]
    return environment.get_template("onefile.html").render(
        name="gpu",
        root="",
        links=[{"name": one.name, "href": f"#/{one.name}"} for one in views],
        pages=[*views, licences(dist)],
        parts=parts,
        modules={name: raw((dist / "assets/py" / name).read_text(encoding="utf-8")) for name in modules},
        script=raw(script),
        style=Markup(style),
        policy=policy(script, style),
        icon=encoded((dist / "assets/icon.svg").read_bytes()),
    )


def plain_script(module: str) -> str:
    """Return Pyodide's glue as a plain script, whose function is a global name.

    Raises:
        ValueError: if it is not the module that this was written for.
    """
    for text, instead in MODULE.items():
        if text not in module:
            raise ValueError(text)
        module = module.replace(text, instead)
    return module


def policy(script: str, style: str) -> Markup:
    """Return the policy of the document: our one script, our one style sheet, what they make, and no connection."""
    rules = (
        "default-src 'none'",
        f"script-src '{source_hash(script)}' 'wasm-unsafe-eval' blob:",
        "worker-src blob:",
        f"style-src '{source_hash(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return Markup("; ".join(rules))


def source_hash(text: str) -> str:
    """Return what a policy calls an inline text: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def styles(folder: Path) -> str:
    """Return all style sheets as one; that of paper keeps its medium."""
    screen = "\n".join((folder / name).read_text(encoding="utf-8") for name in STYLES)
    return raw(f"{screen}\n@media print {{\n{(folder / PRINT).read_text(encoding='utf-8')}}}\n")


def view(dist: Path, name: str, text: str | None) -> View:
    """Return what a built page shows, without PyScript; ``text`` takes the place of its prose."""
    page = (dist / render.PAGES[name].path / "index.html").read_text(encoding="utf-8")
    (html,) = MAIN.findall(page)
    (title,) = TITLE.findall(page)
    code = CODE.search(page)
    if text is not None:
        html = re.sub(
            r'<div class="prose">.*?</div>',
            lambda _: f'<div class="prose">{text}</div>',
            html,
            count=1,
            flags=re.DOTALL,
        )
    return View(name=name, title=Markup(title), html=Markup(PYSCRIPT.sub("", html)), code=code[1] if code else "")


def licences(dist: Path) -> View:
    """Return a page with the licence of everything that the file holds."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((dist / "licencias").glob("*.txt"))]
    html = Markup("<h1>Licencias</h1>\n") + Markup("\n").join(Markup("<pre>{}</pre>").format(text) for text in texts)
    return View(name="licencias", title=Markup("Licencias"), html=html)


def raw(text: str) -> Markup:
    """Return a text as the inside of an element that HTML does not look into.

    Raises:
        ValueError: if it holds what would end the element or hide its end.
    """
    if re.search(r"</(?:script|style)|<!--", text, re.IGNORECASE):
        raise ValueError("this text cannot stand inside a script or style element")
    return Markup(text)


def encoded(data: bytes) -> Markup:
    """Return bytes in base64."""
    return Markup(base64.b64encode(data).decode())


def raw_deflate(archive: Path) -> dict[str, bytes]:
    """Return the compressed data of each file of a zip, as it lies there: raw deflate."""
    with zipfile.ZipFile(archive) as opened:
        data = archive.read_bytes()
        found = {}
        for entry in opened.infolist():
            names = int.from_bytes(data[entry.header_offset + 26 :][:2], "little")
            extra = int.from_bytes(data[entry.header_offset + 28 :][:2], "little")
            start = entry.header_offset + 30 + names + extra
            found[entry.filename] = data[start : start + entry.compress_size]
    return found


def modules_of(configuration: str) -> list[str]:
    """Return the names of the Python files that PyScript would lay beside the page's code."""
    return [Path(address).name for address in json.loads(configuration).get("files", {})]
