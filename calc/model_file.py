"""Files of models, opened without reading them here: the host reads, this module says what is needed and what it is.

1. ``read_file(name, data, size)`` turns the first bytes of one file into a ``Piece``, or raises ``NeedMoreBytes`` with
   how many it needs from the start. Only headers are ever asked for; a ``.json`` is needed whole.
2. ``assemble(pieces)`` joins the pieces that belong together: the parts of a split GGUF, a configuration with the
   index and the parts of its checkpoint, an adapter with its configuration.

A model whose architecture is not known still has its exact bytes; ``OpenedModel.refusal`` says why it has no more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from calc import gguf, safetensors
from calc.adapter import AdapterFile, holds_adapter, is_adapter_config, read_adapter
from calc.architecture import Architecture
from calc.checkpoint import FIRST_READ, Checkpoint, InvalidFile, joined, more_bytes, shown_name
from calc.compare import compare_index, compare_with_architecture
from calc.errors import CalcError, UnsupportedArchitecture
from calc.estimate import Note
from calc.gguf.model import architecture_from_gguf
from calc.hf_config import architecture_from_hf_config
from calc.json_door import load_json

__all__ = ["FIRST_READ", "OpenedModel", "Piece", "assemble", "read_file"]

MAX_CONFIG_BYTES = 4 * 2**20
"""Largest ``config.json`` that is read; published ones have a few kilobytes."""
MAX_PIECES = 2000
_SPLIT = re.compile(r"[-.]\d{5}-of-\d{5}(?=\.)")

Content = Checkpoint | safetensors.Index | dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One file as far as its header tells.

    Args:
        name: without folders.
        size: of the whole file.
        kind: ``gguf``, ``safetensors``, ``index``, ``config`` or ``adapter_config``.
        content: the parsed header, index or configuration.
    """

    name: str
    size: int
    kind: str
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedModel:
    """One model, from all its files.

    Args:
        name: of the model where a file tells it, else of the first file.
        format: ``config``, ``safetensors``, ``gguf`` or ``adapter``.
        files: names and sizes.
        architecture: ``None`` where the files do not tell it, or where it is not known; ``refusal`` then says why.
        refusal: the error that stands in place of the architecture.
        checkpoint: headers of all weight files as one; ``None`` for a configuration alone.
        adapter: for ``format`` ``adapter``.
        notes: what is remarkable: missing tensors, a tied head, parts that were not opened.
    """

    name: str
    format: str
    files: tuple[tuple[str, int], ...]
    architecture: Architecture | None = None
    refusal: CalcError | None = None
    checkpoint: Checkpoint | None = None
    adapter: AdapterFile | None = None
    notes: tuple[Note, ...] = ()


def read_file(name: str, data: bytes, size: int) -> Piece:
    """Read what the first bytes of a file say.

    Args:
        name: of the file; folders before it are dropped. The contents decide what it is, the name only helps.
        data: the first bytes, as many as were read; ``FIRST_READ`` of them are a good start.
        size: of the whole file [B].

    Raises:
        NeedMoreBytes: ``length`` bytes from the start are needed.
        InvalidFile: with a code, the place of what is wrong, and ``file`` among its parameters.

    Example:
        >>> read_file("config.json", b'{"model_type": "llama"}', 23).kind
        'config'
    """
    base = re.split(r"[/\\]", name)[-1]
    try:
        kind, content = _content(base.lower(), data, size)
    except InvalidFile as error:
        raise InvalidFile(error.code, place=error.place, **{**error.params, "file": shown_name(base)}) from None
    return Piece(name=base, size=size, kind=kind, content=content)


def _content(name: str, data: bytes, size: int) -> tuple[str, Content]:
    if len(data) < min(size, 16):
        raise more_bytes(min(size, FIRST_READ), have=len(data), file_bytes=size)
    if data[:4] == gguf.MAGIC or name.endswith(".gguf"):
        return "gguf", gguf.read_header(data, size)
    if name.endswith(".safetensors") or data[8:9] == b"{":
        return "safetensors", safetensors.read_header(data, size)
    if name.endswith(".json") or data[:1] == b"{":
        return _json(data, size)
    raise InvalidFile("unknown_format", place="header")


def _json(data: bytes, size: int) -> tuple[str, Content]:
    limit = safetensors.MAX_INDEX_BYTES if b'"weight_map"' in data[:FIRST_READ] else MAX_CONFIG_BYTES
    if size > limit:
        raise InvalidFile("file_too_large", place="header", maximum_bytes=limit)
    if len(data) < size:
        raise more_bytes(size, have=len(data), file_bytes=size)
    value = load_json(data[:size], place="json", finite=False)
    if "weight_map" in value:
        return "index", safetensors.index_from(value)
    return ("adapter_config" if is_adapter_config(value) else "config"), value


