"""Nothing leaves: the policy of every page, and planted attempts that it stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import render
from playwright.sync_api import Request

from tests.browser.leaks import EVERYWHERE, PAGE
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools.policy import POLICY
from tools.pyscript_core import REPLACED, ChangedUpstream, fitted
from tools.site_server import SiteServer

CORE = "node_modules/@pyscript/core/dist/core-*.js"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteServer]:
    """Another origin, which counts what reaches it."""
    with SiteServer(tmp_path_factory.mktemp("elsewhere")) as server:
        yield server


def reached(server: SiteServer) -> list[str]:
    """Take the addresses that were asked of a server."""
    found = list(server.site.requests)
    server.site.requests.clear()
    return found


@pytest.mark.parametrize("name", render.PAGES)
def test_every_page_states_the_policy_before_anything_else_loads(name: str, dist: Path) -> None:
    """The policy stands in the head before the first link and script, and no page has an inline script or style."""
    html = (dist / render.PAGES[name].path / "index.html").read_text(encoding="utf-8")
    meta = '<meta http-equiv="Content-Security-Policy"'
    assert html.count(meta) == 1
    assert POLICY.replace("'", "&#39;") in html
    assert html.index(meta) < html.index("<link")
    assert html.index(meta) < html.index("<script")
    assert " style=" not in html
    assert "<style" not in html
    assert "<script>" not in html


def test_the_policy_lets_no_text_become_code(calculator: Callable[[str], Visit]) -> None:
    """``eval`` and ``Function`` are refused on the page and in the worker."""
    visit = calculator("gpu")
    visit.allowed = "Content Security Policy|unsafe-eval"
    # Later, on its own: what the driver evaluates is let through.
    attempt = """() => new Promise((done) => setTimeout(() => {
      try { done(new Function('return 1')()); } catch (error) { done(error.name); }
    }))"""
    assert visit.page.evaluate(attempt) == "EvalError"
    assert visit.page.workers[0].evaluate(attempt) == "EvalError"
    visit.faults.clear()


@pytest.mark.parametrize("attempt", PAGE)
def test_no_attempt_from_the_page_reaches_another_origin(
    attempt: str, fresh: Callable[..., Visit], elsewhere: SiteServer
) -> None:
    """What code of the page tries to send elsewhere is stopped before it leaves."""
    visit = fresh("gpu", allowed=".")
    visit.open(wait=False)
    reached(elsewhere)
    visit.page.evaluate(f"(to) => {{ ({PAGE[attempt]})(to); }}", elsewhere.url + "robado")
    visit.page.wait_for_timeout(150)
    visit.faults.clear()
    assert reached(elsewhere) == []


def test_no_attempt_from_the_worker_reaches_another_origin(fresh: Callable[..., Visit], elsewhere: SiteServer) -> None:
    """The worker, which has the visitor's numbers, is under the same policy."""
    visit = fresh("gpu", allowed=".")
    visit.open()
    reached(elsewhere)
    for attempt in EVERYWHERE.values():
        visit.page.workers[0].evaluate(f"(to) => {{ ({attempt})(to); }}", elsewhere.url + "robado")
    visit.page.wait_for_timeout(300)
    visit.faults.clear()
    assert reached(elsewhere) == []


def test_the_attempts_reach_their_aim_where_there_is_no_policy(
    fresh: Callable[..., Visit], elsewhere: SiteServer, tmp_path: Path
) -> None:
    """The attempts are real: from a page without a policy, most of them arrive."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Sin política</title>", encoding="utf-8")
    visit = fresh("gpu", allowed=".")
    with SiteServer(tmp_path) as free:
        visit.page.goto(free.url)
        try_all(visit, elsewhere)
    visit.faults.clear()


def try_all(visit: Visit, elsewhere: SiteServer) -> None:
    """Try every attempt and wait until those that must arrive have arrived."""
    reached(elsewhere)
    wanted = {"fetch", "XMLHttpRequest", "beacon", "image", "frame", "script", "link-rel=preload", "form"}
    arrived: set[str] = set()

    def arrive(names: set[str]) -> bool:
        arrived.update(address.rsplit("/", 1)[-1] for address in reached(elsewhere))
        return names <= arrived

    for name, attempt in sorted(PAGE.items(), key=lambda one: one[0] == "form"):
        if name == "form":  # it leaves the page, and what is under way would be called off
            until(visit.page, lambda: arrive(wanted - {"form"}))
        visit.page.evaluate(f"(to) => {{ ({attempt})(to); }}", f"{elsewhere.url}{name.replace(' ', '-')}")
    until(visit.page, lambda: arrive(wanted))


def test_computing_asks_nobody_anything(calculator: Callable[[str], Visit]) -> None:
    """After the start, no calculation makes a request, on any page."""
    for name in ("gpu", "entrenar", "acumulacion", "inferencia", "lora"):
        visit = calculator(name)
        visit.keep_offline()
        asked: list[str] = []

        def note(request: Request, asked: list[str] = asked) -> None:
            if not request.url.endswith("icon.svg"):  # browsers look for a page's icon when they please
                asked.append(request.url)

        visit.context.on("request", note)
        field = {"entrenar": "activations", "acumulacion": "micro-batch"}.get(name, "context")
        for value in ("1", "2", "16"):
            visit.set(field, value)
            until(visit.page, f"location.hash.includes('{field}={value}') || location.hash === ''")
        visit.wait_for_state("ready")
        assert asked == []


def test_nothing_is_stored_but_what_works_offline(fresh: Callable[..., Visit]) -> None:
    """No cookie, nothing in local or session storage: only the caches of the service worker, under our own name."""
    visit = fresh("gpu")
    visit.open()
    visit.set("context", "4096")
    until(visit.page, "location.hash.includes('context=4096')")
    assert visit.context.cookies() == []
    kept = visit.page.evaluate("[Object.keys(localStorage), Object.keys(sessionStorage)]")
    assert kept == [[], []]
    names = visit.page.evaluate("caches.keys()")
    assert all(name.startswith("calculadora-vram") for name in names), json.dumps(names)


def test_pyscript_is_the_one_that_the_replacement_was_written_for(dist: Path) -> None:
    """Each text that is replaced is there exactly once upstream, and not at all in what is shipped."""
    (source,) = dist.parent.glob(CORE)
    (shipped,) = (dist / "assets/runtime/pyscript").glob("core-*.js")
    upstream, ours = source.read_text(encoding="utf-8"), shipped.read_text(encoding="utf-8")
    assert fitted(upstream) == ours
    for text in REPLACED:
        assert text not in ours
    with pytest.raises(ChangedUpstream):
        fitted(upstream.replace("registerJsModule", "registerModule"))
