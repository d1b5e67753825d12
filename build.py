"""Build the whole site into ``dist/``, from scratch and the same to the byte for the same sources.

Needs ``requirements-dev.txt`` and ``npm ci``. Nothing is fetched: the runtime comes from ``node_modules``, jinja2 and
MarkupSafe from the Python that runs this. Read :func:`build` as the table of contents.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import io
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "assets" / "py"))

import render  # noqa: E402  (it lives beside the files that the browser gets)
from jinja2 import FileSystemLoader, ModuleLoader  # noqa: E402

from tools import expanded, offline, onefile, policy, pyscript_core, stand_ins  # noqa: E402

DIST = HERE / "dist"
WORK = HERE / "build"
NODE = HERE / "node_modules"
ASSETS = HERE / "assets"

RUNTIME = {
    "pyscript": (NODE / "@pyscript/core/dist", ("core-*.js",)),
    "pyodide": (NODE / "pyodide", ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")),
    "micropython": (
        NODE / "@micropython/micropython-webassembly-pyscript",
        ("micropython.mjs", "micropython.wasm"),
    ),
}
"""Folder under ``assets/runtime/`` -> where it comes from and which files a visit asks for."""

LIBRARY, PLAIN_LIBRARY = "assets/runtime/pyodide/library.pack", "assets/runtime/pyodide/python_stdlib.zip"
APP = "assets/app.pack"
"""Where ``interpreter.mjs`` looks for Python's library, compiled and as Pyodide ships it, and for our own code."""

PLUGINS = ("codemirror", "deprecations-manager", "donkey", "error", "py-editor", "py-game", "py-terminal")
"""Extras of PyScript that the site does without."""

LIVE_TEMPLATES = ("partials/", "macros/", "math.html")
"""Templates that the worker renders; the rest is only read by the build."""

PAGE_MODULES = ("address.py", "combobox.py", "controls.py", "exports.py", "screen.py", "versus.py")
"""What ``page.py`` imports; PyScript asks for all of them at once."""

PAGE_SIDE = ("page.py", "files.py", "worker.py", *PAGE_MODULES)
"""Python that the browser gets as text, because PyScript reads it by address."""

BUILD_SIDE = ("precision.py",)
"""Python that only the build runs."""

LEFT_OUT = (*PAGE_SIDE, *BUILD_SIDE, "calc/__main__.py")
"""Python that the worker does not import, by its name in the archive."""

PACKAGES: Mapping[str, str] = {"jinja2": "jinja2", "markupsafe": "markupsafe", "yaml": "PyYAML"}
"""Package -> what it is called in the index of packages; each is pure Python, or has a part that is."""

LICENCES: Mapping[str, Path] = {
    "cpython": HERE / "licencias/cpython.txt",
    "micropython": HERE / "licencias/micropython.txt",
    "pico": NODE / "@picocss/pico/LICENSE.md",
    "polyscript": NODE / "polyscript/LICENSE",
    "pyodide": HERE / "licencias/pyodide.txt",
    "pyscript": NODE / "@pyscript/core/LICENSE",
    "workbox": NODE / "workbox-core/LICENSE",
    "calculadora-vram": HERE / "LICENSE",
}
"""Name -> text of the licence of each thing that the site ships; jinja2 and MarkupSafe carry theirs themselves."""


def build(dist: Path = DIST) -> None:
    """Write the site."""
    start_afresh(dist)
    copy_runtime(dist)
    copy_styles(dist)
    copy_page_side(dist)
    pack_python(dist)
    write_interpreter(dist)
    write_licences(dist)
    write_pages(dist)
    write_one_file(dist)
    offer_one_file(dist)
    write_offline(dist)


def start_afresh(dist: Path) -> None:
    """Leave an empty ``dist`` and a folder for intermediate files."""
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    WORK.mkdir(exist_ok=True)


def copy_runtime(dist: Path) -> None:
    """Copy the files of PyScript, Pyodide and MicroPython that a visit asks for."""
    for name, (source, patterns) in RUNTIME.items():
        for pattern in patterns:
            found = sorted(source.glob(pattern))
            if not found:
                raise FileNotFoundError(f"{name}: no {pattern} in node_modules: run npm ci")
            for path in found:
                copy(path, dist / "assets/runtime" / name / path.name)
    (core,) = (dist / "assets/runtime/pyscript").glob("core-*.js")
    write(core, pyscript_core.fitted(core.read_text(encoding="utf-8")))


def copy_styles(dist: Path) -> None:
    """Copy Pico, our own styles and the icons."""
    copy(NODE / "@picocss/pico/css/pico.min.css", dist / "assets/styles/pico.min.css")
    for path in sorted((ASSETS / "styles").glob("*.css")):
        copy(path, dist / "assets/styles" / path.name)
    for path in (ASSETS / "icon.svg", *sorted((ASSETS / "icons").glob("*.png"))):
        copy(path, dist / "assets" / path.relative_to(ASSETS))


