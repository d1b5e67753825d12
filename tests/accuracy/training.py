"""Rows about training a model: which workload they describe."""

import re
from dataclasses import replace

from calc.architecture import Architecture
from calc.errors import InvalidInput
from calc.estimate import Lora, Workload
from calc.layout import Layout
from calc.lora import module_names
from calc.memory import estimate_training
from calc.simple import simple_training
from tests.accuracy.precisions import precision
from tests.accuracy.prediction import Prediction
from tests.accuracy.rows import Question, Skip
from tests.accuracy.running import statistic

COMPILED_LOSS = (2025, 5)
"""torchtitan compiles the loss as well since the spring of 2025."""
STATES = ("weights", "adapters", "gradients", "optimizer", "master_weights")
_CHECKPOINTING = {"full": "full", "selective": "selective", "none": "none"}
_OPTIMIZERS = (
    (r"8-?bit", "adamw-8bit"),
    (r"adafactor", "adafactor"),
    (r"lion", "lion"),
    (r"muon", "muon"),
    (r"momentum", "sgd-momentum"),
    (r"\bsgd\b", "sgd"),
    (r"adam", "adamw"),
)


def predict(question: Question, architecture: Architecture) -> Prediction:
    """Peak of training the model on the GPU that was looked at, and the simple law.

    Raises:
        Skip: where the way of training is not described well enough.
    """
    try:
        workload = workload_of(question, architecture)
    except InvalidInput as error:
        raise Skip(f"refused: {error.code}") from error
    stage = re.search(r"\bstage (\d+)", question["notes"])
    try:
        estimate = estimate_training(architecture, workload, stage=int(stage[1]) if stage else None)
    except InvalidInput as error:
        raise Skip(f"refused: {error.code}") from error
    simple = (
        simple_training(architecture, batch=workload.batch, context_tokens=workload.context_tokens).bytes
        / (workload.layout or Layout()).gpus
    )
    if question["metric"] == "allocated_between_steps":
        kept = [one for one in estimate.timeline[-1].components if one.name in STATES]
        size = sum(one.bytes for one in kept)
        return Prediction(size * 1.002, size * 0.99, size * 1.02, simple)
    if "no packing" in question["notes"] and estimate.timeline[-1].total < estimate.total:
        raise Skip("sequence lengths follow the data")
    room = capacity(question) if workload.statistic in ("reserved", "device") else float("inf")
    return Prediction(min(estimate.total, room), min(estimate.low, room), min(estimate.high, room), simple)


def capacity(question: Question) -> float:
    """What the row's GPU has [B]: an allocator that reaches it gives back what it kept.

    The driver keeps about 1 % of the capacity on the box.
    """
    found = re.search(r"(\d+) ?gb", question.lower("gpu_model"))
    return int(found[1]) * 2**30 * 0.99 if found else float("inf")


def workload_of(question: Question, architecture: Architecture) -> Workload:
    """The workload that a row describes."""
    layout, steps = layout_of(question), question.integer("grad_accum") or 1
    framework, text = question.lower("framework"), question.lower("precision_or_quant")
    kept = question["metric"] == "allocated_between_steps"
    if question["metric"] == "nvidia_smi" and "nvidia-smi" not in question.lower("notes"):
        raise Skip("statistic not stated")
    checkpointing = _CHECKPOINTING.get(question.lower("grad_checkpointing"))
    if checkpointing is None:
        raise Skip("checkpointing unknown")
    if "torchtitan" in framework and checkpointing == "selective":
        checkpointing = "operators"
    if "after 1 iteration" in question["notes"] and "fp16" in text:
        raise Skip("first iteration: the optimizer may have skipped its step")
    megatron = "megatron" in framework or "nemo" in framework
    master = question.lower("master_weights") == "yes"
    trainer = "trainer" in framework
    fsdp = layout.zero == 3 and layout.data > 1
    # Accelerate casts what FSDP trains to float32 where bf16 is asked for (0.34 on), unless the run had no AMP at all.
    upcast = trainer and fsdp and question["kind"] == "full_ft" and question.lower("master_weights") != "no"
    sharded_fp32 = "fp32 params" in text or "torchtitan" in framework or upcast
    versions = question.version("transformers") or (99,)
    return Workload(
        experts="loop" if versions < (5,) or question.date < (2025, 12) else "grouped",
        repeated_keys=versions < (4, 48) and bool(re.search(r"mi[sx]tral|qwen2", question.lower("hf_id"))),
        precision="float32" if sharded_fp32 else precision(question),
        compute_precision="bfloat16" if sharded_fp32 else "auto",
        batch=_micro_batch(question, layout, steps),
        context_tokens=_tokens(question),
        optimizer=_optimizer(question, master=master or sharded_fp32),
        mixed_precision=master and not sharded_fp32,
        checkpointing=checkpointing,
        attention_kernel="eager" if question.lower("attention_impl") == "eager" else "flash",
        accumulation_steps=steps,
        gradient_precision="both" if megatron and "fp16" in text else ("float32" if megatron else "auto"),
        step_kernel="fused"
        if megatron or "fused" in question.lower("optimizer") or "torchtitan" in framework
        else "foreach",
        loss_kernel=_loss(question),
        dropout=megatron and "gpt" in question.lower("hf_id"),
        fused_norms=megatron or "foak" in framework or "liger" in framework,
        lora=_lora(question, architecture, fsdp=fsdp) if question["kind"] in ("lora", "qlora") else None,
        layout=layout,
        reentrant=trainer,  # gradient_checkpointing_enable without arguments
        expandable_segments="torchtitan" in framework,  # its run_train.sh sets them
        statistic="allocated" if kept else statistic(question),
    )


