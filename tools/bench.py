"""Measure what a visitor feels, in one run: a cold start, the answer to an input, the bytes; and the estimator itself.

Prints a table and writes ``build/bench.json``. Times are medians over fresh browser profiles; the bare
``loadPyodide()`` that the start is compared with runs in the same browser, from a like server, in turns with the site.
"""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tools.chromium import launch
from tools.rate import rate
from tools.site_server import DIST, SiteServer

ROOT = DIST.parent
BARE = ROOT / "build/bare"
OUTPUT = ROOT / "build/bench.json"
STARTS = 5
INPUTS = 60

BARE_PAGE = """<!doctype html><title>bare</title><script type="module">
import { loadPyodide } from "./pyodide.mjs";
window.pyodide = await loadPyodide();
window.bare = performance.now();
</script>"""

WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask", buffered: true });
new MutationObserver(() => {
  if (document.documentElement?.dataset.state === "ready") window.firstResult ??= performance.now();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-state"] });
"""

TYPE = """async (count) => {
  const field = document.querySelector("form [name=context]");
  const answer = document.querySelector("[data-region=answer]");
  const times = [];
  for (let i = 0; i < count; i++) {
    const changed = new Promise((done) => {
      const observer = new MutationObserver(() => { observer.disconnect(); done(); });
      observer.observe(answer, { childList: true, subtree: true, characterData: true });
    });
    field.value = String(2048 + 977 * i);
    const start = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await changed;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 40));
  }
  return times;
}"""

RATE = """async (text) => {
  const app = await (await fetch("app.zip")).arrayBuffer();
  pyodide.FS.writeFile("/home/pyodide/app.zip", new Uint8Array(app));
  pyodide.runPython("import sys; sys.path.insert(0, '/home/pyodide/app.zip')");
  return pyodide.runPython(text + "\\nrate()");
}"""


def main() -> None:
    """Measure, print and write."""
    prepare_bare()
    with (
        SiteServer(DIST) as site,
        SiteServer(BARE) as bare,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        bare_starts, site_starts, blocked, sent = [], [], [], []
        for _ in range(STARTS):
            bare_starts.append(start_bare(browser, bare.url))
            before = site.site.bytes_sent
            first, long_tasks = start_site(browser, site.url)
            site_starts.append(first)
            blocked.append(long_tasks)
            sent.append(site.site.bytes_sent - before)
        times = sorted(input_times(browser, site.url))
        pyodide_rate = rate_in_pyodide(browser, bare.url)
        browser.close()
    report(
        {
            "first_result_ratio": statistics.median(site_starts) / statistics.median(bare_starts),
            "first_result_ms": statistics.median(site_starts),
            "bare_load_pyodide_ms": statistics.median(bare_starts),
            "main_thread_blocked_ms": statistics.median(blocked),
            "input_to_screen_p50_ms": quantile(times, 0.50),
            "input_to_screen_p95_ms": quantile(times, 0.95),
            "first_visit_bytes": int(statistics.median(sent)),
            "estimates_per_second_pyodide": pyodide_rate,
            "estimates_per_second_cpython": rate(),
        }
    )


def prepare_bare() -> None:
    """Lay out Pyodide as its package ships it, with a page that only loads it."""
    shutil.rmtree(BARE, ignore_errors=True)
    shutil.copytree(ROOT / "node_modules/pyodide", BARE)
    shutil.copyfile(DIST / "assets/app.zip", BARE / "app.zip")
    (BARE / "index.html").write_text(BARE_PAGE, encoding="utf-8")


def start_bare(browser: Browser, url: str) -> float:
    """Return how long a page that only loads Pyodide takes, in ms from navigation."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("window.bare", timeout=60_000)
    taken: float = page.evaluate("window.bare")
    context.close()
    return taken


def start_site(browser: Browser, url: str) -> tuple[float, float]:
    """Return ms from navigation to the first live result, and the sum of the long tasks of the page's thread."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_function("window.firstResult", timeout=60_000)
    page.wait_for_timeout(300)
    seen: tuple[float, float] = tuple(
        page.evaluate("[window.firstResult, window.longTasks.reduce((sum, one) => sum + one, 0)]")
    )
    context.close()
    return seen


def input_times(browser: Browser, url: str) -> list[float]:
    """Return ms from an input event to the frame after its answer, for many inputs on a page that is ready."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_function("window.firstResult", timeout=60_000)
    page.evaluate(TYPE, 5)
    times: list[float] = page.evaluate(TYPE, INPUTS)
    context.close()
    return times


def rate_in_pyodide(browser: Browser, url: str) -> float:
    """Return the estimates per second of the same code in Pyodide, in the same browser."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("window.bare", timeout=60_000)
    result: float = page.evaluate(RATE, (ROOT / "tools/rate.py").read_text(encoding="utf-8"))
    context.close()
    return result


def quantile(ordered: list[float], share: float) -> float:
    """Return the value below which ``share`` of an ordered list lies (nearest rank).

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0, 3.0, 4.0], 0.95)
    (2.0, 4.0)
    """
    rank = -(-int(share * 1000) * len(ordered) // 1000)
    return ordered[max(rank, 1) - 1]


def report(figures: dict[str, Any], output: Path = OUTPUT) -> None:
    """Print the figures and write them as JSON."""
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()}
    for name, value in rounded.items():
        print(f"{name:32} {value}")
    output.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
