"""A formula of ``calc.formula`` drawn as MathML: first with its symbols, then with the visitor's numbers.

The tree that is drawn is the tree that ``calc`` evaluates. A drawing is a tuple of *chunks*, one per top-level operand
with its operator in front, because no browser breaks a line inside ``<math>`` and a phone is 320 px wide. A chunk is a
plain tree of ``Node``; ``templates/math.html`` writes it, so that no markup is ever put together from strings. It reads
the tree as a flat list of ``Token``: a loop takes a fraction of the time of a macro that calls itself.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from calc.es import number_text
from calc.formula import Formula, Number, parse

SIGNS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "−", ast.Mult: "·", ast.Div: "/"}
FENCES: Mapping[str, tuple[str, str]] = {"ceil": ("⌈", "⌉")}

SUM, PRODUCT, POWER, CLOSED = 1, 2, 3, 4

NARROW_FRACTION = 3
"""Symbols over or under the bar of a fraction at most; a wider one is written in the line, where it can break."""

Leaf = Callable[[str], "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """One MathML element: its tag, and a text or children, and the form of an operator that begins a line."""

    tag: str
    text: str = ""
    children: tuple["Node", ...] = ()
    form: str = ""


Token = tuple[str, str]
"""What to write and its text: a leaf by its tag (an operator by its form), ``mfrac`` and ``/mfrac`` around others."""


def tokens(chunks: Iterable[Node]) -> tuple[Token, ...]:
    """The drawing as the template reads it.

    >>> tokens(symbolic("a / 2"))[:4]
    (('math', ''), ('mfrac', ''), ('mi', 'a'), ('mn', '2'))
    """
    found: list[Token] = []
    for chunk in chunks:
        found.append(("math", ""))
        for node in chunk.children:
            _flatten(node, found)
        found.append(("/math", ""))
    return tuple(found)


def _flatten(node: Node, found: list[Token]) -> None:
    if node.children:
        found.append((node.tag, ""))
        for child in node.children:
            _flatten(child, found)
        found.append(("/" + node.tag, ""))
    else:
        found.append((node.form or node.tag, node.text))


@lru_cache(maxsize=256)
def symbol_tokens(expression: str) -> tuple[Token, ...]:
    """An expression drawn with its symbols, as the template reads it."""
    return tokens(symbolic(expression))


@lru_cache(maxsize=256)
def number_tokens(value: Number) -> tuple[Token, ...]:
    """A number on its own, as the template reads it."""
    return tokens([_row([number_node(value)])])


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
    return tuple(_row(piece) for piece in _pieces(tree, leaf))


def _row(nodes: list[Node]) -> Node:
    return Node("mrow", children=tuple(nodes))


def _draw(tree: ast.expr, leaf: Leaf, parent: int = 0) -> Node:
    """One node for a tree inside a fraction, a power, a root or a function, where no line breaks."""
    nodes = [node for piece in _pieces(tree, leaf, parent) for node in piece]
    return nodes[0] if len(nodes) == 1 else _row(nodes)


def _pieces(tree: ast.expr, leaf: Leaf, parent: int = 0) -> list[list[Node]]:
    """The nodes of a tree, parted where a line may break: before each operator that is written in the line.

    ``parent`` is how tightly the tree around it binds; parentheses stand where it binds tighter.
    """
    level = _level(tree)
    match tree:
        case ast.BinOp(left=left, op=operator, right=right) if level < POWER:
            before = _pieces(left, leaf, level)
            after = _pieces(right, leaf, level + isinstance(operator, ast.Sub | ast.Div))
            after[0].insert(0, Node("mo", SIGNS[type(operator)], form="infix"))
            pieces = before + after
        case _:
            pieces = [[_closed(tree, leaf)]]
    if level < parent:
        pieces[0].insert(0, Node("mo", "(", form="prefix"))
        pieces[-1].append(Node("mo", ")", form="postfix"))
    return pieces


def _level(tree: ast.expr) -> int:
    """How tightly an expression binds as it is drawn: a fraction with a bar is closed, as a symbol is."""
    match tree:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return SUM
        case ast.BinOp(op=ast.Mult()):
            return PRODUCT
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return PRODUCT if max(_leaves(left), _leaves(right)) > NARROW_FRACTION else CLOSED
        case ast.BinOp(op=ast.Pow()):
            return POWER
    return CLOSED


def _leaves(tree: ast.expr) -> int:
    return sum(isinstance(node, ast.Name | ast.Constant) for node in ast.walk(tree))


def _closed(tree: ast.expr, leaf: Leaf) -> Node:
    match tree:
        case ast.Constant(value=int() as value):
            return number_node(value)
        case ast.Name(id=name):
            return leaf(name)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return Node("mfrac", children=(_draw(left, leaf), _draw(right, leaf)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return Node("msup", children=(_draw(left, leaf, CLOSED), _draw(right, leaf)))
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
    return _row([Node("mi", name), _fenced(_row(inside), "(", ")")])


def _fenced(inside: Node, opening: str, closing: str) -> Node:
    return _row([Node("mo", opening), inside, Node("mo", closing)])
