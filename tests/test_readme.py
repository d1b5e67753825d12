"""The README: its commands and its example run, and the files that it names exist."""

import doctest
import re
import shlex

import pytest

from calc.__main__ import main
from tests.texts import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_library_example_of_the_readme_runs_as_shown() -> None:
    """What the README shows in Python gives what it shows."""
    test = doctest.DocTestParser().get_doctest(README, {}, "README.md", "README.md", 0)
    assert len(test.examples) >= 4
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("line", re.findall(r"^python -m calc (.+)$", README, flags=re.MULTILINE))
def test_the_commands_of_the_readme_run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the README answers and exits with 0."""
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_the_files_that_the_readme_names_exist() -> None:
    """The README names no file or folder that the repository lacks."""
    named = re.findall(r"`((?:calc|tools|tests|assets|\.github)/[\w./]+|build\.py)`", README)
    assert [path for path in named if not (ROOT / path).exists()] == []
    tree = re.findall(r"^(\w+(?:/|\.py)) ", README, flags=re.MULTILINE)
    assert len(tree) >= 5
    assert [path for path in tree if not (ROOT / path).exists()] == []
