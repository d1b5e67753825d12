"""A visit to a calculator: MicroPython on the main thread asks the worker what the form says and shows the answer.

Numbers come from the worker, sentences from the page's templates. Everything is a callback, so that typing never waits.
What stands beside it: ``controls`` reads and fills the form, ``screen`` writes the regions, ``address`` knows what the
fragment holds, ``versus`` keeps the scenarios to compare with, and ``exports`` hands results over.
"""

import json

import js
from address import join, split
from controls import Controls
from exports import MADE_FROM, STATUS, copy, deliver, fill_paper, today, write
from polyscript import workers
from screen import Screen, say, select, state
from versus import Versus

SILENCE_MS = int(js.document.documentElement.getAttribute("data-silence") or 30_000)
"""How long the worker may take to answer before the page says that there is no result; boot.mjs watches the start."""
BUSY_MS = 200
"""How long an answer may take before the page says that it is being computed."""
SETTLE_MS = 40
"""How long what is off the screen waits for another answer to follow."""
REST_MS = 120
"""How much longer the rest of an answer waits for another key: it keeps the worker busy for a while."""
ADDRESS_MS = 150
"""Pause after the last answer before the address is rewritten; browsers refuse to do that for every key."""

document, window = js.document, js.window
root = document.documentElement
form = document.querySelector("form[data-calculator]")
controls, screen = Controls(form), Screen(form)


class Visit:
    """What is known about this visit: the worker, the last question, what is on the screen."""

    def __init__(self):
        self.worker = None
        self.asked = None  # JSON of the question in flight
        self.answered = None  # JSON of the last question whose answer is on the screen
        self.fragment = None  # fragment that belongs to the answer on the screen
        self.fragment_shown = False  # whether an answer has ever been shown
        self.restoring = None  # fragment that has to be put into the form first
        self.touched = set()  # names of the fields changed before Python could answer
        self.timers = {}


visit = Visit()


# Question and answer: one in flight, the latest wins


def ask_for(inputs, **more):
    """Return the question that the form asks, as JSON, with what else the worker has to know."""
    question = {"calculator": form.dataset.calculator, "inputs": inputs}
    question.update(more)
    return json.dumps(question)


def ask(*_):
    """Send what the form says, unless an answer is awaited or nothing changed."""
    if visit.worker is None or visit.asked is not None:
        return
    if visit.restoring is not None:
        question = json.dumps({"calculator": form.dataset.calculator, "fragment": visit.restoring})
    else:
        question = ask_for(controls.collect())
        if question == visit.answered:
            return
    visit.asked = question
    stop("rest")
    later("busy", BUSY_MS, lambda: state("busy"))
    later("silence", SILENCE_MS, refuse)
    visit.worker.estimate(question).then(receive, refuse)


def receive(text):
    """Show an answer, or ask again if the form has changed meanwhile."""
    answer = js.JSON.parse(text)
    question, visit.asked = visit.asked, None
    stop("busy")
    stop("silence")
    if visit.restoring is not None:
        controls.fill(answer.inputs, visit.touched)
        visit.answered = None if visit.touched else ask_for(controls.collect())
        visit.restoring = None
        visit.touched.clear()
    else:
        visit.answered = question
    show(answer)
    # With the initial values everything is on the page as it was built; only a first answer to others needs the rest.
    built = not visit.fragment_shown and not answer.fragment
    visit.fragment_shown = True
    root.toggleAttribute("data-partial", answer.ok and not built)
    later("settle", 0 if built else SETTLE_MS, lambda: settle(question if answer.ok and not built else None))
    ask()


def refuse(error="no answer"):
    """Say that an answer could not be computed; the next input tries again."""
    visit.asked, visit.restoring = None, None
    stop("busy")
    stop("silence")
    state("failed")
    js.console.warn("estimador:", error)


def show(answer):
    """Put an answer in place, and its address when no other follows."""
    screen.show(answer)
    visit.fragment = answer.fragment
    later("address", ADDRESS_MS, write_address)


def settle(question):
    """Put in place what is off the screen; what takes longer is asked for when no other key follows."""
    screen.settle()
    if question is None:
        finish()
    else:
        later("rest", REST_MS, lambda: ask_rest(question))


def ask_rest(question, stage=0):
    """Ask for a stage of the rest of an answer, unless another answer is awaited."""
    if visit.worker and visit.asked is None:
        visit.worker.rest(question, stage).then(lambda text: complete(question, stage, text), refuse)


def complete(question, stage, text):
    """Show a stage and ask for the next, unless the form has gone on meanwhile: its own rest will follow."""
    if visit.asked is not None:
        return
    answer = js.JSON.parse(text)
    screen.add(answer.html)
    if answer.more:
        later("rest", 0, lambda: ask_rest(question, stage + 1))
    else:
        finish()


def finish():
    """Lay the comparison out beside this answer, if there is one, and say that all is done."""
    if visit.asked is None:
        for details in select("details[open][data-later]"):
            fill_later(details)
        versus.refresh()


def fill_later(details):
    """Ask for what is inside something that has been opened."""
    name = details.getAttribute("data-later")
    if visit.worker and visit.restoring is None:
        question = ask_for(controls.collect())
        visit.worker.later(question, name).then(lambda html: screen.write({name: html}), refuse)


def opened(event):
    """Fill what is opened."""
    details = event.target
    if details.open and details.hasAttribute("data-later"):
        fill_later(details)


