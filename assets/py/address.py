"""The fragment of the address: the inputs of the form, and after ``vs=`` the scenarios to compare with."""

from screen import select

KEY = "vs="


def split(fragment):
    """Return the inputs and the list of scenarios that a fragment holds, both as they are written there."""
    parts = [part for part in fragment.split("&") if part]
    lists = [part[len(KEY) :] for part in parts if part.startswith(KEY)]
    return "&".join([part for part in parts if not part.startswith(KEY)]), lists[-1] if lists else ""


def join(inputs, scenarios):
    """Return the fragment that holds both."""
    return "&".join([part for part in (inputs, KEY + scenarios if scenarios else "") if part])


def carry(scenarios):
    """Let the links to the other calculators take the list along; in the one-file edition they are fragments."""
    for link in select("a[data-carry]"):
        whole = link.getAttribute("href")
        inside = whole.startswith("#/")
        bare = whole.split("?" if inside else "#")[0]
        link.setAttribute("href", bare + ("?" if inside else "#") + KEY + scenarios if scenarios else bare)
