"""What leaves the page by a visitor's hand: the clipboard, files, paper. MicroPython on the main thread.

Texts come from the worker. A file is a link to bytes that the browser already has; nothing is sent anywhere.
"""

import json

import js
from screen import say, select

SCALE = 2
"""Points of the PNG for each point of the drawing."""
KEEP_MS = 60_000
"""How long the bytes of a file stay, for the browser to write them."""
LONGEST = 400
"""Longest address that is printed: one with a whole model inside would fill the sheet."""
STATUS = "[data-taken]"

MADE_FROM = {"text": "text", "markdown": "markdown", "csv": "csv", "json": "json", "svg": "svg", "png": "svg"}
"""What is asked for -> the text of the worker that it is made of."""
TYPES = {"csv": "text/csv", "json": "application/json", "svg": "image/svg+xml"}

document, window = js.document, js.window


def today():
    """Return the date of this place, ISO."""
    now = js.Date.new()
    return f"{int(now.getFullYear()):04d}-{int(now.getMonth()) + 1:02d}-{int(now.getDate()):02d}"


def deliver(kind, calculator, text):
    """Hand over what the worker made, the JSON of texts by kind."""
    made = json.loads(text).get(MADE_FROM[kind])
    name = f"calculo-{calculator}.{kind}"
    if made is None:
        say("not-valid", STATUS)
    elif kind in TYPES:
        save(js.Blob.new(js.Array.of(made), js.JSON.parse(json.dumps({"type": TYPES[kind] + ";charset=utf-8"}))), name)
    elif kind == "png":
        draw(made, name)
    else:
        copy(made)


def copy(text):
    """Put a text on the clipboard; where the browser does not let us, show it to be copied by hand."""
    write(text, lambda *_: say("taken", STATUS), lambda *_: by_hand(text))


def write(text, done, refused):
    """Put a text on the clipboard and call ``done``, or ``refused`` where there is no clipboard or it is not given."""
    clipboard = getattr(js.navigator, "clipboard", None)
    if clipboard and getattr(clipboard, "writeText", None):  # what a browser does not have is an object that is true
        clipboard.writeText(text).then(done, refused)
    else:
        refused()


def by_hand(text):
    """Show a text, all of it selected."""
    box = document.querySelector("[data-by-hand]")
    area = box.querySelector("textarea")
    box.hidden = False
    area.value = text
    area.focus()
    area.select()
    say("by-hand", STATUS)


def save(blob, name):
    """Let the browser write bytes to a file."""
    address = js.URL.createObjectURL(blob)
    link = document.createElement("a")
    link.setAttribute("href", address)
    link.setAttribute("download", name)
    document.body.append(link)
    link.click()
    link.remove()
    js.setTimeout(lambda: js.URL.revokeObjectURL(address), KEEP_MS)
    say("saved", STATUS)


def draw(svg, name):
    """Draw an SVG as points and save them."""
    image = document.createElement("img")

    def loaded(*_):
        canvas = document.createElement("canvas")
        canvas.width, canvas.height = image.naturalWidth * SCALE, image.naturalHeight * SCALE
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
        canvas.toBlob(lambda blob: save(blob, name) if blob else say("not-drawn", STATUS), "image/png")

    image.onload = loaded
    image.onerror = lambda *_: say("not-drawn", STATUS)
    image.src = "data:image/svg+xml;charset=utf-8," + js.encodeURIComponent(svg)


def fill_paper(*_):
    """Write on the sheet when and where it was printed."""
    year, month, day = [int(part) for part in today().split("-")]
    options = js.JSON.parse('{"day": "numeric", "month": "long", "year": "numeric"}')
    address = js.location.href
    texts = {
        "date": js.Date.new(year, month - 1, day).toLocaleDateString("es", options),
        "address": address if len(address) <= LONGEST else address.split("#")[0],
    }
    for place in select("[data-paper]"):
        place.textContent = texts[place.getAttribute("data-paper")]
