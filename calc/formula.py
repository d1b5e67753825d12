"""A formula that is shown is the formula that runs.

A law is written once, as an arithmetic expression in Python's own syntax (``2 * L * k * d * s * b * B``). ``evaluate``
computes it exactly, and the page draws the same tree as MathML and again with the visitor's numbers in it, so
what is explained can never differ from what is computed.

Allowed: names, integers, ``+ - * /``, ``**``, parentheses, and the functions ``min``, ``max``, ``ceil`` and
``ceil(sqrt(…))`` (a square root is only ever rounded up, so that no value is inexact).
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

Number = int | Fraction


def _rounded_root(value: Number) -> int:
    whole = ceil(value)
    root = isqrt(whole)
    return root if root * root == whole else root + 1


FUNCTIONS: Mapping[str, Callable[..., Number]] = {"min": min, "max": max, "ceil": ceil}


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression and the values of its symbols.

    Example:
        >>> Formula("2 * L * k * d * s * B", {"L": 32, "k": 8, "d": 128, "s": 8192, "B": 2}).value
        1073741824
    """

    expression: str
    terms: Mapping[str, Number]

    @property
    def value(self) -> Number:
        """The exact value: an int, or a Fraction where a division left one."""
        return evaluate(parse(self.expression), self.terms)

    @property
    def bytes(self) -> int:
        """The value rounded up to a whole byte.

        >>> Formula("P * q / 8", {"P": 3, "q": 4}).bytes
        2
        """
        return ceil(self.value)


@lru_cache(maxsize=512)
def parse(expression: str) -> ast.expr:
    """Parse an expression of our own into a tree (never a visitor's text)."""
    return ast.parse(expression, mode="eval").body


def symbols(expression: str) -> frozenset[str]:
    """The symbols of an expression, functions left out.

    >>> sorted(symbols("ceil(sqrt(L)) * s + b"))
    ['L', 'b', 's']
    """
    names = (node.id for node in ast.walk(parse(expression)) if isinstance(node, ast.Name))
    return frozenset(names) - {*FUNCTIONS, "sqrt"}


def evaluate(node: ast.expr, terms: Mapping[str, Number]) -> Number:
    """Compute a tree exactly.

    >>> evaluate(parse("min(s, w) * 2"), {"s": 100, "w": 64})
    128
    >>> evaluate(parse("ceil(sqrt(L))"), {"L": 32})
    6

    Raises:
        KeyError: for a symbol without a value.
        ValueError: for syntax that a formula may not use.
    """
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return terms[name]
        case ast.BinOp(left=left, op=operator, right=right):
            return _binary(operator, evaluate(left, terms), evaluate(right, terms))
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.Call(func=ast.Name(id="sqrt"), args=[argument])]):
            return _rounded_root(evaluate(argument, terms))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS:
            return FUNCTIONS[name](*(evaluate(argument, terms) for argument in arguments))
    raise ValueError(f"not allowed in a formula: {ast.dump(node)}")


def _binary(operator: ast.operator, left: Number, right: Number) -> Number:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            quotient = Fraction(left) / right
            return quotient.numerator if quotient.denominator == 1 else quotient
        case ast.Pow() if isinstance(right, int):
            return left**right
    raise ValueError(f"operator not allowed in a formula: {operator}")
