"""Run Lighthouse on every page of the built site, as GitHub Pages would serve it, and say what it finds.

``python -m tools.lighthouse`` prints the four categories of each page, medians of ``--runs``, with the load of the
machine, and writes ``build/lighthouse.json``. Lighthouse comes from the npm registry when it is asked for: with what
it needs it weighs 111 MB, more than all else that the project installs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import render
from playwright.sync_api import sync_playwright

from tools.chromium import find
from tools.site_server import DIST, SiteServer

VERSION = "12.2.3"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
FLAGS = "--no-sandbox --disable-gpu --headless=new"
OUTPUT = DIST.parent / "build/lighthouse.json"
PREFIX = "/usuario/calculadora/"
LIMIT_S = 300


class Failed(RuntimeError):
    """Lighthouse gave no report; the message is what it said."""


def report(url: str, chromium: str) -> dict[str, Any]:
    """Return what Lighthouse says of one address: its whole report.

    Raises:
        Failed: if there is none.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "report.json"
        command = ["npx", "--yes", f"lighthouse@{VERSION}", url, "--quiet", "--output=json", f"--output-path={path}"]
        command += [
            f"--chrome-flags={FLAGS}",
            f"--only-categories={','.join(CATEGORIES)}",
            "--no-enable-error-reporting",
        ]
        environment = {**os.environ, "CHROME_PATH": chromium}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode or not path.exists():
            raise Failed(f"{url}: {done.stderr.strip()[-1000:] or done.returncode}")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def scores(found: dict[str, Any]) -> dict[str, int | None]:
    """Return the four categories of a report, of 100; ``None`` where Lighthouse could not tell.

    >>> scores({"categories": {"seo": {"score": 0.92}, "performance": {"score": None}}})
    {'performance': None, 'seo': 92}
    """
    given = found["categories"]
    points = {name: given[name]["score"] for name in CATEGORIES if name in given}
    return {name: None if value is None else round(value * 100) for name, value in points.items()}


def failing(found: dict[str, Any]) -> list[str]:
    """Return the audits that take points away, by category, except those of speed, which vary."""
    return sorted(
        f"{name}: {one['id']}"
        for name in CATEGORIES[1:]
        for one in found["categories"].get(name, {}).get("auditRefs", [])
        if one["weight"] and (found["audits"][one["id"]]["score"] or 0) < 1
        if found["audits"][one["id"]]["scoreDisplayMode"] not in {"notApplicable", "manual", "informative"}
    )


def middle(values: list[int | None]) -> int | None:
    """Return the median, or ``None`` if a run could not tell.

    >>> middle([98, 100, 99]), middle([98, None])
    (99, None)
    """
    known = [value for value in values if value is not None]
    return round(statistics.median(known)) if len(known) == len(values) else None


def measure(url: str, chromium: str, runs: int) -> dict[str, Any]:
    """Return the medians of a page and the audits that fail in its last run."""
    reports = [report(url, chromium) for _ in range(runs)]
    all_scores = [scores(one) for one in reports]
    return {
        "scores": {name: middle([one.get(name) for one in all_scores]) for name in CATEGORIES},
        "runs": all_scores,
        "failing": failing(reports[-1]),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="Pasa Lighthouse por cada página del sitio construido.")
    parser.add_argument("--runs", type=int, default=3, help="veces por página (3 si no se indica)")
    parser.add_argument("--pages", nargs="*", default=list(render.PAGES), help="páginas (todas si no se indica)")
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        chromium = find(playwright)
    results: dict[str, Any] = {"lighthouse": VERSION, "load_before": os.getloadavg(), "pages": {}}
    print(f"Lighthouse {VERSION}, medians of {asked.runs}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'page':<14}" + "".join(f"{name:>16}" for name in CATEGORIES))
    OUTPUT.parent.mkdir(exist_ok=True)
    with SiteServer(DIST, prefix=PREFIX) as server:
        for name in asked.pages:
            one = measure(server.url + render.PAGES[name].path, chromium, asked.runs)
            results["pages"][name] = one
            given = [one["scores"][category] for category in CATEGORIES]
            print(f"{name:<14}" + "".join(f"{'?' if points is None else points:>16}" for points in given), flush=True)
            for line in one["failing"]:
                print(f"    {line}")
            results["load_after"] = os.getloadavg()
            OUTPUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
