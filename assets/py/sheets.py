"""The card of a model: its sheet as the words that the template of ``/modelo/`` shows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from calc import es
from calc.calculators import CALCULATORS, fragment, from_fragment
from calc.description import dump
from calc.es.sheet import FORMATS, remarks
from calc.inventory import is_quantized
from calc.model_sheet import KV_TOKENS, ModelSheet
from calc.tree import Node

MAX_LINK = 8000
"""Longest fragment that a card offers; what reads it back takes 8192 characters."""
MAX_CHILDREN = 300
"""Most tensors that one level of the tree lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A node of the tree of tensors; ``more`` is how many of its children are not listed."""

    name: str
    figures: str
    children: tuple["Branch", ...]
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the card of one model shows, in words.

    Args:
        name: of the model.
        origin: kind of file and family.
        files: name and size of each.
        facts: label and value of each figure.
        kinds: parameters by kind.
        types: stored type, elements, bytes, bits of each element.
        cache: label and value; ``tokens`` is the length of the sequences of ``per_thousand``.
        per_thousand: engine, format, memory.
        tree: the tensors.
        known: figure and how it is known.
        remarks: sentences.
        links: calculator and the fragment that carries the model there; empty where it does not fit.
        too_long: whether the model is known and does not fit in an address.
    """

    name: str
    origin: str
    files: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    kinds: tuple[tuple[str, str], ...]
    types: tuple[tuple[str, str, str, str], ...]
    cache: tuple[tuple[str, str], ...]
    tokens: str
    per_thousand: tuple[tuple[str, str, str], ...]
    tree: tuple[Branch, ...]
    known: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    too_long: bool


def card_of(sheet: ModelSheet) -> Card:
    """Turn a sheet into what is shown."""
    links = tuple(_links(sheet))
    cache = sheet.cache
    return Card(
        name=printable(sheet.name),
        origin=", ".join(filter(None, (FORMATS[sheet.format], printable(sheet.model_type or "")))),
        files=tuple((printable(name), es.bytes_text(size)) for name, size in sheet.files),
        facts=(*_facts(sheet), *_adapter(sheet)),
        kinds=tuple((es.TENSOR_KINDS[kind], es.number_text(size)) for kind, size in sheet.by_kind.items()),
        types=tuple(
            (one.name, es.number_text(one.elements), es.number_text(one.bytes), _bits(one.bytes, one.elements))
            for one in sheet.types
        ),
        cache=tuple(_cache(sheet)),
        tokens=es.number_text(KV_TOKENS),
        per_thousand=tuple(
            (es.CHOICES["engine"][engine], es.CHOICES["kv-precision"][dtype], es.bytes_text(size))
            for engine, dtype, size in (cache.per_thousand if cache else ())
        ),
        tree=tuple(_branch(node) for node in sheet.tree[:MAX_CHILDREN]),
        known=tuple((es.KNOWN_FIGURES[figure], es.KNOWN_FROM[code]) for figure, code in sheet.known),
        remarks=tuple(remarks(sheet)),
        links=links,
        too_long=sheet.architecture is not None and not links,
    )


def printable(text: str) -> str:
    """A name from a file without control characters.

    >>> printable("a\\x00b")
    'a\\ufffdb'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _facts(sheet: ModelSheet) -> Iterator[tuple[str, str]]:
    if sheet.total is not None:
        words = "Parámetros" if sheet.architecture else "Números guardados"
        yield words, f"{es.number_text(sheet.total)} ({es.count_text(sheet.total)})"
    if sheet.active is not None and sheet.active != sheet.total:
        yield "Activos por token", f"{es.number_text(sheet.active)} ({es.count_text(sheet.active)})"
    if sheet.embedding is not None:
        yield "Tabla de tokens", es.number_text(sheet.embedding)
    if sheet.layers is not None:
        yield "Capas", es.number_text(sheet.layers)
    if sheet.largest_layer is not None:
        index, size = sheet.largest_layer
        yield "Capa mayor", f"la {index}, con {es.number_text(size)} parámetros"
    if sheet.weights_bytes is not None:
        text = f"{es.number_text(sheet.weights_bytes)} bytes ({es.bytes_text(sheet.weights_bytes)})"
        yield "Pesos tal como están guardados", text


def _adapter(sheet: ModelSheet) -> Iterator[tuple[str, str]]:
    one = sheet.adapter
    if one is None:
        return
    yield "Método", printable(one.method)
    if one.base_model:
        yield "Modelo base", printable(one.base_model)
    yield "Rango", es.number_text(one.rank) if one.rank is not None else "no consta o no es único"
    if one.targets:
        yield "Matrices adaptadas", printable(", ".join(one.targets))
    if one.parameters is not None and one.bytes is not None:
        yield "Parámetros del adaptador", f"{es.number_text(one.parameters)} ({es.bytes_text(one.bytes)})"


def _cache(sheet: ModelSheet) -> Iterator[tuple[str, str]]:
    cache = sheet.cache
    if cache is None:
        return
    yield "Por token, en 16 bits", f"{es.number_text(cache.bytes_per_token)} bytes"
    if cache.grouped_bytes_per_token != cache.bytes_per_token:
        yield "Sin expandir las cabezas agrupadas", f"{es.number_text(cache.grouped_bytes_per_token)} bytes"
    if cache.state_bytes:
        yield "Estado recurrente por secuencia", f"{es.number_text(cache.state_bytes)} bytes"
    for window, layers in cache.windows:
        reach = "todo el contexto" if window is None else f"{es.number_text(window)} tokens"
        yield f"Capas con atención a {reach}", es.number_text(layers)
    if cache.context:
        limit, size = cache.context
        yield f"Con el contexto completo ({es.number_text(limit)} tokens)", es.bytes_text(size)


def _bits(size: int, elements: int) -> str:
    return es.number_text(Fraction(8 * size, elements), 3) if elements else "–"


def _branch(node: Node) -> Branch:
    figures: list[str] = [" × ".join(str(size) for size in node.shape)] if node.shape else []
    figures.append(es.number_text(node.parameters))
    figures += [printable(node.dtype)] if node.dtype else []
    figures += [es.bytes_text(node.bytes)] if node.bytes is not None else []
    more = len(node.children) - MAX_CHILDREN
    return Branch(
        name=printable(node.name),
        figures=" · ".join(figures),
        children=tuple(_branch(child) for child in node.children[:MAX_CHILDREN]),
        more=es.number_text(more) if more > 0 else "",
    )


def _links(sheet: ModelSheet) -> Iterable[tuple[str, str]]:
    """The fragments that carry the model into the calculators that know models, where they fit."""
    architecture = sheet.architecture
    if architecture is None:
        return
    text = dump(sheet.name, architecture)
    for name, calculator in CALCULATORS.items():
        if calculator.calculate_for is None:
            continue
        raw = {"model": "file", "config": text}
        choices = next((one.choices for one in calculator.fields if one.name == "precision"), ())
        if is_quantized(architecture) and "stored" in choices:
            raw["precision"] = "stored"
        address = fragment(name, raw)
        if len(address) <= MAX_LINK and from_fragment(name, address).get("config") == text:
            yield name, address
