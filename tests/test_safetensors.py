"""The safetensors door reads what the ``safetensors`` package writes, tensor by tensor."""

import json
from math import prod
from typing import Any

import numpy as np
import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import safetensors as door
from calc.checkpoint import Checkpoint, InvalidFile
from calc.model_file import assemble
from tests.opening import Sparse, open_bytes, open_sparse

WRITTEN = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "float16": "F16", "bfloat16": "BF16",
    "int32": "I32", "uint32": "U32", "float32": "F32", "float64": "F64", "int64": "I64", "uint64": "U64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "complex64": "C64",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}  # fmt: skip
"""Names of types for ``safetensors.serialize`` and in the file."""


def written(tensors: dict[str, tuple[str, tuple[int, ...]]], metadata: dict[str, str] | None = None) -> bytes:
    """A file by the package."""
    zeros = np.zeros(8 * 7**4, dtype=np.uint8)
    specs = {
        name: safetensors.TensorSpec(
            dtype=kind,
            shape=list(shape),
            data_ptr=zeros.ctypes.data,
            data_len=prod(shape) * door.DTYPE_BITS[WRITTEN[kind]] // 8,
        )
        for name, (kind, shape) in tensors.items()
    }
    return safetensors.serialize(specs, metadata)


NAMES = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda name: name != "__metadata__")
SHAPES = st.lists(st.integers(0, 7), max_size=4).map(tuple)


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(WRITTEN)), SHAPES), max_size=8))
def test_every_tensor_of_the_package_is_read(tensors: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    """Names, shapes, types and bytes are those that were written; names of any kind are data."""
    content = open_bytes("x.safetensors", written(tensors)).content
    assert isinstance(content, Checkpoint)
    found = {tensor.name: (tensor.dtype, tensor.shape, tensor.bytes) for tensor in content.tensors}
    assert found == {
        name: (WRITTEN[kind], shape, prod(shape) * door.DTYPE_BITS[WRITTEN[kind]] // 8)
        for name, (kind, shape) in tensors.items()
    }


def test_the_package_reads_the_same_tensors() -> None:
    """What the package's own reader tells of a file is what the door tells."""
    data = written({"a": ("bfloat16", (3, 5)), "b": ("float32", ()), "c": ("float8_e4m3fn", (2, 2, 2))}, {"k": "v"})
    theirs = {name: (entry["dtype"], tuple(entry["shape"]), len(entry["data"])) for name, entry in _read(data)}
    content = open_bytes("x.safetensors", data).content
    assert isinstance(content, Checkpoint)
    assert {tensor.name: (tensor.dtype, tensor.shape, tensor.bytes) for tensor in content.tensors} == theirs
    assert content.metadata == {"k": "v"}


def _read(data: bytes) -> list[tuple[str, Any]]:
    read: Any = safetensors.deserialize
    found: list[tuple[str, Any]] = read(data)
    return found


def test_only_the_header_is_read() -> None:
    """A 60 GB file costs its header."""
    header = json.dumps({"a": {"dtype": "F16", "shape": [3 * 10**10], "data_offsets": [0, 6 * 10**10]}}).encode()
    file = Sparse(len(header).to_bytes(8, "little") + header, 8 + len(header) + 6 * 10**10)
    content = open_sparse("x.safetensors", file).content
    assert isinstance(content, Checkpoint)
    assert content.bytes == 6 * 10**10
    assert file.read <= 2**18


def header(entries: object, data_bytes: int = 0) -> tuple[bytes, int]:
    """A file with this header, and its size."""
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text, 8 + len(text) + data_bytes


def entry(shape: object = (2,), offsets: object = (0, 4), dtype: object = "F16") -> dict[str, object]:
    """One tensor of a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("entries", "size", "code", "place"),
    [
        ({"a": entry(), "b": entry(offsets=[2, 6])}, 6, "overlap", "tensor b"),
        ({"a": entry(), "b": entry(offsets=[6, 10])}, 10, "hole", "tensor b"),
        ({"a": entry(offsets=[2, 6])}, 6, "hole", "tensor a"),
        ({"a": entry()}, 3, "truncated", "data"),
        ({"a": entry()}, 5, "trailing_bytes", "data"),
        ({"a": entry(offsets=[4, 0])}, 4, "size_mismatch", "tensor a"),
        ({"a": entry(offsets=[0, 2**63])}, 4, "bad_offsets", "tensor a"),
        ({"a": entry(offsets=[0, -4])}, 4, "bad_offsets", "tensor a"),
        ({"a": entry(offsets=[0, 4.0])}, 4, "bad_offsets", "tensor a"),
        ({"a": entry(offsets=[0, True])}, 4, "bad_offsets", "tensor a"),
        ({"a": entry(offsets="04")}, 4, "bad_offsets", "tensor a"),
        ({"a": entry(shape=[3])}, 4, "size_mismatch", "tensor a"),
        ({"a": entry(shape=[2**62, 2**62])}, 4, "bad_shape", "tensor a"),
        ({"a": entry(shape=[-1])}, 4, "bad_shape", "tensor a"),
        ({"a": entry(shape=[1] * 17)}, 4, "bad_shape", "tensor a"),
        ({"a": entry(shape=None)}, 4, "bad_shape", "tensor a"),
        ({"a": entry(dtype="F17")}, 4, "unknown_dtype", "tensor a"),
        ({"a": entry(dtype=["F16"] * 100)}, 4, "unknown_dtype", "tensor a"),
        ({"a": entry(dtype="F4", shape=[3], offsets=[0, 2])}, 2, "size_mismatch", "tensor a"),
        ({"a": 7}, 4, "not_object", "tensor a"),
        ({"__metadata__": {"a": 1}}, 0, "not_text_map", "__metadata__"),
        ({"__metadata__": []}, 0, "not_text_map", "__metadata__"),
        (b"[]", 0, "not_object", "header"),
        (b'{"a": 1, "a": 2}', 0, "repeated_key", "a"),
        (b'{"a": NaN}', 0, "bad_number", "NaN"),
        (b'{"a": -Infinity}', 0, "bad_number", "-Infinity"),
        (b'{"a": 1e999}', 0, "bad_number", "1e999"),
        (b'{"a": ' + b"9" * 5000 + b"}", 0, "bad_number", "9" * 24),
        (b'{"a": "\xff"}', 0, "not_utf8", "header"),
        (b'{"a": ', 0, "not_json", "header"),
        (b'{"a":' * 100_000, 0, "too_deep", "header"),
        (b'{"a":' + b"[" * 200_000, 0, "too_deep", "header"),
        (b"{" + b",".join(b'"%d":0' % index for index in range(400_000)) + b"}", 0, "too_many_values", "header"),
    ],
)
def test_a_wrong_header_is_refused_at_its_place(entries: object, size: int, code: str, place: str) -> None:
    """Each refusal has a code and says where."""
    data, total = header(entries, size)
    with pytest.raises(InvalidFile) as refused:
        open_bytes("x.safetensors", data, total)
    assert (refused.value.code, refused.value.place) == (code, place)
    assert refused.value.params["file"] == "x.safetensors"


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 33 * 2**20, 1000])
def test_an_announced_header_is_not_believed(length: int) -> None:
    """A length that no file has, or that this one has not, is refused without reading on."""
    file = Sparse(length.to_bytes(8, "little") + b"{}", 60 * 10**9 if length > 1000 else 10)
    with pytest.raises(InvalidFile) as refused:
        open_sparse("x.safetensors", file)
    assert refused.value.code in ("header_too_long", "truncated")
    assert file.read <= 2**18


@pytest.mark.parametrize("size", range(10))
def test_a_file_that_is_cut_anywhere_is_refused(size: int) -> None:
    """Nor a byte too few."""
    data = written({"a": ("float16", (2,))})
    with pytest.raises(InvalidFile):
        open_bytes("x.safetensors", data[: len(data) * size // 10])


def test_an_index_names_its_parts() -> None:
    """Parts that were not opened, and a sum that differs, are noticed."""
    one, two = written({"a": ("float16", (2,))}), written({"b": ("float16", (3,))})
    index = {"metadata": {"total_size": 11}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    listed = open_bytes("model.safetensors.index.json", json.dumps(index).encode())
    first, second = open_bytes("1.safetensors", one), open_bytes("2.safetensors", two)
    (model,) = assemble([listed, first])
    assert [(note.code, note.params["missing"], note.params["of"]) for note in model.notes] == [
        ("parts_not_opened", 1, 2)
    ]
    (model,) = assemble([listed, first, second])
    assert [(note.code, dict(note.params)) for note in model.notes] == [
        ("total_size_differs", {"declared_bytes": 11, "stored_bytes": 10})
    ]
    assert model.checkpoint is not None
    assert model.checkpoint.by_dtype() == {"F16": (2, 5, 10)}


def test_a_tensor_in_the_wrong_part_is_noticed() -> None:
    """The index says which part holds a tensor; another one is not good enough."""
    index = {"weight_map": {"a": "1.safetensors", "b": "1.safetensors"}}
    pieces = [
        open_bytes("model.safetensors.index.json", json.dumps(index).encode()),
        open_bytes("1.safetensors", written({"a": ("float16", (2,))})),
    ]
    (model,) = assemble(pieces)
    assert [(note.code, dict(note.params)) for note in model.notes] == [
        ("tensors_not_in_part", {"missing": 1, "first": "b"})
    ]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"weight_map": []}, "not_text_map"),
        ({"weight_map": {"a": 1}}, "not_text_map"),
        ({"weight_map": {}, "metadata": {"total_size": -1}}, "bad_number"),
        ({"weight_map": {}, "metadata": {"total_size": "12"}}, "bad_number"),
        ({"weight_map": {}, "metadata": {"total_size": 2**63}}, "bad_number"),
    ],
)
def test_a_wrong_index_is_refused(value: object, code: str) -> None:
    """An index maps names to files, and its total is a number of bytes."""
    with pytest.raises(InvalidFile) as refused:
        open_bytes("model.safetensors.index.json", json.dumps(value).encode())
    assert refused.value.code == code


def test_two_parts_cannot_hold_one_tensor() -> None:
    """A name that is in two files names itself."""
    one = written({"a": ("float16", (2,))})
    with pytest.raises(InvalidFile, match="repeated_tensor at tensor a"):
        assemble([open_bytes("1.safetensors", one), open_bytes("2.safetensors", one)])
