"""A formula of ``calc.formula`` drawn as MathML: first with its symbols, then with the visitor's numbers.

The tree that is drawn is the tree that ``calc`` evaluates. A drawing is a tuple of *chunks*, one per top-level operand
with its operator in front, because no browser breaks a line inside ``<math>`` and a phone is 320 px wide. A chunk is a
plain tree of ``Node``; ``templates/math.html`` writes it, so that no markup is ever put together from strings.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from calc.es import number_text
from calc.formula import Formula, Number, parse

DOT = "·"
SIGNS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "−", ast.Mult: DOT}
FENCES: Mapping[str, tuple[str, str]] = {"ceil": ("⌈", "⌉")}

Leaf = Callable[[str], "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """One MathML element: its tag, and a text or children, and the form of an operator that begins a line."""

    tag: str
    text: str = ""
    children: tuple["Node", ...] = ()
    form: str = ""


@lru_cache(maxsize=256)
def symbolic(expression: str) -> tuple[Node, ...]:
    """Draw an expression with its symbols.

    >>> [chunk.children[-1].text for chunk in symbolic("2 * L * B_kv")][:2]
    ['2', 'L']
    """
    return _chunks(parse(expression), symbol)


def substituted(formula: Formula) -> tuple[Node, ...]:
    """Draw a formula with the value of each symbol in its place.

    >>> [chunk.children[-1].text for chunk in substituted(Formula("2 * s", {"s": 8192}))]
    ['2', '8192']
    """

    def value(name: str) -> Node:
        return number_node(formula.terms[name])

    return _chunks(parse(formula.expression), value)


def symbol(name: str) -> Node:
    """A symbol, whose part after an underscore is a subscript.

    >>> symbol("B_kv").tag, symbol("h").tag
    ('msub', 'mi')
    """
    base, _, index = name.partition("_")
    if not index:
        return Node("mi", base)
    return Node("msub", children=(Node("mi", base), Node("mi", index)))


def number_node(value: Number) -> Node:
    """A number in Spanish style; a fraction with as many decimals as it has, six at most.

    >>> from fractions import Fraction
    >>> number_node(Fraction(133, 32)).text
    '4,15625'
    """
    if isinstance(value, int) or value.denominator == 1:
        return Node("mn", number_text(int(value)))
    decimals = next((n for n in range(1, 6) if (value * 10**n).denominator == 1), 6)
    return Node("mn", number_text(value, decimals))


def _chunks(tree: ast.expr, leaf: Leaf) -> tuple[Node, ...]:
    chunks = []
    for sign, operand, parent in _operands(tree):
        drawn = _draw(operand, leaf, parent)
        children = (Node("mo", sign, form="infix"), drawn) if sign else (drawn,)
        chunks.append(Node("mrow", children=children))
    return tuple(chunks)


def _operands(tree: ast.expr) -> list[tuple[str, ast.expr, int]]:
    """The operands between which a line may break: those of sums and products that need no parentheses."""
    match tree:
        case ast.BinOp(left=left, op=(ast.Add() | ast.Sub() | ast.Mult()) as operator, right=right):
            if isinstance(operator, ast.Mult) and _level(left) < _level(tree):
                before = [("", left, _level(tree))]
            else:
                before = _operands(left)
            after = _operands(right) if isinstance(operator, ast.Add) else [("", right, _level(tree) + 1)]
            sign, first, parent = after[0]
            return [*before, (sign or SIGNS[type(operator)], first, parent), *after[1:]]
    return [("", tree, 0)]


def _level(tree: ast.expr) -> int:
    """How tightly an expression binds: sums 1, products 2, powers 3, anything closed 4."""
    match tree:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return 1
        case ast.BinOp(op=ast.Mult()):
            return 2
        case ast.BinOp(op=ast.Pow()):
            return 3
    return 4


def _draw(tree: ast.expr, leaf: Leaf, parent: int = 0) -> Node:
    drawn = _bare(tree, leaf)
    return _fenced(drawn, "(", ")") if _level(tree) < parent else drawn


def _bare(tree: ast.expr, leaf: Leaf) -> Node:
    match tree:
        case ast.Constant(value=int() as value):
            return number_node(value)
        case ast.Name(id=name):
            return leaf(name)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return Node("mfrac", children=(_draw(left, leaf), _draw(right, leaf)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return Node("msup", children=(_draw(left, leaf, 4), _draw(right, leaf)))
        case ast.BinOp(left=left, op=operator, right=right):
            level = _level(tree)
            sign = Node("mo", SIGNS[type(operator)])
            tight = level if isinstance(operator, ast.Add) else level + 1
            return Node("mrow", children=(_draw(left, leaf, level), sign, _draw(right, leaf, tight)))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name, [_draw(argument, leaf) for argument in arguments])
    raise ValueError(f"cannot be drawn: {ast.dump(tree)}")


def _call(name: str, arguments: list[Node]) -> Node:
    if name == "sqrt":
        return Node("msqrt", children=tuple(arguments))
    if name in FENCES:
        return _fenced(arguments[0], *FENCES[name])
    inside: list[Node] = []
    for argument in arguments:
        inside += [Node("mo", ";"), argument] if inside else [argument]
    return Node("mrow", children=(Node("mi", name), _fenced(Node("mrow", children=tuple(inside)), "(", ")")))


def _fenced(inside: Node, opening: str, closing: str) -> Node:
    return Node("mrow", children=(Node("mo", opening), inside, Node("mo", closing)))