def copy_page_side(dist: Path) -> None:
    """Copy what PyScript reads by address: the files that know the browser."""
    for name in PAGE_SIDE:
        copy(ASSETS / "py" / name, dist / "assets/py" / name)
    copy(ASSETS / "offline.mjs", dist / "assets/offline.mjs")
    boot = (ASSETS / "boot.mjs").read_text(encoding="utf-8")
    write(dist / "assets/boot.mjs", boot.replace("pyscript/core.js", f"pyscript/{core_name()}"))


def pack_python(dist: Path) -> None:
    """Compile Python's library and our own, with the Python that runs in the browser, into one archive each."""
    library, app = WORK / "library-sources.zip", WORK / "app-sources.zip"
    write_zip(library, dict(library_files()))
    write_zip(app, dict(app_files()))
    pack([{"source": str(library), "target": str(dist / LIBRARY)}, {"source": str(app), "target": str(dist / APP)}])


def library_files() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the modules of Python's library that the site needs, some of them stand-ins."""
    wanted = (HERE / "tools/library.txt").read_text(encoding="utf-8").split()
    lean = stand_ins.of_library()
    with zipfile.ZipFile(NODE / "pyodide/python_stdlib.zip") as archive:
        for name in archive.namelist():
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if (
                name.endswith(".py")
                and module in wanted
                and not stand_ins.dropped(module)
                and module.partition(".")[0] not in lean
            ):
                yield name, archive.read(name)
    yield from ((f"{module}.py", data) for module, data in lean.items())


def pack(jobs: Sequence[Mapping[str, object]]) -> None:
    """Run Pyodide under Node to compile archives of sources; see ``tools/pack.mjs``."""
    path = WORK / "jobs.json"
    path.write_text(json.dumps(jobs), encoding="utf-8")
    subprocess.run(["node", str(HERE / "tools/pack.mjs"), str(path)], check=True, cwd=HERE)


