"""A combobox over a native list of choices: type to search, arrows to move, Enter to choose. Runs in MicroPython.

The pattern is "editable combobox with list autocomplete" of the ARIA Authoring Practices Guide,
https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. The ``select`` stays the control of the form, keeps its name
and sends the events; without this file it is simply shown. The list is built when it is first opened.
"""

import js

ANNOUNCE_MS = 300
"""Pause in the typing before the number of results is read aloud."""
PAGE = 8
"""Options that one press of the page keys jumps over."""

document = js.document


texts = js.String.prototype
MARKS = js.RegExp.new("\\p{M}", "gu")
PUNCTUATION = js.RegExp.new("[^\\p{L}\\p{N}\\s]", "gu")
SPACES = js.RegExp.new("[ -]", "g")


def fold(text):
    """Return a text in small letters without accents: NFD (Unicode annex 15), less the combining marks."""
    parted = texts.normalize.call(text.replace(",", "."), "NFD")
    return texts.toLowerCase.call(texts.replace.call(parted, MARKS, ""))


def joined(text):
    """Return a folded text with nothing between its letters and digits but tabs and line ends."""
    return texts.replace.call(texts.replace.call(text, SPACES, ""), PUNCTUATION, "")


def words(text):
    """Return the words of a folded text; the hyphens of an id part words too."""
    for mark in "-_/":
        text = text.replace(mark, " ")
    return text.split()


def make(role, text=""):
    """Return a new element of the list."""
    element = document.createElement("div")
    element.setAttribute("role", role)
    element.textContent = text
    return element


class Entry:
    """One choice: its place in the native list, its element, what it is found by."""

    def __init__(self, index, element):
        self.index = index
        self.element = element
        self.hidden = False
        self.plain = self.joined = ""

    def names(self):
        """Return its name and its id, folded."""
        return self.plain.split("\t")[:2]

    def holds(self, word):
        """Say whether a word is here; a number only where a number begins: «4b» is not «1.4b» nor «14b»."""
        if not word[0].isdigit():
            return word in self.plain or (joined(word) or word) in self.joined
        at = self.plain.find(word)
        while at > 0 and self.plain[at - 1] in ".0123456789":
            at = self.plain.find(word, at + 1)
        return at >= 0


