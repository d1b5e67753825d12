"""JSON from outside is parsed as Python parses it, or refused before it can do harm."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.checkpoint import InvalidFile
from calc.json_door import MAX_DEPTH, is_deep, load_json

TEXTS = st.text(st.sampled_from('[]{}"\\,:a\n\u00f1'), max_size=8)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([None, 1]))
def test_a_good_document_is_read_as_it_is(value: dict[str, Any], indent: int | None) -> None:
    """Whatever its texts hold: brackets, quotes, escapes."""
    data = json.dumps(value, indent=indent, ensure_ascii=indent is None).encode()
    assert not is_deep(data)
    assert load_json(data, place="x") == value


@given(VALUES, st.integers(2 * MAX_DEPTH + 2, 5000))
@settings(max_examples=50)
def test_a_deep_nest_is_refused_whatever_surrounds_it(value: Any, depth: int) -> None:
    """Brackets in texts before or inside the nest do not hide it."""
    for start, end in (("[", "]"), ('{"a]":', "}")):
        inner = json.dumps(value)
        for data in (
            start * depth + inner + end * depth,
            start * depth + inner,
            f'{{"a": {inner}, "b": {start * depth}',
        ):
            with pytest.raises(InvalidFile, match="too_deep"):
                load_json(data.encode(), place="x")


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    """Only our own error leaves the door."""
    for finite in (True, False):
        with suppress(InvalidFile):
            load_json(data, place="x", finite=finite)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "9" * 50, "0." + "1" * 60])
def test_numbers_without_a_place_in_a_header_may_stand_in_a_configuration(text: str) -> None:
    """A header has sizes only; a configuration may say «no limit»."""
    data = f'{{"a": {text}}}'.encode()
    with pytest.raises(InvalidFile, match="bad_number"):
        load_json(data, place="x")
    assert "a" in load_json(data, place="x", finite=False)


def test_a_number_of_a_thousand_digits_is_refused_everywhere() -> None:
    """Digits cost time that grows with their square."""
    with pytest.raises(InvalidFile, match="bad_number"):
        load_json(b'{"a": ' + b"9" * 1000 + b"}", place="x", finite=False)
