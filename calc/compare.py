"""Do the files hold what the configuration and the index say? Names and shapes, tensor by tensor.

A quantized checkpoint stores several tensors for one matrix (``qweight``, ``scales`` …); they count as that matrix and
their shapes are not compared. Files name the frame around the layers in more than one way (``h.0`` or
``transformer.h.0``, ``language_model.model.layers`` or ``model.language_model.layers``): it is left out of the
comparison. Where hardly any name agrees even so, the names are not compared at all, and a note says so.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from calc.architecture import Architecture, StoredType
from calc.checkpoint import Checkpoint, StoredTensor, shown_name
from calc.estimate import Note
from calc.parameters import name_count, named_tensors
from calc.safetensors import Index

_PACKED = re.compile(
    r"\.(qweight|qzeros|scales|g_idx|SCB|weight_format|weight_scale_inv|weight_scale_2|weight_scale|weight_packed|"
    r"weight_shape|weight_zero_point|weight_g_idx|weight_global_scale|input_scale|input_global_scale|"
    r"weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+))$"
)
_BLOCKS = re.compile(r"_(blocks|scales)$")
_FRAME = re.compile(r"(?:^|(?<=\.))(model|transformer|language_model|backbone)\.")

BUFFERS = ("e_score_correction_bias",)
"""Stored tensors that are loaded and are no parameters."""

WHOLE = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
"""Types that hold one number for each element of the matrix."""

MOST_NAMES = 200_000
"""Tensors that are listed to be compared: several times as many as any published model has."""


def canonical(name: str) -> str:
    """The matrix that a stored tensor is part of, without the frame around it.

    >>> canonical("model.h.0.q_proj.qweight"), canonical("mlp.experts.gate_up_proj_blocks"), canonical("norm.weight")
    ('h.0.q_proj.weight', 'mlp.experts.gate_up_proj', 'norm.weight')
    """
    return _FRAME.sub("", _BLOCKS.sub("", _PACKED.sub(".weight", name)))


def compare_index(index: Index, parts: Mapping[str, Checkpoint]) -> tuple[bool, list[Note]]:
    """Whether all parts that the index names are there and hold what it says, and notes about what is not.

    Without any part there is nothing to compare: the index alone is read as a list of names.
    """
    wanted = Counter(index.weight_map.values())
    absent = [name for name in sorted(wanted) if name not in parts]
    notes: list[Note] = []
    if absent:
        missing: dict[str, int | str] = {"missing": len(absent), "of": len(wanted), "first": shown_name(absent[0])}
        notes.append(Note(code="parts_not_opened", params=missing))
    held = {tensor.name: name for name, part in parts.items() for tensor in part.tensors}
    lost = [name for name, part in index.weight_map.items() if part in parts and held.get(name) != part]
    if lost:
        notes.append(Note(code="tensors_not_in_part", params={"missing": len(lost), "first": shown_name(lost[0])}))
    size = sum(part.bytes for part in parts.values())
    if not absent and index.total_size is not None and index.total_size != size:
        sizes = {"declared_bytes": index.total_size, "stored_bytes": size}
        notes.append(Note(code="total_size_differs", params=sizes))
    return not absent, notes


def compare_with_architecture(
    checkpoint: Checkpoint, architecture: Architecture, *, whole: bool
) -> tuple[Architecture, list[Note]]:
    """The architecture with what it takes as stored here, and notes: missing and unexpected tensors, shapes, the head.

    ``whole`` is False where parts of the checkpoint were not opened: then nothing is missing, only not seen.
    """
    if name_count(architecture) > MOST_NAMES:
        note = Note(code="names_not_compared", params={"common": 0, "of": name_count(architecture)})
        return _with_stored(architecture, list(checkpoint.tensors), whole=whole), [note]
    wanted = [tensor for tensor in named_tensors(architecture) if tensor.count == 1]
    expected = {canonical(tensor.name): (tensor.name, tensor.shape) for tensor in wanted}
    stored: dict[str, list[StoredTensor]] = {}
    for tensor in checkpoint.tensors:
        stored.setdefault(canonical(tensor.name), []).append(tensor)
    common = expected.keys() & stored.keys()
    if 2 * len(common) < min(len(expected), len(stored)):
        note = Note(code="names_not_compared", params={"common": len(common), "of": len(expected)})
        return _with_stored(architecture, list(checkpoint.tensors), whole=whole), [note]
    notes = _missing(expected, stored) if whole else []
    notes += _shapes(expected, stored)
    extra = [tensor for name in stored.keys() - expected.keys() for tensor in stored[name]]
    notes += _extra(architecture, extra)
    known = [name for name in stored if name in expected or name.endswith(BUFFERS)]
    loaded = [tensor for name in known for tensor in stored[name]]
    if architecture.tie_word_embeddings and not any(_is_head(tensor.name) for tensor in extra):
        notes.append(Note(code="head_tied"))
    return _with_stored(architecture, loaded, whole=whole), notes


def _with_stored(architecture: Architecture, tensors: list[StoredTensor], *, whole: bool) -> Architecture:
    if not whole:
        return architecture
    return replace(architecture, stored=types_of(tensors))


def types_of(tensors: list[StoredTensor]) -> tuple[StoredType, ...]:
    """Elements and bytes of each type, most bytes first."""
    rows = Checkpoint(format="", tensors=tuple(tensors), metadata={}).by_dtype()
    return tuple(StoredType(name, elements, size) for name, (_, elements, size) in rows.items())


Expected = Mapping[str, tuple[str, tuple[int, ...]]]
"""Name and shape of each tensor that a configuration implies, by its name without the frame."""


def _missing(expected: Expected, stored: Mapping[str, object]) -> list[Note]:
    names = [name for key, (name, _) in expected.items() if key not in stored]
    if not names:
        return []
    return [Note(code="tensors_missing", params={"missing": len(names), "first": shown_name(names[0])})]


def _shapes(expected: Expected, stored: Mapping[str, list[StoredTensor]]) -> list[Note]:
    """The first tensor that has another number of elements; its axes may be in another order."""
    for key, (name, shape) in expected.items():
        found = stored.get(key, [])
        whole = len(found) == 1 and found[0].dtype in WHOLE and not _PACKED.search(found[0].name)
        if whole and prod(found[0].shape) != prod(shape):
            params = {"tensor": shown_name(name), "stored": _shape(found[0].shape), "declared": _shape(shape)}
            return [Note(code="shape_differs", params=params)]
    return []


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _is_head(name: str) -> bool:
    return name.endswith(("lm_head.weight", "embed_out.weight", "output.weight"))


def _extra(architecture: Architecture, extra: list[StoredTensor]) -> list[Note]:
    notes = []
    head = [tensor for tensor in extra if _is_head(tensor.name)] if architecture.tie_word_embeddings else []
    if head:
        notes.append(Note(code="tied_head_stored", params={"stored_bytes": sum(tensor.bytes for tensor in head)}))
    rest = [tensor for tensor in extra if tensor not in head and not tensor.name.endswith(BUFFERS)]
    if rest:
        first = min(tensor.name for tensor in rest)
        params: dict[str, int | str] = {"count": len(rest), "stored_bytes": sum(tensor.bytes for tensor in rest)}
        notes.append(Note(code="tensors_not_loaded", params={**params, "first": shown_name(first)}))
    return notes
