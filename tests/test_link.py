"""A result is a link: the URL fragment holds the inputs that differ from the defaults."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.calculators import CALCULATORS, fragment, from_fragment, parse


def test_the_defaults_need_no_fragment() -> None:
    """Default inputs, said or unsaid, make an empty fragment."""
    for name, calculator in CALCULATORS.items():
        assert fragment(name, {}) == ""
        assert fragment(name, {field.name: field.default for field in calculator.fields}) == ""


def test_differences_stand_in_order_of_their_keys() -> None:
    """Keys are sorted, values are escaped, spaces around a value are dropped."""
    typed = {"steps": " 16", "activation-per-sample": "0,25", "gpus": "1"}
    assert fragment("acumulacion", typed) == "activation-per-sample=0%2C25&steps=16"


def test_fields_that_do_not_apply_stay_out() -> None:
    """A training option is not part of a link to an inference."""
    assert fragment("gpu", {"optimizer": "sgd", "batch": "2"}) == "batch=2"
    assert fragment("gpu", {"optimizer": "sgd", "workload": "training"}) == "optimizer=sgd&workload=training"


def test_wrong_values_are_kept_as_typed() -> None:
    """A wrong value survives a link as text, so that its field can say what is wrong."""
    text = fragment("acumulacion", {"steps": "<b>ocho</b>"})
    assert text == "steps=%3Cb%3Eocho%3C%2Fb%3E"
    assert from_fragment("acumulacion", text) == {"steps": "<b>ocho</b>"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("#", {}),
        ("#steps=16", {"steps": "16"}),
        ("steps=1&steps=2", {"steps": "2"}),
        ("utm_source=x&steps=3&STEPS=4", {"steps": "3"}),
        ("steps", {}),
        ("steps=", {"steps": ""}),
        ("steps=%31%36", {"steps": "16"}),
        ("steps=%", {"steps": "%"}),
        ("steps=%ff", {"steps": "\ufffd"}),
        ("steps=8+192", {"steps": "8 192"}),
        ("&&=&=x&steps==", {"steps": "="}),
        ("steps=" + "9" * 100_000, {}),
        ("steps=" + "9" * 300, {}),
    ],
)
def test_a_fragment_of_any_kind_is_read_without_harm(text: str, expected: dict[str, str]) -> None:
    """Unknown keys are ignored, the last of several wins, bad escapes and oversized values do no harm."""
    assert from_fragment("acumulacion", text) == expected


@settings(deadline=None)
@given(st.sampled_from(sorted(CALCULATORS)), st.data())
def test_a_link_restores_what_was_typed(name: str, data: st.DataObject) -> None:
    """What was typed in the fields that apply comes back from the link, but for spaces around it."""
    fields = CALCULATORS[name].fields
    typed = data.draw(st.dictionaries(st.sampled_from([one.name for one in fields]), st.text(max_size=40), max_size=5))
    before = parse(fields, typed)
    after = parse(fields, from_fragment(name, fragment(name, typed)))
    assert after.visible == before.visible
    for one in before.visible:
        assert after.text[one].strip() == before.text[one].strip()


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_fragment_of_known_keys_at_most(text: str) -> None:
    """Reading never fails and never invents a key."""
    assert set(from_fragment("gpu", text)) <= {field.name for field in CALCULATORS["gpu"].fields}
