"""The built site is whole: nothing points outside, nothing is missing, the licences are there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import render

import build

ROOT = Path(build.__file__).parent
STDLIB_NAMES = re.compile(r"[a-zA-Z_][\w.]*")


@pytest.mark.parametrize("path", sorted({page.path for page in render.PAGES.values()}))
def test_the_configuration_in_a_page_leads_to_the_root(path: str) -> None:
    """Whatever the depth of a page, its PyScript configuration names the same files at the root of the site."""
    worker = json.loads(build.pyscript(path)["worker"])
    up = "../" * path.count("/") or "./"
    declared = tomllib.loads((ROOT / "pyscript.toml").read_text(encoding="utf-8"))
    assert worker["interpreter"] == up + declared["interpreter"]
    assert "://" not in json.dumps(build.pyscript(path))


def test_the_app_archive_has_all_that_the_worker_imports() -> None:
    """Our own code, the live templates and the pure Python of jinja2 and MarkupSafe travel in one archive."""
    names = {name for name, _ in build.app_files()}
    assert {"render.py", "view.py", "calc/__init__.py", "calc/catalog/models.json"} <= names
    assert {"jinja2/__init__.py", "markupsafe/__init__.py", "markupsafe/_native.py"} <= names
    assert not names & {"page.py", "worker.py", "calc/__main__.py"}
    assert not [name for name in names if name.endswith((".so", ".pyc", ".pyi", ".c"))]
    assert len([name for name in names if name.startswith("templates/tmpl_")]) >= len(render.LIVE)


def test_the_list_of_the_library_names_modules() -> None:
    """``tools/library.txt`` is a sorted list of module names without repetitions."""
    names = (ROOT / "tools/library.txt").read_text(encoding="utf-8").split()
    assert names == sorted(set(names))
    assert all(STDLIB_NAMES.fullmatch(name) for name in names)


def test_no_lock_or_source_of_ours_holds_a_registry_address() -> None:
    """The lock file says which versions, not from where."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []


def test_every_shipped_program_has_its_licence_listed() -> None:
    """Each licence that the build writes is named in the list that goes with them."""
    listed = (ROOT / "licencias/LEEME.txt").read_text(encoding="utf-8")
    for name in (*build.LICENCES, "jinja2", "markupsafe"):
        assert f"{name}.txt" in listed


def test_the_pinned_versions_agree() -> None:
    """What package.json asks for is what the lock holds, to the exact version."""
    asked = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    for name, version in {**asked["dependencies"], **asked["devDependencies"]}.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    pins = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    assert all("==" in line for line in pins if line and not line.startswith("#"))
