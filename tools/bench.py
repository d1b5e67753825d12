"""Measure what a visitor feels, in one run: the start, the answer to an input, the bytes; and the estimator itself.

Prints a table and writes ``build/bench.json``. Times are medians over fresh browser profiles; the bare
``loadPyodide()`` that the start is compared with runs in the same browser, from a like server, in turns with the site.
A start is cold in a new profile, and warm on the next visit of the same one, which the service worker answers.
"""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tools.chromium import launch
from tools.rate import rate
from tools.site_server import DIST, PACKED_ALREADY, SiteServer, compressed

ROOT = DIST.parent
BARE = ROOT / "build/bare"
OUTPUT = ROOT / "build/bench.json"
PLAIN = "assets/runtime/pyodide/python_stdlib.zip"
"""Only asked for when our own library fails."""
STARTS = 7
SLOW = {"offline": False, "latency": 80, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
"""10 Mbit/s with 80 ms of delay."""
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
  const packed = (await fetch("app.pack")).body.pipeThrough(new DecompressionStream("gzip"));
  const app = await new Response(packed).arrayBuffer();
  pyodide.FS.writeFile("/home/pyodide/app.zip", new Uint8Array(app));
  pyodide.runPython("import sys; sys.path.insert(0, '/home/pyodide/app.zip')");
  pyodide.runPython(text);
  return ["models_ms", "matrix_ms", "rate"].map((name) => pyodide.runPython(name + "()"));
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
        visits, bare_starts = [], []
        for _ in range(STARTS):
            bare_starts.append(start_bare(browser, bare.url))
            visits.append(visit(browser, site))
        times = sorted(input_times(browser, site.url))
        slow = statistics.median(first_paint(browser, site.url) for _ in range(STARTS))
        models, matrix, pyodide_rate = in_pyodide(browser, bare.url)
        browser.close()
    middle = {name: statistics.median(one[name] for one in visits) for name in visits[0]}
    bare_ms = statistics.median(bare_starts)
    report(
        {
            "first_result_ratio": middle["first_result_ms"] / bare_ms,
            "bare_load_pyodide_ms": bare_ms,
            **middle,
            "input_to_screen_p50_ms": quantile(times, 0.50),
            "input_to_screen_p95_ms": quantile(times, 0.95),
            "answer_on_screen_at_10_mbit_ms": slow,
            "matrix_40_by_40_ms_pyodide": matrix,
            "models_that_fit_ms_pyodide": models,
            "estimates_per_second_pyodide": pyodide_rate,
            "estimates_per_second_cpython": rate(),
            **{f"bytes of {name}": size for name, size in largest_files().items()},
        }
    )


def largest_files() -> dict[str, int]:
    """Return the bytes that travel of the largest files of the first visit."""
    names = [path for path in DIST.rglob("*") if path.is_file() and path.suffix != ".html" and path != DIST / PLAIN]
    sizes = {str(path.relative_to(DIST)): transferred(path) for path in names}
    return dict(sorted(sizes.items(), key=lambda one: -one[1])[:7])


def transferred(path: Path) -> int:
    """Return the bytes of a file as the server sends it."""
    return path.stat().st_size if path.suffix in PACKED_ALREADY else len(compressed(path, path.stat().st_mtime_ns))


def prepare_bare() -> None:
    """Lay out Pyodide as its package ships it, with a page that only loads it."""
    shutil.rmtree(BARE, ignore_errors=True)
    shutil.copytree(ROOT / "node_modules/pyodide", BARE)
    shutil.copyfile(DIST / "assets/app.pack", BARE / "app.pack")
    (BARE / "index.html").write_text(BARE_PAGE, encoding="utf-8")


def start_bare(browser: Browser, url: str) -> float:
    """Return how long a page that only loads Pyodide takes, in ms from navigation."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    wait_for(page, "window.bare")
    taken: float = page.evaluate("window.bare")
    context.close()
    return taken


def visit(browser: Browser, site: SiteServer) -> dict[str, float]:
    """Return ms and bytes of a first visit, and of a second one in the same profile."""
    context = browser.new_context()
    before = site.site.bytes_sent
    cold, blocked = start_site(context, site.url)
    at_first = site.site.bytes_sent - before
    page = context.pages[0]
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    kept = site.site.bytes_sent - before
    warm, _ = start_site(context, site.url)
    found = {
        "first_result_ms": cold,
        "first_result_warm_ms": warm,
        "main_thread_blocked_ms": blocked,
        "first_visit_bytes": at_first,
        "first_visit_bytes_with_what_is_kept_offline": kept,
        "second_visit_bytes": site.site.bytes_sent - before - kept,
    }
    context.close()
    return found


def start_site(context: BrowserContext, url: str) -> tuple[float, float]:
    """Return ms from navigation to the first live result, and the sum of the long tasks of the page's thread."""
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    wait_for(page, "window.firstResult")
    page.wait_for_timeout(300)
    seen: tuple[float, float] = tuple(
        page.evaluate("[window.firstResult, window.longTasks.reduce((sum, one) => sum + one, 0)]")
    )
    return seen


def first_paint(browser: Browser, url: str) -> float:
    """Return ms from navigation until the answer that the page was built with is painted, on a slow network."""
    context = browser.new_context()
    page = context.new_page()
    context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    page.goto(url, wait_until="commit")
    painted = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    wait_for(page, f"document.querySelector('.headline__number') && {painted}")
    taken: float = page.evaluate(painted)
    context.close()
    return taken


def wait_for(page: Page, truth: str) -> None:
    """Wait until an expression is true, by asking: the policy of the page forbids to leave the question there."""
    for _ in range(3000):
        if page.evaluate(truth):
            return
        page.wait_for_timeout(20)
    raise TimeoutError(truth)


def input_times(browser: Browser, url: str) -> list[float]:
    """Return ms from an input event to the frame after its answer, for many inputs on a page that is ready."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    wait_for(page, "window.firstResult")
    page.evaluate(TYPE, 5)
    times: list[float] = page.evaluate(TYPE, INPUTS)
    context.close()
    return times


def in_pyodide(browser: Browser, url: str) -> list[float]:
    """Return what ``tools/rate.py`` measures, of the same code in Pyodide, in the same browser."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    wait_for(page, "window.bare")
    result: list[float] = page.evaluate(RATE, (ROOT / "tools/rate.py").read_text(encoding="utf-8"))
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
        print(f"{name:48} {value}")
    output.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
