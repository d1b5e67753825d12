"""The state of a calculator as a URL fragment, so that a result is a link and a link never reaches a server.

The fragment holds the inputs that apply and differ from their defaults, keys sorted. What comes back is untrusted:
unknown keys are ignored, the last of several wins, and a value is kept as text even if it is wrong, so that its
field can say so. A fragment or a value that no calculator of ours could have written is ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote_plus

from calc.calculators.fields import Field, parse

MAX_FRAGMENT: Final = 8192
"""Longest fragment that is looked at; ours have some hundred characters."""


def write(fields: Sequence[Field], raw: Mapping[str, str]) -> str:
    """The fragment of these inputs, without ``#``; empty for the defaults.

    Example:
        >>> from calc.calculators.fields import Kind
        >>> fields = [Field(name="steps", kind=Kind.INTEGER, default="8"),
        ...           Field(name="micro-batch", kind=Kind.DECIMAL, default="4")]
        >>> write(fields, {"steps": "16", "micro-batch": "0,5 "}), write(fields, {"steps": "8"})
        ('micro-batch=0%2C5&steps=16', '')
    """
    parsed = parse(fields, raw)
    pairs = {
        field.name: parsed.text[field.name].strip()
        for field in fields
        if field.name in parsed.visible and parsed.text[field.name].strip() != field.default
    }
    longest = {field.name: field.longest for field in fields}
    short = (name for name in sorted(pairs) if len(pairs[name]) <= longest[name])
    return "&".join(f"{name}={quote(pairs[name], safe='')}" for name in short)


def read(fields: Sequence[Field], text: str) -> dict[str, str]:
    """The inputs that a fragment, with or without its ``#``, holds for these fields.

    Example:
        >>> from calc.calculators.fields import Kind
        >>> read([Field(name="steps", kind=Kind.INTEGER, default="8")], "#steps=4&x=1&steps=%31%36&steps")
        {'steps': '16'}
    """
    if len(text) > MAX_FRAGMENT:
        return {}
    known = {field.name: field.longest for field in fields}
    found: dict[str, str] = {}
    for part in text.removeprefix("#").split("&"):
        name, equals, value = part.partition("=")
        decoded = unquote_plus(value, errors="replace")
        key = unquote_plus(name)
        if equals and len(decoded) <= known.get(key, -1):
            found[key] = decoded
    return found
