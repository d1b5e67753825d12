"""One visit to one page: drives its form as a person does, reads what is on the screen, remembers what went wrong."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import render
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from tests.browser.waiting import settle, until

PATIENCE_MS = 15_000
START_MS = 60_000
SETTLE_S = 10.0

READ = """() => {
  const text = (selector) => (document.querySelector(selector)?.textContent ?? "").replace(/\\s+/g, " ").trim();
  const parts = [...document.querySelectorAll('[data-region=breakdown] details[data-key]')].map((d) => {
    const bytes = [...d.querySelectorAll('.formula')].pop().textContent.match(/([\\d\\u202f]+)\\s*bytes/);
    return [d.dataset.key, bytes[1].replace(/\\u202f/g, '')];
  });
  const gpus = [...document.querySelectorAll('[data-region=gpus] tbody tr')].map((row) => [
    row.querySelector('th span').firstChild.textContent.trim(),
    row.querySelector('.icon').classList[1].replace('icon--', ''),
    row.querySelector('td:last-child').firstChild.textContent.trim(),
  ]);
  return {parts, gpus, headline: text('.headline__number'), unit: text('.headline__unit'), second: text('.second'),
          stale: document.querySelector('[data-region=answer]').hasAttribute('data-stale'),
          state: document.querySelector('html[data-partial]') ? 'partial' : document.documentElement.dataset.state};
}"""


REPORT = """addEventListener('securitypolicyviolation', (event) =>
  violated(`${event.effectiveDirective} ${event.blockedURI}`));"""
"""Tell what the policy of a page stops, which is never anything that we ask for."""

RECORD = """() => {
  self.violations = [];
  addEventListener('securitypolicyviolation', (event) =>
    self.violations.push(`${event.effectiveDirective} ${event.blockedURI}`));
}"""
"""The same in a worker, which cannot call the test: it keeps them until it is asked."""


class Visit:
    """A page of the site in a profile of its own."""

    def __init__(self, browser: Browser, site: str, name: str, *, allowed: str = "", **context: Any) -> None:
        """Prepare a page; console messages that match ``allowed`` are no fault."""
        self.site, self.name, self.allowed = site, name, allowed
        self.url = site + render.PAGES[name].path
        self.origin = site[: site.index("/", len("http://"))]
        self.faults: list[str] = []
        self.context = browser.new_context(locale="es-ES", **context)
        self.context.expose_binding("violated", lambda _, what: self._violated(what))
        self.context.add_init_script(REPORT)
        self.violations: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self._fault(f"exception: {error}"))
        self.context.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning", "assert"}:
            self._fault(f"console {message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.origin + "/", f"blob:{self.origin}/", "data:")):
            self.faults.append(f"request to another origin: {request.url}")

    def _violated(self, what: str) -> None:
        self.violations.append(what)
        self._fault(f"stopped by the policy: {what}")

    def ask_workers(self) -> None:
        """Note what the policy has stopped in the workers of the page."""
        for worker in self.page.workers:
            for what in worker.evaluate("() => (self.violations ?? []).splice(0)"):
                self._violated(what)

    def _fault(self, text: str) -> None:
        if not self.allowed or not re.search(self.allowed, text):
            self.faults.append(text)

    def check(self) -> None:
        """Fail if anything was logged as an error, raised, stopped by the policy, or asked of another origin."""
        if not self.page.is_closed():
            self.ask_workers()
        faults, self.faults = self.faults, []
        assert not faults, "\n".join(faults)

    def forgive(self) -> None:
        """Forget what went wrong so far, because the test did it on purpose."""
        self.ask_workers()
        self.faults, self.violations = [], []

    def close(self) -> None:
        """Forget the profile."""
        self.context.close()

    def open(self, fragment: str = "", *, wait: bool = True) -> None:
        """Load the page and, unless told otherwise, wait until it computes."""
        self.page.goto(self.url + (f"#{fragment}" if fragment else ""), wait_until="domcontentloaded")
        if wait:
            self.wait_for_state("ready")
            for worker in self.page.workers:
                worker.evaluate(RECORD)

    def wait_for_state(self, name: str) -> None:
        """Wait until the page is in a state."""
        self.page.wait_for_selector(f"html[data-state={name}]:not([data-partial])", state="attached", timeout=START_MS)

    def keep_offline(self) -> None:
        """Wait until the service worker has kept the whole site: it makes no request after that."""
        self.page.evaluate("navigator.serviceWorker.ready.then(() => null)")

    def reset(self) -> None:
        """Put every field back to its initial value and show all fields."""
        self.page.evaluate("document.querySelectorAll('details.more').forEach((d) => (d.open = true))")
        self.page.evaluate("document.querySelector('form[data-calculator]').reset()")
        settle(self.page)  # the form asks, and the list of models follows, a moment after the reset itself
        until(self.page, "location.hash === '' && !document.documentElement.matches('[data-partial]')")

    def set(self, name: str, value: str) -> None:
        """Give a field a value, as a person would."""
        control = self.page.locator(f'form [name="{name}"]')
        kind = control.first.evaluate("(e) => e.type")
        if kind == "radio":
            self.page.locator(f'form label:has(input[name="{name}"][value="{value}"])').click()
        elif kind == "select-one":
            control.select_option(value)
        else:
            control.fill(value)

    def set_all(self, inputs: dict[str, str]) -> None:
        """Give several fields their values, in order."""
        for name, value in inputs.items():
            self.set(name, value)

    def read(self) -> dict[str, Any]:
        """Return what the result on the screen says."""
        shown: dict[str, Any] = self.page.evaluate(READ)
        shown["parts"] = [(name, int(digits)) for name, digits in shown["parts"]]
        return shown

    def wait_for_parts(self, expected: list[tuple[str, int]]) -> dict[str, Any]:
        """Return the result once its components are the expected ones, or what there is after a while."""
        limit = time.monotonic() + SETTLE_S
        shown = self.read()
        while (shown["parts"] != expected or shown["stale"] or shown["state"] != "ready") and time.monotonic() < limit:
            time.sleep(0.02)
            shown = self.read()
        return shown

    def ask_worker(self, inputs: dict[str, str]) -> dict[str, Any]:
        """Ask the worker itself, past the form, and return its answer with the rest of it."""
        question = json.dumps({"calculator": self.name, "inputs": inputs})
        first, *rest = self.page.evaluate(
            """async (q) => {
              const { estimate, rest } = document.querySelector('script[name=estimador]').xworker.sync;
              const parts = [await estimate(q)];
              for (let stage = 0, more = true; more; stage++) {
                parts.push(await rest(q, stage));
                more = JSON.parse(parts.at(-1)).more;
              }
              return parts;
            }""",
            question,
        )
        answer: dict[str, Any] = json.loads(first)
        for stage in rest:
            answer["html"] |= json.loads(stage)["html"]
        return answer

    def error_of(self, name: str) -> str:
        """Return the message shown at a field, empty if there is none."""
        slot = self.page.locator(f'[data-field="{name}"] [data-error]')
        return (slot.text_content() or "") if slot.is_visible() else ""
