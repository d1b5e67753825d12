"""Numbers as people type them, read exactly.

The one rule for separators:

1. Spaces (also no-break, narrow and thin ones) only group thousands.
2. In an *integer* field a point groups thousands as well: «8.192» is 8192. A comma is a decimal sign there as
   everywhere, so «8,192» is not an integer and is refused rather than guessed.
3. In a *decimal* field a single point or a single comma is the decimal sign: «8.192» and «8,192» are both 8.192.
   Where both appear, the last one is decimal («1.234,5», «1,234.5»); a sign that is repeated groups («1.234.567»).
4. Groups have three digits, or the text is not a number. Exponents, NaN and infinities are refused.

Values are ``int`` or ``Fraction``, never ``float``.
"""

import re
from fractions import Fraction
from typing import Final

from calc.errors import InvalidInput

MAX_DIGITS: Final = 30
"""More digits than this are a mistake: thirty already count every byte of memory ever made."""

_SPACES: Final = re.compile("[ \u00a0\u2007\u2009\u202f]")
_INTEGER: Final = re.compile(r"[0-9]+|[0-9]{1,3}(?:( |\.)[0-9]{3})(?:\1[0-9]{3})*")
_DECIMAL: Final = re.compile(
    r"""(?P<plain>[0-9]+[.,]?[0-9]*|[.,][0-9]+)          # 7  7,5  7.5  7,  ,5
      | (?P<spaced>[0-9]{1,3}(?:\ [0-9]{3})+(?:[.,][0-9]*)?)  # 1 234,5
      | (?P<pointed>[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*)     # 1.234,5
      | (?P<comma>[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*)       # 1,234.5
      | (?P<repeated>[0-9]{1,3}([.,])[0-9]{3}(?:\6[0-9]{3})+)  # 1.234.567""",
    re.VERBOSE,
)
_NOT_FINITE: Final = re.compile(r"[+-]?(nan|inf|infinity|infinito|∞)", re.IGNORECASE)
_EXPONENT: Final = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]*)?e[+-]?[0-9]+", re.IGNORECASE)


def read_integer(text: str, place: str) -> int:
    """Read a whole number typed in the field ``place``.

    Raises:
        InvalidInput: ``not_a_number``, ``not_finite``, ``exponent``, ``too_many_digits``, ``negative``,
            ``not_an_integer``.

    Example:
        >>> read_integer("8.192", "context"), read_integer(" 8 192 ", "context")
        (8192, 8192)
    """
    body = _body(text, place)
    if _INTEGER.fullmatch(body):
        return int(body.replace(" ", "").replace(".", ""))
    raise InvalidInput("not_an_integer" if _DECIMAL.fullmatch(body) else "not_a_number", place=place)


def read_decimal(text: str, place: str) -> Fraction:
    """Read a number that may have decimals, typed in the field ``place``.

    Raises:
        InvalidInput: as ``read_integer``, without ``not_an_integer``.

    Example:
        >>> read_decimal("0,5", "activations") == read_decimal("0.5", "activations") == Fraction(1, 2)
        True
    """
    body = _body(text, place)
    match = _DECIMAL.fullmatch(body)
    if match is None:
        raise InvalidInput("not_a_number", place=place)
    body = body.replace(" ", "")
    match match.lastgroup:
        case "pointed":
            body = body.replace(".", "")
        case "comma":
            body = body.replace(",", "")
        case "repeated":
            body = body.replace(".", "").replace(",", "")
    whole, _, decimals = body.replace(",", ".").partition(".")
    return Fraction(int((whole + decimals) or "0"), 10 ** len(decimals))


def _body(text: str, place: str) -> str:
    """The text without sign and outer spaces, all inner spaces alike; refuses what cannot be a number at all."""
    body = _SPACES.sub(" ", text.strip()).replace("\u2212", "-")
    if sum(character.isdigit() for character in body) > MAX_DIGITS:
        raise InvalidInput("too_many_digits", place=place, maximum=MAX_DIGITS)
    if _NOT_FINITE.fullmatch(body):
        raise InvalidInput("not_finite", place=place)
    if _EXPONENT.fullmatch(body):
        raise InvalidInput("exponent", place=place)
    if body.startswith("-") and _DECIMAL.fullmatch(body[1:].strip()):
        if body.strip("-0 .,"):
            raise InvalidInput("negative", place=place)
        return body[1:].strip()
    return body.removeprefix("+")
