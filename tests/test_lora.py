"""Adapter parameters against PEFT.

Counts are those of ``LoraConfig(r, target_modules, bias="none")`` in PEFT 0.21.2 with Transformers 5.24.0, except where
a test says otherwise.
"""

import pytest

from calc.catalog import architecture
from calc.errors import CalcError
from calc.lora import adapter_file_bytes, adapters, lora_parameters, module_names

# model: all-linear, all attention, queries and values, at rank 16
PEFT = {
    "llama-3.1-8b": (41_943_040, 13_631_488, 6_815_744),
    "llama-3.1-70b": (207_093_760, 65_536_000, 32_768_000),
    "llama-3.2-1b": (11_272_192, 3_407_872, 1_703_936),
    "llama-2-7b": (39_976_960, 16_777_216, 8_388_608),
    "mistral-7b": (41_943_040, 13_631_488, 6_815_744),
    "mistral-nemo-12b": (57_016_320, 19_660_800, 9_830_400),
    "qwen2.5-0.5b": (8_798_208, 2_162_688, 1_081_344),
    "qwen2.5-7b": (40_370_176, 10_092_544, 5_046_272),
    "qwen3-8b": (43_646_976, 15_335_424, 7_667_712),
    "gemma-7b": (50_003_968, 12_845_056, 6_422_528),
    "gemma-3-1b": (13_045_760, 2_981_888, 1_490_944),
    "command-r7b": (41_943_040, 13_631_488, 6_815_744),
    "glm-4-9b-0414": (47_595_520, 16_056_320, 8_028_160),
    "olmo-2-7b": (39_976_960, 16_777_216, 8_388_608),
    # fused queries, keys and values: one adapter, r * (in + q + 2 kv)
    "gpt2": (2_359_296, 884_736, 589_824),
    "bloom-7b1": (31_457_280, 11_796_480, 7_864_320),
    "falcon-7b": (32_636_928, 9_371_648, 4_718_592),
    "falcon-40b": (111_083_520, 32_440_320, 16_711_680),
    "mpt-7b": (33_554_432, 12_582_912, 8_388_608),
    "pythia-6.9b": (33_554_432, 12_582_912, 8_388_608),
    "phi-3-mini": (25_165_824, 9_437_184, 6_291_456),
    "phi-4": (55_705_600, 14_745_600, 8_192_000),
    "starcoder2-7b": (38_273_024, 14_680_064, 7_340_032),
    # experts stacked in one tensor, and a router that is no linear module: only attention is left
    "gpt-oss-20b": (7_962_624, 7_962_624, 3_981_312),
}


@pytest.mark.parametrize("model", PEFT)
@pytest.mark.parametrize(("column", "targets"), list(enumerate(("all-linear", "attention", "q-v"))))
def test_adapters_have_the_parameters_that_peft_counts(model: str, column: int, targets: str) -> None:
    """Exactly, and in proportion to the rank."""
    found = architecture(model)
    assert lora_parameters(found, rank=16, target_modules=targets) == PEFT[model][column]
    assert lora_parameters(found, rank=64, target_modules=targets) == 4 * PEFT[model][column]


def test_llama_3_8b_has_the_known_count() -> None:
    """Rank 16 on all linear layers: 41,943,040 parameters, a file of 80 MiB in 16 bits."""
    count = lora_parameters(architecture("llama-3-8b"), rank=16, target_modules="all-linear")
    assert count == 41_943_040
    assert adapter_file_bytes(count) == 80 * 2**20
    assert adapter_file_bytes(count, "float32") == 160 * 2**20


def test_separate_experts_have_one_adapter_each() -> None:
    """Mixtral at rank 8 in Transformers 4.57, where w1, w2 and w3 are modules: 121,112,576 with its routers."""
    model = architecture("mixtral-8x7b")
    assert lora_parameters(model, rank=8, target_modules="all-linear", packed=False) == 121_112_576


