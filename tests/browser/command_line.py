"""What the command line answers, to compare the page with."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tools.site_server import DIST


def command_line(calculator: str, inputs: dict[str, str]) -> dict[str, Any]:
    """Run ``python -m calc CALCULATOR --name value … --json`` and return what it prints."""
    flags = [word for name, value in inputs.items() for word in (f"--{name}", value)]
    command = [sys.executable, "-m", "calc", calculator, *flags, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, cwd=DIST.parent, encoding="utf-8")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def parts(answer: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the components of an answer as pairs of name and bytes."""
    return [(one["name"], one["bytes"]) for one in answer["components"]]
