"""Wait without evaluating text inside the page, which its policy forbids."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Error, Page

STEP_MS = 50
STEPS = 300


def until(page: Page, truth: str | Callable[[], bool]) -> None:
    """Wait until a JavaScript expression, or a function here, is true.

    Raises:
        AssertionError: if it does not become true.
    """
    for _ in range(STEPS):
        try:
            if page.evaluate(truth) if isinstance(truth, str) else truth():
                return
        except Error as error:
            if "context was destroyed" not in error.message:  # the page is just being replaced: ask the next one
                raise
        page.wait_for_timeout(STEP_MS)
    raise AssertionError(f"it never came true: {truth}")


def settle(page: Page) -> None:
    """Let the timers that the page has already set for "at once", and those that these set, run."""
    page.evaluate("new Promise((done) => setTimeout(() => setTimeout(done)))")
