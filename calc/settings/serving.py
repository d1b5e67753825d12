"""Settings to serve a model: vLLM, llama.cpp's server, Transformers.

Names of the options: vLLM's engine arguments (https://docs.vllm.ai/en/v0.8.5/serving/engine_args.html, and
``--speculative-config`` from 0.9); ``llama-server --help`` of build b6500 and later, where ``-fa`` takes a value and
``-c`` is divided among the ``-np`` slots (llama.cpp, ``tools/server/README.md`` and ``src/llama-context.cpp``);
Transformers 5, where ``dtype`` took the place of ``torch_dtype``.
"""

import json
import shlex
from typing import Final

from calc import catalog
from calc.settings.chosen import PLACEHOLDER, Chosen
from calc.settings.settings import Settings

VLLM_WEIGHTS: Final = {
    "float32": ("--dtype", "float32"),
    "bfloat16": ("--dtype", "bfloat16"),
    "float16": ("--dtype", "float16"),
    "fp8": ("--dtype", "bfloat16", "--quantization", "fp8"),
    "nf4": ("--dtype", "bfloat16", "--quantization", "bitsandbytes"),
}
"""What vLLM makes of the published weights by itself; other formats need a checkpoint that has them already."""

VLLM_CACHE: Final = {"auto": (), "fp8": ("--kv-cache-dtype", "fp8")}

