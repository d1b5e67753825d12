"""One visit, and the site works without a network; no accident leaves half a version or loses what was typed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import render
from playwright.sync_api import Browser

from tests.browser.command_line import command_line, parts
from tests.browser.outage import MARK, FrailServer, next_version
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tools import offline
from tools.chromium import ARGUMENTS, installed

WASM = "assets/runtime/pyodide/pyodide.asm.wasm"
PYTHON = "(root) => fetch(root + 'assets/py/worker.py').then((response) => response.text())"
REGISTRATION = "navigator.serviceWorker.getRegistration()"
ANNOUNCED = "[data-update]:not([hidden])"


@pytest.fixture
def server(dist: Path) -> Iterator[FrailServer]:
    """A server of the built site that can die."""
    with FrailServer(dist) as running:
        yield running


@pytest.fixture(scope="session")
def second(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version of the site."""
    return next_version(dist, tmp_path_factory.mktemp("second") / "dist")


@pytest.fixture
def visit(browser: Browser, server: FrailServer) -> Iterator[Callable[..., Visit]]:
    """Give visits to that server; faults of the network are part of these tests."""
    made: list[Visit] = []

    def give(name: str, **options: Any) -> Visit:
        made.append(
            Visit(
                browser,
                server.url,
                name,
                allowed=r"Failed to load|net::ERR|estimador|fetch|MessageEvent|wasm|CompileError|ArrayBuffer",
                **options,
            )
        )
        return made[-1]

    yield give
    for one in made:
        one.check()
        one.close()


def registration(visit: Visit, expression: str) -> bool:
    """Say whether something is true of the page's service worker registration ``r``, which may be undefined."""
    return bool(visit.page.evaluate(f"{REGISTRATION}.then((r) => {expression})"))


def kept(visit: Visit) -> None:
    """Wait until the site is kept for later."""
    until(visit.page, lambda: registration(visit, "r?.active?.state === 'activated'"))


def check_for_update(visit: Visit) -> None:
    """Look for a new version, as the browser does after a visit."""
    visit.page.evaluate(f"{REGISTRATION}.then((r) => r.update()).catch(() => null)")


def title_says(visit: Visit, words: str) -> None:
    """Wait until the page of another version has taken the place of this one."""
    until(visit.page, lambda: visit.page.title().startswith(words))


def computes(visit: Visit, inputs: dict[str, str]) -> None:
    """Check that the page computes what the command line does."""
    visit.set_all(inputs)
    expected = parts(command_line(visit.name, inputs))
    assert visit.wait_for_parts(expected)["parts"] == expected


INPUTS = {
    "gpu": {"context": "4096"},
    "entrenar": {"parameters": "13"},
    "acumulacion": {"steps": "16"},
    "inferencia": {"context": "4096"},
    "lora": {"rank": "32"},
}


def test_after_one_visit_every_page_works_without_a_server(server: FrailServer, visit: Callable[..., Visit]) -> None:
    """One visit to one page, in a sub-path; then the server is gone, and all pages open and compute."""
    first = visit("gpu")
    first.open()
    kept(first)
    server.site.dead = True
    for name, page in render.PAGES.items():
        first.name, first.url = name, first.site + page.path
        first.open(wait=False)
        assert first.page.locator("h1").is_visible()
        if page.calculator:
            first.wait_for_state("ready")
            computes(first, INPUTS[name])
        if name == "modelo":
            first.wait_for_state("ready")


def test_no_file_is_asked_for_twice_and_later_visits_ask_for_nothing(
    server: FrailServer, dist: Path, visit: Callable[..., Visit]
) -> None:
    """What the page loads is not loaded again to be kept, and after that only a new version is looked for."""
    one = visit("gpu")
    one.open()
    kept(one)
    asked = Counter(server.site.asked)
    assert [name for name, times in asked.items() if times > 1] == []
    assert set(asked) == {entry["url"].removeprefix("./") for entry in listed(dist)} | {offline.SERVICE_WORKER}
    server.site.asked.clear()
    for name in render.PAGES:
        one.page.goto(one.site + render.PAGES[name].path)
    one.open()
    assert set(server.site.asked) <= {offline.SERVICE_WORKER}


def listed(dist: Path) -> list[dict[str, str]]:
    """Return the list of files that the service worker carries."""
    found = re.search(
        r"const FILES = (\[.*?\]);", (dist / offline.SERVICE_WORKER).read_text(encoding="utf-8"), re.DOTALL
    )
    assert found
    files: list[dict[str, str]] = json.loads(found[1])
    return files


