"""The door for a model's text (``calc.description``): it comes in an address, so anyone may have written it.

The length of the text, what it decompresses to, every list, text and number and their products are bounded before
anything is built, and the layers are expanded last. Whatever is wrong is one error, ``bad_description``, with the path
of what is refused among its parameters.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from math import prod
from typing import Any, Final, TypeVar

from calc.architecture import (
    Architecture,
    DenseMLP,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    RecurrentState,
    StoredType,
    Tensor,
    Tower,
)
from calc.checkpoint import InvalidFile
from calc.description import KINDS, LONGEST_NAME, PARTS, VERSION
from calc.errors import InvalidInput
from calc.json_door import load_json

MAX_TEXT: Final = 32_768
"""Longest text that is looked at; browsers and messengers pass on less."""
MAX_BYTES: Final = 2**20
"""Longest JSON behind a text."""
MAX_SIZE: Final = 2**31
MAX_LAYERS: Final = 10_000
MAX_ROWS: Final = 2_000
MAX_LISTED: Final = 500_000
"""Most tensors of all layers together: fifty times the largest published model's."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A model with the name to show."""

    name: str
    architecture: Architecture


def load(text: str, *, place: str = "config") -> Described:
    """Read the text that ``calc.description.dump`` wrote.

    Args:
        text: from an address, a form or a flag.
        place: the field that holds it, for the error.

    Raises:
        InvalidInput: ``bad_description``; ``where`` is the path of what is refused.

    Example:
        >>> from calc import catalog
        >>> from calc.description import dump
        >>> model = catalog.architecture("llama-3-8b")
        >>> load(dump("Llama 3 8B", model)).architecture == model
        True
    """
    try:
        document = load_json(_unpack(text), place="json")
        return _described(_Item(document, ""))
    except _RefusedError as error:
        raise InvalidInput("bad_description", place=place, where=str(error) or "json") from None
    except InvalidFile:
        raise InvalidInput("bad_description", place=place, where="json") from None


class _RefusedError(Exception):
    """The path of what is refused."""


def _unpack(text: str) -> bytes:
    """The JSON behind the text, never more than ``MAX_BYTES`` of it."""
    if len(text) > MAX_TEXT or not text.startswith(VERSION) or not text.isascii():
        raise _RefusedError("text")
    body = text[len(VERSION) :]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        engine = zlib.decompressobj(wbits=-15)
        data = engine.decompress(packed, MAX_BYTES)
    except (binascii.Error, zlib.error):
        raise _RefusedError("text") from None
    if not engine.eof or engine.unused_data:
        raise _RefusedError("text")
    return data


