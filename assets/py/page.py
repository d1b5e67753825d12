"""The page's side: MicroPython on the main thread. The only file that knows the document.

It reads the form, asks the worker and puts the answer in place; numbers come from the worker, sentences from the page's
templates. Everything is a callback, so that typing never waits.
"""

import json

import js
from polyscript import workers

SILENCE_MS = int(js.document.documentElement.getAttribute("data-silence") or 30_000)
"""How long the worker may take to answer before the page says that there is no result; boot.mjs watches the start."""
BUSY_MS = 200
"""How long an answer may take before the page says that it is being computed."""
SCROLLS = "details[open] [data-scroll], [data-scroll]:not(details *)"
"""What may be scrolled sideways and is on the screen."""
SETTLE_MS = 40
"""How long what is off the screen waits for another answer to follow."""
REST_MS = 120
"""How much longer the rest of an answer waits for another key: it keeps the worker busy for a while."""
ADDRESS_MS = 150
"""Pause after the last answer before the address is rewritten; browsers refuse to do that for every key."""

document, window = js.document, js.window
root = document.documentElement
form = document.querySelector("form[data-calculator]")


def select(selector, inside=document):
    """Return the elements that match, as a list."""
    found = inside.querySelectorAll(selector)
    return [found.item(i) for i in range(found.length)]


controls = [c for c in select("input[name], select[name], textarea[name]", form) if not c.disabled]
regions = {r.getAttribute("data-region"): r for r in select("[data-region]")}
fields = {f.getAttribute("data-field"): f for f in select("[data-field]", form)}


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
        self.shown = {name: region.innerHTML for name, region in regions.items()}
        self.waiting = {}  # region off the screen -> HTML that it is about to hold
        self.marked = {}  # field -> whether it is visible, and its error
        self.timers = {}


visit = Visit()


# The form


def collect():
    """Return the raw text of every field."""
    inputs = {}
    for control in controls:
        if control.type == "checkbox":
            inputs[control.name] = control.value if control.checked else "no"
        elif control.type != "radio" or control.checked:
            inputs[control.name] = control.value
    return inputs


def fill(inputs):
    """Put texts into the form; a field without one goes back to its default. What the visitor touched stays."""
    for control in controls:
        text = getattr(inputs, control.name, None)
        if control.name in visit.touched:
            continue
        if control.type in ("radio", "checkbox"):
            control.checked = control.defaultChecked if text is None else text == control.value
        elif text is not None:
            control.value = text
        elif control.tagName == "SELECT":
            options = select("option", control)
            control.selectedIndex = max([o.index for o in options if o.defaultSelected] or [0])
        else:
            control.value = control.defaultValue
    form.dispatchEvent(js.Event.new("restored"))


def differs(control):
    """Say whether a control no longer holds what the page was built with."""
    if control.type in ("radio", "checkbox"):
        return control.checked != control.defaultChecked
    if control.tagName == "SELECT":
        return any(o.selected != o.defaultSelected for o in select("option", control) if o.selected)
    return control.value != control.defaultValue


# Question and answer: one in flight, the latest wins


def ask_for(inputs):
    """Return the question that the form asks, as JSON."""
    return json.dumps({"calculator": form.dataset.calculator, "inputs": inputs})


def ask(*_):
    """Send what the form says, unless an answer is awaited or nothing changed."""
    if visit.worker is None or visit.asked is not None:
        return
    if visit.restoring is not None:
        question = json.dumps({"calculator": form.dataset.calculator, "fragment": visit.restoring})
    else:
        question = ask_for(collect())
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
        fill(answer.inputs)
        visit.answered = None if visit.touched else ask_for(collect())
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


# The screen


def show(answer):
    """Put an answer in place: at once what is on the screen, what is not when no other answer follows."""
    now: dict[str, str] = {}
    for name, region in regions.items():
        html = getattr(answer.html, name, None)
        region.toggleAttribute("data-stale", not answer.ok)
        if html is None:
            continue
        visit.waiting.pop(name, None)
        if visit.shown[name] != html:
            (now if on_screen(region) else visit.waiting)[name] = html
    write(now)
    for name, field in fields.items():
        marks = answer.visible.includes(name), getattr(answer.field_errors, name, "")
        if visit.marked.get(name) != marks:
            field.hidden = not marks[0]
            mark(field, marks[1])
            visit.marked[name] = marks
    visit.fragment = answer.fragment
    later("address", ADDRESS_MS, write_address)


def settle(question):
    """Put in place what is off the screen; what takes longer is asked for when no other key follows."""
    write(visit.waiting)
    visit.waiting = {}
    if question is None:
        settled()
    else:
        later("rest", REST_MS, lambda: ask_rest(question))


def ask_rest(question):
    """Ask for the rest of an answer, unless another one is awaited."""
    if visit.worker and visit.asked is None:
        visit.worker.rest(question).then(complete, refuse)


def complete(text):
    """Show the rest of an answer, unless the form has gone on meanwhile: its own rest will follow."""
    html = js.JSON.parse(text)
    if visit.asked is None:
        found = {name: getattr(html, name, None) for name in regions}
        write({name: new for name, new in found.items() if new is not None and visit.shown[name] != new})
    settled()