def test_the_browser_keeps_only_what_the_page_about_privacy_lists(visit: Callable[..., Visit]) -> None:
    """No cookie, no local storage, no database; the cache has the name that is written there."""
    one = visit("gpu")
    one.open()
    kept(one)
    computes(one, {"context": "4096"})
    assert one.context.cookies() == []
    assert one.page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
    databases = one.page.evaluate("indexedDB.databases().then((all) => all.map((one) => one.name))")
    assert databases == []
    assert [
        name for name in one.page.evaluate("caches.keys()") if not name.startswith("calculadora-vram-precache")
    ] == []
    one.page.goto(one.site + "privacidad/")
    text = one.page.locator("main").inner_text()
    assert all(name in text for name in ("calculadora-vram-precache", "service-worker.js"))


def test_storage_of_other_projects_is_left_alone(
    server: FrailServer, second: Path, visit: Callable[..., Visit]
) -> None:
    """On a host that several projects share, only the cache with our name and our scope is touched."""
    one = visit("entrenar")
    one.open()
    one.page.evaluate("caches.open('otro-proyecto-precache').then((c) => c.put('/x', new Response('suyo')))")
    kept(one)
    update(one, server, second)
    one.page.locator("[data-action=update]").click()
    title_says(one, MARK)
    ours = f"calculadora-vram-precache-v2-{one.site}"
    assert sorted(one.page.evaluate("caches.keys()")) == sorted(["otro-proyecto-precache", ours])
    assert one.page.evaluate("caches.match('/x').then((r) => r.text())") == "suyo"


def update(visit: Visit, server: FrailServer, folder: Path) -> None:
    """Publish a version and wait until the page announces it."""
    server.site.folder = folder
    check_for_update(visit)
    visit.page.wait_for_selector(ANNOUNCED)


def test_a_new_version_waits_to_be_asked_for(server: FrailServer, second: Path, visit: Callable[..., Visit]) -> None:
    """With two tabs open nothing changes until one asks; it gets the new version and keeps what was typed."""
    one = visit("inferencia")
    one.open()
    kept(one)
    one.open()
    other = one.context.new_page()
    other.goto(one.site + "lora/")
    other.wait_for_selector("html[data-state=ready]", state="attached")
    other.locator("form [name=rank]").fill("24")
    computes(one, {"context": "12000"})
    update(one, server, second)
    other.wait_for_selector(ANNOUNCED)
    assert MARK not in one.page.evaluate(PYTHON, "../")
    assert MARK not in one.page.title()

    one.page.locator("[data-action=update]").click()
    title_says(one, MARK)
    one.wait_for_state("ready")
    assert MARK in one.page.evaluate(PYTHON, "../")
    assert one.page.locator("form [name=context]").input_value() == "12000"

    assert MARK not in other.title()
    assert other.locator("form [name=rank]").input_value() == "24"
    other.locator("form [name=rank]").fill("48")
    until(other, "location.hash.includes('rank=48')")
    other.locator("[data-action=update]").click()
    until(other, f"document.title.includes('{MARK}')")
    other.wait_for_selector("html[data-state=ready]", state="attached")
    assert other.locator("form [name=rank]").input_value() == "48"


@pytest.mark.parametrize("file", ["assets/py/page.py", WASM])
def test_a_server_that_dies_in_the_first_load_leaves_nothing_broken(
    file: str, server: FrailServer, visit: Callable[..., Visit]
) -> None:
    """The answer stays, nothing is kept, and the next visit starts and is kept."""
    server.site.dies_at = file
    one = visit("gpu")
    one.open(wait=False)
    one.page.wait_for_timeout(1000)
    assert server.site.dead
    assert one.read()["headline"]
    server.site.revive()
    one.page.reload()
    one.wait_for_state("ready")
    kept(one)
    server.site.dead = True
    one.page.reload()
    one.wait_for_state("ready")


def test_a_server_that_dies_while_the_site_is_kept_disturbs_nobody(
    server: FrailServer, visit: Callable[..., Visit]
) -> None:
    """The page goes on computing; the next visit keeps the site whole."""
    server.site.dies_at = "metodo/"
    one = visit("gpu")
    one.open()
    until(one.page, lambda: server.site.dead and registration(one, "r === undefined"))
    computes(one, {"context": "4096"})
    server.site.revive()
    one.page.reload()
    one.wait_for_state("ready")
    kept(one)


def test_an_update_that_is_cut_short_leaves_the_old_version_whole(
    server: FrailServer, second: Path, visit: Callable[..., Visit]
) -> None:
    """Half of a new version is never served; when the server is back the update is made."""
    one = visit("entrenar")
    one.open()
    kept(one)
    one.open()
    server.site.folder, server.site.dies_at = second, "metodo/"
    check_for_update(one)
    until(one.page, lambda: server.site.dead)
    for page in render.PAGES.values():
        one.page.goto(one.site + page.path)
        assert MARK not in one.page.title()
    one.open()
    assert MARK not in one.page.evaluate(PYTHON, "../")
    computes(one, {"parameters": "13"})
    server.site.revive()
    update(one, server, second)


