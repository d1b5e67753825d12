"""The data classes that the browser gets, written out while building, are those that ``dataclasses`` makes."""

from __future__ import annotations

import dataclasses
import inspect
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tools.expanded import SUPPORT, SUPPORT_TEXT, bases, expanded

ROOT = Path(__file__).parent.parent
SOURCES = [*sorted((ROOT / "calc").rglob("*.py")), *sorted((ROOT / "assets/py").glob("*.py"))]
BROWSER_ONLY = {"page.py", "combobox.py", "files.py", "worker.py", "__main__.py"}


@pytest.fixture(autouse=True)
def support(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that written classes import."""
    module = types.ModuleType(SUPPORT)
    exec(SUPPORT_TEXT, module.__dict__)
    monkeypatch.setitem(sys.modules, SUPPORT, module)


def run(source: str, name: str = "a_module_of_the_test") -> dict[str, Any]:
    """Return the names of a module with this source."""
    module = types.ModuleType(name)
    module.__file__ = name
    sys.modules[name] = module
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def sample(kind: type, seed: int) -> Any:
    """Return an instance made without looking at its values, or ``None`` where it looks at them itself."""
    values = {field.name: (field.name, seed) for field in dataclasses.fields(kind)}
    try:
        return kind(**values)
    except (TypeError, ValueError, AttributeError):
        return None


def classes(names: dict[str, Any]) -> dict[str, type]:
    """Return the data classes that a module defines."""
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == names["__name__"]
    }


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.name not in BROWSER_ONLY and "@dataclass" in path.read_text(encoding="utf-8")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_class_is_as_dataclasses_makes_it(path: Path) -> None:
    """Signature, fields, equality, hash, text, ``replace`` and refusal to change are the same."""
    source = path.read_text(encoding="utf-8")
    plain, written = classes(run(source)), classes(run(expanded(source)))
    assert plain.keys() == written.keys()
    assert plain
    for name, kind in plain.items():
        other = written[name]
        assert [field.name for field in dataclasses.fields(kind)] == [f.name for f in dataclasses.fields(other)]
        assert list(inspect.signature(kind).parameters) == list(inspect.signature(other).parameters)
        kinds = [(p.kind, p.default is p.empty) for p in inspect.signature(kind).parameters.values()]
        assert kinds == [(p.kind, p.default is p.empty) for p in inspect.signature(other).parameters.values()]
        assert (kind.__slots__, kind.__match_args__) == (other.__slots__, other.__match_args__)  # type: ignore[attr-defined]
        first, second = sample(kind, 1), sample(other, 1)
        if first is None:
            continue
        assert repr(first) == repr(second)
        if kind.__hash__ is None:  # it can be changed, and is left alone
            assert other.__hash__ is None
            continue
        assert hash(first) == hash(second)
        assert second == sample(other, 1)
        assert (second == sample(other, 2)) == (first == sample(kind, 2))
        assert second != first
        for field in dataclasses.fields(kind):
            changed = {field.name: "another"}
            assert repr(dataclasses.replace(first, **changed)) == repr(dataclasses.replace(second, **changed))
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(second, field.name, 0)
            with pytest.raises(dataclasses.FrozenInstanceError):
                delattr(second, field.name)


def test_the_package_answers_the_same_with_its_classes_written_out(tmp_path: Path) -> None:
    """A training estimate, LoRA and a model file: the command line prints the same to the byte."""
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "calc").rglob("*.py")}
    keep = set[str]().union(*map(bases, sources.values()))
    shutil.copytree(ROOT / "calc", tmp_path / "calc")
    (tmp_path / f"{SUPPORT}.py").write_text(SUPPORT_TEXT, encoding="utf-8")
    for path, source in sources.items():
        (tmp_path / path.relative_to(ROOT)).write_text(expanded(source, keep), encoding="utf-8")
    assert "_records" in (tmp_path / "calc/estimate.py").read_text(encoding="utf-8")
    for arguments in (
        ("gpu", "--workload", "training"),
        ("lora", "--rank", "8"),
        ("inferencia", "--engine", "llama.cpp"),
    ):
        command = [sys.executable, "-m", "calc", *arguments, "--json"]
        plain, written = (
            subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout for folder in (ROOT, tmp_path)
        )
        assert plain == written


SOURCE = """
from dataclasses import dataclass, field

@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    size: int
    names: list[str] = field(default_factory=list)
    more: int = 3

    def __post_init__(self):
        object.__setattr__(self, "more", self.more + 1)

    @property
    def double(self):
        return 2 * self.size

@dataclass
class Open:
    size: int = 1

@dataclass(frozen=True, slots=True)
class Based(Exception):
    size: int = 1
"""


def test_defaults_factories_and_own_methods_stay() -> None:
    """A default is used, a factory is called for each, ``__post_init__`` runs, properties and methods are there."""
    kind = run(expanded(SOURCE))["One"]
    first, second = kind(size=2), kind(size=2)
    assert (first.more, first.double, first == second) == (4, 4, True)
    assert first.names is not second.names
    with pytest.raises(TypeError):
        kind(2)
    with pytest.raises(TypeError):
        kind()


def test_other_kinds_are_left_alone() -> None:
    """What is not frozen, or has a base, is made by ``dataclasses`` as before."""
    text = expanded(SOURCE)
    assert text.count("@dataclass") == 2
    names = run(text)
    assert names["Open"](5).size == 5
    assert names["Based"](5).size == 5
    assert expanded("import this_is_left_as_it_is  # so") == "import this_is_left_as_it_is  # so"
