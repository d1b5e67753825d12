"""The page of files: MicroPython on the main thread hands the files that a visitor opens to the worker.

It reads no byte of them: the worker takes the slices that it needs. Everything is a callback; nothing is asked of the
network, and the words are in the page's templates.
"""

import json

import js
from polyscript import workers

SILENCE_MS = 30_000
"""How long the worker may say nothing before the page says that there is no result."""
MAX_CARDS = 24
"""Most models side by side; the oldest goes first."""

document, window = js.document, js.window
root = document.documentElement
picker = document.querySelector("[data-files]")
zone = document.querySelector("[data-drop]")
pasted = document.querySelector("[data-paste]")
cards = document.querySelector("[data-cards]")
errors = document.querySelector('[data-region="errors"]')


class Visit:
    """What is known about this visit."""

    def __init__(self):
        self.worker = None
        self.asked = False
        self.waiting = []
        self.timer = None


visit = Visit()


def say(name):
    """Set the state of the page and show its sentence."""
    root.setAttribute("data-state", name)
    source = document.querySelector(f'template[data-say="{name}"]')
    line = document.querySelector("[data-status]")
    line.replaceChildren()
    if source:
        line.append(source.content.cloneNode(True))


def wait(action):
    """Call ``action`` if the worker stays silent."""
    stop()
    visit.timer = js.setTimeout(action, SILENCE_MS)


def stop():
    """Wait no more."""
    if visit.timer is not None:
        js.clearTimeout(visit.timer)
        visit.timer = None


def opened(files):
    """Queue files that belong together, and send them when the worker is free."""
    if files.length:
        visit.waiting.append(files)
        send()


def send():
    """Hand the next files to the worker."""
    if visit.worker is None or visit.asked or not visit.waiting:
        return
    visit.asked = True
    say("busy")
    wait(refuse)
    visit.worker.open_files(visit.waiting.pop(0)).then(receive, refuse)


def receive(text):
    """Put the cards in front of the others; what was there stays."""
    stop()
    visit.asked = False
    answer = json.loads(text)
    errors.innerHTML = answer["errors"]
    if answer["cards"]:
        example = cards.querySelector("[data-example]")
        if example:
            example.remove()
    for html in reversed(answer["cards"]):
        cards.insertAdjacentHTML("afterbegin", html)
    while cards.children.length > MAX_CARDS:
        cards.lastElementChild.remove()
    say("ready")
    target = errors if answer["errors"] else cards.firstElementChild
    if target:
        target.focus()
    send()


def refuse(error="no answer"):
    """Say that there is no answer; the cards stay and other files can be tried."""
    stop()
    visit.asked = False
    say("failed")
    js.console.warn("estimador:", error)


def listed(files):
    """Return the files as an array that outlives the event."""
    return js.Array.of(*[files.item(i) for i in range(files.length)])


def picked(event):
    """Open what the file picker gives."""
    opened(listed(picker.files))
    picker.value = ""


def dropped(event):
    """Open what is dropped."""
    event.preventDefault()
    zone.removeAttribute("data-over")
    opened(listed(event.dataTransfer.files))


def over(event):
    """Show that files can be dropped here."""
    event.preventDefault()
    zone.setAttribute("data-over", "")


def paste(*_):
    """Open the pasted text as a configuration."""
    if pasted.value.strip():
        opened(js.Array.of(js.File.new(js.Array.of(pasted.value), "config.json")))


def clicked(event):
    """Do what a button says."""
    button = event.target.closest("[data-action]")
    action = button.getAttribute("data-action") if button else None
    if action == "paste":
        paste()
    elif action == "remove":
        button.closest("[data-card]").remove()
        picker.focus()


def started(worker):
    """Open what was given while Python was starting."""
    stop()
    visit.worker = worker
    say("ready")
    send()


def cannot_start(error="no answer"):
    """Say that there is no Python, unless boot.mjs has said why."""
    if visit.worker is None:
        stop()
        js.reportError(error)  # boot.mjs knows the words for what it may be
        document.dispatchEvent(js.Event.new("cannot-start"))
        if root.getAttribute("data-state") != "failed":
            say("failed")


def main():
    """Start."""
    picker.addEventListener("change", picked)
    zone.addEventListener("dragleave", lambda *_: zone.removeAttribute("data-over"))
    document.addEventListener("dragover", over)
    document.addEventListener("drop", dropped)
    document.addEventListener("click", clicked)
    workers.estimador.then(started, cannot_start)


main()
