"""Pasted commands and configurations become inputs; what is not understood is listed; nothing hostile gets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pasted import read_paste

from calc import catalog
from calc.calculators import CALCULATORS, parse
from calc.errors import CalcError, InvalidInput
from calc.es.paste import KINDS
from calc.paste.logs import Log
from calc.paste.names import model_of, parted
from calc.paste.pasted import Pasted
from calc.settings import settings_for

VLLM = [
    ("vllm serve meta-llama/Meta-Llama-3-8B", {"model": "llama-3-8b"}),
    ("$ vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768", {"model": "qwen2.5-7b", "context": "32768"}),
    ("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len=16k --dtype half", {"context": "16000"}),
    ("CUDA_VISIBLE_DEVICES=0,1 vllm serve mistralai/Mistral-7B-v0.1 -tp 2", {"tensor-parallel": "2"}),
    ("vllm serve x \\\n  --max-num-seqs 64 \\\n  --gpu-memory-utilization 0.95", {"concurrency": "64"}),
    (
        "python -m vllm.entrypoints.openai.api_server --model google/gemma-2-9b --kv-cache-dtype fp8_e5m2",
        {"kv-precision": "fp8"},
    ),
    (
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.9.1 --model x --quantization awq_marlin",
        {"precision": "awq-4bit"},
    ),
    (
        "vllm serve x --enforce-eager --enable-lora --max-loras 4 --max-lora-rank 32",
        {"cuda-graphs": "no", "lora-adapters": "4"},
    ),
    ("""vllm serve x --speculative-config '{"model": "meta-llama/Llama-3.2-1B"}'""", {}),
    ("vllm serve x --max-num-batched-tokens 4096 --quantization fp8 --dtype bfloat16", {"precision": "fp8"}),
    ("vllm serve x --max-model-len muchos", {}),
    ("vllm serve", {}),
]

LLAMA = [
    ("llama-server -m Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", {"model": "llama-3.1-8b", "precision": "q4_k_m"}),
    (
        "./build/bin/llama-server -m /m/qwen2.5-7b-instruct-q8_0.gguf -c 16384 -np 4",
        {"context": "4096", "concurrency": "4"},
    ),
    ("llama-cli -hf bartowski/Qwen2.5-7B-Instruct-GGUF:Q5_K_M -ngl 20", {"precision": "q5_k_m", "gpu-layers": "20"}),
    ("llama-server -m x.gguf --n-gpu-layers 999 -fa", {"flash-attention": "yes"}),
    ("llama-server -m x.gguf -fa off -ctk q8_0 -ctv q4_0", {"kv-precision": "q8_0", "kv-value-precision": "q4_0"}),
    (
        "llama-server -m mixtral-8x7b-v0.1.Q3_K_M.gguf -ot 'ffn_.*_exps=CPU' -ub 1024",
        {"experts-on-cpu": "yes", "ubatch": "1024"},
    ),
    ("llama-server -m x.gguf --cpu-moe --cache-type-k f16 --ctx-size 0", {"experts-on-cpu": "yes"}),
    ("LLAMA_ARG_HOST=0.0.0.0 llama-server --model gemma-2-9b-it-BF16.gguf --port 80", {"precision": "bfloat16"}),
    ("llama-server -m qwen3-14b-UD-Q4_K_XL-00001-of-00002.gguf", {"model": "qwen3-14b"}),
    ("llama-server.exe -m x.gguf -np muchos -c 99999999999999999999", {}),
]

AXOLOTL = [
    (
        "base_model: meta-llama/Meta-Llama-3-8B\nadapter: lora\nlora_r: 32\nlora_alpha: 16\n",
        {"method": "lora", "rank": "32"},
    ),
    (
        "base_model: NousResearch/Meta-Llama-3-8B\nadapter: qlora\nload_in_4bit: true\n",
        {"method": "qlora", "model": "llama-3-8b"},
    ),
    (
        "base_model: x\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n",
        {"context": "4096", "batch": "2"},
    ),
    ("base_model: x\nadapter: lora\nlora_target_linear: true\n", {"targets": "all-linear"}),
    ("base_model: x\nadapter: lora\nlora_target_modules: [q_proj, v_proj]\n", {"targets": "q-v"}),
    ("base_model: x\noptimizer: adamw_bnb_8bit\nbf16: auto\n", {"optimizer": "adamw-8bit", "precision": "bfloat16"}),
    ("base_model: x\ngradient_checkpointing: true\nflash_attention: true\n", {"checkpointing": "full"}),
    (
        "# comment\nbase_model: x\nadapter: lora\nlora_dropout: 0.05\npeft_use_dora: true\n",
        {"adapter-dropout": "yes", "dora": "yes"},
    ),
    ("base_model: x\ndeepspeed: deepspeed_configs/zero2.json\n", {"workload": "training"}),
    ("base_model: [1, 2]\nlora_r: muchos\nadapter: prefix\nmicro_batch_size: -3\n", {}),
]

FACTORY = [
    (
        "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\n",
        {"rank": "8"},
    ),
    ("model_name_or_path: x\nfinetuning_type: full\ncutoff_len: 2048\n", {"workload": "training", "context": "2048"}),
    ("model_name_or_path: x\nquantization_bit: 4\nlora_target: all\n", {"method": "qlora", "targets": "all-linear"}),
    ("model_name_or_path: x\nlora_target: q_proj,v_proj\n", {"targets": "q-v"}),
    ("model_name_or_path: x\nper_device_train_batch_size: 4\n", {"batch": "4"}),
    ("model_name_or_path: x\ngradient_accumulation_steps: 8\nbf16: true\n", {"accumulation": "8"}),
    ("model_name_or_path: x\noptim: paged_adamw_8bit\n", {"optimizer": "paged-adamw-8bit"}),
    ("model_name_or_path: x\nuse_dora: true\nenable_liger_kernel: true\n", {"dora": "yes", "loss": "chunked"}),
    ("model_name_or_path: x\ndisable_gradient_checkpointing: true\n", {"checkpointing": "none"}),
    ("model_name_or_path: x\nstage: dpo\nfinetuning_type: freeze\nlora_rank: 0\n", {}),
]

DEEPSPEED = [
    ('{"zero_optimization": {"stage": 2}}', {"zero": "2", "workload": "training"}),
    ('{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}', {"offload": "all"}),
    ('{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}', {"offload": "optimizer"}),
    ('{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}', {"batch": "4", "accumulation": "2"}),
    ('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}', {"zero": "1"}),
    ('{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}}', {"precision": "bfloat16"}),
    ('{"fp16": {"enabled": true}, "zero_optimization": {}}', {"precision": "float16", "zero": "0"}),
    ('{"optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 1}}', {"optimizer": "adamw"}),
    ('{"zero_optimization": {"stage": 7, "offload_param": {"device": "nvme"}}}', {}),
    ('{"zero_optimization": true, "bf16": {"enabled": "auto"}}', {}),
]


def cases() -> list[tuple[str, str, dict[str, str]]]:
    """Return every text with its kind and the inputs that it must give."""
    groups = {"vllm": VLLM, "llama-server": LLAMA, "axolotl": AXOLOTL, "llama-factory": FACTORY, "deepspeed": DEEPSPEED}
    return [(kind, text, inputs) for kind, group in groups.items() for text, inputs in group]


@pytest.mark.parametrize(("kind", "text", "inputs"), cases())
def test_each_variant_is_recognised_and_fills_the_form(kind: str, text: str, inputs: dict[str, str]) -> None:
    """The kind is said, the inputs are there, and the calculator reads every one of them without an error."""
    found = read_paste(text)
    assert isinstance(found, Pasted)
    assert found.kind == kind
    assert kind in KINDS
    assert found.inputs.items() >= inputs.items()
    parsed = parse(CALCULATORS[found.calculator].fields, found.inputs)
    assert parsed.errors == ()
    assert set(found.inputs) <= set(parsed.visible)


def test_what_is_not_understood_is_listed_and_what_has_no_effect_too() -> None:
    """An unknown model, an option that does not exist, a value that is none; a port; nothing is dropped."""
    found = read_paste("vllm serve secreto/modelo --port 80 --max-num-seqs muchas --inventada 3 --max-model-len 4096")
    assert isinstance(found, Pasted)
    assert found.not_understood == ("secreto/modelo", "--max-num-seqs muchas", "--inventada 3")
    assert found.ignored == ("--port 80",)
    automatic = read_paste('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}')
    assert isinstance(automatic, Pasted)
    assert automatic.not_understood == ("train_micro_batch_size_per_gpu: auto",)


@pytest.mark.parametrize("model", [one.id for one in catalog.models()])
def test_a_repository_of_the_catalogue_is_found_and_so_is_its_id(model: str) -> None:
    """The name on the hub, in any case, gives a model with the same repository; the id gives itself."""
    hub = catalog.model(model).hub_id
    for name in (hub, hub.upper()):
        found = model_of(name)
        assert found is not None
        assert catalog.model(found).hub_id == hub
    assert model_of(model) == model


def test_a_name_is_not_stretched() -> None:
    """What only resembles a model is none."""
    for name in ("", "llama", "my-finetune-of-llama-3-8b", "/", "x" * 10**5, "Q4_K_M.gguf", "../../etc/passwd"):
        assert model_of(name) is None
    assert parted("a/b/Mixtral-8x7B-v0.1.Q3_K_M.gguf") == ("mixtral-8x7b-v0.1", "q3_k_m")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("vllm serve 'x", "unbalanced_quotes"),
        ("a: &x [1]\nb: *x\n", "yaml_alias"),
        ("[" * 60 + "]" * 60, "nested_too_deep"),
    ],
)
def test_a_broken_text_is_refused_with_its_reason(text: str, code: str) -> None:
    """Quotes left open, references of YAML, and nests."""
    with pytest.raises(InvalidInput) as caught:
        read_paste(text)
    assert (caught.value.code, caught.value.place) == (code, "paste")


def test_tags_build_nothing() -> None:
    """A YAML tag that would call Python is no configuration."""
    assert read_paste("base_model: !!python/object/apply:os.system ['true']\n") is None


def test_a_log_is_a_log() -> None:
    """What a monitor prints is not mistaken for a configuration, and plain prose is nothing."""
    assert isinstance(read_paste("| 30%   41C |    950MiB /  4094MiB | 0% |"), Log)
    assert read_paste("hola, ¿cuánta memoria necesito?") is None
    assert read_paste("x" * 10**6) is None


@settings(deadline=None)
@given(
    st.text(max_size=200)
    | st.sampled_from([text for _, text, _ in cases()]).flatmap(
        lambda text: st.tuples(st.integers(0, len(text)), st.text(max_size=5)).map(
            lambda cut: text[: cut[0]] + cut[1] + text[cut[0] :]
        )
    )
)
def test_any_text_is_read_or_refused_by_us(text: str) -> None:
    """Nothing but our own errors comes out, and what comes out fits the form."""
    try:
        found = read_paste(text)
    except CalcError:
        return
    if isinstance(found, Pasted):
        assert parse(CALCULATORS[found.calculator].fields, found.inputs).errors == ()


ROUND: list[tuple[str, dict[str, str], str]] = [
    ("inferencia", {"engine": "vllm", "precision": "fp8", "kv-precision": "fp8", "context": "16384"}, "vllm"),
    (
        "inferencia",
        {"engine": "vllm", "gpu-memory-utilization": "0.85", "tensor-parallel": "2", "cuda-graphs": "no"},
        "vllm",
    ),
    ("inferencia", {"engine": "vllm", "draft-model": "llama-3.2-1b", "lora-adapters": "2", "lora-rank": "8"}, "vllm"),
    ("inferencia", {"engine": "llama.cpp", "precision": "q4_k_m", "concurrency": "4"}, "llama-server"),
    (
        "inferencia",
        {"engine": "llama.cpp", "kv-precision": "q8_0", "kv-value-precision": "q4_0", "ubatch": "256"},
        "llama-server",
    ),
    (
        "inferencia",
        {"engine": "llama.cpp", "gpu-layers": "12", "experts-on-cpu": "yes", "flash-attention": "no"},
        "llama-server",
    ),
    ("gpu", {"workload": "training", "zero": "2", "data-parallel": "4", "batch": "4"}, "deepspeed"),
    ("gpu", {"workload": "training", "zero": "3", "offload": "all", "accumulation": "8"}, "deepspeed"),
]


@pytest.mark.parametrize("model", ["llama-3-8b", "mixtral-8x7b", "qwen3-14b", "gemma-2-9b"])
@pytest.mark.parametrize(("calculator", "raw", "tool"), ROUND)
def test_exported_settings_come_back_as_the_same_scenario(
    model: str, calculator: str, raw: dict[str, str], tool: str
) -> None:
    """What a tool's text can say is read back: the same values in the same fields."""
    raw = {**raw, "model": model}
    text = next(one.text for one in settings_for(calculator, raw) if one.name == tool)
    found = read_paste(text)
    assert isinstance(found, Pasted)
    unsaid = {"data-parallel", *(["model"] if tool == "deepspeed" else [])}
    fields = CALCULATORS[calculator].fields
    before, after = parse(fields, raw).values, parse(fields, found.inputs).values
    for name in raw.keys() - unsaid:
        assert before[name] == after[name], name
    assert found.not_understood == ()
    assert json.dumps(dict(found.inputs))
