"""Numbers as Spanish writes them: our own pure functions, because ``locale`` lies in Pyodide and Intl differs.

Decimal comma; groups of three with a narrow no-break space (U+202F) from five digits on; a no-break space (U+00A0)
before the unit; a true minus sign. Source: RAE and ASALE, Ortografía de la lengua española (2010), chapter VIII.
"""

from fractions import Fraction
from typing import Final

from calc.units import GB, GIB, KIB, MB, MIB

NARROW: Final = "\u202f"
"""Narrow no-break space, between groups of digits."""

SPACE: Final = "\u00a0"
"""No-break space, between a number and its unit."""

_BINARY: Final = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "bytes"))
_DECIMAL: Final = ((GB, "GB"), (MB, "MB"), (1000, "kB"), (1, "bytes"))
_CHAINS: Final = {"GiB": _BINARY, "GB": _DECIMAL}


def number_text(value: int | Fraction, decimals: int = 2) -> str:
    """A number, rounded half away from zero; zeros at the end are dropped only where nothing was rounded off.

    Example:
        >>> number_text(8192), number_text(Fraction(1, 2)), number_text(Fraction(16001, 1000))
        ('8192', '0,5', '16,00')
        >>> number_text(8_030_261_248) == "8\u202f030\u202f261\u202f248"
        True
    """
    scale = 10**decimals
    scaled = abs(Fraction(value)) * scale
    rounded = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    whole, rest = divmod(rounded, scale)
    digits = f"{rest:0{decimals}d}" if decimals else ""
    if rounded == scaled:
        digits = digits.rstrip("0")
    sign = "\u2212" if value < 0 and rounded else ""
    return sign + _grouped(str(whole)) + (f",{digits}" if digits else "")


def _grouped(digits: str) -> str:
    if len(digits) < 5:
        return digits
    head = len(digits) % 3
    groups = [digits[:head]] if head else []
    groups += [digits[start : start + 3] for start in range(head, len(digits), 3)]
    return NARROW.join(groups)


def measure(size: int, unit: str) -> tuple[str, str]:
    """A number of bytes as a number and its unit: ``GiB`` (2**30) or ``GB`` (10**9), smaller units for small sizes.

    Three significant digits or so: what is below the precision of any estimate is not shown.

    Example:
        >>> measure(2**30, "GiB"), measure(112 * 10**9, "GB"), measure(83_886_080, "GiB")
        (('1', 'GiB'), ('112', 'GB'), ('80', 'MiB'))
    """
    chain = _CHAINS[unit]
    scale, name = next((step for step in chain if abs(size) * 10 >= step[0]), chain[-1]) if size else chain[0]
    value = Fraction(size, scale)
    decimals = 0 if abs(value) >= 1000 or scale == 1 else 1 if abs(value) >= 100 else 2
    return number_text(value, decimals), name


def bytes_text(size: int, unit: str = "GiB") -> str:
    """A number of bytes in words.

    >>> bytes_text(16_060_522_496) == "14,96\u00a0GiB", bytes_text(16_060_522_496, "GB") == "16,06\u00a0GB"
    (True, True)
    """
    return SPACE.join(measure(size, unit))


def percent_text(share: Fraction, decimals: int = 1) -> str:
    """A share as a percentage.

    >>> percent_text(Fraction(734, 1000)) == "73,4\u00a0%"
    True
    """
    return f"{number_text(share * 100, decimals)}{SPACE}%"


def count_text(count: int) -> str:
    """A large count rounded to words: millions, or thousands of millions (never «billones» for 10**9).

    Example:
        >>> count_text(8_030_261_248).replace("\u00a0", " "), count_text(124_439_808).replace("\u00a0", " ")
        ('8,03 miles de millones', '124,44 millones')
    """
    if count >= 10**9:
        return f"{number_text(Fraction(count, 10**9))}{SPACE}miles{SPACE}de{SPACE}millones"
    if count >= 10**6:
        return f"{number_text(Fraction(count, 10**6))}{SPACE}millones"
    return number_text(count)
