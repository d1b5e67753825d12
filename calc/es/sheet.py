"""The «ficha» of a model as plain text for a terminal."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from calc.es.files import KNOWN_FIGURES, KNOWN_FROM, TENSOR_KINDS
from calc.es.forms import CHOICES
from calc.es.messages import error_text, note_text
from calc.es.numbers import bytes_text, count_text, number_text
from calc.es.report import table
from calc.model_sheet import KV_TOKENS, Cache, ModelSheet

FORMATS: Final = {
    "config": "Configuración",
    "safetensors": "Safetensors",
    "gguf": "GGUF",
    "adapter": "Adaptador",
    "description": "Descripción",
}
"""Words for where a model comes from."""


def sheet_text(sheet: ModelSheet) -> str:
    """Identity, parameters, bytes by type, cache, how each is known, and remarks."""
    parts = [
        "\n".join(_identity(sheet)),
        "\n".join(_adapter(sheet)),
        _kinds(sheet),
        _types(sheet),
        _cache(sheet.cache) if sheet.cache else "",
        "\n".join(f"{KNOWN_FIGURES[figure]}: {KNOWN_FROM[code]}." for figure, code in sheet.known),
        "\n".join(f"· {text}" for text in remarks(sheet)),
    ]
    return "\n\n".join(part for part in parts if part)


def _identity(sheet: ModelSheet) -> Iterator[str]:
    name = "".join(letter if letter.isprintable() else "\ufffd" for letter in sheet.name)
    yield f"{name} ({', '.join(filter(None, (FORMATS[sheet.format], sheet.model_type)))})"
    if sheet.total is not None:
        words = "Parámetros" if sheet.architecture else "Números guardados"
        yield f"{words}: {number_text(sheet.total)} ({count_text(sheet.total)})"
    if sheet.active is not None and sheet.active != sheet.total:
        yield f"Parámetros activos por token: {number_text(sheet.active)}"
    if sheet.embedding is not None:
        yield f"Tabla de tokens: {number_text(sheet.embedding)}"
    if sheet.layers is not None:
        yield f"Capas: {number_text(sheet.layers)}"
    if sheet.largest_layer is not None:
        index, size = sheet.largest_layer
        yield f"Capa mayor: la {index}, con {number_text(size)} parámetros"
    if sheet.weights_bytes is not None:
        both = " = ".join(bytes_text(sheet.weights_bytes, unit) for unit in ("GiB", "GB"))
        yield f"Pesos tal como están guardados: {number_text(sheet.weights_bytes)} bytes ({both})"


def _adapter(sheet: ModelSheet) -> Iterator[str]:
    one = sheet.adapter
    if one is None:
        return
    yield f"Método: {one.method}"
    if one.base_model:
        yield f"Modelo base: {one.base_model}"
    yield f"Rango: {number_text(one.rank) if one.rank is not None else 'no consta o no es único'}"
    if one.targets:
        yield f"Matrices adaptadas: {', '.join(one.targets)}"
    if one.parameters is not None and one.bytes is not None:
        yield f"Parámetros del adaptador: {number_text(one.parameters)} ({bytes_text(one.bytes)})"


def _kinds(sheet: ModelSheet) -> str:
    rows = [(TENSOR_KINDS[kind], number_text(size)) for kind, size in sheet.by_kind.items()]
    return table(("Parámetros por clase", "Número"), rows) if rows else ""


def _types(sheet: ModelSheet) -> str:
    rows = [
        (
            one.name,
            number_text(one.elements),
            number_text(one.bytes),
            number_text(Fraction(8 * one.bytes, one.elements), 3) if one.elements else "–",
        )
        for one in sheet.types
    ]
    return table(("Tipo", "Elementos", "Bytes", "Bits por elemento"), rows) if rows else ""


def _cache(cache: Cache) -> str:
    lines = [f"Caché KV por token, en 16 bits: {number_text(cache.bytes_per_token)} bytes"]
    if cache.grouped_bytes_per_token != cache.bytes_per_token:
        grouped = number_text(cache.grouped_bytes_per_token)
        lines.append(f"Sin expandir las cabezas agrupadas: {grouped} bytes")
    if cache.state_bytes:
        lines.append(f"Estado recurrente por secuencia: {number_text(cache.state_bytes)} bytes")
    for window, layers in cache.windows:
        reach = "todo el contexto" if window is None else f"{number_text(window)} tokens"
        lines.append(f"Capas con atención a {reach}: {number_text(layers)}")
    rows = [
        (CHOICES["engine"][engine], CHOICES["kv-precision"][dtype], bytes_text(size))
        for engine, dtype, size in cache.per_thousand
    ]
    return "\n".join((*lines, "", table(("Motor", "Formato", f"{number_text(KV_TOKENS)} tokens"), rows)))


def remarks(sheet: ModelSheet) -> Iterator[str]:
    """What is worth saying of a model: why figures are missing, and what its files have of remarkable."""
    if sheet.refusal is not None:
        yield f"No se conocen la caché KV ni los parámetros por clase: {error_text(sheet.refusal)}"
    elif sheet.architecture is None and sheet.adapter is None:
        yield "Sin su config.json no se conocen la caché KV ni los parámetros por clase."
    yield from (note_text(note) for note in sheet.notes)
