"""The page of files: what is opened, dropped or pasted becomes a card, and a damaged file becomes a sentence."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable
from pathlib import Path

import gguf as gguf_package
import numpy as np
import pytest
from safetensors.numpy import save_file

from calc import es
from calc.calculators import run
from calc.hf_config import architecture_from_hf_config
from calc.parameters import named_tensors
from tests.browser.test_access import press_until, violations
from tests.browser.visit import Visit
from tests.browser.waiting import until
from tests.test_gguf_header import WRONG
from tests.test_gguf_header import parts as split_parts

CONFIG = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}
SMALL = {**CONFIG, "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}


COUNT_SLICES = """() => {
  const slice = Blob.prototype.slice;
  self.sliced = 0;
  Blob.prototype.slice = function (...ends) {
    const part = slice.apply(this, ends);
    self.sliced += part.size;
    return part;
  };
}"""


def gguf() -> bytes:
    """A GGUF header with one long list of tokens, as real ones have."""

    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    tokens = b"".join(text(b"token%d" % index) for index in range(100_000))
    entries = [
        text(b"general.architecture") + struct.pack("<I", 8) + text(b"desconocida"),
        text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 100_000) + tokens,
    ]
    tensor = text(b"t") + struct.pack("<IQQIQ", 2, 1_000_000, 15_000, 0, 0)
    return b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + b"".join(entries) + tensor


def opened(visit: Visit, cards: int) -> None:
    """Wait for this many cards of files."""
    until(visit.page, f"document.querySelectorAll('[data-card]:not([data-example])').length === {cards}")
    visit.wait_for_state("ready")


def test_a_configuration_becomes_a_card_and_travels(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """Picking a config.json asks the network for nothing and its link gives the numbers of the command line."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    visit = fresh("modelo")
    visit.open()
    visit.keep_offline()
    asked: list[str] = []
    visit.context.on("request", lambda request: asked.append(request.url))
    visit.page.set_input_files("[data-files]", path)
    opened(visit, 1)
    assert asked == []
    assert "124\u202f439\u202f808" in visit.page.inner_text("[data-card]")
    assert violations(visit) == []
    visit.page.set_viewport_size({"width": 320, "height": 700})
    assert visit.page.evaluate("document.documentElement.scrollWidth <= 320")
    visit.page.locator("[data-card] .carry a[href*='inferencia/']").click()
    visit.wait_for_state("ready")
    estimate = run("inferencia", {}, architecture_from_hf_config(CONFIG)).estimate
    page = Visit.__new__(Visit)
    page.page = visit.page
    expected = [(one.name, one.bytes) for one in estimate.components]
    assert page.wait_for_parts(expected)["parts"] == expected


def test_pasted_and_dropped_models_stand_side_by_side(fresh: Callable[..., Visit]) -> None:
    """A pasted text and a dropped file are two cards, and each can be removed."""
    visit = fresh("modelo")
    visit.open()
    visit.page.locator("details.more summary").click()
    visit.page.fill("[data-paste]", json.dumps(CONFIG))
    visit.page.click("[data-action=paste]")
    opened(visit, 1)
    visit.page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], 'config.json'));
          document.querySelector('[data-drop]').dispatchEvent(
            new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        json.dumps({**CONFIG, "n_layer": 24}),
    )
    opened(visit, 2)
    visit.page.locator("[data-action=remove]").first.click()
    opened(visit, 1)


def test_files_that_belong_together_are_one_card(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """A configuration, an index and two parts that the safetensors package wrote are one model."""
    architecture = architecture_from_hf_config(SMALL)
    tensors = {one.name: np.zeros(one.shape, np.float16) for one in named_tensors(architecture)}
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for part, held in parts.items():
        save_file({name: tensors[name] for name in held}, tmp_path / part, {"format": "pt"})
    weight_map = {name: part for part, held in parts.items() for name in held}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps(SMALL), encoding="utf-8")
    visit = fresh("modelo")
    visit.open()
    visit.page.set_input_files("[data-files]", sorted(tmp_path.iterdir()))
    opened(visit, 1)
    stored = sum(2 * one.size for one in tensors.values())
    assert f"{es.number_text(stored)} bytes" in visit.page.inner_text("[data-card]")
    assert visit.page.locator("[data-region=errors] li").count() == 0


