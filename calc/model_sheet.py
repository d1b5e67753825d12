"""The «ficha» of a model: everything that its files tell, as values that a page, a table or JSON can show.

Integers and codes only; the words for the codes are in ``calc.es``. What the files do not tell is ``None``, and
``known`` says of every figure where it comes from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from calc.adapter import AdapterFile
from calc.architecture import Architecture, StoredType
from calc.checkpoint import Checkpoint
from calc.errors import CalcError
from calc.estimate import Note
from calc.inventory import distinct_layers
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, state_bytes
from calc.model_file import OpenedModel
from calc.parameters import count_parameters
from calc.tree import Node, tree_of_architecture, tree_of_checkpoint

SHEET: Final = "modelo"
"""Name of the command and of its JSON."""

KV_TOKENS: Final = 1000
KV_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "exact": ("bfloat16", "fp8"),
        "transformers": ("bfloat16",),
        "vllm": ("bfloat16", "fp8"),
        "llama.cpp": ("bfloat16", "q8_0", "q4_0"),
    }
)
"""Formats of the cache that each engine accepts and that are worth a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """The KV cache of a model.

    Args:
        bytes_per_token: what all layers add for one token of one sequence, in 16 bits, while no window is full: latent
            attention as its latent, Falcon's groups expanded, as Transformers caches both.
        grouped_bytes_per_token: the same where groups are cached as such (vLLM, llama.cpp).
        state_bytes: recurrent state of one sequence, whatever its length.
        windows: tokens that a layer looks back (``None``: all) and how many layers do so, without recurrent ones.
        per_thousand: engine, format, and bytes of one sequence of ``KV_TOKENS`` tokens, states included.
        context: longest declared context, and the bytes of one sequence of that length (``exact``, 16 bits).
    """

    bytes_per_token: int
    grouped_bytes_per_token: int
    state_bytes: int
    windows: tuple[tuple[int | None, int], ...]
    per_thousand: tuple[tuple[str, str, int], ...]
    context: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSheet:
    """One model.

    Args:
        name: to show.
        format: ``config``, ``safetensors``, ``gguf``, ``adapter`` or ``description``.
        files: names and sizes.
        model_type: family, or ``None``.
        total: parameters (a tied head once); elements stored where only files are known.
        active: parameters that one token uses.
        embedding: the token table.
        stored: parameters with those that are stored and not loaded.
        by_kind: parameters by ``TensorKind``.
        weights_bytes: what the weights take as they are stored; ``None`` where nothing tells their format.
        types: elements and bytes by stored type.
        cache: ``None`` where the architecture is not known.
        largest_layer: number of the first of the largest layers, and its parameters.
        layers: number of layers.
        tree: the tensors.
        architecture: for the other calculators; ``None`` where it is not known.
        refusal: why it is not known.
        adapter: for an adapter.
        known: how each figure is known: figure, code.
        notes: remarks.
    """

    name: str
    format: str
    files: tuple[tuple[str, int], ...] = ()
    model_type: str | None = None
    total: int | None = None
    active: int | None = None
    embedding: int | None = None
    stored: int | None = None
    by_kind: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    weights_bytes: int | None = None
    types: tuple[StoredType, ...] = ()
    cache: Cache | None = None
    largest_layer: tuple[int, int] | None = None
    layers: int | None = None
    tree: tuple[Node, ...] = ()
    architecture: Architecture | None = None
    refusal: CalcError | None = None
    adapter: AdapterFile | None = None
    known: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()


def model_sheet(model: OpenedModel) -> ModelSheet:
    """Everything that the files of one model tell.

    Example:
        >>> from calc.model_file import assemble, read_file
        >>> config = b'{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}'
        >>> sheet = model_sheet(assemble([read_file("config.json", config, len(config))])[0])
        >>> sheet.total, sheet.cache.bytes_per_token
        (124439808, 36864)
    """
    if model.architecture is None:
        return _without_architecture(model)
    return sheet_of_architecture(
        model.name,
        model.architecture,
        format=model.format,
        files=model.files,
        checkpoint=model.checkpoint,
        notes=model.notes,
    )


