"""Find the other two engines: Firefox ESR and WebKitGTK, from Debian's packages, and drive each by its own protocol.

``engine(name)`` starts one and gives a :class:`Driver`: open an address, run JavaScript, close. Firefox speaks
WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/) by itself; WebKitGTK has a driver that speaks WebDriver
(https://www.w3.org/TR/webdriver2/), and needs a screen: Xvfb's.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

PACKAGES = {"firefox": ("firefox-esr",), "webkit": ("webkit2gtk-driver", "xvfb")}
"""Debian's packages of each engine."""

PROGRAMS = {"firefox": ("firefox-esr",), "webkit": ("WebKitWebDriver", "Xvfb")}
"""What must be on the path for each."""

NAMED = {"firefox-esr": "FIREFOX", "WebKitWebDriver": "WEBKIT_DRIVER"}
"""Programs that an environment variable can name instead."""

MINI_BROWSER = "*/webkit2gtk-4.*/MiniBrowser"
"""Where Debian's WebKitGTK has the browser that its driver drives, under ``/usr/lib``."""

START_S = 60.0
ANSWER_S = 90.0


class Missing(Exception):
    """An engine is not on this machine; the message says what to do."""


class Driver(Protocol):
    """One page of one engine.

    Attempts of ``tests/browser/leaks.py``, as ``robo-NAME``: ``lets_through`` are those that its policy does not stop,
    ``never_tries`` those that reach nobody without a policy either.
    """

    lets_through: frozenset[str]
    never_tries: frozenset[str]

    def open(self, url: str) -> None:
        """Load an address and wait until it is loaded."""

    def run(self, script: str) -> Any:
        """Return what the body of an asynchronous JavaScript function gives, as JSON values."""

    def watch(self, script: str) -> None:
        """Run a script from now on in every new page before its own scripts, where the protocol can."""

    def press(self, *keys: str) -> None:
        """Press keys one after the other, each a character of WebDriver's."""

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field for files, as its dialog would."""

    def size(self, width: int, height: int) -> None:
        """Make the page so large, in CSS pixels, as far as the engine goes."""

    def picture(self) -> bytes:
        """Return what the page looks like, as PNG."""

    def told(self) -> list[str]:
        """Take the errors that the page has logged or raised since the last time, where the protocol tells."""


def program(name: str) -> str | None:
    """Return the path of a program: the one named in its environment variable, or the one on the path."""
    return shutil.which(os.environ.get(NAMED.get(name, ""), "") or name)


def ensure(name: str) -> None:
    """Install an engine where that can be done.

    Raises:
        Missing: where it is not there and cannot be installed.
    """
    for own, variable in NAMED.items():
        if own in PROGRAMS[name] and os.environ.get(variable) and not program(own):
            raise Missing(f"{name}: {variable} names {os.environ[variable]}, which is no program")
    if all(map(program, PROGRAMS[name])):
        return
    advice = f"{name}: install {' '.join(PACKAGES[name])} to test in it"
    if os.geteuid() or not shutil.which("apt-get"):
        raise Missing(advice)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES[name]]
    for command in (["apt-get", "update", "-qq"], install):
        done = subprocess.run(command, check=False, env=quiet, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise Missing(f"{advice}; {' '.join(command[:2])} failed here: {said}")
    if not all(map(program, PROGRAMS[name])):
        raise Missing(f"{advice}; its packages are here, and {', '.join(PROGRAMS[name])} is still not on the path")


@contextlib.contextmanager
def engine(name: str) -> Iterator[Driver]:
    """Start an engine with an empty profile, and stop it at the end."""
    ensure(name)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, contextlib.ExitStack() as stack:
        start = firefox if name == "firefox" else webkit
        yield stack.enter_context(start(Path(profile)))


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@contextlib.contextmanager
def process(command: list[str], *, keep: tuple[int, ...] = (), **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for as long as a block lasts, with the file descriptors in ``keep`` and more environment."""
    environment, quiet = {**os.environ, **more}, subprocess.DEVNULL
    running = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, pass_fds=keep)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()


@contextlib.contextmanager
def firefox(profile: Path) -> Iterator[Driver]:
    """Firefox over WebDriver BiDi."""
    port = free_port()
    command = [
        program("firefox-esr") or "firefox-esr",
        "--headless",
        "--no-remote",
        f"--remote-debugging-port={port}",
        "--profile",
        str(profile),
    ]
    with process(command, HOME=str(profile), MOZ_HEADLESS_WIDTH="1280", MOZ_HEADLESS_HEIGHT="900"):
        connection = patiently(lambda: connect(f"ws://127.0.0.1:{port}/session", max_size=None))
        with connection:
            yield Bidi(connection)


