"""What a configuration says its weights take is what the files of that format hold, type by type."""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.architecture import Architecture
from calc.errors import InvalidConfig, InvalidInput
from calc.estimate import Workload
from calc.hf_config import architecture_from_hf_config
from calc.memory import estimate_inference
from calc.parameters import count_parameters

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text("utf-8"))

# Two layers of a small Llama: (out, in) of its matrices are easy to pack by hand.
SMALL = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 640,
    "vocab_size": 1000,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "torch_dtype": "float16",
}
MATRICES = [(256, 256), (128, 256), (128, 256), (256, 256), (640, 256), (640, 256), (256, 640)]
KEPT = 2 * 1000 * 256 + 5 * 256
"""Token table, head and norms."""


def stored(config: dict[str, Any], **quantization: Any) -> dict[str, tuple[int, int]]:
    """Elements and bytes by type."""
    given = {**config, "quantization_config": quantization} if quantization else config
    return {one.name: (one.elements, one.bytes) for one in architecture_from_hf_config(given).stored}


def test_plain_weights_take_their_declared_type() -> None:
    """Without quantization all parameters have the type of ``dtype``; without one nothing is said."""
    total = count_parameters(architecture_from_hf_config(SMALL)).total
    assert stored(SMALL) == {"F16": (total, 2 * total)}
    assert stored({**SMALL, "torch_dtype": "float32"}) == {"F32": (total, 4 * total)}
    assert stored({**SMALL, "torch_dtype": None}) == {}
    assert stored({**SMALL, "torch_dtype": "auto"}) == {}


