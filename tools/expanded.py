"""Data classes written out: the methods that ``dataclasses`` would make at every start are made once, while building.

``@dataclass`` writes the source of each class's methods and compiles it when the class is made, which took about a
millisecond for each of 90 classes in the browser on 2026-12-01. Here the source of a module comes back with those
methods in it, so that they travel compiled. Only the one kind of data class that the project is made of is written
out (``frozen=True, slots=True``, no base, defaults that are plain or a factory); any other stays as it is, and so does
one that another is built on.
``tests/test_expanded.py`` holds every class against the one that ``dataclasses`` makes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

SUPPORT = "calc_records"
"""Module that the written classes import; its text is ``SUPPORT_TEXT``."""

SUPPORT_TEXT = '''
import dataclasses


class Fields:
    """The fields as ``dataclasses`` knows them, made when somebody asks."""

    def __init__(self, **kinds):
        self.kinds = kinds

    def __get__(self, instance, owner):
        made = {}
        for name, annotation in self.kinds.items():
            made[name] = field = dataclasses.field()
            field.name, field.type, field._field_type = name, annotation, dataclasses._FIELD
        owner.__dataclass_fields__ = made
        return made


def set_nothing(self, name, value):
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def delete_nothing(self, name):
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def described(self):
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__qualname__}({inside})"
'''


@dataclass(frozen=True, slots=True)
class _Member:
    """One field: its name, the source of its type, of its default, and whether that is a factory."""

    name: str
    kind: str
    default: str
    factory: bool


def bases(source: str) -> set[str]:
    """Return the names of the classes that others are built on in a module."""
    return {
        base.id if isinstance(base, ast.Name) else base.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name | ast.Attribute)
    }


def expanded(source: str, keep: Collection[str] = ()) -> str:
    """Return the source of a module with its data classes written out, but for those called as one in ``keep``."""
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    for node in tree.body:
        new = _written(node) if isinstance(node, ast.ClassDef) and node.name not in keep else None
        body.append(new or node)
    if body == tree.body:
        return source
    first = next(i for i, node in enumerate(body) if isinstance(node, ast.Import | ast.ImportFrom))
    while isinstance(body[first], ast.ImportFrom) and body[first].module == "__future__":  # type: ignore[attr-defined]
        first += 1
    body.insert(first, ast.parse(f"import {SUPPORT} as _records").body[0])
    tree.body = body
    return ast.unparse(ast.fix_missing_locations(tree))


def _written(node: ast.ClassDef) -> ast.ClassDef | None:
    """The class without its decorator and with its methods; ``None`` for one of another kind."""
    options = _options(node)
    if options is None or node.bases or node.keywords:
        return None
    members, rest = [], []
    for part in node.body:
        if not isinstance(part, ast.AnnAssign):
            rest.append(part)
            continue
        member = _member(part)
        if member is None:
            return None
        members.append(member)
    own = {part.name for part in rest if isinstance(part, ast.FunctionDef)}
    text = _methods(node.name, members, own, keywords=options["kw_only"])
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.ClassDef)
    made.body = [*rest, *made.body]
    return made


def _options(node: ast.ClassDef) -> dict[str, bool] | None:
    """What the decorator says, if it is the only one and ours."""
    if len(node.decorator_list) != 1:
        return None
    call = node.decorator_list[0]
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "dataclass"):
        return None
    given = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
    if call.args or not (given.pop("frozen", False) and given.pop("slots", False)):
        return None
    keywords = bool(given.pop("kw_only", False))
    return None if given else {"kw_only": keywords}


def _member(part: ast.AnnAssign) -> _Member | None:
    if not isinstance(part.target, ast.Name):
        return None
    kind, value = ast.unparse(part.annotation), part.value
    if "ClassVar" in kind or "InitVar" in kind:
        return None
    factory = False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"field", "attribute"}:
        if value.args or len(value.keywords) != 1 or value.keywords[0].arg not in {"default", "default_factory"}:
            return None
        factory, value = value.keywords[0].arg == "default_factory", value.keywords[0].value
    return _Member(part.target.id, kind, ast.unparse(value) if value else "", factory)


def _methods(name: str, members: list[_Member], own: set[str], *, keywords: bool) -> str:
    """The source of a class with the methods that ``dataclasses`` would have made, less those that it has itself."""
    names = [member.name for member in members]
    given = ", ".join(
        member.name + (f"={'_records' if member.factory else member.default}" if member.default else "")
        for member in members
    )
    star = "*, " if keywords and members else ""
    lines = [f"def __init__(self, {star}{given}):"]
    lines += [f"    if {one.name} is _records: {one.name} = ({one.default})()" for one in members if one.factory]
    lines += ["    _set = object.__setattr__", *(f"    _set(self, {one!r}, {one})" for one in names)]
    lines += ["    self.__post_init__()"] if "__post_init__" in own else []
    equal = " and ".join(f"self.{one} == other.{one}" for one in names) or "True"
    values = "".join(f"self.{one}, " for one in names)
    made = {
        "__init__": lines,
        "__eq__": [
            "def __eq__(self, other):",
            "    if self is other: return True",
            "    if other.__class__ is not self.__class__: return NotImplemented",
            f"    return {equal}",
        ],
        "__hash__": ["def __hash__(self):", f"    return hash(({values}))"],
        "__setattr__": ["__setattr__ = _records.set_nothing"],
        "__delattr__": ["__delattr__ = _records.delete_nothing"],
        "__repr__": ["__repr__ = _records.described"],
    }
    kinds = ", ".join(f"{member.name}={member.kind!r}" for member in members)
    body = [
        f"__slots__ = ({''.join(f'{one!r}, ' for one in names)})",
        f"__match_args__ = ({'' if keywords else ''.join(f'{one!r}, ' for one in names)})",
        f"__dataclass_fields__ = _records.Fields({kinds})",
    ]
    for method, text in made.items():
        if method not in own:
            body += text
    return f"class {name}:\n" + "\n".join(f"    {line}" for line in body)
