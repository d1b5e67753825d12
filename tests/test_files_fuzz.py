"""No file, however it is damaged, makes a door raise anything but its own errors: mutations of good files.

The whole road is walked: the door, the joining of files, the sheet, its JSON and its Spanish text.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calc import catalog, es
from calc.adapter import read_adapter
from calc.described import load
from calc.description import dump
from calc.errors import CalcError, InvalidInput
from calc.es.sheet import sheet_text
from calc.model_file import assemble
from calc.model_sheet import model_sheet
from calc.sheet_json import sheet_json
from tests.gguf_files import header
from tests.opening import Sparse, open_sparse
from tests.test_safetensors import written

Q = gguf.GGMLQuantizationType
GGUF_KEYS: dict[str, Any] = {
    "general.name": "x",
    "jamba.block_count": 2,
    "jamba.embedding_length": 64,
    "jamba.attention.head_count": 4,
    "jamba.attention.head_count_kv": [0, 2],
    "jamba.ssm.conv_kernel": 4,
    "jamba.ssm.inner_size": 128,
    "jamba.ssm.state_size": 16,
    "jamba.attention.sliding_window": 7,
    "jamba.expert_used_count": 2,
    "tokenizer.ggml.tokens": ["a", "b"],
}
GGUF_TENSORS: dict[str, tuple[tuple[int, ...], gguf.GGMLQuantizationType]] = {
    "token_embd.weight": ((2, 64), Q.Q8_0),
    "blk.0.ssm_conv1d.weight": ((128, 4), Q.F32),
    "blk.0.ssm_x.weight": ((40, 128), Q.F16),
    "blk.1.attn_q.weight": ((64, 64), Q.F16),
    "blk.1.ffn_up_exps.weight": ((4, 32, 64), Q.Q4_0),
    "blk.1.ffn_down_exps.weight": ((4, 64, 32), Q.Q4_0),
}
GGUF_FILE, GGUF_SIZE = header("jamba", GGUF_KEYS, GGUF_TENSORS)
CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32},
}
ADAPTER = {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], "base_model_name_or_path": "x/y"}
SAFETENSORS = written(
    {"model.embed_tokens.weight": ("float16", (5, 4)), "a.lora_A.weight": ("float32", (2, 4))}, {"k": "v"}
)
INDEX = {"metadata": {"total_size": 40}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}

FILES: dict[str, tuple[bytes, int]] = {
    "x.gguf": (GGUF_FILE, GGUF_SIZE),
    "x.safetensors": (SAFETENSORS, len(SAFETENSORS)),
    "model.safetensors.index.json": (json.dumps(INDEX).encode(), 0),
    "config.json": (json.dumps(CONFIG).encode(), 0),
    "adapter_config.json": (json.dumps(ADAPTER).encode(), 0),
}

NUMBERS = st.sampled_from([0, 1, 2, 255, 2**15, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1])
PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from([b"{", b"}", b"[" * 50, b'"', b",", b"null", b"-1", b"1e400", b"NaN", b"\xff\xfe", b"\0" * 9]),
    NUMBERS.map(lambda number: number.to_bytes(8, "little")),
    NUMBERS.map(lambda number: (number % 2**32).to_bytes(4, "big")),
    NUMBERS.map(lambda number: str(number).encode()),
)


@st.composite
def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], data: bytes) -> bytes:
    """A few pieces overwritten, inserted or cut out."""
    for _ in range(draw(st.integers(1, 4))):
        at, width = draw(st.integers(0, len(data))), draw(st.sampled_from([0, 0, 1, 4, 8, 30]))
        piece = draw(PIECES)
        data = data[:at] + piece + data[at + (len(piece) if draw(st.booleans()) else width) :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 9)) == 0 else data


def walked(name: str, data: bytes, size: int) -> None:
    """Open, join, describe, print: only our errors may come, and each has its sentence."""
    try:
        for model in assemble([open_sparse(name, Sparse(data, size))]):
            sheet = model_sheet(model)
            json.dumps(sheet_json(sheet))
            assert sheet_text(sheet).isprintable() or "\n" in sheet_text(sheet)
            if sheet.architecture is not None:
                with suppress(InvalidInput):
                    load(dump(sheet.name, sheet.architecture))
    except CalcError as error:
        refused: CalcError = error
    else:
        return
    text = es.error_text(refused)
    assert text
    assert "{" not in text or "{" in str(refused.params) + refused.place


@given(st.sampled_from(sorted(FILES)), st.data(), st.integers(0, 2**40))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_is_refused_or_read(name: str, data: st.DataObject, more: int) -> None:
    """Whatever the damage, the answer is a model or one of our errors, in words."""
    good, size = FILES[name]
    bad = data.draw(damaged(good))
    walked(name, bad, min(max(size, len(bad)) + more, len(bad) + 2**20) if name == "x.gguf" else len(bad))


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
        st.sampled_from(["gptq", "awq", "fp8", "mxfp4", "compressed-tensors", "bitsandbytes", "llama", "auto"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_configuration_with_any_value_is_refused_or_read(data: st.DataObject) -> None:
    """Any JSON value under any known key, of the model, of its quantization, of an adapter."""
    base = json.loads(json.dumps(data.draw(st.sampled_from([CONFIG, ADAPTER]))))
    place = base["quantization_config"] if "quantization_config" in base and data.draw(st.booleans()) else base
    extra = ["weight_block_size", "modules_to_not_convert", "config_groups", "load_in_4bit", "layer_types"]
    for _ in range(data.draw(st.integers(1, 2))):
        place[data.draw(st.sampled_from([*place, *extra]))] = data.draw(VALUES)
    text = json.dumps(base).encode()
    walked("config.json", text, len(text))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_description_is_refused_or_read(data: st.DataObject) -> None:
    """The text of a model from an address: base64, deflate and JSON may all be wrong."""
    good = dump("x", catalog.architecture("llama-3-8b"))
    with suppress(InvalidInput):
        load(data.draw(damaged(good.encode())).decode("latin-1"))


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_an_adapter_of_any_kind_is_refused_or_read(value: Any) -> None:
    """Any value in the three keys that matter of an ``adapter_config.json``."""
    for key in ("peft_type", "r", "target_modules", "base_model_name_or_path"):
        with suppress(CalcError):
            read_adapter({**ADAPTER, key: value}, None)