def sheet_of_architecture(  # noqa: PLR0913 - what an opened model has
    name: str,
    architecture: Architecture,
    *,
    format: str = "description",
    files: tuple[tuple[str, int], ...] = (),
    checkpoint: Checkpoint | None = None,
    notes: tuple[Note, ...] = (),
) -> ModelSheet:
    """The sheet of a known architecture: of the catalogue, of a file, or of a description in an address."""
    count = count_parameters(architecture)
    types = architecture.stored
    return ModelSheet(
        name=name,
        format=format,
        files=files,
        model_type=architecture.model_type,
        total=count.total,
        active=count.active,
        embedding=count.embedding,
        stored=count.stored,
        by_kind=MappingProxyType({kind.value: size for kind, size in count.by_kind.items()}),
        weights_bytes=sum(one.bytes for one in types) if types else None,
        types=types,
        cache=_cache(architecture),
        largest_layer=_largest(architecture),
        layers=len(architecture.layers),
        tree=tree_of_checkpoint(checkpoint) if checkpoint else tree_of_architecture(architecture),
        architecture=architecture,
        known=_known(format, types=bool(types), headers=checkpoint is not None),
        notes=(*notes, *_unloaded(architecture)),
    )


def _without_architecture(model: OpenedModel) -> ModelSheet:
    """Exact elements and bytes of the files; an adapter has its own figures."""
    checkpoint = model.checkpoint
    if checkpoint is None:
        known: tuple[tuple[str, str], ...] = (("adapter", "adapter_config"),) if model.adapter else ()
        return ModelSheet(
            name=model.name,
            format=model.format,
            files=model.files,
            refusal=model.refusal,
            adapter=model.adapter,
            known=known,
            notes=model.notes,
        )
    rows = checkpoint.by_dtype()
    return ModelSheet(
        name=model.name,
        format=model.format,
        files=model.files,
        total=checkpoint.elements,
        weights_bytes=checkpoint.bytes,
        types=tuple(StoredType(name, elements, size) for name, (_, elements, size) in rows.items()),
        tree=tree_of_checkpoint(checkpoint),
        refusal=model.refusal,
        adapter=model.adapter,
        known=(("parameters", "stored_elements"), ("weights", "file_headers")),
        notes=model.notes,
    )


def _cache(architecture: Architecture) -> Cache:
    windows: dict[int | None, int] = {}
    for layer, times in distinct_layers(architecture):
        if layer.attention is not None:
            windows[layer.window] = windows.get(layer.window, 0) + times
    limit = architecture.max_position_embeddings
    return Cache(
        bytes_per_token=kv_bytes_per_token(architecture),
        grouped_bytes_per_token=kv_bytes_per_token(architecture, engine="exact"),
        state_bytes=state_bytes(architecture),
        windows=tuple(sorted(windows.items(), key=lambda item: item[0] or 0)),
        per_thousand=tuple(
            (engine, dtype, kv_cache_bytes(architecture, context_tokens=KV_TOKENS, dtype=dtype, engine=engine))
            for engine, dtypes in KV_COLUMNS.items()
            for dtype in dtypes
        ),
        context=(limit, kv_cache_bytes(architecture, context_tokens=limit)) if limit else None,
    )


def _largest(architecture: Architecture) -> tuple[int, int] | None:
    sizes = {id(one): sum(tensor.parameters for tensor in one.tensors) for one, _ in distinct_layers(architecture)}
    numbered = [(sizes[id(layer)], -index) for index, layer in enumerate(architecture.layers)]
    if not numbered or not max(numbered)[0]:
        return None
    size, index = max(numbered)
    return -index, size


def _known(format: str, *, types: bool, headers: bool) -> tuple[tuple[str, str], ...]:
    """Where parameters, weights and cache come from."""
    shapes = {"gguf": "file_headers", "description": "description"}.get(format, "config_rules")
    weights = "file_headers" if headers else {"description": "description"}.get(format, "config_format")
    cache = {"gguf": "gguf_keys", "description": "description"}.get(format, "config_rules")
    known = (("parameters", shapes), ("cache", cache))
    return (known[0], ("weights", weights), known[1]) if types else known


def _unloaded(architecture: Architecture) -> list[Note]:
    unloaded = [tensor for tower in architecture.towers if not tower.loaded for tensor in tower.tensors]
    if not unloaded:
        return []
    return [Note(code="prediction_not_loaded", params={"parameters": sum(one.parameters for one in unloaded)})]
