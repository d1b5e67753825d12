"""The screen: regions, messages at fields, the status line. MicroPython on the main thread, and only the document.

Nothing of a page is kept here between visits: a ``Screen`` belongs to the page that made it.
"""

import js

SCROLLS = "details[open] [data-scroll], [data-scroll]:not(details *)"
"""What may be scrolled sideways and is on the screen."""

document, window = js.document, js.window
root = document.documentElement


def select(selector, inside=document):
    """Return the elements that match, as a list."""
    found = inside.querySelectorAll(selector)
    return [found.item(i) for i in range(found.length)]


class Screen:
    """What the visitor sees of the live part of a page."""

    def __init__(self, form):
        self.regions = {r.getAttribute("data-region"): r for r in select("[data-region]")}
        self.fields = {f.getAttribute("data-field"): f for f in select("[data-field]", form)}
        self.shown = {name: region.innerHTML for name, region in self.regions.items()}
        self.waiting = {}  # region off the screen -> HTML that it is about to hold
        self.marked = {}  # field -> whether it is visible, and its error

    def show(self, answer):
        """Put an answer in place: at once what is on the screen, what is not when it settles."""
        now: dict[str, str] = {}
        for name, region in self.regions.items():
            html = getattr(answer.html, name, None)
            region.toggleAttribute("data-stale", not answer.ok)
            if html is None:
                continue
            self.waiting.pop(name, None)
            if self.shown[name] != html:
                (now if on_screen(region) else self.waiting)[name] = html
        self.write(now)
        for name, field in self.fields.items():
            marks = answer.visible.includes(name), getattr(answer.field_errors, name, "")
            if self.marked.get(name) != marks:
                field.hidden = not marks[0]
                mark(field, marks[1])
                self.marked[name] = marks

    def settle(self):
        """Put in place what is off the screen."""
        self.write(self.waiting)
        self.waiting = {}

    def add(self, html):
        """Put in place what an object of HTML by region has and is not there yet."""
        found = {name: getattr(html, name, None) for name in self.regions}
        self.write({name: new for name, new in found.items() if new is not None and self.shown[name] != new})

    def write(self, changed):
        """Replace what regions hold. All reading comes before all writing: one layout, not many."""
        kept = {name: remember(self.regions[name]) for name in changed}
        for name, html in changed.items():
            self.regions[name].innerHTML = self.shown[name] = html
        for name in changed:
            restore(self.regions[name], kept[name])


def on_screen(region):
    """Say whether any of a region can be seen; an empty one may be about to appear."""
    box = region.getBoundingClientRect()
    return not box.height or (box.top < window.innerHeight and box.bottom > 0)


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


def say(name, where="[data-status]"):
    """Put the sentence called ``name`` into the status line, or into another line."""
    source = document.querySelector(f'template[data-say="{name}"]')
    for line in select(where):
        line.replaceChildren()
        if source:
            line.append(source.content.cloneNode(True))
