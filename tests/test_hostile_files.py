"""The worst files that the doors let in, or nearly, cost less than a second and less than 200 MB.

The bounds of the doors (``MAX_HEADER_BYTES``, ``MAX_VALUES``, ``MAX_TENSORS`` …) are chosen so that this holds. A file
is opened in a process of its own, whose peak of memory is read when it has ended.
"""

import ast
import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calc import es
from calc.checkpoint import InvalidFile
from calc.gguf.header import MAX_ENTRIES, MAX_TENSORS, MAX_TEXTS
from calc.json_door import MAX_VALUES

ROOT = Path(__file__).parent.parent
HUGE = 60 * 10**9


def text(value: bytes) -> bytes:
    """A length and its bytes, as GGUF writes them."""
    return struct.pack("<Q", len(value)) + value


def gguf(entries: list[bytes], tensors: list[bytes]) -> bytes:
    """A GGUF header."""
    start = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    return start + b"".join(entries) + b"".join(tensors)


def safetensors(header: bytes) -> bytes:
    """A safetensors file without data."""
    return len(header).to_bytes(8, "little") + header


def many_tensors() -> bytes:
    """As many tensors as a header may describe, one after the other."""
    lines = (
        b'"model.layers.%d.mlp.experts.%d.w.weight":{"dtype":"F16","shape":[2,3],"data_offsets":[%d,%d]}'
        % (index % 60, index, 12 * index, 12 * index + 12)
        for index in range(49_000)
    )
    return safetensors(b"{" + b",".join(lines) + b"}")


WORST: dict[str, tuple[str, Callable[[], bytes]]] = {
    "as many tensors as fit": ("x.safetensors", many_tensors),
    "as many keys as fit": (
        "x.safetensors",
        lambda: safetensors(b"{" + b",".join(b'"%d":0' % index for index in range(309_000)) + b"}"),
    ),
    "as many objects as fit": (
        "x.safetensors",
        lambda: safetensors(b'{"a":[' + b"{}," * (MAX_VALUES // 2 - 10) + b"0]}"),
    ),
    "one long text": ("x.safetensors", lambda: safetensors(b'{"a":"' + b"x" * (32 * 2**20 - 100) + b'"}')),
    "a deep nest": ("x.safetensors", lambda: safetensors(b'{"a":' * 300_000)),
    "a deep list": ("x.safetensors", lambda: safetensors(b'{"a":' + b"[" * 300_000)),
    "a long index": (
        "model.safetensors.index.json",
        lambda: json.dumps(
            {"weight_map": {f"model.layers.{i}.mlp.experts.{i}.w": f"{i % 99}" for i in range(299_000)}}
        ).encode(),
    ),
    "a deep configuration": ("config.json", lambda: b'{"text_config":' * 200_000),
    "many texts": (
        "x.gguf",
        lambda: gguf([text(b"k") + struct.pack("<IIQ", 9, 8, MAX_TEXTS) + bytes(8 * MAX_TEXTS)], []),
    ),
    "many short arrays": (
        "x.gguf",
        lambda: gguf([text(b"%d" % i) + struct.pack("<IIQ", 9, 0, 4096) + b"a" * 4096 for i in range(8000)], []),
    ),
    "many entries": (
        "x.gguf",
        lambda: gguf([text(b"key %d" % i) + struct.pack("<II", 4, i) for i in range(MAX_ENTRIES)], []),
    ),
    "many tensors": (
        "x.gguf",
        lambda: gguf(
            [],
            [
                text(b"blk.%d.attn_q.weight" % i) + struct.pack("<IQQIQ", 2, 32, 32, 0, 4096 * i)
                for i in range(MAX_TENSORS)
            ],
        ),
    ),
}

CHILD = """
import resource, sys, time
from calc.errors import CalcError
from tests.opening import Sparse, open_sparse
name, path, size = sys.argv[1:]
data = open(path, "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
try:
    open_sparse(name, Sparse(data, int(size)))
except CalcError as error:
    print(error.code, end=" ")
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("case", WORST)
def test_the_worst_file_costs_little(case: str, tmp_path: Path) -> None:
    """Read or refused within two seconds of this machine's and 200 MB (a second on an idle one)."""
    name, make = WORST[case]
    data = make()
    path = tmp_path / "file"
    path.write_bytes(data)
    size = HUGE if name.endswith(".gguf") else len(data)
    command = [sys.executable, "-c", CHILD, name, str(path), str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, megabytes = done.stdout.split()[-2:]
    assert float(seconds) < 2
    assert int(megabytes) < 200


def test_every_refusal_of_a_file_has_its_words() -> None:
    """Each code of ``InvalidFile`` has a sentence with parameters that it is given, and no sentence is left over."""
    given: dict[str, set[str]] = {}
    for path in (ROOT / "calc").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InvalidFile":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    names = {word.arg for word in node.keywords if word.arg}
                    code = str(first.value)
                    given[code] = given.get(code, names) & names
    assert set(given) == set(es.FILE_ERRORS)
    for code, sentence in es.FILE_ERRORS.items():
        assert set(re.findall(r"\{(\w+)\}", sentence)) <= given[code] - {"place"}, code
        assert sentence.endswith(".")


def test_names_in_an_error_are_escaped_and_short() -> None:
    """A name with control characters or a thousand letters is shown in one short line; markup is left to the page."""
    error = InvalidFile("overlap", place="tensor " + "<b>", offset=3, file="x\\n.gguf")
    assert es.error_text(error) == "x\\n.gguf: tensor <b>: empieza en la posición 3, dentro de otro tensor."
