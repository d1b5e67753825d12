"""The tensors of a model as a tree that a person can browse: by the dots of their names, equal neighbours folded.

Layers ``0`` to ``31`` with the same tensors are one node ``0–31`` that counts for 32; so are experts. A node holds what
all its copies hold together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from calc.architecture import Architecture, Tensor
from calc.checkpoint import Checkpoint
from calc.inventory import distinct_layers
from calc.parameters import expanded

MAX_DEPTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A tensor or a group of them.

    Args:
        name: last part of the name, or a range (``0–31``).
        count: how many equal neighbours the node stands for.
        parameters: elements of all of them.
        bytes: as stored; ``None`` where only a configuration is known.
        shape: of one tensor; empty for a group.
        dtype: as stored; empty for a group or where only a configuration is known.
        children: empty for a tensor.
    """

    name: str
    parameters: int
    bytes: int | None
    count: int = 1
    shape: tuple[int, ...] = ()
    dtype: str = ""
    children: tuple["Node", ...] = ()


def tree_of_checkpoint(checkpoint: Checkpoint) -> tuple[Node, ...]:
    """The tensors of a file.

    >>> from calc.checkpoint import StoredTensor
    >>> tensors = tuple(StoredTensor(f"blk.{index}.w", (2, 3), "F16", 12) for index in range(4))
    >>> node = tree_of_checkpoint(Checkpoint(format="gguf", tensors=tensors, metadata={}))[0]
    >>> node.children[0].name, node.children[0].count, node.bytes
    ('0–3', 4, 48)
    """
    leaves = [
        (
            tensor.name,
            Node(name="", parameters=tensor.elements, bytes=tensor.bytes, shape=tensor.shape, dtype=tensor.dtype),
        )
        for tensor in checkpoint.tensors
    ]
    return _grown(leaves)


def tree_of_architecture(architecture: Architecture) -> tuple[Node, ...]:
    """The tensors that a configuration implies, towers that are stored and not loaded included.

    >>> from calc import catalog
    >>> [node.name for node in tree_of_architecture(catalog.architecture("llama-3-8b"))]
    ['model', 'lm_head']
    """
    table: list[tuple[str, Node]] = []
    outside = (
        *architecture.tensors,
        *architecture.shared,
        *(one for tower in architecture.towers for one in tower.tensors),
    )
    layers = list(_layer_leaves(architecture))
    before = [leaf for tensor in outside[:1] for leaf in _leaves(tensor)]
    after = [leaf for tensor in outside[1:] for leaf in _leaves(tensor)]
    table += [*before, *layers, *after]
    return _grown(table)


def _layer_leaves(architecture: Architecture) -> Iterator[tuple[str, Node]]:
    grown: dict[int, tuple[Node, ...]] = {}
    for layer, _ in distinct_layers(architecture):
        grown[id(layer)] = _grown([leaf for tensor in layer.tensors for leaf in _leaves(tensor)])
    for index, layer in enumerate(architecture.layers):
        children = grown[id(layer)]
        yield architecture.layer_prefix.replace("*", str(index)), _group(str(index), children)


def _leaves(tensor: Tensor) -> Iterator[tuple[str, Node]]:
    """The tensor, or its expert copies folded into one place of the path."""
    if tensor.count > 1 and tensor.name.count("*") == 1:
        one = replace(tensor, count=1, active=None, name=tensor.name.replace("*", f"0–{tensor.count - 1}"))
        yield one.name, Node(name="", parameters=tensor.parameters, bytes=None, count=tensor.count, shape=one.shape)
        return
    for one in expanded(tensor):
        yield one.name, Node(name="", parameters=one.parameters, bytes=None, count=one.count, shape=one.shape)


def _grown(leaves: Iterable[tuple[str, Node]]) -> tuple[Node, ...]:
    """Put leaves in the places that their names say, then fold equal neighbours."""
    root: dict[str, object] = {}
    for name, leaf in leaves:
        *folders, last = name.split(".", MAX_DEPTH)
        place = root
        for folder in folders:
            inner = place.setdefault(folder, {})
            if not isinstance(inner, dict):  # a tensor named like a folder
                inner = place[folder] = {"": inner}
            place = inner
        place[last if last not in place else f"{last} "] = replace(leaf, name=last)
    return _folded(_nodes(root))


def _nodes(place: dict[str, object]) -> list[Node]:
    return [
        _group(name, _folded(_nodes(value))) if isinstance(value, dict) else value
        for name, value in place.items()
        if isinstance(value, dict | Node)
    ]


def _group(name: str, children: tuple[Node, ...]) -> Node:
    sizes = [child.bytes for child in children if child.bytes is not None]
    return Node(
        name=name,
        parameters=sum(child.parameters for child in children),
        bytes=sum(sizes) if len(sizes) == len(children) else None,
        children=children,
    )


def _folded(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Neighbours with consecutive numbers and equal contents become one."""
    found: list[tuple[Node, int, int, int]] = []  # a node, its first and last number, copies
    for node in nodes:
        number = int(node.name) if node.name.isascii() and node.name.isdigit() and len(node.name) < 8 else -1
        if found and number >= 0:
            first, low, high, copies = found[-1]
            if low >= 0 and number == high + 1 and _alike(first, node):
                found[-1] = first, low, number, copies + 1
                continue
        found.append((node, number, number, 1))
    return tuple(_times(node, copies, f"{low}–{high}") if copies > 1 else node for node, low, high, copies in found)


def _alike(one: Node, other: Node) -> bool:
    return replace(one, name="") == replace(other, name="")


def _times(node: Node, copies: int, name: str) -> Node:
    return replace(
        node,
        name=name,
        count=node.count * copies,
        parameters=node.parameters * copies,
        bytes=None if node.bytes is None else node.bytes * copies,
        children=tuple(_times(child, copies, child.name) for child in node.children),
    )