def app_files() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of all that the worker imports or reads: calc, rendering, templates, jinja2, MarkupSafe."""
    ours = {path.relative_to(HERE).as_posix(): path for path in sorted((HERE / "calc").rglob("*.py"))}
    ours |= {path.name: path for path in sorted((ASSETS / "py").glob("*.py"))}
    sources = {name: path.read_text(encoding="utf-8") for name, path in ours.items() if name not in LEFT_OUT}
    built_on = set[str]().union(*map(expanded.bases, sources.values()))
    for name, source in sources.items():
        yield name, expanded.expanded(source, built_on).encode()
    for path in sorted((HERE / "calc").rglob("*.json")):
        yield path.relative_to(HERE).as_posix(), path.read_bytes()
    yield f"{expanded.SUPPORT}.py", expanded.SUPPORT_TEXT.encode()
    yield from compiled_templates()
    for package in PACKAGES:
        lean = stand_ins.of_package(package)
        for path in sorted(package_folder(package).rglob("*.py")):
            name = path.relative_to(package_folder(package)).as_posix()
            yield f"{package}/{name}", lean.get(name) or path.read_bytes()


def compiled_templates() -> Iterator[tuple[str, bytes]]:
    """Yield the templates of the live regions as the Python that jinja2 makes of them."""
    loader = FileSystemLoader(ASSETS / "templates")
    environment = render.environment(FileSystemLoader([ASSETS / "templates", HERE]))
    for name in environment.list_templates(filter_func=lambda name: name.startswith(LIVE_TEMPLATES)):
        source, _, _ = loader.get_source(environment, name)
        code = environment.compile(source, name, name, raw=True, defer_init=True)
        yield f"templates/{ModuleLoader.get_module_filename(name)}", code.encode()


def package_folder(name: str) -> Path:
    """Return the folder of an installed package."""
    found = importlib.metadata.distribution(PACKAGES[name]).locate_file(name)
    return Path(str(found))


def write_interpreter(dist: Path) -> None:
    """Write the module that starts Pyodide, with what Pyodide wants to know of its own build inside it."""
    text = (ASSETS / "interpreter.mjs").read_text(encoding="utf-8")
    runtime = dist / "assets/runtime/pyodide"
    sizes = {path.name: unpacked_size(path) for path in (runtime / "pyodide.asm.wasm", runtime / "pyodide.asm.mjs")}
    sizes |= {Path(name).name: unpacked_size(dist / name) for name in (LIBRARY, APP)}
    text = text.replace('"PYODIDE_LOCK"', pyodide_lock()).replace('"SIZES"', json.dumps(sizes, sort_keys=True))
    write(runtime / "interpreter.mjs", text)


def unpacked_size(path: Path) -> int:
    """Return the bytes of a file as the worker gets to see them, without the compression of our archives."""
    data = path.read_bytes()
    return len(gzip.decompress(data) if path.suffix == ".pack" else data)


def pyodide_lock() -> str:
    """Return what Pyodide wants to know of its own build, as JSON; the site uses none of its packages."""
    lock = json.loads((NODE / "pyodide/pyodide-lock.json").read_text(encoding="utf-8"))
    return json.dumps({"info": lock["info"], "packages": {}}, sort_keys=True)


def write_licences(dist: Path) -> None:
    """Write the licence of everything that the site ships, and a list of them."""
    copy(HERE / "licencias/LEEME.txt", dist / "licencias/LEEME.txt")
    for name, path in LICENCES.items():
        copy(path, dist / "licencias" / f"{name}.txt")
    for package, distribution in PACKAGES.items():
        files = importlib.metadata.files(distribution) or []
        (licence,) = [f for f in files if f.name.startswith("LICENSE")]
        copy(Path(str(licence.locate())), dist / "licencias" / f"{package}.txt")


def write_pages(dist: Path) -> None:
    """Render every page with its default inputs."""
    for name in render.PAGES:
        write_page(dist, name)


def write_page(dist: Path, name: str, **context: object) -> None:
    """Render one page; ``context`` is what else its template wants to know."""
    page = render.PAGES[name]
    start = pyscript(page.path, calculator=bool(page.calculator))
    write(dist / page.path / "index.html", render.page(name, policy=policy.POLICY, pyscript=start, **context))


def write_one_file(dist: Path) -> None:
    """Write every page into one file that works from a disk."""
    runtime = dist / "assets/runtime"
    sources, packed = WORK / "runtime-sources.zip", WORK / "runtime.zip"
    glue = onefile.plain_script((NODE / "pyodide/pyodide.asm.mjs").read_text(encoding="utf-8"))
    scripts = {
        "pyodide/pyodide.asm.js": glue.encode(),
        "pyodide/pyodide.js": (NODE / "pyodide/pyodide.js").read_bytes(),
    }
    write_zip(sources, {name: scripts.get(name) or (runtime / name).read_bytes() for name in onefile.DEFLATED})
    pack([{"source": str(sources), "target": str(packed), "solid": False}])
    text = onefile.one_file(
        dist,
        assets=ASSETS,
        deflated=onefile.raw_deflate(packed),
        lock=pyodide_lock(),
        modules=onefile.modules_of(pyscript("", calculator=True)["page"]),
    )
    write(dist / onefile.NAME, text)


def offer_one_file(dist: Path) -> None:
    """Write the page about privacy again, now that the size and the sum of the one file are known."""
    data = (dist / onefile.NAME).read_bytes()
    offer = {
        "name": onefile.NAME,
        "size": f"{len(data) / 1e6:.1f}\u00a0MB".replace(".", ","),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    write_page(dist, "privacidad", one_file=offer)


def write_offline(dist: Path) -> None:
    """Make the site installable, list its files for the service worker, and their sums for people."""
    copy(ASSETS / "manifest.webmanifest", dist / "manifest.webmanifest")
    write(
        dist / offline.SERVICE_WORKER,
        offline.service_worker(dist, ASSETS / "service-worker.js", NODE, without=[onefile.NAME, PLAIN_LIBRARY]),
    )
    write(dist / offline.SUMS, offline.sums(dist))


def pyscript(path: str, *, calculator: bool = False) -> dict[str, str]:
    """Return the configuration of PyScript of the page at ``path``, as JSON; ``calculator`` adds what its code imports.

    It goes inside the page because PyScript asks its own CDN for Python when it cannot fetch a configuration.
    """
    worker = tomllib.loads((HERE / "pyscript.toml").read_text(encoding="utf-8"))
    root = "../" * path.count("/") or "./"
    plugins = [f"!{name}" for name in PLUGINS]
    worker["interpreter"] = root + worker["interpreter"]
    page: dict[str, object] = {"interpreter": f"{root}assets/runtime/micropython/micropython.mjs", "plugins": plugins}
    if calculator:
        page["files"] = {f"{root}assets/py/{name}": f"./{name}" for name in PAGE_MODULES}
    return {
        "worker": json.dumps(worker),
        "page": json.dumps(page),
        "plugins": json.dumps({"plugins": plugins}),
        "core": core_name(),
    }


def core_name() -> str:
    """Return the name of PyScript's core, which has its content's hash in it."""
    (core,) = RUNTIME["pyscript"][0].glob("core-*.js")
    return core.name


def copy(source: Path, target: Path) -> None:
    """Copy one file, making its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def write(target: Path, text: str) -> None:
    """Write one text file, making its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")


def write_zip(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a zip whose bytes depend only on the names and contents of its files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    target.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    build()