def _tokens(question: Question) -> int:
    value = question.integer("seq_len") or question.integer("context_len")
    if value is None:
        raise Skip("sequence unknown")
    return value


def _micro_batch(question: Question, layout: Layout, steps: int) -> int:
    given = question.integer("micro_batch")
    if given:
        return given
    whole = question.integer("batch_size")
    if whole is None:
        raise Skip("micro-batch unknown")
    return max(1, whole // (layout.data * steps))


def layout_of(question: Question) -> Layout:
    """The layout that a row's parallelism describes.

    Raises:
        Skip: where the words or their numbers are not understood.
    """
    words, gpus = question.parallelism, question.integer("gpus") or 1
    tensor, pipeline, context = question.degree("tp"), question.degree("pp"), question.degree("cp")
    if "vpp" in words:
        raise Skip("interleaved pipeline")
    data = question.degree("dp", "fsdp", "fsdp2")
    if data == 1:
        data = max(1, gpus // (tensor * pipeline * context))
    fsdp = any(word in words for word in ("fsdp", "fsdp2", "zero3"))
    zero = 3 if fsdp else question.degree("zero") if "zero" in words else 0
    if "ddp" in words or "ddp (fsdp no_shard)" in words:
        zero = 0
    return Layout(
        data=data,
        zero=zero,
        tensor=tensor,
        sequence=tensor > 1 and "torchtitan" in question.lower("framework"),
        pipeline=pipeline,
        context=context,
        expert=question.degree("ep"),
        offload="all" if "cpu_offload" in words and zero == 3 else "none",
    )


def _optimizer(question: Question, *, master: bool) -> str:
    text = question.lower("optimizer")
    for pattern, name in _OPTIMIZERS:
        if re.search(pattern, text):
            if name == "adamw-8bit" and "paged" in text:
                return "paged-adamw-8bit"
            plain = name == "adamw" and not master and "fp32" not in text and "4bit" not in text
            return "adamw-bf16" if plain and "32" not in question.lower("precision_or_quant") else name
    raise Skip("optimizer unknown")


def _loss(question: Question) -> str:  # noqa: PLR0911 - one line for each stack
    """How the stack computes the loss: by kernel, and by the version of Transformers."""
    framework = question.lower("framework")
    if "liger" in framework:
        return "chunked"
    if "torchtitan" in framework:
        return "compiled" if question.date >= COMPILED_LOSS else "standard"
    if any(word in framework for word in ("megatron", "nemo", "deepspeed")):
        return "in-place"
    version = question.version("transformers")
    fused = "-in-place" if "foak" in framework or "unsloth" in framework else ""
    if "bigcode" in question.lower("hf_id") and (not version or version < (4, 50)):
        return f"own-format{fused}"
    if "trainer" not in framework and not version and (0, 0) < question.date < (2024, 11):
        return "upcast-kept"
    if (version and version < (4, 46)) or (not version and question.date and (0, 0) < question.date < (2024, 11)):
        return f"upcast{fused}"
    if version and version < (4, 50):
        return f"shifted{fused}"
    return "in-place" if fused else "standard"


_MODULES = re.compile(r"[a-z]+_proj|c_attn|c_proj|\bw[123]\b|query_key_value|dense\w*")


def _lora(question: Question, architecture: Architecture, *, fsdp: bool) -> Lora:
    targets, framework = question.lower("lora_targets"), question.lower("framework")
    peft = not any(word in framework for word in ("nemo", "megatron", "torchtune", "unsloth", "lit"))
    lora = Lora(
        rank=question.integer("lora_rank") or 8,
        packed_experts=False,  # the rows are older than Transformers 5
        target_modules="all-linear" if "all" in targets else ("q_proj", "v_proj"),
        dropout=peft,
        float32_residual=peft
        and not fsdp
        and question["kind"] == "qlora"
        and not any(word in framework for word in ("accelerated", "fsdp_qlora")),
        precision="bfloat16",
    )
    known = module_names(architecture)  # PEFT adapts those of the list that the model has
    names = tuple(name for name in dict.fromkeys(_MODULES.findall(targets)) if name in known)
    if names and "all" not in targets:
        lora = replace(lora, target_modules=names)
    if "lm_head" in targets:
        lora = replace(lora, trained_modules=("embedding", "head"))
    return lora
