"""Find the other two engines: Firefox ESR and WebKitGTK, from Debian's packages, and drive each by its own protocol.

``engine(name)`` starts one and gives a :class:`Driver`: open an address, run JavaScript, close. Firefox speaks
WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/) by itself; WebKitGTK has a driver that speaks WebDriver
(https://www.w3.org/TR/webdriver2/), and needs a screen: Xvfb's.
"""

from __future__ import annotations

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

START_S = 60.0
ANSWER_S = 90.0


class Missing(Exception):
    """An engine is not on this machine; the message says what to do."""


class Driver(Protocol):
    """One page of one engine.

    ``lets_through`` are the attempts of ``tests/browser/leaks.py`` that its policy does not stop, as ``robo-NAME``.
    """

    lets_through: frozenset[str]

    def open(self, url: str) -> None:
        """Load an address and wait until it is loaded."""

    def run(self, script: str) -> Any:
        """Return what the body of an asynchronous JavaScript function gives, as JSON values."""


def ensure(name: str) -> None:
    """Install an engine where that can be done.

    Raises:
        Missing: where it is not there and cannot be installed.
    """
    if all(shutil.which(program) for program in PROGRAMS[name]):
        return
    packages = " ".join(PACKAGES[name])
    if os.geteuid() or not shutil.which("apt-get"):
        raise Missing(f"{name}: install {packages} to test in it")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES[name]]
    for command in (["apt-get", "update", "-qq"], install):
        subprocess.run(command, check=True, env=quiet, stdout=subprocess.DEVNULL)


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
def process(command: list[str], **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for as long as a block lasts."""
    environment = {**os.environ, **more}
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    command = ["firefox-esr", "--headless", "--no-remote", f"--remote-debugging-port={port}", "--profile", str(profile)]
    with process(command, HOME=str(profile), MOZ_HEADLESS_WIDTH="1280", MOZ_HEADLESS_HEIGHT="900"):
        connection = patiently(lambda: connect(f"ws://127.0.0.1:{port}/session", max_size=None))
        with connection:
            yield Bidi(connection)


class Bidi:
    """A page driven by WebDriver BiDi."""

    lets_through: frozenset[str] = frozenset()

    def __init__(self, connection: ClientConnection) -> None:
        self.connection, self.count = connection, 0
        self.ask("session.new", capabilities={})
        self.page: str = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        self.count += 1
        self.connection.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            answer = json.loads(self.connection.recv(timeout=ANSWER_S))
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


@contextlib.contextmanager
def webkit(profile: Path) -> Iterator[Driver]:
    """WebKitGTK's MiniBrowser by its WebDriver, on a screen of Xvfb."""
    (browser,) = Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")
    display = f":{100 + os.getpid() % 800}"
    port = free_port()
    with (
        process(["Xvfb", display, "-screen", "0", "1280x900x24"]),
        process(["WebKitWebDriver", f"--port={port}"], DISPLAY=display, HOME=str(profile), XDG_CACHE_HOME=str(profile)),
    ):
        options = {"webkitgtk:browserOptions": {"binary": str(browser), "args": ["--automation"]}}
        driver = patiently(lambda: WebDriver(f"http://127.0.0.1:{port}", options))
        try:
            yield driver
        finally:
            driver.ask("DELETE", "")


class WebDriver:
    """A page driven by WebDriver."""

    # WebKitGTK 2.50 asks for a preloaded resource whatever the policy says; measured on 2026-12-01.
    lets_through: frozenset[str] = frozenset({"robo-link-rel=preload"})

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
