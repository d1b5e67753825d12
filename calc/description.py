"""A model as a text that fits in an address: how one opened on a page travels to the other calculators.

``dump`` writes a name, the architecture and what its weights take as stored: JSON, then zlib, then base64url without
padding. Equal tensors and equal layers are written once, layers as runs; the first character is the version of the
format. ``calc.described`` reads it back.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from typing import Any, Final

from calc.architecture import (
    Architecture,
    Attention,
    DenseMLP,
    FeedForward,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    RecurrentState,
    Tensor,
    TensorKind,
)
from calc.checkpoint import shown_name

VERSION: Final = "1"
LONGEST_NAME: Final = 200

LONGEST_IN_LINK: Final = 6000
"""A longer text is not put into an address: the model then stays in the page that opened it."""

KINDS: Final = tuple(TensorKind)
PARTS: Final[dict[str, type[Any]]] = {
    "g": GroupedQueryAttention,
    "m": MultiHeadLatentAttention,
    "d": DenseMLP,
    "e": MixtureOfExperts,
    "r": RecurrentState,
}
"""Letter of each part in the text; its fields follow in the order of the class, those at their default left out."""


def dump(name: str, architecture: Architecture) -> str:
    """The text of a model.

    Example:
        >>> from calc import catalog
        >>> text = dump("Llama 3 8B", catalog.architecture("llama-3-8b"))
        >>> len(text) < 1000
        True
    """
    value = json.dumps(_document(name, architecture), ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(value.encode("utf-8"), level=9, wbits=-15)
    return VERSION + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def _document(name: str, architecture: Architecture) -> dict[str, Any]:
    tensors = _Table()
    layers = _Table()
    runs = [(layers.index(_layer(layer, tensors)), len(list(same))) for layer, same in groupby(architecture.layers)]
    return {
        "n": _printable(name),
        "t": architecture.model_type,
        "h": architecture.hidden_size,
        "v": architecture.vocab_size,
        "p": architecture.layer_prefix,
        "i": int(architecture.tie_word_embeddings),
        "c": architecture.max_position_embeddings,
        "o": architecture.norm,
        "a": int(architecture.parallel),
        "r": _folded(runs),
        "x": tensors.indexes(architecture.tensors),
        "s": tensors.indexes(architecture.shared),
        "w": [[one.name, int(one.loaded), tensors.indexes(one.tensors)] for one in architecture.towers],
        "b": [[one.name, one.elements, one.bytes] for one in architecture.stored],
        "l": layers.rows,
        "k": tensors.rows,
    }


def _printable(name: str) -> str:
    """A name as ``load`` takes it: what is too long or cannot be printed is shortened and escaped."""
    return name if name.isprintable() and len(name) <= LONGEST_NAME else shown_name(name)


class _Table:
    """Rows without repetition."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.known: dict[str, int] = {}

    def index(self, row: Any) -> int:
        key = json.dumps(row)
        if key not in self.known:
            self.known[key] = len(self.rows)
            self.rows.append(row)
        return self.known[key]

    def indexes(self, tensors: Iterable[Tensor]) -> list[int]:
        return [self.index(_tensor(tensor)) for tensor in tensors]


def _folded(runs: Sequence[tuple[int, int]]) -> list[Any]:
    """``[period, times, tail]`` of the runs: three windowed layers and one full, twelve times, is written once."""
    rows = [list(run) for run in runs]
    for period in range(1, len(rows) // 2 + 1):
        times = 1
        while rows[times * period : (times + 1) * period] == rows[:period]:
            times += 1
        if times > 1:
            return [rows[:period], times, rows[times * period :]]
    return [rows, 1, []]


def _tensor(tensor: Tensor) -> list[Any]:
    row: list[Any] = [_printable(tensor.name), list(tensor.shape), KINDS.index(tensor.kind)]
    if tensor.count != 1 or tensor.active is not None:
        row += [tensor.count, tensor.active]
    return row


def _layer(layer: Layer, tensors: _Table) -> list[Any]:
    return [
        _part(layer.attention),
        _part(layer.feed_forward),
        tensors.indexes(layer.tensors),
        layer.window,
        _part(layer.state),
        int(layer.cross_attention),
        _part(layer.encoder_attention),
    ]


def _part(part: Attention | FeedForward | RecurrentState | None) -> list[Any] | None:
    if part is None:
        return None
    letter = next(letter for letter, kind in PARTS.items() if type(part) is kind)
    values = [int(value) if isinstance(value, bool) else value for value in asdict(part).values()]
    defaults = [field.default for field in fields(part)]
    while values and values[-1] == defaults[len(values) - 1]:
        values.pop()
    return [letter, *values]