class Bidi:
    """A page driven by WebDriver BiDi."""

    lets_through: frozenset[str] = frozenset()
    never_tries: frozenset[str] = frozenset({"robo-worker", "robo-link-rel=manifest"})

    def __init__(self, connection: ClientConnection) -> None:
        self.connection, self.count = connection, 0
        self.events: list[str] = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.page: str = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        self.count += 1
        self.connection.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            answer = json.loads(self.connection.recv(timeout=ANSWER_S))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.events.append(str(answer["params"]["text"]))
            if answer.get("id") == self.count:
                if answer["type"] == "error":
                    raise RuntimeError(answer["message"])
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str) -> None:
        """Load an address."""
        self.ask("browsingContext.navigate", context=self.page, url=url, wait="complete")

    def run(self, script: str) -> Any:
        """Run JavaScript; the answer travels as JSON text."""
        answer = self.ask(
            "script.callFunction",
            functionDeclaration=f"async () => JSON.stringify(await (async () => {{ {script} }})() ?? null)",
            awaitPromise=True,
            target={"context": self.page},
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def watch(self, script: str) -> None:
        """Preload a script."""
        self.ask("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")

    def press(self, *keys: str) -> None:
        """Press keys."""
        moves = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("input.performActions", context=self.page, actions=[{"type": "key", "id": "keys", "actions": moves}])

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file."""
        found = self.ask("browsingContext.locateNodes", context=self.page, locator={"type": "css", "value": selector})
        element = {"sharedId": found["nodes"][0]["sharedId"]}
        self.ask("input.setFiles", context=self.page, element=element, files=[str(path)])

    def size(self, width: int, height: int) -> None:
        """Set the viewport."""
        self.ask("browsingContext.setViewport", context=self.page, viewport={"width": width, "height": height})

    def picture(self) -> bytes:
        """Take a picture of the viewport."""
        return base64.b64decode(self.ask("browsingContext.captureScreenshot", context=self.page)["data"])

    def told(self) -> list[str]:
        """Take the errors: events come before the next answer."""
        self.run("return null;")
        events, self.events = self.events, []
        return events


@contextlib.contextmanager
def webkit(profile: Path) -> Iterator[Driver]:
    """WebKitGTK's MiniBrowser by its WebDriver, on a screen of Xvfb."""
    browser, port = mini_browser(), free_port()
    command = [program("WebKitWebDriver") or "WebKitWebDriver", f"--port={port}"]
    folder = str(profile)
    with screen() as display, process(command, DISPLAY=display, HOME=folder, XDG_CACHE_HOME=folder):
        options = {"webkitgtk:browserOptions": {"binary": str(browser), "args": ["--automation"]}}
        driver = patiently(lambda: WebDriver(f"http://127.0.0.1:{port}", options))
        try:
            yield driver
        finally:
            driver.ask("DELETE", "")


def mini_browser(root: Path = Path("/usr/lib")) -> Path:
    """Return the newest browser of WebKitGTK that the driver can drive.

    Raises:
        Missing: if there is none.
    """
    found = sorted(root.glob(MINI_BROWSER))
    if not found:
        raise Missing(f"webkit: no {MINI_BROWSER} under {root}; install {' '.join(PACKAGES['webkit'])} to test in it")
    return found[-1]


@contextlib.contextmanager
def screen() -> Iterator[str]:
    """Give the name of a screen that nobody else has: Xvfb takes the first free number and says which."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"]
    with process(command, keep=(writer,)), os.fdopen(reader, encoding="ascii") as told:
        os.close(writer)
        number = told.readline().strip()
        if not number:
            raise Missing("webkit: Xvfb ended before it said on which screen it runs")
        yield f":{number}"


class WebDriver:
    """A page driven by WebDriver."""

    # WebKitGTK 2.50 asks for a preloaded resource whatever the policy says; measured on 2026-12-01.
    lets_through: frozenset[str] = frozenset({"robo-link-rel=preload"})
    never_tries: frozenset[str] = frozenset(
        {"robo-worker", "robo-link-rel=manifest", "robo-link-rel=icon", "robo-link-rel=prefetch"}
    )

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        self.session = f"{address}/session"
        made = self.ask("POST", "", {"capabilities": {"alwaysMatch": options}})
        self.session += "/" + made["sessionId"]
        self.ask("POST", "/timeouts", {"script": int(ANSWER_S * 1000), "pageLoad": int(ANSWER_S * 1000)})

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send one command and return its value."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.session + path, data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S + 10) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def open(self, url: str) -> None:
        """Load an address."""
        self.ask("POST", "/url", {"url": url})

    def run(self, script: str) -> Any:
        """Run JavaScript; the answer travels as JSON text."""
        body = f"""const done = arguments[arguments.length - 1];
        (async () => {{ {script} }})().then((value) => done(JSON.stringify(value ?? null)),
                                            (error) => done(JSON.stringify({{ fault: String(error) }})));"""
        value = json.loads(self.ask("POST", "/execute/async", {"script": body, "args": []}))
        if isinstance(value, dict) and "fault" in value:
            raise RuntimeError(value["fault"])
        return value

    def watch(self, script: str) -> None:
        """WebDriver has no such thing."""

    def press(self, *keys: str) -> None:
        """Press keys."""
        moves = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": moves}]})

    def choose_file(self, selector: str, path: Path) -> None:
        """Write the path into the field, which is how WebDriver chooses a file."""
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{next(iter(found.values()))}/value", {"text": str(path)})

    def size(self, width: int, height: int) -> None:
        """Set the window, and again with what its frame takes away."""
        extra = (0, 0)
        for _ in range(2):
            self.ask("POST", "/window/rect", {"width": width + extra[0], "height": height + extra[1]})
            time.sleep(0.5)
            inner = self.run("return [innerWidth, innerHeight];")
            extra = (extra[0] + width - inner[0], extra[1] + height - inner[1])

    def picture(self) -> bytes:
        """Take a picture of the viewport."""
        return base64.b64decode(self.ask("GET", "/screenshot"))

    def told(self) -> list[str]:
        """WebDriver tells nothing."""
        return []


def patiently(action: Any) -> Any:
    """Try until it works: the program has only just been started."""
    limit = time.monotonic() + START_S
    while True:
        try:
            return action()
        except (OSError, WebSocketException, RuntimeError):
            if time.monotonic() > limit:
                raise
            time.sleep(0.2)