def test_gptq_packs_words_along_the_input() -> None:
    """``qweight`` (in·bits/32, out), ``qzeros`` (groups, out·bits/32), ``g_idx`` (in) and 16-bit scales."""
    for bits in (2, 3, 4, 8):
        words = sum(i * bits // 32 * o + -(-i // 128) * (o * bits // 32) + i for o, i in MATRICES)
        scales = sum(-(-i // 128) * o for o, i in MATRICES)
        found = stored(SMALL, quant_method="gptq", bits=bits, group_size=128)
        assert found == {"I32": (2 * words, 8 * words), "F16": (KEPT + 2 * scales, 2 * (KEPT + 2 * scales))}


def test_gptq_without_groups_has_one_scale_for_each_output() -> None:
    """A group size of -1 is a whole column of the input."""
    words = sum(i * 4 // 32 * o + o * 4 // 32 + i for o, i in MATRICES)
    assert stored(SMALL, quant_method="gptq", bits=4, group_size=-1)["I32"] == (2 * words, 8 * words)


def test_a_published_gptq_matrix() -> None:
    """Qwen2.5-7B-Instruct-GPTQ-Int4, ``q_proj``: qweight [448, 3584], qzeros [28, 448], g_idx [3584]."""
    config = {**SMALL, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 1}
    config |= {"intermediate_size": 18944, "vocab_size": 1}
    words = 448 * 3584 + 28 * 448 + 3584
    query_and_output = 2 * words
    key_value = 2 * (448 * 512 + 28 * 64 + 3584)
    mlp = 2 * (448 * 18944 + 28 * 2368 + 3584) + (2368 * 3584 + 148 * 448 + 18944)
    found = stored(config, quant_method="gptq", bits=4, group_size=128)
    assert found["I32"][0] == query_and_output + key_value + mlp


def test_awq_packs_words_along_the_output() -> None:
    """``qweight`` (in, out/8), ``qzeros`` (groups, out/8) and 16-bit scales; no ``g_idx``."""
    words = sum(i * o // 8 + -(-i // 128) * o // 8 for o, i in MATRICES)
    scales = sum(-(-i // 128) * o for o, i in MATRICES)
    found = stored(SMALL, quant_method="awq", bits=4, group_size=128, version="gemm", zero_point=True)
    assert found == {"I32": (2 * words, 8 * words), "F16": (KEPT + 2 * scales, 2 * (KEPT + 2 * scales))}


@pytest.mark.parametrize("twice", [False, True])
def test_bitsandbytes_stores_constants_of_64_values(twice: bool) -> None:
    """4 bits: packed values, ``absmax`` per 64 (quantized again per 256), and the tables of both codes."""
    sizes = [o * i for o, i in MATRICES]
    found = stored(SMALL, quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_use_double_quant=twice)
    blocks = [size // 64 for size in sizes]
    bytes_of_values = sum(size // 2 for size in sizes) + (sum(blocks) if twice else 0)
    floats = sum(-(-block // 256) + 256 for block in blocks) if twice else sum(blocks)
    floats += 16 * len(sizes)
    assert found == {
        "U8": (2 * bytes_of_values, 2 * bytes_of_values),
        "F32": (2 * floats, 8 * floats),
        "F16": (KEPT, 2 * KEPT),
    }


def test_bitsandbytes_in_8_bits_has_one_constant_for_each_row() -> None:
    """8 bits: values, ``SCB`` for each output row and a mark; what a list names stays in 16 bits."""
    values, rows = sum(o * i for o, i in MATRICES), sum(o for o, _ in MATRICES)
    found = stored(SMALL, quant_method="bitsandbytes", load_in_8bit=True)
    assert found["I8"] == (2 * values, 2 * values)
    assert found["F32"] == (2 * rows, 8 * rows)
    skipped = stored(SMALL, quant_method="bitsandbytes", load_in_8bit=True, llm_int8_skip_modules=["mlp", "lm_head"])
    assert skipped["I8"][0] == 2 * sum(o * i for o, i in MATRICES[:4])


def test_fp8_has_a_scale_for_each_tile() -> None:
    """DeepSeek's FP8: a float32 for each 128 by 128, partial ones too; the router of its experts stays in 16 bits."""
    config = {**GOLDEN["deepseek-v3"]["config"], "torch_dtype": "bfloat16"}
    method = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
    found = stored(config, **method)
    table = 129280 * 7168
    norms = 61 * (2 * 7168 + 1536 + 512) + 7168
    assert found["BF16"][0] == 2 * table + norms + 58 * 256 * 7168
    attention = 12 * 56 + 192 * 12 + 5 * 56 + 256 * 4 + 56 * 128
    dense, expert = 3 * 144 * 56, 3 * 16 * 56
    assert found["F32"][0] == 61 * attention + 3 * dense + 58 * 257 * expert


def test_mxfp4_weighs_what_the_published_index_says() -> None:
    """gpt-oss-20b: ``total_size`` of its ``model.safetensors.index.json`` is 13,761,264,768 bytes."""
    names = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    found = stored(GOLDEN["gpt-oss-20b"]["config"], quant_method="mxfp4", modules_to_not_convert=names)
    assert sum(size for _, size in found.values()) == 13_761_264_768


WEIGHTS = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}


def compressed(layout: str, weights: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A ``quantization_config`` of compressed-tensors."""
    groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}
    return {"quant_method": "compressed-tensors", "format": layout, "config_groups": groups, **more}


def test_compressed_tensors_by_layout() -> None:
    """Packed words with their shape, integers or FP8 values; a scale per group, per row or per matrix."""
    values = sum(o * i for o, i in MATRICES)
    found = stored(SMALL, **compressed("pack-quantized", WEIGHTS, ignore=["lm_head"]))
    scales = sum(o * i // 128 for o, i in MATRICES)
    assert found == {
        "I32": (2 * values // 8, values),
        "I64": (28, 224),
        "F16": (KEPT + 2 * scales, 2 * (KEPT + 2 * scales)),
    }
    rows = sum(o for o, _ in MATRICES)
    eight = {"num_bits": 8, "strategy": "channel", "symmetric": True}
    for layout, name in (("int-quantized", "I8"), ("float-quantized", "F8_E4M3")):
        found = stored(SMALL, **compressed(layout, eight, ignore=["lm_head"]))
        assert found == {name: (2 * values, 2 * values), "F16": (KEPT + 2 * rows, 2 * (KEPT + 2 * rows))}


def test_what_a_list_names_keeps_its_type() -> None:
    """A head that is not ignored is a linear like the others; expressions name modules by their end."""
    eight = {"num_bits": 8, "strategy": "tensor", "symmetric": True}
    whole = stored(SMALL, **compressed("float-quantized", eight))
    without = stored(SMALL, **compressed("float-quantized", eight, ignore=["re:.*lm_head", "re:.*down_proj$"]))
    assert whole["F8_E4M3"][0] - without["F8_E4M3"][0] == 256_000 + 2 * 640 * 256


@pytest.mark.parametrize(
    "method",
    [
        {"quant_method": "hqq"},
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*mlp.*": {}}},
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "checkpoint_format": "marlin"},
        {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv"},
        {"quant_method": "fp8", "activation_scheme": "static"},
        compressed("nvfp4-pack-quantized", {"num_bits": 4, "strategy": "tensor_group", "group_size": 16}),
        compressed("pack-quantized", {**WEIGHTS, "symmetric": False}),
        compressed("pack-quantized", {**WEIGHTS, "actorder": "group"}),
    ],
)
def test_what_cannot_be_told_is_not_guessed(method: dict[str, Any]) -> None:
    """Where the files do not follow from the configuration, nothing is said of their bytes."""
    assert stored(SMALL, **method) == {}


@pytest.mark.parametrize(
    ("method", "place"),
    [
        ({"quant_method": "gptq", "bits": "four", "group_size": 128}, "quantization_config.bits"),
        ({"quant_method": "gptq", "bits": 5, "group_size": 128}, "quantization_config.bits"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "quantization_config.group_size"),
        ({"quant_method": "gptq", "bits": 4}, "quantization_config.group_size"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "quantization_config.weight_block_size[0]"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "quantization_config.weight_block_size"),
        ({"quant_method": 4}, "quantization_config.quant_method"),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": "yes"},
            "quantization_config.load_in_4bit",
        ),
        ({"quant_method": "mxfp4", "modules_to_not_convert": [1]}, "quantization_config.modules_to_not_convert"),
        (
            compressed("pack-quantized", {**WEIGHTS, "num_bits": -4}),
            "quantization_config.config_groups.group_0.weights.num_bits",
        ),
    ],
)
def test_an_absurd_quantization_is_refused_by_its_key(method: dict[str, Any], place: str) -> None:
    """A wrong value names its path."""
    with pytest.raises(InvalidConfig) as refused:
        stored(SMALL, **method)
    assert refused.value.place == place


def small(**quantization: Any) -> Architecture:
    """The small model, quantized."""
    return architecture_from_hf_config({**SMALL, "quantization_config": quantization})


def test_an_estimate_can_take_the_weights_as_stored() -> None:
    """The precision ``stored`` weighs exactly what the file or its configuration says, type by type."""
    model = small(quant_method="gptq", bits=4, group_size=128)
    parts = estimate_inference(model, Workload(precision="stored")).components
    weights = {part.name: part.bytes for part in parts if part.name.startswith("weights")}
    assert weights == {f"weights/{one.name.lower()}": one.bytes for one in model.stored}


def test_an_estimate_without_stored_weights_says_so() -> None:
    """A model of which nobody said how it is stored is refused at the field."""
    with pytest.raises(InvalidInput, match="no_stored_weights at precision"):
        estimate_inference(small(quant_method="hqq"), Workload(precision="stored"))
