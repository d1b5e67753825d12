"""The peak is the largest moment of a run, and the answer is made of what is in memory then."""

from dataclasses import replace

import pytest

from calc.catalog import architecture
from calc.hf_config import architecture_from_hf_config
from calc.layout import Layout
from calc.logits import LOSSES
from calc.memory import Lora, Workload, estimate_inference, estimate_training

GIB = 2**30
MOMENTS = ["forward", "loss", "first_backward", "last_backward", "optimizer_step"]


@pytest.mark.parametrize("checkpointing", ["none", "selective", "operators", "full", "sqrt"])
@pytest.mark.parametrize("lora", [None, Lora()])
@pytest.mark.parametrize("steps", [1, 2])
def test_the_answer_is_the_largest_moment(checkpointing: str, lora: Lora | None, steps: int) -> None:
    """Its components are those of that moment, and no other is larger."""
    workload = Workload(context_tokens=1024, checkpointing=checkpointing, lora=lora, accumulation_steps=steps)
    estimate = estimate_training(architecture("llama-3.2-1b"), workload)
    assert [moment.name for moment in estimate.timeline] == MOMENTS
    largest = max(estimate.timeline, key=lambda moment: moment.total)
    assert estimate.components == largest.components
    note = next(one for one in estimate.notes if one.code == "peak_moment")
    assert note.params["moment"] == largest.name


def test_a_second_micro_batch_keeps_gradients_through_the_forward() -> None:
    """From 1 to 2 steps the forward grows by all gradients; from 2 to 8 nothing grows."""
    model, workload = architecture("llama-3.2-1b"), Workload(context_tokens=512)
    forwards = [
        estimate_training(model, replace(workload, accumulation_steps=steps)).timeline[0].total for steps in (1, 2, 8)
    ]
    assert forwards[1] - forwards[0] == 2 * 1_235_814_400
    assert forwards[2] == forwards[1]


def test_float32_accumulation_costs_four_bytes_per_parameter() -> None:
    """DeepSpeed's gradients in both formats: 6 bytes instead of 2."""
    model, workload = architecture("llama-3.2-1b"), Workload(context_tokens=512)
    both = replace(workload, gradient_precision="both")
    forwards = [estimate_training(model, one).timeline[0] for one in (workload, both)]
    sizes = [next(one.bytes for one in moment.components if one.name == "gradients") for moment in forwards]
    assert sizes[1] - sizes[0] == 4 * 1_235_814_400


# fms-acceleration at 876e2ed, a100_80gb.csv: pure bfloat16, AdamW in lists of tensors, full checkpointing, one A100:
# GiB allocated at the peak, which is the optimizer's step: ten bytes per parameter, whatever the batch.
PURE_BF16_GIB = {("mistral-7b", 4): 67.46, ("mistral-7b", 8): 67.46, ("llama-3-8b", 4): 74.80}


@pytest.mark.parametrize(("run", "measured"), PURE_BF16_GIB.items())
def test_the_optimizers_step_is_the_peak_of_pure_bfloat16(run: tuple[str, int], measured: float) -> None:
    """Weight, gradient, two moments and the temporary of the step: within 0.1 %."""
    workload = Workload(
        batch=run[1],
        context_tokens=4096,
        optimizer="adamw-bf16",
        mixed_precision=False,
        checkpointing="full",
        step_kernel="foreach",
        loss_kernel="in-place",
        accumulation_steps=1,
        runtime_bytes=0,
    )
    estimate = estimate_training(architecture(run[0]), workload)
    assert next(one for one in estimate.notes if one.code == "peak_moment").params["moment"] == "optimizer_step"
    assert estimate.total / GIB == pytest.approx(measured, rel=1e-3)


# The same source, LoRA of rank 16 on attention with dropout 0.1, Transformers 4.48, no fused kernels.
LORA_GIB = {4: 24.87, 8: 36.08}
# QLoRA in NF4 without double quantization, prepared by PEFT.
QLORA_GIB = {4: 19.25, 8: 34.46}


