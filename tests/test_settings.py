"""A scenario as the settings of real tools: each says what was chosen, in its own words, or says that it cannot."""

from __future__ import annotations

import ast
import json
import shlex

import pytest
import yaml

from calc import catalog, es
from calc.settings import Settings, settings_for


def one(name: str, calculator: str, raw: dict[str, str]) -> Settings:
    """Return the settings of one tool."""
    return next(found for found in settings_for(calculator, raw) if found.name == name)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "--dtype bfloat16 --max-model-len 8192 --gpu-memory-utilization 0.9"),
        ({"precision": "fp8"}, "--quantization fp8"),
        ({"precision": "nf4"}, "--quantization bitsandbytes"),
        ({"kv-precision": "fp8"}, "--kv-cache-dtype fp8"),
        ({"gpu-memory-utilization": "0,85"}, "--gpu-memory-utilization 0.85"),
        ({"max-batched-tokens": "4096"}, "--max-num-batched-tokens 4096"),
        ({"tensor-parallel": "4"}, "--tensor-parallel-size 4"),
        ({"cuda-graphs": "no"}, "--enforce-eager"),
        ({"lora-adapters": "3", "lora-rank": "8"}, "--enable-lora --max-loras 3 --max-lora-rank 8"),
        ({"context": "32.768", "concurrency": "16"}, "--max-model-len 32768 --max-num-seqs 16"),
    ],
)
def test_vllm_is_told_what_was_chosen(raw: dict[str, str], words: str) -> None:
    """The options stand together in the command, and nothing is left out."""
    found = one("vllm", "inferencia", raw)
    assert words in found.text
    assert found.text.startswith("vllm serve meta-llama/Meta-Llama-3-8B ")
    assert found.left_out == ()


def test_a_draft_model_is_named_by_its_repository() -> None:
    """vLLM takes it as JSON in one argument."""
    found = one("vllm", "inferencia", {"draft-model": "llama-3.2-1b"})
    words = shlex.split(found.text)
    config = json.loads(words[words.index("--speculative-config") + 1])
    assert config["model"] == catalog.model("llama-3.2-1b").hub_id


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "-m Meta-Llama-3-8B-BF16.gguf -c 8192 -np 1 -ngl 999 -fa on"),
        ({"precision": "q4_k_m", "concurrency": "4"}, "-m Meta-Llama-3-8B-Q4_K_M.gguf -c 32768 -np 4"),
        ({"kv-precision": "q8_0"}, "-ctk q8_0 -ctv q8_0"),
        ({"kv-precision": "q8_0", "kv-value-precision": "q4_0"}, "-ctk q8_0 -ctv q4_0"),
        ({"gpu-layers": "20"}, "-ngl 20"),
        ({"ubatch": "1024"}, "-ub 1024"),
        ({"flash-attention": "no"}, "-fa off"),
        ({"experts-on-cpu": "yes"}, "--cpu-moe"),
    ],
)
def test_llama_cpp_is_told_what_was_chosen(raw: dict[str, str], words: str) -> None:
    """The context is that of all slots together, which llama.cpp divides among them."""
    found = one("llama-server", "inferencia", {"engine": "llama.cpp", **raw})
    assert words in found.text
    assert found.left_out == ()


def test_what_a_tool_has_no_word_for_is_listed() -> None:
    """A format that vLLM does not make itself, a cache that llama.cpp does not have, a mode that no trainer has."""
    assert one("vllm", "inferencia", {"precision": "q4_k_m"}).left_out == ("precision",)
    assert one("llama-server", "gpu", {"precision": "nf4", "kv-precision": "fp8"}).left_out == (
        "precision",
        "kv-precision",
    )
    training = {"workload": "training", "checkpointing": "sqrt", "tensor-parallel": "2", "optimizer": "muon"}
    assert set(one("transformers", "gpu", training).left_out) == {"checkpointing", "tensor-parallel", "optimizer"}


