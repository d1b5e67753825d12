"""Formulas as they are drawn."""

from fractions import Fraction

import mathml
import pytest

from calc.formula import Formula, parse


def text(node: mathml.Node) -> str:
    """A drawing as plain text, with fractions and powers spelled out."""
    parts = [text(child) for child in node.children]
    match node.tag:
        case "mfrac":
            return f"[{parts[0]}/{parts[1]}]"
        case "msup":
            return "^".join(parts)
        case "msub":
            return "_".join(parts)
        case "msqrt":
            return f"√[{parts[0]}]"
    return node.text + "".join(parts)


def line(expression: str) -> str:
    """The chunks of an expression, one after another."""
    return " ".join(text(chunk) for chunk in mathml.symbolic(expression))


@pytest.mark.parametrize(
    ("expression", "drawn"),
    [
        ("2 * L * B_kv", "2 ·L ·B_kv"),
        ("P * q / 8", "[P·q/8]"),
        ("(a + b) * c", "(a +b) ·c"),
        ("a * (b + c)", "a ·(b +c)"),
        ("a * (b * c)", "a ·b ·c"),
        ("a * b * c * d / 8", "a ·b ·c ·d /8"),
        ("(a + b + c + d) / 8 * e", "(a +b +c +d) /8 ·e"),
        ("e / (a + b + c + d)", "e /(a +b +c +d)"),
        ("a + b * c", "a +b ·c"),
        ("a - (b - c)", "a −(b −c)"),
        ("a - (b + c)", "a −(b +c)"),
        ("a + (b + c)", "a +b +c"),
        ("a * (b / c)", "a ·[b/c]"),
        ("(a + b) / (c - d)", "[a+b/c−d]"),
        ("(a * b) ** 2", "(a·b)^2"),
        ("(a + b) ** 2 * c", "(a+b)^2 ·c"),
        ("ceil(sqrt(L))", "⌈√[L]⌉"),
        ("ceil(s / 256) * 256", "⌈[s/256]⌉ ·256"),
        ("min(s, w) * k", "min(s;w) ·k"),
    ],
)
def test_an_expression_is_drawn_as_it_is_evaluated(expression: str, drawn: str) -> None:
    """Parentheses stand where, and only where, leaving them out would change the value."""
    assert line(expression) == drawn


def test_a_substituted_formula_holds_the_numbers_in_spanish_style() -> None:
    """Each symbol gives way to its value: grouped digits, decimal comma."""
    formula = Formula("P * q / 8", {"P": 8_030_261_248, "q": Fraction(133, 32)})
    assert [text(chunk) for chunk in mathml.substituted(formula)] == ["[8\u202f030\u202f261\u202f248·4,15625/8]"]


def test_the_first_chunk_has_no_operator_and_the_others_begin_with_one() -> None:
    """A line can break before any operator of a sum or a product."""
    first, *rest = mathml.symbolic("a * b + c * d")
    assert first.children[0].tag == "mi"
    assert [chunk.children[0].text for chunk in rest] == ["·", "+", "·"]
    assert all(chunk.children[0].form == "infix" for chunk in rest)


def test_what_no_formula_may_use_cannot_be_drawn() -> None:
    """Syntax outside the formulas' own is refused, not guessed."""
    with pytest.raises(ValueError, match="cannot be drawn"):
        mathml.symbolic("a[0]")
    assert parse("a[0]")


def test_tokens_hold_the_tree_in_reading_order() -> None:
    """Each element is opened and closed around what it holds; an operator carries its form."""
    assert mathml.tokens(mathml.symbolic("a * B_k")) == (
        *(("math", ""), ("mi", "a"), ("/math", "")),
        *(("math", ""), ("infix", "·"), ("msub", ""), ("mi", "B"), ("mi", "k"), ("/msub", ""), ("/math", "")),
    )
