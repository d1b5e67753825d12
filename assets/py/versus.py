"""The list of scenarios of a visit: MicroPython on the main thread. The worker lays it out; here it is kept.

One change at a time, each to the list that the one before left.
"""

import js
from address import carry
from screen import say


class Versus:
    """The list to compare with, as it stands in the address, and what is still to be done to it."""

    def __init__(self, screen, ask, rewritten, done):
        self.screen = screen
        self.ask = ask  # asks the worker for a change and returns its promise, or nothing while it is too early
        self.rewritten = rewritten  # called when the list is another one
        self.done = done  # called when nothing is left to do
        self.text = ""
        self.changes = []  # an empty one just lays the list out again
        self.waiting = False

    def replace(self, text):
        """Take another list, and say whether it is another."""
        differs = text != self.text
        self.text = text
        carry(text)
        return differs

    def change(self, what):
        """Do something to the list: ``{"add": True}``, ``{"remove": place}`` or nothing, to lay it out again."""
        self.changes.append(what)
        self.next()

    def refresh(self):
        """Lay the list out beside a new answer, after what is still to be done to it; say that all is done."""
        if self.text and not self.changes:
            self.changes.append({})
        if self.changes:
            self.next()
        else:
            self.done()

    def next(self):
        """Ask for the next change, once the form says what the page shows."""
        if self.waiting or not self.changes:
            return
        answer = self.ask(self.changes[0])
        if answer:
            self.changes.pop(0)
            self.waiting = True
            answer.then(self.show, self.refuse)

    def show(self, text):
        """Show the list as it is now."""
        answer = js.JSON.parse(text)
        self.waiting = False
        self.screen.add(answer.html)
        if answer.said:
            self.replace(answer.vs)
            self.rewritten()
            say(answer.said)
            if answer.said == "removed":
                js.document.querySelector("[data-action=add-scenario]").focus({"preventScroll": True})
        if self.changes:
            self.next()
        else:
            self.done()

    def refuse(self, error):
        """Say that there is no comparison; the next answer tries again."""
        self.waiting = False
        self.changes.clear()
        self.done()
        say("not-compared")
        js.console.warn("estimador:", error)
