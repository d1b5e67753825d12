"""A GGUF and the ``config.json`` of the same model give the same parameters, cache, windows and states.

Two roads that share no rule: the configuration through ``calc.hf_config``; and a header with the names and keys that
llama.cpp's converter writes, through ``calc.gguf``. The configurations are those of ``golden/architectures.json``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import pytest

from calc.architecture import Architecture, GroupedQueryAttention
from calc.checkpoint import Checkpoint, InvalidFile, StoredTensor
from calc.dtypes import DTYPES
from calc.errors import UnsupportedArchitecture
from calc.gguf import read_header
from calc.gguf.families import KNOWN
from calc.gguf.model import architecture_from_gguf
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, state_bytes
from calc.lora import lora_parameters
from calc.model_sheet import sheet_of_architecture
from calc.parameters import count_parameters
from calc.weights import weight_components
from tests.gguf_files import Keys, common_keys, header, shapes_of

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text("utf-8"))
A = gguf.MODEL_ARCH
F16 = gguf.GGMLQuantizationType.F16
Config = Mapping[str, Any]
Extra = Callable[[Config, Architecture], Keys]


def _nothing(_: Config, __: Architecture) -> Keys:
    return {}


def _all(*parts: Extra) -> Extra:
    return lambda config, model: {key: value for part in parts for key, value in part(config, model).items()}


def _heads(_: Config, model: Architecture) -> Keys:
    attention = model.layers[0].attention
    assert isinstance(attention, GroupedQueryAttention)
    return {
        "attention.head_count": attention.num_attention_heads,
        "attention.head_count_kv": attention.num_key_value_heads,
    }


def _kv_by_layer(_: Config, model: Architecture) -> Keys:
    found = [layer.attention for layer in model.layers]
    counts = [one.num_key_value_heads if isinstance(one, GroupedQueryAttention) else 0 for one in found]
    return {"attention.head_count_kv": counts}


def _window(config: Config, _: Architecture) -> Keys:
    return {"attention.sliding_window": config["sliding_window"]} if config.get("sliding_window") else {}


def _window_list(_: Config, model: Architecture) -> Keys:
    windows = [layer.window for layer in model.layers]
    return {
        "attention.sliding_window": next(window for window in windows if window),
        "attention.sliding_window_pattern": [window is not None for window in windows],
    }


def _latent(config: Config, _: Architecture) -> Keys:
    rotary, rank = config["qk_rope_head_dim"], config["kv_lora_rank"]
    keys = {
        "attention.head_count_kv": 1,
        "attention.kv_lora_rank": rank,
        "attention.key_length": rank + rotary,
        "attention.value_length": rank,
        "attention.key_length_mla": config["qk_nope_head_dim"] + rotary,
        "attention.value_length_mla": config["v_head_dim"],
        "rope.dimension_count": rotary,
    }
    return keys | ({"attention.q_lora_rank": config["q_lora_rank"]} if config.get("q_lora_rank") else {})


def _latent_before_2025(config: Config, _: Architecture) -> Keys:
    keys = _latent(config, _)
    return {key: value for key, value in keys.items() if "_mla" not in key} | {
        "attention.key_length": keys["attention.key_length_mla"],
        "attention.value_length": keys["attention.value_length_mla"],
        "attention.head_count_kv": config["num_attention_heads"],
    }


def _state_space(groups: str = "") -> Extra:
    def keys(config: Config, model: Architecture) -> Keys:
        state = next(layer.state for layer in model.layers if layer.state)
        names = ("state_size", "mamba_d_state", "ssm_state_size")
        return {
            "attention.head_count": config.get("num_attention_heads", 0),
            "ssm.conv_kernel": config.get("conv_kernel") or config.get("mamba_d_conv") or 4,
            "ssm.inner_size": state.inner_size,
            "ssm.state_size": next((config[name] for name in names if config.get(name)), 16),
            "ssm.time_step_rank": 48,
            **({"ssm.group_count": config.get(groups, 1)} if groups else {}),
        }

    return keys


def _delta_net(config: Config, _: Architecture) -> Keys:
    return {
        "ssm.conv_kernel": config["linear_conv_kernel_dim"],
        "ssm.state_size": config["linear_key_head_dim"],
        "ssm.group_count": config["linear_num_key_heads"],
        "ssm.time_step_rank": config["linear_num_value_heads"],
        "ssm.inner_size": config["linear_value_head_dim"] * config["linear_num_value_heads"],
    }


def _gemma4(config: Config, model: Architecture) -> Keys:
    return {
        **_window_list(config, model),
        **_kv_by_layer(config, model),
        "attention.key_length": config["global_head_dim"],
        "attention.value_length": config["global_head_dim"],
        "attention.key_length_swa": config["head_dim"],
        "attention.value_length_swa": config["head_dim"],
        "attention.shared_kv_layers": config.get("num_kv_shared_layers", 0),
        "expert_used_count": config["top_k_experts"],
    }


def _fixed(**keys: int) -> Extra:
    return lambda _, __: {name.replace("__", "."): value for name, value in keys.items()}


MODELS: dict[str, tuple[gguf.MODEL_ARCH, Extra]] = {
    "aya-23-8b": (A.COMMAND_R, _nothing),
    "bamba-9b": (A.GRANITE_HYBRID, _all(_state_space("mamba_n_groups"), _kv_by_layer)),
    "bloom-560m": (A.BLOOM, _heads),
    "command-r7b": (A.COHERE2, _window),
    "dbrx": (A.DBRX, _all(_heads, _fixed(expert_used_count=4))),
    "deepseek-v2-lite": (A.DEEPSEEK2, _latent_before_2025),
    "deepseek-v3": (A.DEEPSEEK2, _latent),
    "devstral-small-2-24b": (A.MISTRAL3, _nothing),
    "ernie-4.5-0.3b": (A.ERNIE4_5, _nothing),
    "ernie-4.5-21b-a3b": (A.ERNIE4_5_MOE, _fixed(expert_used_count=6)),
    "exaone-3.5-2.4b": (A.EXAONE, _nothing),
    "exaone-4.0-1.2b": (A.EXAONE4, _nothing),
    "exaone-4.0-32b": (A.EXAONE4, _window),
    "falcon-40b": (A.FALCON, _heads),
    "falcon-7b": (A.FALCON, _heads),
    "falcon-h1-7b": (A.FALCON_H1, _state_space("mamba_n_groups")),
    "falcon-mamba-7b": (A.MAMBA, _state_space()),
    "gemma-2b": (A.GEMMA, _nothing),
    "gemma2-2b": (A.GEMMA2, _window),
    "gemma3-1b": (A.GEMMA3, _window),
    "gemma3n-e4b-text": (A.GEMMA3N, _window_list),
    "gemma4-26b-a4b": (A.GEMMA4, _gemma4),
    "glm-4-9b-0414": (A.GLM4, _nothing),
    "glm-4.5-air": (A.GLM4_MOE, _nothing),
    "glm-4.7-flash": (A.DEEPSEEK2, _latent),
    "glm-5": (A.GLM_DSA, _all(_latent, _fixed(attention__indexer__key_length=128))),
    "gpt-j-6b": (A.GPTJ, _nothing),
    "gpt-oss-20b": (A.GPT_OSS, _window),
    "gpt2": (A.GPT2, _heads),
    "granite-3.0-2b": (A.GRANITE, _nothing),
    "granite-3.1-1b-a400m": (A.GRANITE_MOE, _nothing),
    "granite-4.0-h-tiny": (A.GRANITE_HYBRID, _all(_state_space("mamba_n_groups"), _kv_by_layer)),
    "internlm2-7b": (A.INTERNLM2, _nothing),
    "jamba-v0.1": (A.JAMBA, _all(_state_space(), _kv_by_layer)),
    "lfm2-1.2b": (A.LFM2, _all(_kv_by_layer, _fixed(shortconv__l_cache=3))),
    "llama3-70b": (A.LLAMA, _nothing),
    "llama3.2-1b": (A.LLAMA, _nothing),
    "llama4-scout": (A.LLAMA4, _nothing),
    "mamba-370m": (A.MAMBA, _state_space()),
    "mamba2-2.7b": (A.MAMBA2, _state_space("n_groups")),
    "mimo-v2-flash": (
        A.MIMO2,
        _all(_kv_by_layer, _window_list, _fixed(attention__key_length=192, attention__value_length=128)),
    ),
    "minimax-m2.5": (A.MINIMAXM2, _nothing),
    "minitron-4b": (A.NEMOTRON, _nothing),
    "mistral-nemo-12b": (A.LLAMA, _nothing),
    "mixtral-8x7b": (A.LLAMA, _nothing),
    "mpt-7b": (A.MPT, _nothing),
    "nemotron-3-nano-30b-a3b": (A.NEMOTRON_H_MOE, _all(_state_space("n_groups"), _kv_by_layer)),
    "nemotron-h-56b": (A.NEMOTRON_H, _all(_state_space("n_groups"), _kv_by_layer)),
    "olmo-7b": (A.OLMO, _nothing),
    "olmo2-7b": (A.OLMO2, _nothing),
    "olmo3-7b": (A.OLMO2, _window_list),
    "olmoe-1b-7b": (A.OLMOE, _nothing),
    "phi-1": (A.PHI2, _nothing),
    "phi-3-medium": (A.PHI3, _window),
    "phi-3-mini": (A.PHI3, _window),
    "phi-3.5-moe": (A.PHIMOE, _window),
    "pythia-410m": (A.GPTNEOX, _nothing),
    "qwen1.5-moe-a2.7b": (A.QWEN2MOE, _nothing),
    "qwen2-vl-7b": (A.QWEN2VL, _nothing),
    "qwen2.5-7b": (A.QWEN2, _nothing),
    "qwen3-30b-a3b": (A.QWEN3MOE, _nothing),
    "qwen3-8b": (A.QWEN3, _nothing),
    "qwen3-next-80b-a3b": (A.QWEN3NEXT, _delta_net),
    "qwen3-vl-30b-a3b": (A.QWEN3VLMOE, _nothing),
    "qwen3-vl-8b": (A.QWEN3VL, _nothing),
    "qwen3.5-9b": (A.QWEN35, _delta_net),
    "seed-oss-36b": (A.SEED_OSS, _nothing),
    "smollm3-3b": (A.SMOLLM3, _nothing),
    "stablelm-2-1.6b": (A.STABLELM, _nothing),
    "starcoder-15b": (A.STARCODER, _heads),
}


def text_model(name: str) -> tuple[Config, Architecture]:
    """The language model of a golden configuration: vision towers are files of their own in llama.cpp."""
    config: dict[str, Any] = GOLDEN[name]["config"]
    model = replace(architecture_from_hf_config(config), towers=())
    return {**config, **config.get("text_config", {})}, model


def converted(name: str, family: gguf.MODEL_ARCH, extra: Extra) -> Checkpoint:
    """The header of the same model as GGUF in 16 bits."""
    config, model = text_model(name)
    label = gguf.MODEL_ARCH_NAMES[family]
    keys = common_keys(label, config, model)
    keys |= {f"{label}.{key}": value for key, value in extra(config, model).items()}
    data, size = header(label, keys, {key: (shape, F16) for key, shape in shapes_of(model, family).items()})
    return read_header(data, size)


def facts(model: Architecture) -> dict[str, Any]:
    """What both roads must agree on."""
    count = count_parameters(model)
    return {
        "total": count.total,
        "active": count.active,
        "embedding": count.embedding,
        "vocab_size": model.vocab_size,
        "tied": model.tie_word_embeddings,
        "per_token": kv_bytes_per_token(model),
        "per_token_grouped": kv_bytes_per_token(model, engine="exact"),
        "state": state_bytes(model),
        "windows": [layer.window for layer in model.layers if layer.attention],
        "long": kv_cache_bytes(model, context_tokens=100_000),
    }


@pytest.mark.parametrize("name", MODELS)
def test_both_roads_lead_to_the_same_model(name: str) -> None:
    """Totals, active and embedding parameters, cache per token, windows and states agree to the byte."""
    family, extra = MODELS[name]
    assert facts(architecture_from_gguf(converted(name, family, extra))) == facts(text_model(name)[1])


def test_the_sheet_of_a_gguf_weighs_what_the_file_holds() -> None:
    """Stored bytes are those of the tensors, two for each parameter here."""
    model = architecture_from_gguf(converted("llama3.2-1b", *MODELS["llama3.2-1b"]))
    sheet = sheet_of_architecture("x", model)
    assert sheet.total is not None
    assert sheet.weights_bytes == 2 * sheet.total


@pytest.mark.parametrize("name", ["llama3.2-1b", "qwen3-8b", "mixtral-8x7b", "gemma2-2b"])
@pytest.mark.parametrize("targets", ["all-linear", "attention", "q-v"])
def test_an_adapter_is_as_large_on_either_road(name: str, targets: str) -> None:
    """The same matrices get an adapter under the names of a GGUF, each expert its own."""
    ours = architecture_from_gguf(converted(name, *MODELS[name]))
    assert lora_parameters(ours, rank=16, target_modules=targets, packed=False) == lora_parameters(
        text_model(name)[1], rank=16, target_modules=targets, packed=False
    )


@pytest.mark.parametrize("name", ["llama3.2-1b", "mixtral-8x7b", "gpt-oss-20b"])
@pytest.mark.parametrize("precision", ["float16", "int8", "mxfp4", "q4_k"])
def test_weights_are_as_large_on_either_road(name: str, precision: str) -> None:
    """A precision quantizes the same matrices whatever their names; gpt-oss turns rows of 5760 into rows of 2880."""
    models = architecture_from_gguf(converted(name, *MODELS[name])), text_model(name)[1]
    ours, theirs = (sum(part.bytes for part in weight_components(one, DTYPES[precision])) for one in models)
    assert ours == pytest.approx(theirs, rel=0.005)


def test_every_family_is_one_of_llama_cpp() -> None:
    """The table holds no name that the ``gguf`` package does not know."""
    assert set(gguf.MODEL_ARCH_NAMES.values()) >= KNOWN


def small(**keys: object) -> Checkpoint:
    """A model of one layer."""
    tensors = tuple(
        StoredTensor(name, shape, "F16", 2 * 64)
        for name, shape in (("token_embd.weight", (8, 8)), ("blk.0.attn_q.weight", (8, 8)))
    )
    metadata: dict[str, object] = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 8}
    metadata |= {"llama.attention.head_count": 2} | {key.replace("__", "."): value for key, value in keys.items()}
    return Checkpoint(format="gguf", tensors=tensors, metadata=metadata)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("llama__block_count", 2, "wrong_layers"),
        ("llama__block_count", 10**9, "bad_number"),
        ("llama__block_count", 0, "wrong_layers"),
        ("llama__block_count", True, "bad_number"),
        ("llama__block_count", 1.0, "bad_number"),
        ("llama__block_count", "1", "bad_number"),
        ("llama__embedding_length", -8, "bad_number"),
        ("llama__embedding_length", 0, "bad_number"),
        ("llama__attention__head_count", (), "short_list"),
        ("llama__attention__head_count_kv", (float("nan"),), "bad_number"),
        ("llama__attention__key_length", 2**40, "bad_number"),
        ("llama__nextn_predict_layers", 5, "bad_number"),
        ("llama__attention__sliding_window", None, "bad_number"),
        ("general__architecture", 7, "missing_key"),
    ],
)
def test_absurd_keys_are_refused_by_name(key: str, value: object, code: str) -> None:
    """A key that is missing, of the wrong type or out of range names itself."""
    with pytest.raises(InvalidFile) as refused:
        architecture_from_gguf(small(**{key: value}))
    assert refused.value.code == code


def test_a_small_model_is_read() -> None:
    """The model that the refusals start from is a good one."""
    assert architecture_from_gguf(small()).layers[0].attention == GroupedQueryAttention(
        num_attention_heads=2, num_key_value_heads=2, head_dim=4
    )


def test_an_unknown_family_is_named_with_the_closest_known() -> None:
    """A family that is not in the table is refused, never guessed."""
    with pytest.raises(UnsupportedArchitecture) as refused:
        architecture_from_gguf(small(general__architecture="qwen3moo"))
    assert refused.value.params == {"model_type": "qwen3moo", "closest": "qwen3moe"}