def settled():
    """Say that the page shows one answer throughout, unless another is on its way."""
    if visit.asked is None:
        root.removeAttribute("data-partial")
        state("ready")


def on_screen(region):
    """Say whether any of a region can be seen; an empty one may be about to appear."""
    box = region.getBoundingClientRect()
    return not box.height or (box.top < window.innerHeight and box.bottom > 0)


def write(changed):
    """Replace what regions hold. All reading comes before all writing: one layout, not many."""
    kept = {name: remember(regions[name]) for name in changed}
    for name, html in changed.items():
        regions[name].innerHTML = visit.shown[name] = html
    for name in changed:
        restore(regions[name], kept[name])


def remember(region):
    """Return what is open, focused and scrolled inside a region."""
    active = document.activeElement
    focus = place(active, region) if active and region.contains(active) else None
    opened = [place(d, region) for d in select("details[open]", region)]
    scrolled = [(place(s, region), s.scrollLeft) for s in select(SCROLLS, region) if s.scrollLeft]
    return focus, opened, scrolled


def restore(region, kept):
    """Open, focus and scroll again what was."""
    focus, opened, scrolled = kept
    for where in opened:
        find(where, region, lambda details: details.setAttribute("open", ""))
    for where, left in scrolled:
        find(where, region, lambda element, left=left: element.scrollTo(left, 0))
    if focus:
        find(focus, region, lambda element: element.focus({"preventScroll": True}))


def place(element, region):
    """Return what finds the like of an element after its region was replaced: its key, or its rank among its kind."""
    kind = element.tagName.lower()
    owner = element.closest("[data-key], [id]")
    if owner and region.contains(owner) and not owner.isSameNode(region):
        name = "data-key" if owner.hasAttribute("data-key") else "id"
        inner = "" if owner.isSameNode(element) else " " + kind
        return f'[{name}="{owner.getAttribute(name)}"]{inner}', 0
    rank = [i for i, other in enumerate(select(kind, region)) if other.isSameNode(element)]
    return kind, rank[0]


def find(where, region, then):
    """Call ``then`` with the element at a place, if there still is one."""
    selector, rank = where
    found = select(selector, region)
    if rank < len(found):
        then(found[rank])


def mark(field, error):
    """Show or clear the message of a field."""
    slot = field.querySelector("[data-error]")
    slot.textContent = error
    slot.hidden = not error
    closed = field.closest("details:not([open])") if error else None
    if closed:
        closed.open = True
    for control in select("[name], [role=combobox]", field):
        if error:
            control.setAttribute("aria-invalid", "true")
        else:
            control.removeAttribute("aria-invalid")


def state(name):
    """Set the state of the page and the sentence that goes with it, taken from the page's own templates."""
    if root.getAttribute("data-state") != name:
        root.setAttribute("data-state", name)
        say(name)


def say(name):
    """Put the sentence called ``name`` into the status line."""
    source = document.querySelector(f'template[data-say="{name}"]')
    for line in select("[data-status]"):
        line.replaceChildren()
        if source:
            line.append(source.content.cloneNode(True))


def later(name, milliseconds, action):
    """Do something after a pause; a second call with the same name starts the pause again."""
    stop(name)
    visit.timers[name] = js.setTimeout(action, milliseconds)


def stop(name):
    """Forget what ``later`` was going to do."""
    if name in visit.timers:
        js.clearTimeout(visit.timers.pop(name))


# The address


def write_address():
    """Make the address say what the form says, without a step in the history."""
    stop("address")
    if visit.fragment is None or visit.restoring is not None:
        return
    wanted = "#" + visit.fragment if visit.fragment else ""
    if js.location.hash != wanted:
        js.history.replaceState(None, "", js.location.pathname + js.location.search + wanted)


def read_address(*_):
    """Take the state from the address; a fragment without ``=`` is a place in the page, not a state."""
    fragment = js.location.hash[1:]
    if fragment and "=" not in fragment:
        write_address()
    elif fragment != visit.fragment:
        visit.touched.clear()
        visit.restoring = fragment
        ask()


def copy_link(*_):
    """Copy the address, or say that the browser does not let us."""
    write_address()
    clipboard = getattr(js.navigator, "clipboard", None)
    if clipboard:
        clipboard.writeText(js.location.href).then(lambda *_: say("copied"), lambda *_: say("not-copied"))
    else:
        say("not-copied")


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


def main():
    """Start."""
    if "=" in js.location.hash:
        visit.restoring = js.location.hash[1:]
        visit.touched.update([control.name for control in controls if differs(control)])
    js.setTimeout(make_searchable, 0)
    form.addEventListener("input", edited)
    form.addEventListener("change", edited)
    form.addEventListener("submit", submitted)
    form.addEventListener("reset", lambda *_: js.setTimeout(ask, 0))
    document.addEventListener("click", clicked)
    window.addEventListener("hashchange", read_address)
    workers.estimador.then(started, cannot_start)


main()
