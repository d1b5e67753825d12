"""Numbers as people type them are read exactly, or refused with a precise code."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.calculators.numerals import MAX_DIGITS, read_decimal, read_integer
from calc.errors import InvalidInput
from calc.es import number_text


def code(read: Callable[[str, str], object], text: str) -> str:
    """The code with which ``read`` refuses a text."""
    with pytest.raises(InvalidInput) as caught:
        read(text, "field")
    assert caught.value.place == "field"
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8192", 8192),
        ("8.192", 8192),
        ("8 192", 8192),
        ("8\u00a0192", 8192),
        ("8\u202f192", 8192),
        (" 1.048.576 ", 1_048_576),
        ("007", 7),
        ("+3", 3),
        ("0", 0),
    ],
)
def test_integers_accept_grouped_thousands(text: str, value: int) -> None:
    """A whole number may have its thousands grouped by points or by any space."""
    assert read_integer(text, "field") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0,5", Fraction(1, 2)),
        ("0.5", Fraction(1, 2)),
        (",5", Fraction(1, 2)),
        ("7,", Fraction(7)),
        ("8.192", Fraction(8192, 1000)),
        ("8,192", Fraction(8192, 1000)),
        ("1.234,5", Fraction(12345, 10)),
        ("1,234.5", Fraction(12345, 10)),
        ("1 234,5", Fraction(12345, 10)),
        ("1.234.567", Fraction(1_234_567)),
        ("1,234,567", Fraction(1_234_567)),
        ("0,1", Fraction(1, 10)),
    ],
)
def test_decimals_follow_one_rule(text: str, value: Fraction) -> None:
    """In a decimal field a single sign is decimal, a repeated one groups, and of two the last one is decimal."""
    assert read_decimal(text, "field") == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ocho", "not_a_number"),
        ("7B", "not_a_number"),
        ("81 92", "not_a_number"),
        ("8..192", "not_a_number"),
        ("8_192", "not_a_number"),
        ("<b>8</b>", "not_a_number"),
        ("٣", "not_a_number"),
        ("½", "not_a_number"),
        ("8,5", "not_an_integer"),
        ("8,192", "not_an_integer"),
        ("1.5", "not_an_integer"),
        ("NaN", "not_finite"),
        ("Infinity", "not_finite"),
        ("-inf", "not_finite"),
        ("∞", "not_finite"),
        ("1e308", "exponent"),
        ("-1E5", "exponent"),
        ("-3", "negative"),
        ("\u22123", "negative"),
        ("- 3", "negative"),
        ("9" * 31, "too_many_digits"),
        ("1" * 100_000, "too_many_digits"),
    ],
)
def test_what_is_no_whole_number_is_refused_with_a_code(text: str, expected: str) -> None:
    """Each way of being wrong has a code of its own."""
    assert code(read_integer, text) == expected


@pytest.mark.parametrize("text", ["1.234.56", "12.34,5", ".", ",", "1,2,3", "1e308", "NaN", "-0,5", "0x10", "1/2"])
def test_what_is_no_decimal_is_refused(text: str) -> None:
    """A decimal field refuses bad groups, exponents, fractions, other bases and negatives."""
    assert code(read_decimal, text) in {"not_a_number", "exponent", "not_finite", "negative"}


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**MAX_DIGITS - 1))
def test_what_is_shown_can_be_typed_again(value: int) -> None:
    """A whole number in Spanish style reads back as itself."""
    assert read_integer(number_text(value), "field") == value


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=9))
def test_decimals_shown_can_be_typed_again(value: int, places: int) -> None:
    """A number with decimals in Spanish style reads back as itself: no binary fraction is ever involved."""
    exact = Fraction(value, 10**places)
    assert read_decimal(number_text(exact, 9), "field") == exact


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_number_or_an_error_with_a_code(text: str) -> None:
    """No text makes the reader fail in another way."""
    for read in (read_integer, read_decimal):
        with suppress(InvalidInput):
            assert read(text, "field") >= 0
