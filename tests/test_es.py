"""Every code, field, choice, component and symbol has its Spanish words, and numbers are written in Spanish style."""

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog, es
from calc.calculators import CALCULATORS, Field, Kind, run
from calc.calculators.entrenar import RECIPES
from calc.errors import InvalidConfig, InvalidInput, UnsupportedArchitecture
from calc.estimate import Component, Note
from calc.fit import Verdict
from calc.formula import symbols

CALC = Path(__file__).parent.parent / "calc"
FIELDS = [field for calculator in CALCULATORS.values() for field in calculator.fields]
NUMBER = re.compile("\u2212?[0-9]{1,4}(,[0-9]+)?|\u2212?[0-9]{1,3}(\u202f[0-9]{3})+(,[0-9]+)?")


def codes(*names: str) -> set[str]:
    """First arguments, or ``code=``, of every call of these names in the package, where they are written out."""
    found = set()
    for path in CALC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _called(node) in names:
                values = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "code")]
                found |= {code for value in values for part in ast.walk(value) for code in _code(part)}
    return found


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _code(node: ast.AST) -> set[str]:
    value = node.value if isinstance(node, ast.Constant) else None
    return {value} if isinstance(value, str) and re.fullmatch("[a-z][a-z0-9_]*[a-z0-9]", value) else set()


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_has_its_words(field: Field) -> None:
    """A field has a label, a hint of one line, words for its unit and for each of its choices."""
    assert es.FIELD_LABELS[field.name]
    assert es.FIELD_HINTS[field.name].endswith(".")
    assert "\n" not in es.FIELD_HINTS[field.name]
    assert not field.unit or es.UNITS[field.unit]
    if field.kind in (Kind.CHOICE, Kind.FLAG):
        assert set(field.options()) <= set(es.CHOICES[field.name])
    if field.custom:
        assert es.CHOICES[field.name]["own-gpu" if field.kind is Kind.GPU else "custom"]


def test_no_words_are_left_over() -> None:
    """There are words for declared fields only, and for the moments that a note names."""
    names = {field.name for field in FIELDS}
    assert set(es.FIELD_LABELS) == names
    assert set(es.FIELD_HINTS) == names
    assert set(es.CHOICES) <= names | {"moment"}
    assert set(es.CALCULATORS) == set(es.SUMMARIES) == set(CALCULATORS)


def test_every_recipe_says_what_it_is_made_of() -> None:
    """The hint of each recipe adds up to its bytes."""
    for name, hint in es.CHOICE_HINTS["bytes-per-parameter"].items():
        parts = re.findall(r"\b\d+\b(?! bits)", re.sub(r"en \d+ y en \d+ bits|en \d+ bits", "", hint))
        assert sum(int(part) for part in parts) == RECIPES[name].total, name
        assert es.CHOICES["bytes-per-parameter"][name].startswith(f"{RECIPES[name].total}:")
    assert set(es.CHOICE_HINTS["bytes-per-parameter"]) == set(RECIPES)


def test_every_error_has_its_sentence() -> None:
    """Each code that the package can raise about an input or a configuration has words."""
    assert codes("InvalidInput") <= set(es.ERRORS)
    assert codes("InvalidConfig", "UnsupportedArchitecture", "refuse", "require") <= set(es.CONFIG_ERRORS)


def test_every_note_has_its_sentence() -> None:
    """Each code of a note has words, and no words are left over."""
    assert codes("Note") == set(es.NOTES)


def test_every_verdict_and_kind_of_gpu_has_its_words() -> None:
    """Verdicts and kinds of GPU are worded."""
    assert set(es.VERDICTS) == {verdict.value for verdict in Verdict}
    assert {gpu.kind for gpu in catalog.gpus()} <= set(es.GPU_KINDS)


def components() -> list[Component]:
    """Components of a spread of results."""
    spread = [
        ("entrenar", {"activations": "20"}),
        ("acumulacion", {}),
        ("gpu", {}),
        ("gpu", {"model": "custom"}),
        *(("gpu", {"precision": one}) for one in ("int4", "nf4-dq", "q4_k", "mxfp4")),
        *(
            ("gpu", {"workload": "training", "optimizer": one, "checkpointing": kind})
            for one, kind in (("adamw-8bit", "none"), ("adafactor", "selective"), ("lion", "full"), ("sgd", "sqrt"))
        ),
        ("gpu", {"workload": "training", "attention-kernel": "eager"}),
        ("inferencia", {"engine": "llama.cpp"}),
        ("lora", {}),
        ("lora", {"method": "qlora"}),
        *(("inferencia", {"model": model.id}) for model in catalog.models()),
        *(("gpu", {"model": model.id, "workload": "training"}) for model in catalog.models()),
    ]
    return [part for name, raw in spread for part in run(name, raw).estimate.components]


def test_every_component_and_symbol_has_its_words() -> None:
    """Whatever an estimate is made of has a Spanish name, and each letter of its formula a meaning."""
    for part in components():
        assert es.component_name(part.name)
        assert symbols(part.derivation.expression) <= set(es.SYMBOLS), part.derivation.expression


def test_a_formula_is_given_with_the_numbers_it_uses_and_no_others() -> None:
    """Whoever reads the list of symbols finds each of them in the expression."""
    for part in components():
        assert set(part.derivation.terms) == symbols(part.derivation.expression), part.derivation.expression