@dataclass(frozen=True, slots=True)
class _Item:
    """A value with its path; every getter refuses by the path."""

    value: Any
    path: str

    def refuse(self) -> _RefusedError:
        return _RefusedError(self.path[:60])

    def key(self, name: str) -> "_Item":
        if not isinstance(self.value, Mapping) or name not in self.value:
            raise _RefusedError(f"{self.path}.{name}".strip("."))
        return _Item(self.value[name], f"{self.path}.{name}".strip("."))

    def items(self, *, least: int = 0, most: int = MAX_ROWS) -> list["_Item"]:
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            raise self.refuse()
        return [_Item(value, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def integer(self, minimum: int = 0, maximum: int = MAX_SIZE) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not minimum <= self.value <= maximum:
            raise self.refuse()
        return self.value

    def flag(self) -> bool:
        return self.integer(0, 1) == 1

    def text(self, most: int = LONGEST_NAME) -> str:
        if not isinstance(self.value, str) or len(self.value) > most or not self.value.isprintable():
            raise self.refuse()
        return self.value

    def optional(self, read: Callable[["_Item"], T]) -> T | None:
        return None if self.value is None else read(self)


def _described(document: _Item) -> Described:
    tensors = [_tensor(row) for row in document.key("k").items()]
    kinds = [_layer(row, tensors) for row in document.key("l").items()]
    towers = [row.items(least=3, most=3) for row in document.key("w").items(most=50)]
    architecture = Architecture(
        model_type=document.key("t").text(),
        hidden_size=document.key("h").integer(1),
        vocab_size=document.key("v").integer(),
        layers=_layers(document.key("r"), kinds),
        layer_prefix=document.key("p").text(),
        tensors=_chosen(document.key("x"), tensors),
        tie_word_embeddings=document.key("i").flag(),
        max_position_embeddings=document.key("c").optional(lambda item: item.integer(1)),
        norm=document.key("o").text(20),
        parallel=document.key("a").flag(),
        towers=tuple(
            Tower(name=name.text(), loaded=loaded.flag(), tensors=_chosen(indexes, tensors))
            for name, loaded, indexes in towers
        ),
        shared=_chosen(document.key("s"), tensors),
        stored=tuple(_stored(row) for row in document.key("b").items(most=100)),
    )
    return Described(name=document.key("n").text(), architecture=architecture)


def _tensor(item: _Item) -> Tensor:
    row = item.items(least=3, most=5)
    if len(row) == 4:
        raise item.refuse()
    shape = tuple(size.integer() for size in row[1].items(most=8))
    count = row[3].integer(1, 10**7) if len(row) == 5 else 1
    if prod(shape) * count >= 2**63:
        raise item.refuse()
    return Tensor(
        name=row[0].text(),
        shape=shape,
        kind=KINDS[row[2].integer(0, len(KINDS) - 1)],
        count=count,
        active=row[4].optional(lambda active: active.integer(0, count)) if len(row) == 5 else None,
    )


def _chosen(item: _Item, tensors: list[Tensor]) -> tuple[Tensor, ...]:
    return tuple(tensors[index.integer(0, len(tensors) - 1)] for index in item.items())


def _stored(item: _Item) -> StoredType:
    name, elements, size = item.items(least=3, most=3)
    return StoredType(name.text(40), elements.integer(0, 2**63), size.integer(0, 2**63))


def _layer(item: _Item, tensors: list[Tensor]) -> Layer:
    attention, feed_forward, indexes, window, state, cross, encoder = item.items(least=7, most=7)
    return Layer(
        attention=_part(attention, GroupedQueryAttention, MultiHeadLatentAttention),
        feed_forward=_part(feed_forward, DenseMLP, MixtureOfExperts),
        tensors=_chosen(indexes, tensors),
        window=window.optional(lambda size: size.integer(1)),
        state=_part(state, RecurrentState),
        cross_attention=cross.flag(),
        encoder_attention=_part(encoder, GroupedQueryAttention, MultiHeadLatentAttention),
    )


def _part(item: _Item, *allowed: type[Any]) -> Any:
    """A part of a layer, of one of these classes: its letter, then its fields in order."""
    if item.value is None:
        return None
    letter, *values = item.items(least=1, most=20)
    kind = PARTS.get(letter.text(1))
    declared = fields(kind) if kind is not None else ()
    if kind not in allowed or len(values) > len(declared):
        raise item.refuse()
    read = {field.name: _field(str(field.type), value) for field, value in zip(declared, values, strict=False)}
    if any(field.default is MISSING and field.name not in read for field in declared):
        raise item.refuse()
    return kind(**read)


def _field(kind: str, item: _Item) -> object:
    """One field, by the type that the class declares: sizes are at least 1 unless they have a default of 0."""
    if "None" in kind and item.value is None:
        return None
    if "str" in kind:
        return item.text(40)
    return item.flag() if "bool" in kind else item.integer(0, 2**40)


def _layers(item: _Item, kinds: list[Layer]) -> tuple[Layer, ...]:
    """The layers of ``[[[kind, length] …], times, [[kind, length] …]]``, bounded before they are made."""
    period, repeated, tail = item.items(least=3, most=3)
    times = repeated.integer(1, MAX_LAYERS)

    def runs(listed: _Item) -> list[tuple[Layer, int]]:
        pairs = [pair.items(least=2, most=2) for pair in listed.items(most=MAX_LAYERS)]
        return [(kinds[kind.integer(0, len(kinds) - 1)], length.integer(1, MAX_LAYERS)) for kind, length in pairs]

    first, last = runs(period), runs(tail)
    depth = times * sum(length for _, length in first) + sum(length for _, length in last)
    listed = sum(len(layer.tensors) * length * times for layer, length in (*first, *last))
    if depth > MAX_LAYERS or listed > MAX_LISTED:
        raise item.refuse()
    return tuple(layer for layer, length in (*(first * times), *last) for _ in range(length))