def test_a_trainer_is_told_what_was_chosen() -> None:
    """Batch, accumulation, recomputation, optimizer, fused loss and the adapter are arguments with their real names."""
    raw = {"method": "qlora", "rank": "64", "batch": "4", "accumulation": "8", "optimizer": "paged-adamw-8bit"}
    found = one("peft", "lora", {**raw, "loss": "chunked", "targets": "q-v", "trained-modules": "head", "dora": "yes"})
    calls = {
        node.func.id: {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        for node in ast.walk(ast.parse(found.text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert calls["LoraConfig"] | {"lora_alpha": ""} == {
        "r": "64",
        "lora_alpha": "",
        "target_modules": "['q_proj', 'v_proj']",
        "lora_dropout": "0.0",
        "use_dora": "True",
        "modules_to_save": "['lm_head']",
        "task_type": "'CAUSAL_LM'",
    }
    arguments = calls["TrainingArguments"]
    assert (arguments["per_device_train_batch_size"], arguments["gradient_accumulation_steps"]) == ("4", "8")
    assert (arguments["gradient_checkpointing"], arguments["optim"]) == ("True", "'paged_adamw_8bit'")
    assert (arguments["use_liger_kernel"], arguments["bf16"]) == ("True", "True")
    assert calls["BitsAndBytesConfig"]["load_in_4bit"] == "True"
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("model", "names"),
    [("gpt2", "c_attn"), ("falcon-7b", "query_key_value"), ("phi-3-mini", "qkv_proj"), ("llama-3-8b", "q_proj")],
)
def test_an_adapter_is_put_on_the_modules_that_the_model_has(model: str, names: str) -> None:
    """Families call their projections differently; PEFT takes the names of the model's own."""
    assert f'target_modules=["{names}"' in one("peft", "lora", {"model": model, "targets": "q-v"}).text


def test_a_tool_is_not_told_what_it_refuses() -> None:
    """llama.cpp takes no quantized values without flash attention; vLLM takes some ranks only."""
    raw = {"engine": "llama.cpp", "kv-precision": "q8_0", "kv-value-precision": "q4_0", "flash-attention": "no"}
    found = one("llama-server", "inferencia", raw)
    assert "-ctv" not in found.text
    assert found.left_out == ("kv-value-precision",)
    assert "--max-lora-rank 16" in one("vllm", "inferencia", {"lora-adapters": "1", "lora-rank": "12"}).text


def test_a_master_copy_means_weights_of_32_bits_under_autocast() -> None:
    """The trainer keeps float32 weights and computes in 16 bits; without the copy the weights have 16."""
    mixed = one("transformers", "gpu", {"workload": "training"}).text
    pure = one("transformers", "gpu", {"workload": "training", "mixed-precision": "no"}).text
    assert 'dtype="float32"' in mixed
    assert 'dtype="bfloat16"' in pure
    assert "bf16=True" in mixed


def test_zero_and_offload_become_a_file_of_deepspeed_and_of_fsdp() -> None:
    """The stage, what moves to the host, and the sizes of the step."""
    raw = {"workload": "training", "data-parallel": "8", "zero": "3", "offload": "all", "batch": "2"}
    config = json.loads(one("deepspeed", "gpu", raw).text)
    zero = config["zero_optimization"]
    assert (zero["stage"], zero["offload_param"]["device"], zero["offload_optimizer"]["device"]) == (3, "cpu", "cpu")
    assert (config["train_micro_batch_size_per_gpu"], config["bf16"]) == (2, {"enabled": True})
    sharded = yaml.safe_load(one("fsdp", "gpu", raw).text)
    assert (sharded["num_processes"], sharded["fsdp_config"]["fsdp_offload_params"]) == (8, True)
    assert [found.name for found in settings_for("gpu", {"workload": "training"})] == ["transformers"]


@pytest.mark.parametrize("model", [one.id for one in catalog.models()])
def test_every_model_gives_texts_that_the_tools_can_read(model: str) -> None:
    """Commands split into words, Python parses, and JSON is JSON; a placeholder stands for a format without a file."""
    for calculator, raw in (
        ("gpu", {"precision": "q4_k"}),
        ("inferencia", {"engine": "exact", "precision": "awq-4bit"}),
        ("lora", {"zero": "3", "data-parallel": "2"}),
    ):
        found = settings_for(calculator, {**raw, "model": model})
        assert found
        for settings in found:
            match settings.language:
                case "shell":
                    assert catalog.model(model).hub_id.rsplit("/", 1)[-1] in " ".join(shlex.split(settings.text))
                case "python":
                    assert ast.parse(settings.text)
                case "json":
                    assert json.loads(settings.text)
                case _:
                    assert yaml.safe_load(settings.text)
            assert es.TOOLS[settings.name]


def test_what_cannot_be_used_gives_no_settings() -> None:
    """Wrong inputs, and calculators that know no models."""
    assert settings_for("gpu", {"context": "x"}) == ()
    assert settings_for("entrenar", {}) == ()
    assert settings_for("gpu", {"model": "custom"})[0].text.startswith("vllm serve MODELO ")