def test_one_symbol_stands_for_one_number_in_an_answer() -> None:
    """With LoRA the base model's parameters and the adapters' have different letters."""
    for raw in ({}, {"method": "qlora"}, {"optimizer": "adamw-8bit"}):
        parts = run("lora", raw).estimate.components
        counts = {part.derivation.terms["P"] for part in parts if "P" in part.derivation.terms}
        assert len(counts) <= 1
        adapters = {part.derivation.terms["P_a"] for part in parts if "P_a" in part.derivation.terms}
        assert adapters == {41_943_040}


def test_notes_of_results_can_be_said() -> None:
    """Every note of a spread of results becomes a sentence with nothing left to fill in."""
    for name, raw in (
        ("gpu", {"context": "1.000.000"}),
        ("gpu", {"model": "custom"}),
        ("gpu", {"model": "custom", "workload": "training", "precision": "int4"}),
        ("gpu", {"workload": "training", "mixed-precision": "no"}),
        ("inferencia", {"engine": "vllm", "concurrency": "4"}),
        ("lora", {"method": "qlora"}),
        ("entrenar", {}),
        ("acumulacion", {"gpus": "4"}),
    ):
        for note in run(name, raw).notes:
            text = es.note_text(note, "GB")
            assert text.endswith(".")
            assert "{" not in text


@settings(deadline=None)
@given(st.integers(min_value=-(10**18), max_value=10**18), st.integers(min_value=0, max_value=4))
def test_numbers_are_written_in_spanish_style(thousandths: int, decimals: int) -> None:
    """Decimal comma, groups of three from five digits on, a true minus, and never further than half a unit away."""
    value = Fraction(thousandths, 1000)
    text = es.number_text(value, decimals)
    assert NUMBER.fullmatch(text)
    plain = text.replace("\u202f", "").replace(",", ".").replace("\u2212", "-")
    assert abs(Fraction(plain) - value) * 2 <= Fraction(1, 10**decimals)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9999, "9999"),
        (10_000, "10\u202f000"),
        (1_234_567, "1\u202f234\u202f567"),
        (Fraction(1, 3), "0,33"),
        (Fraction(5, 2), "2,5"),
        (Fraction(2999, 1000), "3,00"),
        (Fraction(-1, 2), "\u22120,5"),
        (Fraction(-1, 1000), "0,00"),
    ],
)
def test_numbers_at_the_edges(value: int | Fraction, text: str) -> None:
    """Four digits stand together, rounding shows its zeros, and no zero is negative."""
    assert es.number_text(value) == text


@pytest.mark.parametrize(
    ("size", "unit", "text"),
    [
        (0, "GiB", "0 GiB"),
        (2**30, "GiB", "1 GiB"),
        (112 * 10**9, "GB", "112 GB"),
        (10**9, "GiB", "0,93 GiB"),
        (2**26, "GiB", "64 MiB"),
        (700, "GB", "0,7 kB"),
        (50, "GiB", "50 bytes"),
        (1_660_000_000_000, "GB", "1660 GB"),
        (16_600_000_000_000, "GB", "16\u202f600 GB"),
        (-(2**31), "GiB", "\u22122 GiB"),
    ],
)
def test_bytes_carry_their_unit(size: int, unit: str, text: str) -> None:
    """A number of bytes is written in the unit asked for, or a smaller one of the same kind, after a no-break space."""
    assert es.bytes_text(size, unit) == text.replace(" ", "\u00a0")


def test_percentages_and_counts() -> None:
    """Percentages have a space before the sign, and 10^9 are «miles de millones»."""
    assert es.percent_text(Fraction(734, 1000)) == "73,4\u00a0%"
    assert es.count_text(405 * 10**9) == "405\u00a0miles\u00a0de\u00a0millones"
    assert es.count_text(999) == "999"


def test_errors_say_what_to_do() -> None:
    """An error becomes one whole sentence, with the nearest names or the bound."""
    assert es.error_text(InvalidInput("empty", place="batch")) == "Introduce un valor para ver los resultados."
    assert es.error_text(InvalidInput("too_small", minimum=Fraction(1, 1000))) == "El mínimo es 0,001."
    unknown = InvalidInput("unknown_model", value="lama", closest=("llama-3-8b", "gpt2"))
    assert es.error_text(unknown) == "No hay ningún modelo «lama» en el catálogo. ¿Se buscaba llama-3-8b o gpt2?"
    broken = InvalidConfig("out_of_range", place="text_config.head_dim", value="-1", minimum=1, maximum=10**6)
    assert es.error_text(broken).startswith("text_config.head_dim: vale -1 y debe estar entre 1 y")
    strange = UnsupportedArchitecture("unknown_architecture", place="model_type", model_type="lamma", closest="llama")
    assert es.error_text(strange).endswith("«lamma» todavía no se conoce. ¿Se buscaba llama?")


def test_a_value_is_never_a_template() -> None:
    """Braces and markup in a value come out as they went in."""
    error = InvalidInput("unknown_gpu", value="{maximum} <b>")
    assert "«{maximum} <b>»" in es.error_text(error)
    assert "{x}" in es.note_text(Note(code="quantized_training", params={"precision": "{x}"}))


def test_spanish_follows_the_house_rules() -> None:
    """No «billones», no «tú» forms beside the one sentence that the design fixes, one word for each idea."""
    sentences = [
        *es.FIELD_HINTS.values(),
        *es.ERRORS.values(),
        *es.NOTES.values(),
        *es.CONFIG_ERRORS.values(),
        *es.SUMMARIES.values(),
    ]
    text = " ".join(sentences).lower().replace(es.ERRORS["empty"].lower(), "")
    assert not re.search(r"\b(billón|billones|tu|tus|tú|puedes|debes|elige|escribe|cache|fine-tuning)\b", text)