@pytest.mark.parametrize("batch", [4, 8])
@pytest.mark.parametrize(("precision", "table"), [("bfloat16", LORA_GIB), ("nf4", QLORA_GIB)])
def test_the_loss_is_the_peak_of_adapters(batch: int, precision: str, table: dict[int, float]) -> None:
    """Fourteen bytes per token and entry of the vocabulary, and the float32 residual of QLoRA: within 1 %."""
    adapter = Lora(target_modules="attention", dropout=True, float32_residual=precision == "nf4")
    workload = Workload(
        precision=precision,
        batch=batch,
        context_tokens=4096,
        optimizer="adamw-bf16",
        mixed_precision=False,
        checkpointing="full",
        loss_kernel="shifted",
        accumulation_steps=1,
        lora=adapter,
        runtime_bytes=0,
    )
    assert estimate_training(architecture("mistral-7b"), workload).total / GIB == pytest.approx(table[batch], rel=0.01)


# Qwen1.5 and Qwen2 speed benchmarks (QwenLM/Qwen3 at 1dda957 and 81a7eff; Transformers 4.38, A100): prompt, then 2,048
# generated tokens, one sequence: GiB allocated at the peak.
LEGACY_GIB = {
    ("qwen1.5-7b", 1): 16.90,
    ("qwen1.5-7b", 30720): 62.29,
    ("qwen2-7b", 1): 14.92,
    ("qwen2-7b", 30720): 42.62,
}


@pytest.mark.parametrize(("run", "measured"), LEGACY_GIB.items())
def test_transformers_before_4_45_is_met(run: tuple[str, int], measured: float) -> None:
    """Two caches in every step, a rotary table in every layer, logits of the whole prompt: within 1 %."""
    workload = Workload(
        context_tokens=run[1] + 2048,
        prompt_tokens=run[1],
        engine="transformers-legacy",
        statistic="allocated",
    )
    estimate = estimate_inference(architecture(run[0]), workload)
    assert estimate.total / GIB == pytest.approx(measured, rel=0.01)
    assert estimate.components == max(estimate.timeline, key=lambda moment: moment.total).components


# fms-acceleration at 876e2ed, a100_80gb.csv: GPT-BigCode's SantaCoder, NF4, 2,048 tokens, one A100: GiB allocated.
LAYER_NORM_NF4_GIB = {("own-format", 4): 8.519, ("own-format", 8): 16.286, ("own-format-in-place", 8): 13.285}


@pytest.mark.parametrize(("run", "measured"), LAYER_NORM_NF4_GIB.items())
def test_layer_norms_make_a_bitsandbytes_base_compute_in_float32(run: tuple[str, int], measured: float) -> None:
    """Autocast takes LayerNorm in float32 and Linear4bit gives back what it was given: within 3 %."""
    config = {
        "model_type": "gpt_bigcode",
        "n_embd": 2048,
        "n_layer": 24,
        "n_head": 16,
        "n_inner": 8192,
        "n_positions": 2048,
        "vocab_size": 49280,
        "multi_query": True,
    }
    workload = Workload(
        precision="nf4",
        batch=run[1],
        context_tokens=2048,
        optimizer="adamw",
        mixed_precision=False,
        checkpointing="full",
        accumulation_steps=1,
        loss_kernel=run[0],
        lora=Lora(rank=16, target_modules=("c_attn",)),
        statistic="allocated",
    )
    estimate = estimate_training(architecture_from_hf_config(config), workload)
    assert estimate.total / GIB == pytest.approx(measured, rel=0.03)


def test_rms_norms_leave_a_bitsandbytes_base_in_16_bits() -> None:
    """Llama's norm is plain Python that autocast leaves alone: the checkpoints are those of a 16-bit base."""
    lora = Workload(context_tokens=512, checkpointing="full", lora=Lora())
    kept = [
        next(
            one.bytes
            for one in estimate_training(architecture("llama-3-8b"), load).components
            if one.name == "activations"
        )
        for load in (lora, replace(lora, precision="nf4"))
    ]
    assert kept[0] == kept[1]


