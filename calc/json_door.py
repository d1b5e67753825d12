"""JSON from outside: one object, bounded before it is parsed, so that no file can exhaust the machine.

Refused with a code and a place: what is not UTF-8, a repeated key, nesting that is too deep, more values than any real
file has (counted on the bytes, before an object is made), integers of more than 20 digits, numbers that are not finite
(but in a configuration, where Python's ``Infinity`` is usual: ``time_step_limit`` of Mamba 2).
"""

import json
import re
from math import isfinite
from typing import Any, Final

from calc.checkpoint import InvalidFile, shown_name

MAX_DEPTH: Final = 64
"""Objects and lists inside one another; configurations in use have six."""

_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_TEXT: Final = re.compile(rb'"[^"]*"')
_NEITHER: Final = bytes(byte for byte in range(256) if byte not in b'{}[]"')

MAX_VALUES: Final = 600_000
"""Most commas plus brackets: a header of 50,000 tensors has two thirds of them, an index of 300,000 half."""
FREE_VALUES: Final = 310_000
VALUES_EACH: Final = 12
"""And no more than the second for each brace plus the first: a description of a tensor has eight."""

MAX_NUMBER: Final = 40
"""Longest number in characters; integers may have 20 digits, as many as 2^64 has."""
MAX_DIGITS: Final = 100
"""Most digits of an integer in a configuration: some hold 10^30 for «no limit»."""


def load_json(data: bytes, *, place: str, finite: bool = True) -> dict[str, Any]:
    """Parse one JSON object; ``finite=False`` lets ``Infinity`` and ``NaN`` in as floats.

    >>> load_json(b'{"a": 1}', place="config.json")
    {'a': 1}

    Raises:
        InvalidFile: ``not_utf8``, ``not_json``, ``too_deep``, ``too_many_values``, ``not_object``, ``repeated_key``,
            ``bad_number``.
    """
    braces = data.count(b"{")
    count = data.count(b",") + data.count(b"[") + braces
    maximum = min(MAX_VALUES, FREE_VALUES + VALUES_EACH * braces)
    if count > maximum:
        raise InvalidFile("too_many_values", place=place, count=count, maximum=maximum)
    if is_deep(data):
        raise InvalidFile("too_deep", place=place)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFile("not_utf8", place=place, offset=error.start) from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_int=_integer if finite else _any_integer,
            parse_float=_decimal if finite else _any_decimal,
            parse_constant=_no_constant if finite else float,
        )
    except json.JSONDecodeError as error:
        raise InvalidFile("not_json", place=place, line=error.lineno, column=error.colno) from None
    if not isinstance(value, dict):
        raise InvalidFile("not_object", place=place)
    return value


def is_deep(data: bytes) -> bool:
    """Whether objects and lists nest deeper than ``MAX_DEPTH``, told without recursion.

    Python's parser recurses, and in WebAssembly a nest of some thousands ends the interpreter, not with an exception.

    >>> is_deep(b"[" * 100), is_deep(b'{"a": "' + b"[" * 100 + b'"}')
    (True, False)
    """
    if b"\\" in data:
        data = _ESCAPE.sub(b"", data)
    brackets = data.translate(None, _NEITHER).replace(b'""', b"")
    brackets = _TEXT.sub(b"", brackets)
    for _ in range(MAX_DEPTH):
        shorter = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    return len(brackets) > MAX_DEPTH


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidFile("repeated_key", place=shown_name(key))
            seen.add(key)
    return result


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise InvalidFile("bad_number", place=digits[:24])
    return int(digits)


def _decimal(digits: str) -> float:
    value = float(digits) if len(digits) <= MAX_NUMBER else float("inf")
    if not isfinite(value):
        raise InvalidFile("bad_number", place=digits[:24])
    return value


def _any_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise InvalidFile("bad_number", place=digits[:24])
    return int(digits)


def _any_decimal(digits: str) -> float:
    return float(digits) if len(digits) <= MAX_NUMBER else float("inf")


def _no_constant(name: str) -> float:
    raise InvalidFile("bad_number", place=name)