class Combobox:
    """The state of one combobox: whether it is open, which option is active, what has been typed."""

    def __init__(self, box):
        self.box = box
        self.select = box.querySelector("select")
        self.entries = []
        self.shown = []  # entries that match what is typed
        self.groups = []  # pairs: element of a group, its entries
        self.active = None
        self.opened = False
        self.timer = None
        self.enhance()
        self.listen()

    def enhance(self):
        """Put the text box in the place of the native list, which gives its id and so its label away."""
        identifier = self.select.id
        self.select.removeAttribute("id")
        self.select.tabIndex = -1
        self.select.setAttribute("aria-hidden", "true")
        self.box.append(self.box.querySelector("template").content.cloneNode(True))
        self.input, self.button, self.popup, self.listbox, self.none, self.status = [
            self.box.querySelector(f"[data-part={part}]")
            for part in ("input", "button", "popup", "listbox", "none", "status")
        ]
        self.input.id = identifier
        self.box.setAttribute("data-ready", "")
        self.follow()

    def listen(self):
        """Listen to the keyboard, the pointer, and whoever else changes the native list."""
        self.input.addEventListener("input", self.typed)
        self.input.addEventListener("keydown", self.pressed)
        self.input.addEventListener("click", self.clicked)
        self.button.addEventListener("click", self.toggled)
        self.popup.addEventListener("mousedown", lambda event: event.preventDefault())
        self.listbox.addEventListener("click", self.picked)
        self.box.addEventListener("focusout", self.left)
        document.addEventListener("pointerdown", self.left)
        self.select.addEventListener("change", self.follow)
        self.select.form.addEventListener("restored", self.follow)
        self.select.form.addEventListener("reset", lambda event: js.setTimeout(self.follow, 0))

    def follow(self, *_):
        """Show the name of what is chosen."""
        index = self.select.selectedIndex
        self.input.value = self.select.options.item(index).label if index >= 0 else ""

    # The list

    def build(self):
        """Copy the native list, groups included; all the texts are folded at once."""
        self.entries, self.groups, rows = [], [], []
        self.listbox.replaceChildren()
        for i in range(self.select.children.length):
            source = self.select.children.item(i)
            family, first = source.label, len(self.entries)
            heading, group = make("presentation", family), make("group")
            heading.id = f"{self.input.id}-grupo-{i}"
            group.setAttribute("aria-labelledby", heading.id)
            group.append(heading)
            for k in range(source.children.length):
                option = source.children.item(k)
                name = option.label
                rows.append(f"{name}\t{option.value}\t{family}")
                self.entries.append(Entry(len(self.entries), make("option", name)))
                group.append(self.entries[-1].element)
            self.groups.append((group, self.entries[first:]))
            self.listbox.append(group)
        folded = fold("\n".join(rows))
        plain, short = folded.split("\n"), joined(folded).split("\n")
        for entry in self.entries:
            entry.plain, entry.joined = plain[entry.index], short[entry.index]

    def search(self, text):
        """Show only what has every word of a text."""
        wanted = words(fold(text))
        self.shown = []
        for group, entries in self.groups:
            count = len(self.shown)
            for entry in entries:
                hidden = not all(entry.holds(word) for word in wanted)
                if hidden != entry.hidden:
                    entry.hidden = entry.element.hidden = hidden
                if not hidden:
                    self.shown.append(entry)
            group.hidden = count == len(self.shown)

    def best(self, text):
        """Return what is called exactly so, else what begins so, else the first that matches, if any."""
        name = fold(text.strip())
        exact = [entry for entry in self.shown if name in entry.names()]
        begun = [entry for entry in self.shown if entry.plain.startswith(words(name)[0])] if not exact else []
        return (exact or begun or self.shown or [None])[0]

    def open(self, text, active):
        """Open the list with what matches a text."""
        if len(self.entries) != self.select.options.length:
            self.build()
        self.search(text)
        found = len(self.shown) > 0
        self.opened = True
        self.popup.hidden = False
        self.listbox.hidden = not found
        self.none.hidden = found
        self.input.setAttribute("aria-expanded", "true" if found else "false")
        self.activate(active(text) if found else None)
        js.clearTimeout(self.timer)
        self.timer = js.setTimeout(self.announce, ANNOUNCE_MS)

    def open_all(self):
        """Open the whole list at what is chosen."""
        chosen = self.select.selectedIndex
        self.open("", lambda _: self.entries[chosen] if chosen >= 0 else None)
        self.popup.scrollIntoView({"block": "nearest"})

    def close(self):
        """Close the list and show the name of what is chosen."""
        if self.opened:
            self.opened = False
            self.popup.hidden = True
            self.input.setAttribute("aria-expanded", "false")
            self.activate(None)
            js.clearTimeout(self.timer)
            self.status.textContent = ""
        self.follow()

    def announce(self, *_):
        """Say how many there are."""
        count = len(self.shown)
        said = self.status.dataset.one if count == 1 else self.status.dataset.many.replace("{}", str(count))
        self.status.textContent = said if count else self.none.textContent

    def activate(self, entry):
        """Make an option the active one, and keep it in view inside the list."""
        if self.active:
            self.active.element.setAttribute("aria-selected", "false")
        self.active = entry
        if entry is None:
            self.input.removeAttribute("aria-activedescendant")
            return
        element = entry.element
        element.id = f"{self.input.id}-opcion-{entry.index}"
        element.setAttribute("aria-selected", "true")
        self.input.setAttribute("aria-activedescendant", element.id)
        top = 0 if entry is self.shown[0] else element.offsetTop
        lowest = element.offsetTop + element.offsetHeight - self.listbox.clientHeight
        self.listbox.scrollTop = min(max(self.listbox.scrollTop, lowest), top)

    def choose(self, entry):
        """Choose an option and tell the form, if it is another one."""
        changed = entry is not None and entry.index != self.select.selectedIndex
        if changed:
            self.select.selectedIndex = entry.index
        self.close()
        if changed:
            for name in ("input", "change"):
                self.select.dispatchEvent(js.Event.new(name, {"bubbles": True}))

    # What the visitor does

    def typed(self, event):
        """Search; an emptied box shows everything."""
        text = self.input.value
        self.open(text, self.best if words(text) else lambda _: None)

    def pressed(self, event):
        """Do what a key means."""
        key = event.key
        if event.isComposing or event.ctrlKey or event.metaKey:
            return
        if key == "Tab" and self.active:
            self.choose(self.active)
        elif key == "Escape" or (key == "ArrowUp" and event.altKey):
            if self.opened:
                event.preventDefault()
            self.close()
        elif key == "Enter" and self.opened:
            event.preventDefault()
            self.choose(self.active)
        elif key in ("ArrowDown", "ArrowUp") and not self.opened:
            event.preventDefault()
            self.open_all()
        elif self.opened and self.shown and self.move(key):
            event.preventDefault()

    def move(self, key):
        """Go to another option; say whether the key does that."""
        last = len(self.shown) - 1
        at = self.shown.index(self.active) if self.active else None
        goal = {"Home": 0, "End": last}.get(key)
        step = {"PageUp": -PAGE, "PageDown": PAGE}.get(key)
        if key in ("ArrowDown", "ArrowUp"):
            down = key == "ArrowDown"
            goal = (0 if down else last) if at is None else (at + (1 if down else -1)) % (last + 1)
        elif step:
            goal = min(max((at or 0) + step, 0), last)
        if goal is not None:
            self.activate(self.shown[goal])
        return goal is not None

    def clicked(self, event):
        """Open, ready to write over what is there."""
        if not self.opened:
            self.input.select()
            self.open_all()

    def toggled(self, event):
        """Open or close; with a finger the keyboard of the screen stays away."""
        if self.opened:
            self.close()
        else:
            if getattr(event, "pointerType", "") != "touch":
                self.input.focus()
            self.open_all()

    def picked(self, event):
        """Choose what was clicked."""
        option = event.target.closest("[role=option]")
        if option:
            self.choose(next(entry for entry in self.shown if entry.element.isSameNode(option)))

    def left(self, event):
        """Close when the focus or the pointer goes elsewhere."""
        target = event.relatedTarget if event.type == "focusout" else event.target
        if self.opened and not (target and self.box.contains(target)):
            self.close()


def enhance(box):
    """Turn a box with a native list into a combobox, as soon as nobody is using the list."""
    native = box.querySelector("select")
    if native.isSameNode(document.activeElement):
        native.addEventListener("blur", lambda event: Combobox(box), {"once": True})
    else:
        Combobox(box)