def test_a_compiled_loss_keeps_the_logits_in_16_bits_only() -> None:
    """Two bytes per entry at the end of the forward pass, four at the start of the backward pass."""
    workload = Workload(context_tokens=1024, loss_kernel="compiled")
    moments = estimate_training(architecture("llama-3-8b"), workload).timeline[:2]
    found = [next(one.bytes for one in moment.components if one.name == "logits") for moment in moments]
    assert found == [each * 1024 * 128256 + 8 * 1024 for each in (2, 4)]


# fms-acceleration at 876e2ed, a100_80gb_liger.csv: FSDP over two A100, 4,096 tokens: GiB allocated on rank 0, by model,
# precision, sequences and loss.
FROZEN_FSDP_GIB = {
    ("llama-3-8b", "nf4", 16, "chunked"): 51.694,
    ("llama-3-8b", "gptq-4bit", 8, "chunked"): 28.331,
    ("llama-3-8b", "nf4", 8, "upcast-in-place"): 44.595,
}


@pytest.mark.parametrize(("run", "measured"), FROZEN_FSDP_GIB.items())
def test_fsdp_keeps_the_inputs_of_frozen_layers_and_their_gradients(
    run: tuple[str, str, int, str], measured: float
) -> None:
    """With reentrant checkpoints, to the end of the backward pass, and none of it at the loss: within 5 %."""
    model, precision, batch, loss = run
    workload = Workload(
        precision=precision,
        batch=batch,
        context_tokens=4096,
        mixed_precision=False,
        checkpointing="full",
        accumulation_steps=1,
        loss_kernel=loss,
        fused_norms=True,
        reentrant=True,
        lora=Lora(rank=16, target_modules=("q_proj", "k_proj", "v_proj", "o_proj"), dropout=True),
        layout=Layout(data=2, zero=3),
        statistic="allocated",
    )
    estimate = estimate_training(architecture(model), workload)
    assert estimate.total / GIB == pytest.approx(measured, rel=0.05)


def test_only_reentrant_checkpoints_of_a_sharded_frozen_base_are_kept() -> None:
    """The same run without one of the three has nothing beside the layer in backward."""
    base = Workload(
        context_tokens=512, checkpointing="full", lora=Lora(), layout=Layout(data=2, zero=3), reentrant=True
    )
    model = architecture("llama-3.2-1b")

    def extra(workload: Workload) -> int:
        moment = next(one for one in estimate_training(model, workload).timeline if one.name == "last_backward")
        return sum(one.bytes for one in moment.components if one.name == "activations/gradients")

    assert extra(base) == 16 * 2 * 512 * 2048
    for other in (replace(base, reentrant=False), replace(base, layout=Layout(data=2)), replace(base, lora=None)):
        assert extra(other) == 0


def test_logits_that_were_copied_to_float32_leave_their_block_behind() -> None:
    """Transformers before 4.46: the device shows 2 bytes per entry more than what is live, and nothing is allocated."""
    workload = Workload(
        batch=8, context_tokens=4096, checkpointing="full", lora=Lora(), statistic="device", accumulation_steps=1
    )
    plain = replace(LOSSES["upcast-in-place"], name="plain", replaced=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calc.logits.LOSSES", {**LOSSES, "plain": plain})
        both = [replace(workload, loss_kernel=name) for name in ("upcast-in-place", "plain")]
        device = [estimate_training(architecture("llama-3-8b"), one).total for one in both]
        live = [
            estimate_training(architecture("llama-3-8b"), replace(one, statistic="allocated")).total for one in both
        ]
    assert device[0] - device[1] == 2 * 8 * 4096 * 128256
    assert live[0] == live[1]