def assemble(pieces: Sequence[Piece]) -> tuple[OpenedModel, ...]:
    """The models that these files make, in the order of their first file.

    Raises:
        InvalidFile: ``missing_part``, ``mixed_parts``, ``repeated_tensor``, ``several_configs`` … where files do not
            belong together; an unknown architecture is no error here (``OpenedModel.refusal``).
        InvalidConfig: for a damaged configuration.

    Example:
        >>> config = b'{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}'
        >>> model, = assemble([read_file("config.json", config, len(config))])
        >>> model.architecture.hidden_size
        768
    """
    if len(pieces) > MAX_PIECES:
        raise InvalidFile("too_many_files", place="header", count=len(pieces), maximum=MAX_PIECES)
    models = [_from_gguf(group) for group in _gguf_groups(pieces)]
    adapter = [piece for piece in pieces if piece.kind == "adapter_config" or _has_adapter(piece)]
    if adapter:
        models.append(_adapter(adapter))
    rest = [piece for piece in pieces if piece.kind in ("config", "index", "safetensors") and piece not in adapter]
    if rest:
        models.append(_from_checkpoint(rest))
    return tuple(models)


def _gguf_groups(pieces: Sequence[Piece]) -> list[list[tuple[Piece, Checkpoint]]]:
    groups: dict[str, list[tuple[Piece, Checkpoint]]] = {}
    for piece in pieces:
        if isinstance(piece.content, Checkpoint) and piece.kind == "gguf":
            stem = _SPLIT.sub("", piece.name) if piece.content.parts > 1 else piece.name
            groups.setdefault(stem, []).append((piece, piece.content))
    return list(groups.values())


def _has_adapter(piece: Piece) -> bool:
    return piece.kind == "safetensors" and isinstance(piece.content, Checkpoint) and holds_adapter(piece.content)


def _from_gguf(group: list[tuple[Piece, Checkpoint]]) -> OpenedModel:
    group.sort(key=lambda item: item[1].part)
    checkpoint = gguf.join_parts([content for _, content in group])
    architecture, refusal = None, None
    try:
        architecture = architecture_from_gguf(checkpoint)
    except UnsupportedArchitecture as error:
        refusal = error
    declared = checkpoint.metadata.get("general.name")
    notes = [Note(code="head_tied")] if architecture and architecture.tie_word_embeddings else []
    return OpenedModel(
        name=declared if isinstance(declared, str) and declared.strip() else group[0][0].name,
        format="gguf",
        files=tuple((piece.name, piece.size) for piece, _ in group),
        architecture=architecture,
        refusal=refusal,
        checkpoint=checkpoint,
        notes=tuple(notes),
    )


def _adapter(pieces: list[Piece]) -> OpenedModel:
    configs = [piece for piece in pieces if piece.kind == "adapter_config"]
    files = [piece.content for piece in pieces if isinstance(piece.content, Checkpoint)]
    if len(configs) > 1:
        raise InvalidFile("several_configs", place="adapter_config.json", count=len(configs))
    config = configs[0].content if configs else None
    checkpoint = joined(files) if files else None
    return OpenedModel(
        name=pieces[0].name,
        format="adapter",
        files=tuple((piece.name, piece.size) for piece in pieces),
        checkpoint=checkpoint,
        adapter=read_adapter(config if isinstance(config, dict) else None, checkpoint),
    )


def _from_checkpoint(pieces: list[Piece]) -> OpenedModel:
    configs = [piece.content for piece in pieces if isinstance(piece.content, dict)]
    indexes = [piece.content for piece in pieces if isinstance(piece.content, safetensors.Index)]
    parts = [(piece.name, piece.content) for piece in pieces if isinstance(piece.content, Checkpoint)]
    for kind, found in (("config.json", configs), ("model.safetensors.index.json", indexes)):
        if len(found) > 1:
            raise InvalidFile("several_configs", place=kind, count=len(found))
    checkpoint = joined([content for _, content in parts]) if parts else None
    architecture, refusal = _configured(configs[0]) if configs else (None, None)
    notes: list[Note] = []
    whole = True
    if indexes:
        whole, found_notes = compare_index(indexes[0], dict(parts))
        notes += found_notes
    if architecture is not None and checkpoint is not None:
        architecture, found_notes = compare_with_architecture(checkpoint, architecture, whole=whole)
        notes += found_notes
    if architecture is not None and not architecture.stored:
        notes.append(Note(code="stored_format_unknown"))
    return OpenedModel(
        name=_name(configs, pieces),
        format="safetensors" if parts or indexes else "config",
        files=tuple((piece.name, piece.size) for piece in pieces),
        architecture=architecture,
        refusal=refusal,
        checkpoint=checkpoint,
        notes=tuple(notes),
    )


def _configured(config: dict[str, object]) -> tuple[Architecture | None, CalcError | None]:
    try:
        return architecture_from_hf_config(config), None
    except UnsupportedArchitecture as error:
        return None, error


def _name(configs: list[dict[str, object]], pieces: list[Piece]) -> str:
    for config in configs:
        declared = config.get("_name_or_path")
        if isinstance(declared, str) and declared.strip():
            return declared.rstrip("/").rsplit("/", 1)[-1][:100]
    return pieces[0].name