def test_two_versions_never_mix_when_the_host_changes_in_the_middle(
    server: FrailServer, dist: Path, second: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    """If files of a third version arrive while the second is being kept, it is not kept at all."""
    third = next_version(second, tmp_path / "third")
    one = visit("entrenar")
    one.open()
    kept(one)
    server.site.folder = second
    server.site.replaced_at = ("inferencia/", third)
    check_for_update(one)
    until(one.page, lambda: "inferencia/" in server.site.asked and registration(one, "!r.installing"))
    assert registration(one, "!r.waiting")
    server.site.replaced_at = None
    one.open()
    assert one.page.title().count(MARK) == 0
    update(one, server, third)
    one.page.locator("[data-action=update]").click()
    title_says(one, f"{MARK}: {MARK}")


def test_a_browser_that_refuses_the_room_still_computes(server: FrailServer, visit: Callable[..., Visit]) -> None:
    """Without room nothing is kept and nothing is said; with room again, the next visit keeps the site."""
    one = visit("lora")
    session = one.context.new_cdp_session(one.page)
    origin = {"origin": one.origin}
    session.send("Storage.overrideQuotaForOrigin", {**origin, "quotaSize": 100_000})
    one.open()
    one.page.wait_for_timeout(1500)
    assert registration(one, "!r?.active")
    computes(one, {"rank": "32"})
    session.send("Storage.overrideQuotaForOrigin", origin)
    one.page.reload()
    one.wait_for_state("ready")
    kept(one)


@pytest.mark.parametrize("damage", ["new Response('roto')", "null"])
def test_a_damaged_file_is_mended_when_the_start_is_tried_again(
    damage: str, server: FrailServer, visit: Callable[..., Visit]
) -> None:
    """A file that was kept and got lost or damaged is fetched again, and the page starts; what was typed stays."""
    one = visit("gpu")
    one.open()
    kept(one)
    one.page.evaluate(
        """async ([name, damage]) => {
          const cache = await caches.open((await caches.keys())[0]);
          const key = (await cache.keys()).find((request) => request.url.includes(name));
          if (damage === "null") await cache.delete(key);
          else await cache.put(key, new Response("roto", { headers: { "content-type": "application/wasm" } }));
        }""",
        [WASM, damage],
    )
    one.page.goto("about:blank")
    one.open("context=5000", wait=False)
    if damage != "null":
        one.wait_for_state("failed")
        one.page.locator("[data-action=retry]").click()
    one.wait_for_state("ready")
    assert one.page.locator("form [name=context]").input_value() == "5000"
    server.site.dead = True
    one.page.reload()
    one.wait_for_state("ready")


def test_a_browser_without_service_workers_computes_as_ever(visit: Callable[..., Visit]) -> None:
    """Where there are none (plain http), or the browser refuses (private windows), the page does not mind."""
    for trick in (
        "delete Navigator.prototype.serviceWorker",
        "navigator.serviceWorker.register = () => Promise.reject(new DOMException('no', 'SecurityError'))",
        "Object.defineProperty(navigator, 'serviceWorker', {get() { throw new DOMException('no', 'SecurityError'); }})",
    ):
        one = visit("entrenar")
        one.context.add_init_script(trick)
        one.open()
        computes(one, {"parameters": "13"})


def test_the_site_can_be_installed(visit: Callable[..., Visit]) -> None:
    """Chromium finds nothing wrong with the manifest, and takes name, language and icons from it."""
    one = visit("gpu")
    one.open()
    kept(one)
    session = one.context.new_cdp_session(one.page)
    manifest = session.send("Page.getAppManifest")
    assert manifest["errors"] == []
    said = json.loads(manifest["data"])
    assert (said["lang"], said["start_url"], said["scope"]) == ("es", "./", "./")
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []


def test_a_browser_that_blocks_storage_still_shows_the_page(
    server: FrailServer, browser: Browser, tmp_path: Path
) -> None:
    """With all site data blocked, the pages open, nothing is kept and nothing is raised."""
    preferences = tmp_path / "Default/Preferences"
    preferences.parent.mkdir()
    blocked = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    preferences.write_text(json.dumps(blocked), encoding="utf-8")
    context = browser.browser_type.launch_persistent_context(
        str(tmp_path), executable_path=os.environ.get("CHROMIUM") or installed(), args=ARGUMENTS
    )
    try:
        page = context.new_page()
        raised: list[str] = []
        page.on("pageerror", lambda error: raised.append(str(error)))
        page.goto(server.url + "privacidad/")
        page.wait_for_timeout(500)
        assert page.locator("h1").is_visible()
        assert raised == []
    finally:
        context.close()
