"""The form: what its controls hold, and texts put into them. MicroPython on the main thread."""

import js
from screen import select


class Controls:
    """The controls of a form that count: those with a name."""

    def __init__(self, form):
        self.form = form
        found = select("input[name], select[name], textarea[name]", form)
        self.all = [control for control in found if not control.disabled]

    def collect(self):
        """Return the raw text of every field."""
        inputs = {}
        for control in self.all:
            if control.type == "checkbox":
                inputs[control.name] = control.value if control.checked else "no"
            elif control.type != "radio" or control.checked:
                inputs[control.name] = control.value
        return inputs

    def fill(self, inputs, touched):
        """Put texts into the form; a field without one goes back to its default. What is in ``touched`` stays."""
        for control in self.all:
            text = getattr(inputs, control.name, None)
            if control.name in touched:
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
        self.form.dispatchEvent(js.Event.new("restored"))

    def changed(self):
        """Return the names of the controls that no longer hold what the page was built with."""
        return [control.name for control in self.all if differs(control)]


def differs(control):
    """Say whether a control no longer holds what the page was built with."""
    if control.type in ("radio", "checkbox"):
        return control.checked != control.defaultChecked
    if control.tagName == "SELECT":
        return any(o.selected != o.defaultSelected for o in select("option", control) if o.selected)
    return control.value != control.defaultValue
