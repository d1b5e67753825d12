"""``python -m calc modelo FILE`` and ``--config FILE``: files on this computer, from their headers."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest

from calc.__main__ import main
from tests.gguf_files import header
from tests.test_gguf_header import KEYS, parts, q4_k_m
from tests.test_model_file import ADAPTER, CONFIG, LORA, TENSORS
from tests.test_safetensors import written

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run the command: exit status, standard output, standard error."""

    def run(*line: object) -> tuple[int, str, str]:
        status = main([str(word) for word in line])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def answer(ask: Ask) -> Callable[..., dict[str, Any]]:
    """The JSON of a command that succeeds."""

    def run(*line: object) -> dict[str, Any]:
        status, out, err = ask(*line, "--json")
        assert (status, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found

    return run


def sparse(path: Path, data: bytes, size: int) -> Path:
    """A file of this size that takes only its header on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.truncate(size)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint in two parts, with its configuration, its index and an adapter, and a split GGUF."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    names = list(TENSORS)
    halves = {"model-00001-of-00002.safetensors": names[:9], "model-00002-of-00002.safetensors": names[9:]}
    for part, held in halves.items():
        (tmp_path / part).write_bytes(written({name: TENSORS[name] for name in held}))
    index = {"weight_map": {name: part for part, held in halves.items() for name in held}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps(ADAPTER))
    (tmp_path / "adapter" / "adapter_model.safetensors").write_bytes(written(LORA))
    for part, data, size in parts():
        sparse(tmp_path / part, data, size)
    return tmp_path


# 20 x 16 table, final norm, three layers of 16 x (16 + 8 + 8 + 16) + 3 x 24 x 16 and two norms.
TOTAL = 20 * 16 + 16 + 3 * (16 * 48 + 3 * 24 * 16 + 32)


def test_json_has_the_promised_shape(answer: Any, folder: Path) -> None:
    """Parameters, weights and cache under the names of the design."""
    found = answer("modelo", folder / "config.json")
    assert found["parameters"]["total"] == found["parameters"]["active"] == TOTAL
    assert found["parameters"]["embedding"] == 320
    assert found["weights_bytes"] == 2 * TOTAL
    assert found["kv_cache"]["bytes_per_token"] == 3 * 2 * 2 * 4 * 2
    assert found["kv_cache"]["state_bytes"] == 0
    assert found["architecture"]["num_key_value_heads"] == 2


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "."])
def test_a_checkpoint_is_found_whole(answer: Any, folder: Path, name: str) -> None:
    """The index finds its parts and the configuration, a folder all three."""
    found = answer("modelo", folder / name)
    assert (found["format"], found["weights_bytes"], found["parameters"]["total"]) == ("safetensors", 2 * TOTAL, TOTAL)
    assert len(found["files"]) == 4
    assert [note["code"] for note in found["notes"]] == ["head_tied"]


def test_a_split_gguf_is_found_whole(answer: Any, folder: Path) -> None:
    """Any part finds the others."""
    found = answer("modelo", folder / "small-00002-of-00003.gguf")
    assert len(found["files"]) == 3
    assert found["format"] == "gguf"
    assert sum(one["bytes"] for one in found["types"]) == found["weights_bytes"]


def test_an_adapter_is_found_whole(answer: Any, folder: Path) -> None:
    """Either of its two files, or their folder."""
    for name in ("adapter_config.json", "adapter_model.safetensors", "."):
        assert answer("modelo", folder / "adapter" / name)["adapter"]["parameters"] == 672


def test_several_models_stand_side_by_side(answer: Any, ask: Ask, folder: Path) -> None:
    """Each file named is a model of its own."""
    files = folder / "config.json", folder / "small-00001-of-00003.gguf"
    assert [one["format"] for one in answer("modelo", *files)["models"]] == ["config", "gguf"]
    status, out, _ = ask("modelo", *files)
    assert status == 0
    assert out.count("Caché KV por token") == 2


def test_people_read_spanish(ask: Ask, folder: Path) -> None:
    """Every kind of file has a sheet in words, with nothing left to fill in."""
    for name in ("config.json", "model.safetensors.index.json", "adapter", "small-00001-of-00003.gguf"):
        status, out, err = ask("modelo", folder / name)
        assert (status, err) == (0, "")
        assert "{" not in out
        assert "Parámetros" in out


def test_a_60_gb_gguf_opens_from_its_header(answer: Any, tmp_path: Path) -> None:
    """A sparse file of 60 GB takes a moment."""
    keys = {**KEYS, "llama.block_count": 4}
    big = ((2 * 10**6, 51200), gguf.GGMLQuantizationType.Q4_K)
    data, size = header("llama", keys, {**q4_k_m(), "big": big})
    assert size > 57 * 10**9
    found = answer("modelo", sparse(tmp_path / "big.gguf", data, size))
    assert found["weights_bytes"] > 57 * 10**9


@pytest.mark.parametrize("calculator", ["gpu", "inferencia", "lora"])
def test_every_calculator_of_a_model_takes_a_file(answer: Any, folder: Path, calculator: str) -> None:
    """A ``config.json``, a GGUF or an index in place of a model of the catalogue."""
    for name in ("config.json", "model.safetensors.index.json"):
        found = answer(calculator, "--config", folder / name)
        assert found["inputs"]["config"] == name
        assert found["total_bytes"] > 0


def test_quantized_weights_are_taken_as_stored(answer: Any, folder: Path) -> None:
    """A GGUF weighs what it holds unless a precision is asked for."""
    path = folder / "small-00001-of-00003.gguf"
    sheet = answer("modelo", path)
    weights = [one for one in answer("inferencia", "--config", path)["components"] if "weights" in one["name"]]
    assert sum(one["bytes"] for one in weights) == sheet["weights_bytes"]
    (plain,) = [
        one
        for one in answer("inferencia", "--config", path, "--precision", "float16")["components"]
        if "weights" in one["name"]
    ]
    assert plain["bytes"] == 2 * sheet["parameters"]["total"]


def test_what_cannot_be_opened_is_one_line(ask: Ask, folder: Path) -> None:
    """Nothing is printed as an answer, the status is 2, and the line says which file and where."""
    (folder / "cut.gguf").write_bytes(b"GGUF\3\0\0\0")
    (folder / "empty").mkdir()
    (folder / "x.safetensors").write_bytes((2**63).to_bytes(8, "little"))
    cases = {
        ("modelo",): "calc modelo: Falta el archivo.",
        ("modelo", folder / "nada"): "calc modelo: No se puede leer «",
        ("modelo", folder / "empty"): "calc modelo: En «empty» no hay archivos de un modelo.",
        ("modelo", folder / "cut.gguf"): "calc modelo: cut.gguf: número de tensores: el archivo está cortado: ",
        ("modelo", folder / "x.safetensors"): "calc modelo: x.safetensors: cabecera: se anuncian 9",
        ("modelo", "--jason"): "calc modelo: No existe esta opción.",
        ("modelo", "a\0b"): "calc modelo: No se puede leer «",
        ("inferencia", "--config", folder / "x.safetensors"): "calc inferencia: x.safetensors: cabecera: ",
        ("inferencia", "--config", folder / "adapter"): "calc inferencia: --config: «",
    }
    for line, message in cases.items():
        status, out, err = ask(*line)
        assert (status, out) == (2, "")
        assert err.startswith(message)
        assert err.count("\n") == 1


def test_a_pipe_is_not_a_file(ask: Ask, tmp_path: Path) -> None:
    """What has no size is refused, not waited for."""
    os.mkfifo(tmp_path / "pipe.gguf")
    assert ask("modelo", tmp_path / "pipe.gguf")[0] == 2


def test_an_index_reaches_no_other_folder(answer: Any, tmp_path: Path) -> None:
    """A part whose name has folders in it is not opened."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.safetensors").write_bytes(written({"a": ("float16", (2,))}))
    index = {"weight_map": {"a": "../secret.safetensors", "b": str(tmp_path / "secret.safetensors")}}
    path = tmp_path / "inner" / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    assert answer("modelo", path)["notes"][0]["code"] == "parts_not_opened"


def test_help_says_what_files_are_read(ask: Ask) -> None:
    """``modelo --help`` lists the kinds of files."""
    status, out, _ = ask("modelo", "--help")
    assert status == 0
    assert ".safetensors.index.json" in out