def test_an_adapter_is_one_card(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """An adapter and its configuration show the rank and the parameters of the adapter."""
    stem = "base_model.model.model.layers.0.self_attn.q_proj"
    tensors = {
        f"{stem}.lora_A.weight": np.zeros((8, 64), np.float16),
        f"{stem}.lora_B.weight": np.zeros((64, 8), np.float16),
    }
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    visit = fresh("modelo")
    visit.open()
    visit.page.set_input_files("[data-files]", sorted(tmp_path.iterdir()))
    opened(visit, 1)
    card = visit.page.inner_text("[data-card]")
    assert "Parámetros del adaptador" in card
    assert "1024" in card


@pytest.mark.parametrize("order", list(gguf_package.GGUFEndian))
def test_a_gguf_of_either_byte_order_is_counted(
    fresh: Callable[..., Visit], tmp_path: Path, order: gguf_package.GGUFEndian
) -> None:
    """A GGUF that the gguf package wrote shows its numbers, little or big endian."""
    path = tmp_path / "propio.gguf"
    writer = gguf_package.GGUFWriter(path, "propia", endianess=order)
    writer.add_tensor("blk.0.w", np.zeros((300, 64), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    visit = fresh("modelo")
    visit.open()
    visit.page.set_input_files("[data-files]", path)
    opened(visit, 1)
    assert "19\u202f200" in visit.page.inner_text("[data-card]")


def test_a_file_of_60_gb_opens_in_a_moment(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """Only the header of a sparse GGUF of 60 GB is read: less than 50 MB, in less than two seconds."""
    path = tmp_path / "grande.gguf"
    with path.open("wb") as file:
        file.write(gguf())
        file.truncate((len(gguf()) + 31) // 32 * 32 + 60_000_000_000)
    visit = fresh("modelo")
    visit.open()
    (worker,) = visit.page.workers
    worker.evaluate(COUNT_SLICES)
    start = time.monotonic()
    visit.page.set_input_files("[data-files]", path)
    opened(visit, 1)
    assert time.monotonic() - start < 2
    sliced = worker.evaluate("self.sliced")
    assert len(gguf()) <= sliced < 50_000_000
    assert "15\u202f000\u202f000\u202f000" in visit.page.inner_text("[data-card]")


def test_a_damaged_file_is_named_and_changes_nothing(fresh: Callable[..., Visit]) -> None:
    """Each hostile file gets a sentence with its name within a second, and the card of before stays."""
    visit = fresh("modelo")
    visit.open()
    give = """([name, bytes]) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], name));
      const picker = document.querySelector('[data-files]');
      picker.files = data.files;
      picker.dispatchEvent(new Event('change', {bubbles: true}));
    }"""
    visit.page.evaluate(give, ["config.json", list(json.dumps(CONFIG).encode())])
    opened(visit, 1)
    hostile = {
        "vacio.gguf": b"",
        "magia.gguf": b"NOPE" + bytes(60),
        "cortado.gguf": b"GGUF" + struct.pack("<IQQ", 3, 1, 1),
        "muchos.gguf": b"GGUF" + struct.pack("<IQQ", 3, 10**9, 10**9) + bytes(64),
        "enorme.safetensors": (2**63).to_bytes(8, "little") + b"{}" + bytes(64),
        "bomba.json": b'{"a":' * 9000,
        "repetida.json": b'{"model_type": "gpt2", "model_type": "llama"}',
        "texto.json": b'{"a": "\xff\xfe"}',
        "<img src=x onerror=alert(1)>.json": b"[]",
    }
    for name, data in hostile.items():
        start = time.monotonic()
        visit.page.evaluate("document.querySelector('[data-region=errors]').replaceChildren()")
        visit.page.evaluate(give, [name, list(data)])
        visit.page.wait_for_selector("[data-region=errors] li")
        assert time.monotonic() - start < 1, name
        assert name.split(".")[0][:4] in visit.page.inner_text("[data-region=errors]"), name
        assert visit.page.locator("[data-card]").count() == 1
        assert visit.page.locator("[data-region=errors] img").count() == 0
    opened(visit, 1)


def sparse(folder: Path, name: str, data: bytes, size: int) -> Path:
    """A file of this size that begins with these bytes and takes no room."""
    path = folder / name
    with path.open("wb") as file:
        file.write(data)
        file.truncate(max(size, len(data)))
    return path


def test_every_wrong_header_of_a_gguf_is_a_sentence(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """Each of the wrong files of the door, 60 GB long where it says so, gets its own words within a second."""
    visit = fresh("modelo")
    visit.open()
    for index, (data, size) in enumerate(WRONG.values()):
        path = sparse(tmp_path, f"malo{index}.gguf", data, size)
        visit.page.evaluate("document.querySelector('[data-region=errors]').replaceChildren()")
        start = time.monotonic()
        visit.page.set_input_files("[data-files]", path)
        visit.page.wait_for_selector("[data-region=errors] li")
        assert time.monotonic() - start < 1, path
        assert f"malo{index}" in visit.page.inner_text("[data-region=errors]")
        path.unlink()
    assert visit.page.locator("[data-card]:not([data-example])").count() == 0


def test_the_parts_of_a_gguf_are_one_card(fresh: Callable[..., Visit], tmp_path: Path) -> None:
    """Three parts chosen together are one model, with its cache; the keyboard opens its tree and removes it."""
    paths = [sparse(tmp_path, name, data, size) for name, data, size in split_parts()]
    visit = fresh("modelo")
    visit.open()
    visit.page.set_input_files("[data-files]", paths)
    opened(visit, 1)
    card = visit.page.inner_text("[data-card]")
    assert "Caché KV" in card
    assert "Q4_K" in card
    visit.page.focus("[data-files]")
    press_until(visit, "[data-card] summary")
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("[data-card] details[open]").count() == 1
    press_until(visit, "[data-action=remove]")
    visit.page.keyboard.press("Enter")
    opened(visit, 0)
