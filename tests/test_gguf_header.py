"""The GGUF door reads what the ``gguf`` package writes: every type, both byte orders, whole and split."""

import struct
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.checkpoint import ArrayLength, Checkpoint, InvalidFile
from calc.gguf import read_header
from calc.gguf.types import BLOCK_TYPES
from calc.model_file import assemble
from tests.gguf_files import header
from tests.opening import Sparse, open_bytes, open_sparse

Q = gguf.GGMLQuantizationType
WRITABLE = [kind for kind in Q if kind not in (Q.Q8_1, Q.Q8_K)]
"""Types that a file may hold; the other two are of intermediate results."""


def opened(data: bytes, size: int) -> Checkpoint:
    """The header of a file."""
    content = open_sparse("x.gguf", Sparse(data, size)).content
    assert isinstance(content, Checkpoint)
    return content


def test_the_table_of_types_is_that_of_the_package() -> None:
    """Names, block sizes and bytes of all types."""
    theirs = {int(kind): (kind.name, *GGML_QUANT_SIZES[kind]) for kind in Q}
    ours = {number: (one.name, one.elements, one.bytes) for number, one in BLOCK_TYPES.items()}
    assert ours == theirs


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("kind", WRITABLE, ids=lambda kind: kind.name)
def test_every_type_weighs_what_the_package_says(kind: gguf.GGMLQuantizationType, big_endian: bool) -> None:
    """Shape, elements and bytes of a tensor of each type, in both byte orders."""
    block, size = GGML_QUANT_SIZES[kind]
    shape = (3, 5, 2 * block)
    data, total = header("llama", {}, {"a": (shape, kind)}, big_endian=big_endian)
    (tensor,) = opened(data, total).tensors
    assert (tensor.name, tensor.dtype, tensor.shape) == ("a", kind.name, shape)
    assert tensor.bytes == 3 * 5 * 2 * size
    assert tensor.elements == 3 * 5 * 2 * block


def q4_k_m() -> Mapping[str, tuple[tuple[int, ...], gguf.GGMLQuantizationType]]:
    """The mixture of a Q4_K_M file of a small Llama: Q6_K for half of V and down, F32 for norms."""
    tensors: dict[str, tuple[tuple[int, ...], gguf.GGMLQuantizationType]] = {
        "token_embd.weight": ((1000, 512), Q.Q4_K),
        "output.weight": ((1000, 512), Q.Q6_K),
        "output_norm.weight": ((512,), Q.F32),
    }
    for layer in range(4):
        finer = Q.Q6_K if layer % 2 == 0 else Q.Q4_K
        tensors |= {
            f"blk.{layer}.attn_norm.weight": ((512,), Q.F32),
            f"blk.{layer}.ffn_norm.weight": ((512,), Q.F32),
            f"blk.{layer}.attn_q.weight": ((512, 512), Q.Q4_K),
            f"blk.{layer}.attn_k.weight": ((256, 512), Q.Q4_K),
            f"blk.{layer}.attn_v.weight": ((256, 512), finer),
            f"blk.{layer}.attn_output.weight": ((512, 512), Q.Q4_K),
            f"blk.{layer}.ffn_gate.weight": ((1536, 512), Q.Q4_K),
            f"blk.{layer}.ffn_up.weight": ((1536, 512), Q.Q4_K),
            f"blk.{layer}.ffn_down.weight": ((512, 1536), finer),
        }
    return tensors


KEYS = {
    "llama.block_count": 4,
    "llama.context_length": 8192,
    "llama.embedding_length": 512,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}


@pytest.mark.parametrize("big_endian", [False, True])
def test_a_mixture_is_weighed_type_by_type(big_endian: bool) -> None:
    """A Q4_K_M-like file: bytes of each type as the package's block sizes give them; cache and totals from its keys."""
    data, size = header("llama", KEYS, q4_k_m(), big_endian=big_endian)
    (model,) = assemble([open_sparse("small-Q4_K_M.gguf", Sparse(data, size))])
    expected: dict[str, int] = {}
    for shape, kind in q4_k_m().values():
        block, taken = GGML_QUANT_SIZES[kind]
        expected[kind.name] = expected.get(kind.name, 0) + prod(shape) // block * taken
    assert model.architecture is not None
    assert {one.name: one.bytes for one in model.architecture.stored} == expected
    attention: Any = model.architecture.layers[0].attention
    assert (attention.num_key_value_heads, attention.head_dim) == (4, 64)


