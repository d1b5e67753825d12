"""Finding the other engines says what to do where they are not, instead of breaking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.engines import Missing, ensure, mini_browser, program, screen


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A path with nothing on it but what a test puts there, for root."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FIREFOX", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def put(folder: Path, name: str, lines: str) -> Path:
    """Write a program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_without_apt_the_packages_are_named(bare: Path) -> None:
    """Where nothing can be installed, the reason names what to install."""
    with pytest.raises(Missing, match=r"firefox: install firefox-esr to test in it$"):
        ensure("firefox")


def test_root_without_a_network_is_told_what_apt_said(bare: Path) -> None:
    """A failing installation is a reason to skip, with its last line, and no traceback of a process."""
    put(bare, "apt-get", "echo 'first line' >&2; echo 'E: no network' >&2; exit 100")
    with pytest.raises(Missing, match=r"install firefox-esr .*apt-get update failed here: E: no network"):
        ensure("firefox")


def test_packages_that_bring_no_program_are_a_reason_too(bare: Path) -> None:
    """An installation that works and leaves nothing on the path does not go on to a crash."""
    put(bare, "apt-get", "exit 0")
    with pytest.raises(Missing, match="still not on the path"):
        ensure("firefox")


def test_a_variable_names_the_program(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FIREFOX stands before the path, and one that names nothing is said so."""
    own = put(bare, "mine", "exit 0")
    monkeypatch.setenv("FIREFOX", str(own))
    assert program("firefox-esr") == str(own)
    ensure("firefox")
    monkeypatch.setenv("FIREFOX", str(bare / "nothing"))
    with pytest.raises(Missing, match="FIREFOX names"):
        ensure("firefox")


def test_the_newest_browser_of_webkit_is_taken_or_its_absence_said(tmp_path: Path) -> None:
    """No match is a reason with the package to install; of two, the later series."""
    with pytest.raises(Missing, match="webkit2gtk-driver"):
        mini_browser(tmp_path)
    for series in ("4.0", "4.1"):
        folder = tmp_path / f"x86_64-linux-gnu/webkit2gtk-{series}"
        folder.mkdir(parents=True)
        (folder / "MiniBrowser").touch()
    assert mini_browser(tmp_path).parent.name == "webkit2gtk-4.1"


def test_two_screens_at_once_are_two() -> None:
    """Xvfb itself chooses the number, so that two runs never meet on one."""
    if not program("Xvfb"):
        pytest.skip("Xvfb is not installed")
    with screen() as one, screen() as other:
        assert one != other
