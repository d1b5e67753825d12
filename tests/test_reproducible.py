"""The same sources give the same site, to the byte, wherever and whenever it is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = ("dist", "build", "node_modules", ".venv", ".git", ".*_cache", "__pycache__", ".hypothesis", "shared")


def built(folder: Path, *, mask: int, **environment: str) -> dict[str, bytes]:
    """Build a copy of the sources in ``folder`` and return the files of its site."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    subprocess.run(
        [sys.executable, "build.py"],
        check=True,
        cwd=folder,
        umask=mask,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    dist = folder / "dist"
    return {path.relative_to(dist).as_posix(): path.read_bytes() for path in dist.rglob("*") if path.is_file()}


def test_two_builds_are_the_same_to_the_byte(tmp_path: Path) -> None:
    """Another folder, another mask, another clock, another language and another hash seed change nothing."""
    one = built(tmp_path / "one", mask=0o022, TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="1")
    two = built(tmp_path / "a b/dos", mask=0o077, TZ="Asia/Kathmandu", LC_ALL="C", PYTHONHASHSEED="2")
    assert sorted(one) == sorted(two)
    assert [name for name in one if one[name] != two[name]] == []
    assert "calculadora-vram.html" in one


def test_the_sums_are_those_of_the_files(tmp_path: Path) -> None:
    """``sha256sum -c`` agrees with the list in the site, and the list has every file but itself."""
    files = built(tmp_path / "one", mask=0o022)
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], check=True, cwd=tmp_path / "one/dist")
    listed = [line.split("  ", 1)[1] for line in files["SHA256SUMS"].decode().splitlines()]
    assert listed == sorted(set(files) - {"SHA256SUMS"})