GGUF: Final = {
    "float32": "F32",
    "bfloat16": "BF16",
    "float16": "F16",
    "q2_k_m": "Q2_K",
    "q6_k": "Q6_K",
    **{name: name.upper() for name in ("q8_0", "q5_0", "q5_1", "q4_0", "q4_1", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0")},
    **{name: name.upper() for name in ("q5_k_m", "q5_k_s", "q4_k_m", "q4_k_s", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k_s")},
}
"""File types of llama.cpp (``tools/quantize/quantize.cpp``, ``QUANT_OPTIONS``) for the formats that have one."""

CACHE_TYPES: Final = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    **{name: name for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")},
}
"""Types that ``-ctk`` and ``-ctv`` take."""

QUANTIZED: Final = frozenset(("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"))

ALL_LAYERS: Final = "999"
"""More layers than a model has: all of them."""

LORA_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""Values that ``--max-lora-rank`` takes."""


def vllm(asked: Chosen) -> Settings:
    """``vllm serve`` with what decides its memory."""
    words, said = ["vllm", "serve", asked.repository], ["context", "concurrency", "batch"]
    weights = VLLM_WEIGHTS.get(asked.word("precision"))
    words += weights or ()
    said += ["precision"] if weights else []
    words += ["--max-model-len", str(asked.number("context"))]
    requests = asked.number("concurrency") or asked.number("batch")
    words += ["--max-num-seqs", str(requests)] if requests > 1 else []
    cache = VLLM_CACHE.get(asked.word("kv-precision"))
    words += cache or ()
    said += ["kv-precision"] if cache is not None else []
    for option, value in (
        ("gpu-memory-utilization", asked.decimal("gpu-memory-utilization")),
        ("max-num-batched-tokens", asked.number("max-batched-tokens")),
        ("tensor-parallel-size", asked.number("tensor-parallel") if asked.number("tensor-parallel") > 1 else 0),
    ):
        words += [f"--{option}", str(value)] if value else []
    said += ["gpu-memory-utilization", "max-batched-tokens", "tensor-parallel", "cuda-graphs", "draft-model"]
    words += ["--enforce-eager"] if asked.flag("cuda-graphs") is False else []
    draft = asked.word("draft-model")
    if draft not in {"", "none"}:
        config = {"model": catalog.model(draft).hub_id, "num_speculative_tokens": 5}
        words += ["--speculative-config", json.dumps(config)]
    if adapters := asked.number("lora-adapters"):
        words += [
            "--enable-lora",
            "--max-loras",
            str(adapters),
            "--max-lora-rank",
            str(_rank(asked.number("lora-rank"))),
        ]
    said += ["lora-adapters", "lora-rank"]
    return asked.settings("vllm", "0.10", "shell", shlex.join(words), said)


def _rank(rank: int) -> int:
    """The smallest that vLLM takes for adapters of a rank, or the rank itself beyond all of them."""
    return next((one for one in LORA_RANKS if one >= rank), rank)


def llama_server(asked: Chosen) -> Settings:
    """``llama-server`` for a GGUF file of the model."""
    precision, slots = asked.word("precision"), asked.number("concurrency") or asked.number("batch")
    name = asked.repository.rsplit("/", 1)[-1]
    words = ["llama-server", "-m", f"{name}-{GGUF.get(precision, PLACEHOLDER)}.gguf"]
    words += ["-c", str(asked.number("context") * slots), "-np", str(slots)]
    words += ["-ngl", str(asked.number("gpu-layers")) if asked.parsed.has("gpu-layers") else ALL_LAYERS]
    said = ["context", "concurrency", "batch", "gpu-layers", "ubatch", "flash-attention", "experts-on-cpu"]
    said += ["precision"] if precision in GGUF else []
    words += ["-ub", str(asked.number("ubatch"))] if asked.number("ubatch") not in {0, 512} else []
    words += ["-fa", "off" if asked.flag("flash-attention") is False else "on"]
    keys = asked.word("kv-precision")
    values = asked.word("kv-value-precision") or "auto"
    for option, field, kind in (("-ctk", "kv-precision", keys), ("-ctv", "kv-value-precision", values)):
        kind = keys if kind == "auto" else kind  # noqa: PLW2901 - the values take after the keys
        if option == "-ctv" and asked.flag("flash-attention") is False and kind in QUANTIZED:
            continue  # llama.cpp refuses quantized values without flash attention
        if kind in CACHE_TYPES:
            words += [option, CACHE_TYPES[kind]]
        said += [field] if kind in {*CACHE_TYPES, "auto"} else []
    words += ["--cpu-moe"] if asked.flag("experts-on-cpu") else []
    return asked.settings("llama-server", "b6500", "shell", shlex.join(words), said)


TORCH: Final = ("float32", "bfloat16", "float16")
BITS_AND_BYTES: Final = {
    "int8": "load_in_8bit=True",
    "nf4": 'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype="bfloat16"',
    "nf4-dq": 'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, '
    'bnb_4bit_compute_dtype="bfloat16"',
}
"""Formats that Transformers makes while it loads, as arguments of ``BitsAndBytesConfig``."""


def loading(repository: str, precision: str, attention: str, *, spread: bool = False) -> str:
    """The call that loads a model, in Python; ``spread`` over the GPUs there are, which a trainer does itself."""
    lines = [f'    "{repository}",', f'    dtype="{precision if precision in TORCH else "bfloat16"}",']
    if precision in BITS_AND_BYTES:
        lines.append(f"    quantization_config=BitsAndBytesConfig({BITS_AND_BYTES[precision]}),")
    lines.append(f'    attn_implementation="{attention}",')
    if spread:
        lines.append('    device_map="auto",')
    return "\n".join(["model = AutoModelForCausalLM.from_pretrained(", *lines, ")"])


def transformers(asked: Chosen) -> Settings:
    """How Transformers loads the model and how far it generates."""
    precision = asked.word("precision")
    names = "AutoModelForCausalLM" + (", BitsAndBytesConfig" if precision in BITS_AND_BYTES else "")
    cache = asked.word("cache") or "dynamic"
    lines = [f"from transformers import {names}", "", loading(asked.repository, precision, "sdpa", spread=True)]
    lines.append(
        f"model.generate(**inputs, max_length={asked.number('context')}"
        + (f', cache_implementation="{cache}")' if cache == "static" else ")")
    )
    said = ["context", "concurrency", "batch", "cache"]
    said += ["precision"] if precision in {*TORCH, *BITS_AND_BYTES} else []
    return asked.settings("transformers", "5", "python", "\n".join(lines), said)