@pytest.mark.parametrize(
    ("model", "count"),
    # peft 0.21.2 on transformers 5.24, all-linear at rank 16 (reference data, oracle_lora.json).
    [
        ("deepseek-v2-lite", 358_994_944),
        ("deepseek-v3", 7_645_254_656),
        ("jamba-1.5-mini", 38_123_520),
        ("mixtral-8x7b", 359_665_664),
        ("olmoe-1b-7b", 189_284_352),
        ("qwen1.5-moe-a2.7b", 15_925_632),
        ("qwen3-30b-a3b", 996_507_648),
    ],
)
def test_stacked_experts_are_counted_as_peft_adapts_them(model: str, count: int) -> None:
    """With Transformers 5 the experts of a layer are one tensor, and PEFT adapts it, or skips it, by family."""
    assert lora_parameters(architecture(model), rank=16, target_modules="all-linear") == count


@pytest.mark.parametrize(
    ("model", "targets", "count"),
    [
        ("deepseek-v3", "attention", 97_006_592),
        ("deepseek-v3", "q-v", 57_966_592),
        ("deepseek-v2-lite", "attention", 7_105_536),
        ("deepseek-v2-lite", "q-v", 4_202_496),
        ("qwen3-30b-a3b", "attention", 13_369_344),
        ("jamba-1.5-mini", "attention", 1_703_936),
        ("t5-small", "q-v", 589_824),
    ],
)
def test_attention_of_latent_mixture_and_hybrid_models_is_counted(model: str, targets: str, count: int) -> None:
    """Their attention adapters equal PEFT's at rank 16."""
    assert lora_parameters(architecture(model), rank=16, target_modules=targets) == count


@pytest.mark.parametrize(
    ("model", "modules", "each"),
    [
        ("internlm2-7b", 32, {"attention": (4096 + 6144) + (4096 + 4096), "q-v": 4096 + 6144}),
        ("nemotron-3-nano-30b-a3b", 6, {"attention": 2 * (2688 + 4096) + 2 * (2688 + 256), "q-v": 6784 + 2944}),
        ("nemotron-h-56b", 10, {"attention": 4 * 8192 + 2 * (8192 + 1024), "q-v": 16384 + 9216}),
        ("recurrentgemma-2b", 8, {"attention": 4 * 2560 + 2 * (2560 + 256), "q-v": 5120 + 2816}),
    ],
)
def test_attention_is_found_under_names_that_it_shares(model: str, modules: int, each: dict[str, int]) -> None:
    """A ``mixer`` or ``temporal_block`` is attention where it holds queries, keys and values; ``wqkv`` holds all."""
    for targets, dimensions in each.items():
        assert lora_parameters(architecture(model), rank=16, target_modules=targets) == 16 * modules * dimensions


def test_names_of_modules_are_accepted_alone_or_together() -> None:
    """q_proj and v_proj together are the preset q-v; a suffix path works as in PEFT."""
    model = architecture("llama-3-8b")
    both = lora_parameters(model, rank=8, target_modules=("q_proj", "v_proj"))
    assert both == lora_parameters(model, rank=8, target_modules="q-v")
    assert both == sum(lora_parameters(model, rank=8, target_modules=name) for name in ("q_proj", "self_attn.v_proj"))


def test_the_head_gets_no_adapter() -> None:
    """all-linear is every linear but the head, as in PEFT."""
    assert "lm_head" not in module_names(architecture("llama-3-8b"))


def test_an_unknown_module_is_refused_with_the_known_names() -> None:
    """A misspelt target says which modules exist."""
    with pytest.raises(CalcError) as refused:
        adapters(architecture("llama-3-8b"), ("q_proj", "query"))
    assert refused.value.code == "unknown_module"
    assert refused.value.place == "targets"
    assert refused.value.params == {
        "value": "query",
        "known": ("down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"),
    }


@pytest.mark.parametrize("rank", [0, -1])
def test_a_rank_below_one_is_refused(rank: int) -> None:
    """There is no adapter of rank 0."""
    with pytest.raises(CalcError) as refused:
        lora_parameters(architecture("gpt2"), rank=rank, target_modules="all-linear")
    assert (refused.value.code, refused.value.place) == ("too_small", "rank")
