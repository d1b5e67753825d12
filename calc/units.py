"""Units of memory, and the one place where their sizes are written.

Memory is an ``int`` of bytes everywhere inside ``calc``. Binary units (GiB) are what drivers and
frameworks report; decimal units (GB) are what cards and files are sold by. They differ by 7.4 % at this scale,
more than the error we want to show, so a number without its unit never leaves this package.

Source: IEC 80000-13:2008 (binary prefixes), BIPM SI brochure, 9th edition, section 3.1 (decimal prefixes).
"""

from typing import Final

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30

MB: Final = 10**6
GB: Final = 10**9

BILLION: Final = 10**9
"""Unit of parameter counts: in Spanish «miles de millones», never «billones»."""