def compare(what):
    """Ask for a change of the list of scenarios, once the form says what the page shows."""
    if visit.worker is None or visit.restoring is not None:
        return None
    return visit.worker.compare(ask_for(controls.collect(), vs=versus.text, **what))


def settled():
    """Say that the page shows one answer throughout, unless another is on its way."""
    if visit.asked is None:
        root.removeAttribute("data-partial")
        state("ready")


def later(name, milliseconds, action):
    """Do something after a pause; a second call with the same name starts the pause again."""
    stop(name)
    visit.timers[name] = js.setTimeout(action, milliseconds)


def stop(name):
    """Forget what ``later`` was going to do."""
    if name in visit.timers:
        js.clearTimeout(visit.timers.pop(name))


# What is taken away


def take(kind):
    """Ask for a result in another shape and hand it over."""
    if visit.worker is None or visit.restoring is not None:
        say("wait", STATUS)
        return
    write_address()
    question = ask_for(controls.collect(), kinds=[MADE_FROM[kind]], address=js.location.href, date=today())
    visit.worker.take(question).then(lambda text: deliver(kind, form.dataset.calculator, text), not_taken)


def not_taken(error):
    """Say that nothing came."""
    say("not-taken", STATUS)
    js.console.warn("estimador:", error)


def read_pasted():
    """Ask what was pasted, and say it under it; the form is not changed until a link there is followed."""
    if visit.worker is None or visit.restoring is not None:
        say("wait", STATUS)
        return
    question = ask_for(controls.collect(), text=document.querySelector("[data-pasted]").value)
    visit.worker.paste(question).then(lambda html: screen.write({"pasted": html}), refuse)


# The address


def write_address():
    """Make the address say what the form says, without a step in the history."""
    stop("address")
    if visit.fragment is None or visit.restoring is not None:
        return
    fragment = join(visit.fragment, versus.text)
    wanted = "#" + fragment if fragment else ""
    if js.location.hash != wanted:
        js.history.replaceState(None, "", js.location.pathname + js.location.search + wanted)


def read_address(*_):
    """Take the state from the address; a fragment without ``=`` is a place in the page, not a state."""
    fragment = js.location.hash[1:]
    if fragment and "=" not in fragment:
        write_address()
        return
    inputs, scenarios = split(fragment)
    changed = versus.replace(scenarios)
    if inputs != visit.fragment:
        visit.touched.clear()
        visit.restoring = inputs
        ask()
    elif changed:
        versus.change({})


def copy_link(*_):
    """Copy the address, or say that the browser does not let us."""
    write_address()
    write(js.location.href, lambda *_: say("copied"), lambda *_: say("not-copied"))


# The start


def started(worker):
    """Honour what the address and the visitor said while Python was starting."""
    visit.worker = worker
    ask()


def cannot_start(error):
    """Say that there is no Python; what the page was built with stays. A late start is still welcome."""
    if visit.worker is None:
        js.reportError(error)  # boot.mjs knows the words for what it may be
        document.dispatchEvent(js.Event.new("cannot-start"))
        state("failed")


def edited(event):
    """Note which field the visitor changed, and ask."""
    if getattr(event.target, "name", None):
        if visit.worker is None or visit.restoring is not None:
            visit.touched.add(event.target.name)
        ask()


def submitted(event):
    """Stay on the page."""
    event.preventDefault()
    ask()


def clicked(event):
    """Do what a button says."""
    button = event.target.closest("[data-action]")
    action = button.getAttribute("data-action") if button else None
    if action == "copy-link":
        copy_link()
    elif action == "add-scenario":
        versus.change({"add": True})
    elif action == "remove-scenario":
        versus.change({"remove": int(button.getAttribute("data-index"))})
    elif action == "take":
        take(button.getAttribute("data-kind"))
    elif action == "copy-settings":
        copy(button.closest("details").querySelector("pre").textContent)
    elif action == "paste":
        read_pasted()
    elif action == "print":
        window.print()
    change = event.target.closest('[data-region] a[href^="#"][href*="="]')
    if change:  # leads to other inputs on this page: the list of scenarios goes along
        change.setAttribute("href", "#" + join(split(change.getAttribute("href")[1:])[0], versus.text))
    link = event.target.closest('[data-region="errors"] a[href^="#"]')
    if link:
        control = document.querySelector(link.getAttribute("href"))
        if control and control.tagName == "FIELDSET":
            control = control.querySelector("input")
        if control:
            event.preventDefault()
            control.focus()


def make_searchable():
    """Turn the lists that have a search into comboboxes, in a task of its own so that the page starts first."""
    from combobox import enhance  # noqa: PLC0415

    for box in select("[data-combobox]"):
        enhance(box)


versus = Versus(screen, compare, lambda: later("address", ADDRESS_MS, write_address), settled)


def main():
    """Start."""
    if "=" in js.location.hash:
        inputs, scenarios = split(js.location.hash[1:])
        versus.replace(scenarios)
        if inputs:
            visit.restoring = inputs
            visit.touched.update(controls.changed())
    js.setTimeout(make_searchable, 0)
    form.addEventListener("input", edited)
    form.addEventListener("change", edited)
    form.addEventListener("submit", submitted)
    form.addEventListener("reset", lambda *_: js.setTimeout(ask, 0))
    document.addEventListener("click", clicked)
    document.addEventListener("toggle", opened, {"capture": True})
    window.addEventListener("hashchange", read_address)
    window.addEventListener("beforeprint", fill_paper)
    workers.estimador.then(started, cannot_start)


main()
