"""The house of the estimator: imports point one way, and the core touches neither files, page nor terminal."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CALC = Path(__file__).parent.parent / "calc"
MODULES = sorted(CALC.rglob("*.py"))

NETWORK = {"asyncio", "ftplib", "http", "socket", "socketserver", "ssl", "urllib.request", "xmlrpc"}

FLOORS: tuple[tuple[str, ...], ...] = (
    ("units", "errors", "formula", "provenance"),
    ("sources", "dtypes", "architecture", "gpu", "checkpoint"),
    ("layout", "estimate", "inventory", "custom", "json_door", "gguf_mixes"),
    ("safetensors", "adapter", "description", "offload"),
    ("described",),
    (
        *("hf_config", "gguf", "catalog", "quantized", "compare", "tree"),
        *("parameters", "kv_cache", "layer_laws", "activations", "logits", "weights", "recipes", "lora", "parallelism"),
        *("engines", "simple", "allocator", "timeline", "states", "checks", "notes"),
        "compute_buffer",
    ),
    ("inference", "training", "memory", "model_file"),
    ("ladder", "serving"),
    ("fit", "model_sheet", "sheet_json", "local_files"),
    ("calculators",),
    ("decisions", "settings"),
    ("paste",),
    ("es",),
    ("__main__",),
)
"""Parts of the package from the ground up: a part imports from its own floor or from those below."""

FLOOR = {part: level for level, parts in enumerate(FLOORS) for part in parts}


def part_of(path: Path) -> str:
    """The part of the package that a file belongs to (``hf_config/llama.py`` is of ``hf_config``)."""
    first = path.relative_to(CALC).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Full names of everything that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            if node.module == "calc":
                yield from (f"calc.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CALC)))
def test_imports_point_down(path: Path) -> None:
    """No part of the package imports one that is built on it."""
    part = part_of(path)
    if part == "__init__":
        return
    for name in imported(path):
        if name.startswith("calc."):
            other = name.split(".")[1]
            assert FLOOR[other] <= FLOOR[part], f"{part} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CALC)))
def test_the_core_stands_alone(path: Path) -> None:
    """Only the standard library is imported, and nothing of a browser, a template engine or a network."""
    for name in imported(path):
        first = name.split(".")[0]
        assert first == "calc" or first in sys.stdlib_module_names, name
        assert not {name, first} & NETWORK, name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CALC)))
def test_only_the_command_line_speaks_and_reads_files(path: Path) -> None:
    """``print``, ``open``, ``input`` and ``sys`` belong to the command line and to the files that it opens."""
    if part_of(path) in ("__main__", "local_files"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"print", "open", "input", "exec", "eval"}
    assert not {name.split(".")[0] for name in imported(path)} & {"sys", "os", "pathlib", "subprocess", "locale"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CALC)))
def test_functions_and_modules_hold_one_idea(path: Path) -> None:
    """No function is longer than 40 lines without its docstring, and no module longer than 400."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            assert (node.end_lineno or 0) - first.lineno < 40, node.name


def test_spanish_lives_in_one_drawer() -> None:
    """No sentence with Spanish letters stands in code outside ``calc.es``, docstrings apart."""
    for path in MODULES:
        if part_of(path) == "es":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                assert not set(node.value) & set("áéíóúñ¿¡«»ÁÉÍÓÚÑ") or " " not in node.value, f"{path}: {node.value}"
