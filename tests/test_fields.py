"""A calculator's inputs are declared once, and read through one door."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators import CALCULATORS, Field, Kind, parse, visible
from calc.calculators.fields import MAX_TEXT

STEPS = Field(name="steps", kind=Kind.INTEGER, default="8", minimum=1, maximum=1000)
SIZE = Field(name="size", kind=Kind.DECIMAL, default="0,5", minimum=Fraction(1, 100), maximum=10)
SPARE = Field(name="spare", kind=Kind.DECIMAL, minimum=0, optional=True)
WORD = Field(name="word", kind=Kind.CHOICE, default="GiB", choices=("GiB", "GB"))
FLAG = Field(name="flag", kind=Kind.FLAG, default="yes")
GPU = Field(name="gpu", kind=Kind.GPU, default="rtx-4090")
MODEL = Field(name="model", kind=Kind.MODEL, default="llama-3-8b", custom=True)
LAYERS = Field(name="layers", kind=Kind.INTEGER, default="32", minimum=1, shown_when={"model": ("custom",)})


def only_error(field: Field, text: str) -> tuple[str, dict[str, Any]]:
    """Code and parameters of the one error that this text of this field gives."""
    (error,) = parse([field], {field.name: text}).errors
    assert error.place == field.name
    return error.code, error.params


def test_what_is_left_out_takes_its_default() -> None:
    """No input at all reads as the defaults."""
    parsed = parse([STEPS, SIZE, SPARE, WORD, FLAG, GPU], {})
    assert dict(parsed.values) == {
        "steps": 8,
        "size": Fraction(1, 2),
        "spare": None,
        "word": "GiB",
        "flag": True,
        "gpu": "rtx-4090",
    }
    assert not parsed.errors


@pytest.mark.parametrize("text", ["", "   ", "\u00a0", "\t\n"])
def test_an_empty_field_is_an_error_of_its_own(text: str) -> None:
    """An empty field is not zero and not the default."""
    assert only_error(STEPS, text)[0] == "empty"


def test_an_optional_field_may_be_empty() -> None:
    """An optional field left empty holds nothing."""
    assert parse([SPARE], {"spare": " "}).values == {"spare": None}
    assert not parse([SPARE], {"spare": " "}).has("spare")


def test_numbers_keep_to_their_bounds() -> None:
    """Zero, too little and too much are told apart, each with the bound."""
    assert only_error(STEPS, "0") == ("zero", {"minimum": 1})
    assert only_error(SIZE, "0,001") == ("too_small", {"minimum": Fraction(1, 100)})
    assert only_error(STEPS, "1.001") == ("too_large", {"maximum": 1000})


def test_a_long_text_is_refused_before_it_is_read() -> None:
    """A text of a megabyte gives an error, not a number."""
    assert only_error(STEPS, " " * 10**6 + "8") == ("too_long", {"maximum": MAX_TEXT})


@pytest.mark.parametrize(("text", "value"), [(" gib ", "GiB"), ("GB", "GB")])
def test_choices_do_not_mind_case_or_spaces(text: str, value: str) -> None:
    """A choice is read without regard to case or outer spaces."""
    assert parse([WORD], {"word": text}).word("word") == value


def test_an_unknown_choice_names_the_closest() -> None:
    """What is not offered is refused with what resembles it."""
    code, params = only_error(MODEL, "llama-3-8")
    assert code == "unknown_model"
    assert "llama-3-8b" in params["closest"]
    assert only_error(GPU, "rtx4090")[1]["closest"][0] == "rtx-4090"
    assert only_error(WORD, "TB")[0] == "unknown_choice"


def test_an_error_repeats_a_wrong_value_only_in_part() -> None:
    """A wrong value is quoted as text and cut."""
    code, params = only_error(GPU, "<script>alert(1)</script>" * 5)
    assert code == "unknown_gpu"
    assert str(params["value"]).startswith("<script>")
    assert len(str(params["value"])) == 40


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("No", False), ("sí", True)])
def test_flags_are_yes_or_no(text: str, value: bool) -> None:
    """A flag is read from its words."""
    assert parse([FLAG], {"flag": text}).flag("flag", otherwise=not value) is value


def test_a_field_that_does_not_apply_is_not_read() -> None:
    """A wrong value in a hidden field is no error and no value, and its text is kept."""
    parsed = parse([MODEL, LAYERS], {"layers": "x"})
    assert parsed.visible == ("model",)
    assert not parsed.errors
    assert "layers" not in parsed.values
    assert parsed.text["layers"] == "x"


def test_a_field_applies_when_the_others_say_so() -> None:
    """A field shown by a choice is read like any other."""
    assert parse([MODEL, LAYERS], {"model": "Custom", "layers": "x"}).errors[0].place == "layers"


def test_errors_come_in_the_order_of_the_form() -> None:
    """All fields are read, and all errors are told."""
    errors = parse([STEPS, SIZE, WORD], {"steps": "", "size": "x", "word": "y"}).errors
    assert [(error.place, error.code) for error in errors] == [
        ("steps", "empty"),
        ("size", "not_a_number"),
        ("word", "unknown_choice"),
    ]


@pytest.mark.parametrize("name", CALCULATORS)
def test_declarations_are_sound(name: str) -> None:
    """Every declared default is good, every condition names an earlier field, and every number has its bounds."""
    fields = CALCULATORS[name].fields
    earlier: set[str] = set()
    for field in fields:
        assert field.name not in earlier
        assert set(field.shown_when) <= earlier
        assert set(field.finer) <= set(field.choices)
        assert bool(field.default) != field.optional
        if field.kind in (Kind.INTEGER, Kind.DECIMAL):
            assert field.minimum is not None
            assert field.maximum is not None
        if field.default and not field.shown_when:
            assert not parse([field], {}).errors
        earlier.add(field.name)


def test_models_and_gpus_are_those_of_the_catalogue() -> None:
    """A model field offers the catalogue's models, and «Personalizado» where it says so."""
    assert MODEL.options() == (*(one.id for one in catalog.models()), "custom")
    assert GPU.options() == tuple(one.id for one in catalog.gpus())


@settings(deadline=None)
@given(st.sampled_from(sorted(CALCULATORS)), st.data())
def test_any_text_in_any_field_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever is typed, each field that applies has a value or an error, never both and never an exception."""
    fields = CALCULATORS[name].fields
    chosen = data.draw(st.dictionaries(st.sampled_from([one.name for one in fields]), st.text(max_size=30), max_size=4))
    parsed = parse(fields, chosen)
    wrong = [error.place for error in parsed.errors]
    assert sorted([*parsed.values, *wrong]) == sorted(parsed.visible)
    assert visible(fields, parsed.text) == parsed.visible
