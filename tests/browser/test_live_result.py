"""The page computes what the command line computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calc import es
from tests.browser.command_line import command_line, parts
from tests.browser.visit import Visit
from tests.browser.waiting import until

TRAINING = {"workload": "training"}
CUSTOM = {"model": "custom"}

CASES: dict[str, list[dict[str, str]]] = {
    "gpu": [
        {},
        {"context": "8.192", "batch": "3"},
        {"model": "gpt2", "precision": "float32", "context": "1024"},
        {"model": "llama-3-70b", "precision": "int4", "gpu": "a100-80gb"},
        {"model": "mixtral-8x7b", "precision": "int8", "batch": "16", "unit": "GB"},
        {"model": "llama-3.1-405b", "precision": "fp8", "context": "131 072"},
        {"model": "llama-3-8b", "kv-precision": "fp8", "context": "100000"},
        {"model": "llama-3-8b", "runtime": "1,25"},
        {**CUSTOM, "parameters": "0,5", "hidden-size": "1024", "layers": "24", "context": "2048"},
        {**CUSTOM, "parameters": "13.5", "kv-heads": "8", "head-dim": "128", "batch": "4"},
        {**TRAINING, "model": "llama-3.2-1b", "context": "2048", "optimizer": "sgd-momentum"},
        {**TRAINING, "model": "mistral-7b", "context": "4096", "checkpointing": "sqrt", "mixed-precision": "no"},
        {**TRAINING, "model": "llama-3-8b", "checkpointing": "full", "optimizer": "adamw-8bit", "gpu": "h200"},
        {**TRAINING, **CUSTOM, "parameters": "1,1", "attention-kernel": "eager", "context": "1024"},
    ],
    "entrenar": [
        {},
        {"activations": "20"},
        {"parameters": "0,5"},
        {"parameters": "0.5"},
        {"parameters": "1,5", "activations": "2,25"},
        {"bytes-per-parameter": "12"},
        {"bytes-per-parameter": "8", "activations": "0,001"},
        {"parameters": "405", "bytes-per-parameter": "16"},
        {"parameters": "70", "bytes-per-parameter": "6"},
        {"parameters": "1000", "activations": "1.234,5", "gpu": "b200"},
    ],
    "acumulacion": [
        {},
        {"gpus": "4"},
        {"micro-batch": "1", "steps": "1"},
        {"micro-batch": "16", "activation-per-sample": "0,125"},
        {"activation-per-sample": "1.5"},
        {"steps": "1.024"},
        {"steps": "10 000", "gpus": "512"},
        {"micro-batch": "7", "steps": "13", "gpus": "3"},
        {"activation-per-sample": "12,5", "gpus": "2"},
        {"micro-batch": "1000000", "activation-per-sample": "0,000001"},
    ],
    "inferencia": [
        {},
        {"concurrency": "32"},
        {"engine": "llama.cpp", "precision": "q4_k"},
        {"engine": "transformers", "precision": "nf4", "context": "4096"},
        {"engine": "exact", "context": "32.768"},
        {"model": "qwen3-14b", "precision": "awq-4bit", "gpu": "rtx-3090"},
        {"model": "llama-3-70b", "precision": "fp8", "kv-precision": "fp8", "concurrency": "8"},
        {"model": "mistral-7b", "context": "16384", "unit": "GB"},
        {"model": "gemma-3-12b", "context": "65536"},
        {"model": "gpt2", "engine": "transformers", "context": "1024", "runtime": "0,5"},
        {"model": "llama-3.1-405b", "precision": "int4", "gpu": "h200"},
    ],
    "lora": [
        {},
        {"rank": "8", "targets": "q-v"},
        {"rank": "64", "targets": "attention"},
        {"method": "qlora"},
        {"method": "qlora", "model": "llama-3-70b", "rank": "32", "gpu": "a100-80gb"},
        {"model": "gpt2", "context": "1024"},
        {"model": "mistral-7b", "optimizer": "adamw-8bit"},
        {"model": "llama-3.2-3b", "checkpointing": "none", "batch": "2", "context": "1.024"},
        {"model": "mixtral-8x7b", "method": "qlora", "unit": "GB"},
        {"precision": "float32", "runtime": "2,5"},
        {"model": "llama-2-13b", "targets": "all-linear", "rank": "128"},
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_the_page_shows_what_the_command_line_prints(name: str, calculator: Callable[[str], Visit]) -> None:
    """For at least ten inputs each, the components, the total and the GPUs on the screen are the command line's."""
    assert len(CASES[name]) >= 10
    visit = calculator(name)
    for inputs in CASES[name]:
        visit.reset()
        visit.set_all(inputs)
        expected = command_line(name, inputs)
        shown = visit.wait_for_parts(parts(expected))
        assert shown["parts"] == parts(expected), inputs
        assert sum(size for _, size in shown["parts"]) == expected["total_bytes"], inputs
        if name != "acumulacion":
            total = es.bytes_text(expected["total_bytes"], shown["unit"])
            assert f"{shown['headline']} {shown['unit']}" == " ".join(total.split()), inputs
        gpus = {(one["name"], one["verdict"], one["count"]) for one in expected["gpus"]}
        seen = {(gpu, verdict, int(count.replace("—", "0"))) for gpu, verdict, count in shown["gpus"]}
        assert bool(seen) == bool(gpus), inputs
        assert seen <= gpus, inputs
        visit.check()


def test_the_fixed_points_are_on_the_live_page(calculator: Callable[[str], Visit]) -> None:
    """The live pages show the numbers that the design fixes: 112, 132 and 2 GB, 32 and 128 samples, 1 GiB of cache."""
    visit = calculator("entrenar")
    assert visit.read()["headline"] == "112"
    visit.set("activations", "20")
    until(visit.page, "document.querySelector('.headline__number').textContent === '132'")
    visit = calculator("acumulacion")
    assert visit.read()["headline"] == "32"
    assert "2 GB" in visit.read()["second"]
    visit.set("gpus", "4")
    until(visit.page, "document.querySelector('.headline__number').textContent === '128'")
    assert "2 GB" in visit.read()["second"]
    cache = dict(calculator("gpu").read()["parts"])
    assert sum(size for name, size in cache.items() if name.startswith("kv_cache")) == 2**30
    assert sum(size for name, size in cache.items() if name.startswith("weights")) == 8_030_261_248 * 2
    assert calculator("lora").read()["second"].replace(" ", "").find("41943040") >= 0


def test_the_simple_formula_of_personalizado_is_two_b_s_h_l_bytes(calculator: Callable[[str], Visit]) -> None:
    """With Personalizado and no KV heads given, the cache on the page is 2·b·s·h·L·bytes."""
    visit = calculator("gpu")
    inputs = {"model": "custom", "parameters": "8", "hidden-size": "4096", "layers": "32", "batch": "2"}
    visit.set_all(inputs)
    shown = visit.wait_for_parts(parts(command_line("gpu", inputs)))
    cache = sum(size for name, size in shown["parts"] if name.startswith("kv_cache"))
    assert cache == 2 * 2 * 8192 * 4096 * 32 * 2