def test_a_real_file_is_read_as_the_package_reads_it() -> None:
    """A whole file with data: the package's own reader and the door tell the same tensors and keys."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_uint32("llama.block_count", 1)
        writer.add_array("tokenizer.ggml.tokens", [f"token {index}" for index in range(1000)])
        writer.add_array("some.numbers", [1, 2, 3])
        writer.add_string("general.name", "<b>\u0007")
        writer.add_tensor("a.weight", np.zeros((4, 32), dtype=np.float32))
        writer.add_tensor("b.weight", np.zeros((2, 34), dtype=np.uint8), raw_dtype=Q.Q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        data = path.read_bytes()
        theirs = gguf.GGUFReader(path)
        facts = {
            one.name: (tuple(int(size) for size in one.shape[::-1]), one.tensor_type.name, int(one.n_bytes))
            for one in theirs.tensors
        }
        del theirs
    found = opened(data, len(data))
    assert {one.name: (one.shape, one.dtype, one.bytes) for one in found.tensors} == facts
    assert found.metadata["tokenizer.ggml.tokens"] == ArrayLength(1000)
    assert found.metadata["some.numbers"] == (1, 2, 3)
    assert found.metadata["general.name"] == "<b>\u0007"


def test_a_sparse_60_gb_file_costs_its_header() -> None:
    """Only the first bytes of a large file are read, a vocabulary of 250,000 tokens included."""
    keys = {**KEYS, "tokenizer.ggml.tokens": [f"token {index}" for index in range(250_000)]}
    data, _ = header("llama", keys, {**q4_k_m(), "big": ((10**6, 10**5 // 256 * 256), Q.Q4_K)})
    file = Sparse(data, 60 * 10**9)
    content = open_sparse("x.gguf", file).content
    assert isinstance(content, Checkpoint)
    assert content.bytes > 56 * 10**9
    assert file.read <= 2 * len(data) < 50 * 10**6


def parts(count: int = 3) -> list[tuple[str, bytes, int]]:
    """A model split as ``gguf-split`` does it: keys in the first file, ``split.*`` in each."""
    tensors = list(q4_k_m().items())
    each = -(-len(tensors) // count)
    files = []
    for number in range(count):
        keys: dict[str, Any] = {"split.no": number, "split.count": count, "split.tensors.count": len(tensors)}
        held = dict(tensors[number * each : (number + 1) * each])
        data, size = header("llama", {**(KEYS if number == 0 else {}), **keys}, held)
        files.append((f"small-{number + 1:05d}-of-{count:05d}.gguf", data, size))
    return files


def test_the_parts_of_a_split_file_are_one_model() -> None:
    """In any order, three files give what the whole one gives."""
    pieces = [open_sparse(name, Sparse(data, size)) for name, data, size in parts()]
    (split,) = assemble(pieces[::-1])
    data, size = header("llama", KEYS, q4_k_m())
    (whole,) = assemble([open_sparse("small.gguf", Sparse(data, size))])
    assert split.architecture == whole.architecture
    assert split.files[0][0] == "small-00001-of-00003.gguf"


def test_a_missing_part_is_named() -> None:
    """A split model is not opened without one of its parts."""
    pieces = [open_sparse(name, Sparse(data, size)) for name, data, size in parts()]
    with pytest.raises(InvalidFile) as refused:
        assemble([pieces[0], pieces[2]])
    assert (refused.value.code, refused.value.params) == ("missing_part", {"number": 2, "count": 3})
    with pytest.raises(InvalidFile, match="repeated_part"):
        assemble([pieces[0], pieces[0], pieces[1]])
    _, data, size = parts(2)[0]
    other = open_sparse("small-00001-of-00003.gguf", Sparse(data, size))
    with pytest.raises(InvalidFile, match="mixed_parts"):
        assemble([*pieces, other])


def test_two_whole_files_are_two_models() -> None:
    """Files that are no parts of one another are opened side by side."""
    data, size = header("llama", KEYS, q4_k_m())
    models = assemble([open_sparse(name, Sparse(data, size)) for name in ("a.gguf", "b.gguf")])
    assert [model.name for model in models] == ["a.gguf", "b.gguf"]


# Hand-made files: what the package would refuse to write.


def text(value: bytes) -> bytes:
    """A length and its bytes."""
    return struct.pack("<Q", len(value)) + value


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    """A key, the type of its value, and the value."""
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: bytes, shape: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    """A line of the table of tensors."""
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def made(*, entries: tuple[bytes, ...] = (), tensors: tuple[bytes, ...] = (), version: int = 3) -> bytes:
    """A header of these lines."""
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    return start + b"".join(entries) + b"".join(tensors)


def test_version_2_has_the_same_layout() -> None:
    """A file of version 2 is read; versions 1 and 4 are refused by number."""
    data = made(tensors=(tensor(b"a"),), version=2)
    assert opened(data, len(data) + 1000).tensors[0].bytes == 128
    for version in (0, 1, 4, 2**31):
        with pytest.raises(InvalidFile, match="unsupported_version"):
            opened(made(version=version), 1000)


HUGE = 60 * 10**9
WRONG = {
    "wrong_magic": (b"GGML" + bytes(100), HUGE),
    "empty": (b"", 0),
    "only a magic": (b"GGUF", 4),
    "a billion tensors": (b"GGUF" + struct.pack("<IQQ", 3, 10**9, 0), HUGE),
    "a billion entries": (b"GGUF" + struct.pack("<IQQ", 3, 0, 10**9), HUGE),
    "2^63 entries": (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63), HUGE),
    "a key of 2^63 bytes": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63), HUGE),
    "a text of 2^40 bytes": (made(entries=(entry(b"k", 8, struct.pack("<Q", 2**40)),)), HUGE),
    "an array of 10^9 numbers": (made(entries=(entry(b"k", 9, struct.pack("<IQ", 4, 10**9)),)), HUGE),
    "an array of 10^9 texts": (made(entries=(entry(b"k", 9, struct.pack("<IQ", 8, 10**9)),)), HUGE),
    "an array of texts of 2^63 bytes": (made(entries=(entry(b"k", 9, struct.pack("<IQQ", 8, 2, 2**63)),)), HUGE),
    "an array of arrays": (made(entries=(entry(b"k", 9, struct.pack("<IQ", 9, 1)),)), HUGE),
    "an unknown type of value": (made(entries=(entry(b"k", 13, b""),)), HUGE),
    "a key twice": (made(entries=(entry(b"k", 7, b"\1"), entry(b"k", 7, b"\1"))), HUGE),
    "a key that is not UTF-8": (made(entries=(entry(b"\xff", 7, b"\1"),)), HUGE),
    "a text that is not UTF-8": (made(entries=(entry(b"k", 8, text(b"\xc3")),)), HUGE),
    "a tensor twice": (made(tensors=(tensor(b"a"), tensor(b"a", offset=128))), HUGE),
    "a name that is not UTF-8": (made(tensors=(tensor(b"\xff"),)), HUGE),
    "a name of 2^63 bytes": (made(tensors=(struct.pack("<Q", 2**63),)), HUGE),
    "five dimensions": (made(tensors=(tensor(b"a", (1, 1, 1, 1, 1)),)), HUGE),
    "2^32 - 1 dimensions": (made(tensors=(text(b"a") + struct.pack("<I", 2**32 - 1),)), HUGE),
    "a dimension of 0": (made(tensors=(tensor(b"a", (0,)),)), HUGE),
    "dimensions that overflow": (made(tensors=(tensor(b"a", (2**32, 2**32)),)), HUGE),
    "an unknown type": (made(tensors=(tensor(b"a", kind=99),)), HUGE),
    "part of a block": (made(tensors=(tensor(b"a", (100,), kind=12),)), HUGE),
    "overlapping tensors": (made(tensors=(tensor(b"a", (64,)), tensor(b"b", offset=128))), HUGE),
    "an offset that is not aligned": (made(tensors=(tensor(b"a", offset=16),)), HUGE),
    "an offset past the end": (made(tensors=(tensor(b"a", offset=2**40),)), HUGE),
    "an offset of 2^64 - 32": (made(tensors=(tensor(b"a", offset=2**64 - 32),)), HUGE),
    "an alignment of 0": (made(entries=(entry(b"general.alignment", 4, struct.pack("<I", 0)),)), HUGE),
    "an alignment of 3": (made(entries=(entry(b"general.alignment", 4, struct.pack("<I", 3)),)), HUGE),
    "an alignment of text": (made(entries=(entry(b"general.alignment", 8, text(b"32")),)), HUGE),
    "a part of no number": (made(entries=(entry(b"split.no", 8, text(b"1")),)), HUGE),
    "no data": (made(tensors=(tensor(b"a"),)), len(made(tensors=(tensor(b"a"),)))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused(name: str) -> None:
    """Each is refused with a code and a place, after a short read, however large the file says it is."""
    data, size = WRONG[name]
    file = Sparse(data, size)
    with pytest.raises(InvalidFile) as refused:
        open_sparse("x.gguf", file)
    assert refused.value.code
    assert refused.value.place
    assert refused.value.params["file"] == "x.gguf"
    assert file.read <= 2**20


def test_names_are_data() -> None:
    """Markup and control characters in a name come through, and an error shows them as escapes."""
    name = "<img src=x onerror=alert(1)>\u0007\u202e\n"
    data = made(tensors=(tensor(name.encode()),))
    assert opened(data, len(data) + 1000).tensors[0].name == name
    with pytest.raises(InvalidFile) as refused:
        opened(made(tensors=(tensor(name.encode(), kind=99),)), HUGE)
    assert refused.value.place == "tensor <img src=x onerror=alert(1)>\\x07\\u202e\\n"


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2**64))
def test_any_bytes_after_a_magic_are_refused_or_read(rest: bytes, size: int) -> None:
    """Whatever follows the magic, the door raises nothing of its own accord."""
    data = b"GGUF\3\0\0\0" + rest
    with suppress(InvalidFile):
        open_sparse("x.gguf", Sparse(data, min(max(size, len(data)), 2**22)))


def test_an_empty_model_is_a_file_without_tensors() -> None:
    """A header without entries or tensors is a file, if a useless one."""
    assert read_header(made(), 24).tensors == ()
    piece = open_bytes("x.gguf", made())
    with pytest.raises(InvalidFile, match="missing_key at general"):
        assemble([piece])
