"""Settings to train a model: Transformers' trainer with PEFT, DeepSpeed, and FSDP through Accelerate.

Names: ``TrainingArguments`` of Transformers 5 and its ``OptimizerNames`` (``training_args.py``), ``LoraConfig`` of PEFT
0.17, DeepSpeed's configuration (https://www.deepspeed.ai/docs/config-json/), Accelerate's ``fsdp_config`` with
``fsdp_version: 2``.
"""

import json
from typing import Final

from calc.architecture import TensorKind
from calc.lora import adapters
from calc.settings.chosen import Chosen
from calc.settings.serving import BITS_AND_BYTES, TORCH, loading
from calc.settings.settings import Settings

OPTIMIZERS: Final = {
    "adamw-8bit": "adamw_bnb_8bit",
    "paged-adamw-8bit": "paged_adamw_8bit",
    "adafactor": "adafactor",
    "lion": "lion_32bit",
    "lion-8bit": "lion_8bit",
    "sgd": "sgd",
}
"""Optimizers by the name that the trainer gives them; AdamW's depends on how its step is computed."""

SAVED: Final = {
    "embedding": (TensorKind.EMBEDDING,),
    "head": (TensorKind.HEAD,),
    "embedding-head": (TensorKind.EMBEDDING, TensorKind.HEAD),
}


def trainer(asked: Chosen) -> Settings:
    """The model, its adapter if it has one, and the arguments of the trainer."""
    method = asked.word("method")
    names = ["AutoModelForCausalLM", *(["BitsAndBytesConfig"] if method == "qlora" else []), "TrainingArguments"]
    lines = [f"from transformers import {', '.join(names)}"]
    lines += ["from peft import LoraConfig, get_peft_model"] if method else []
    model, said = _model(asked)
    lines += ["", model]
    if method:
        lines.append(_adapter(asked))
        said += ["rank", "targets", "dora", "adapter-dropout", "trained-modules"]
    arguments, more = _arguments(asked)
    lines += [arguments, f"tokenizer.model_max_length = {asked.number('context')}"]
    version = "5, PEFT 0.17" if method else "5"
    return asked.settings(
        "peft" if method else "transformers", version, "python", "\n".join(lines), [*said, *more, "context"]
    )


def _model(asked: Chosen) -> tuple[str, list[str]]:
    """How the weights are loaded: in 32 bits where a master copy is kept, since autocast computes in 16."""
    attention = "eager" if asked.word("attention-kernel") == "eager" else "sdpa"
    said = ["attention-kernel", "mixed-precision"]
    if asked.word("method") == "qlora":
        return loading(asked.repository, "nf4-dq", attention), [*said, "precision"]
    precision = asked.word("precision") or "bfloat16"
    if asked.flag("mixed-precision") and precision in TORCH:
        precision = "float32"
    said += ["precision"] if precision in {*TORCH, *BITS_AND_BYTES} else []
    return loading(asked.repository, precision, attention), said


def _adapter(asked: Chosen) -> str:
    rank = asked.number("rank")
    parts = [f"r={rank}", f"lora_alpha={2 * rank}", f"target_modules={_targets(asked)}"]
    parts += [f"lora_dropout={'0.05' if asked.flag('adapter-dropout') else '0.0'}"]
    parts += ["use_dora=True"] if asked.flag("dora") else []
    saved = SAVED.get(asked.word("trained-modules"))
    if saved:
        names = sorted({_last(one.name) for one in asked.architecture().tensors if one.kind in saved})
        parts.append(f"modules_to_save={json.dumps(names)}")
    call = f'adapter = LoraConfig({", ".join(parts)}, task_type="CAUSAL_LM")'
    return f"{call}\nmodel = get_peft_model(model, adapter)"


def _targets(asked: Chosen) -> str:
    """The modules by the names that this model gives them."""
    targets = asked.word("targets")
    if targets == "all-linear":
        return '"all-linear"'
    found = adapters(asked.architecture(), targets)
    return json.dumps(sorted({_last(one.module) for one in found}))


def _last(name: str) -> str:
    return name.removesuffix(".weight").rsplit(".", 1)[-1]


def _arguments(asked: Chosen) -> tuple[str, list[str]]:
    said = ["batch", "accumulation", "step-kernel", "data-parallel"]
    parts = {
        "output_dir": '"salida"',
        "per_device_train_batch_size": str(asked.number("batch")),
        "gradient_accumulation_steps": str(asked.number("accumulation") or 1),
        "gradient_checkpointing": str(asked.word("checkpointing") == "full"),
    }
    said += ["checkpointing"] if asked.word("checkpointing") in {"none", "full"} else []
    optimizer, fused = asked.word("optimizer"), asked.word("step-kernel") != "foreach"
    name = OPTIMIZERS.get(optimizer)
    if optimizer in {"adamw", "adamw-bf16"}:
        name = "adamw_torch_fused" if fused else "adamw_torch"
    if name:
        parts["optim"] = f'"{name}"'
        said.append("optimizer")
    sixteen = asked.word("precision") in {"", "bfloat16", "float16"} or asked.word("compute-precision") == "bfloat16"
    parts["fp16" if asked.word("precision") == "float16" else "bf16"] = str(sixteen)
    said.append("compute-precision")
    if asked.word("loss") == "chunked":
        parts["use_liger_kernel"] = "True"
        said.append("loss")
    said += ["zero", "offload"]  # DeepSpeed's file or FSDP's says them
    inside = "\n".join(f"    {key}={value}," for key, value in parts.items())
    return f"arguments = TrainingArguments(\n{inside}\n)", said


def deepspeed(asked: Chosen) -> Settings:
    """DeepSpeed's configuration: how the states are shared out and what leaves the GPU."""
    stage, offload = asked.number("zero"), asked.word("offload")
    zero: dict[str, object] = {"stage": stage, "overlap_comm": True, "contiguous_gradients": True}
    cpu = {"device": "cpu", "pin_memory": True}
    if offload in {"optimizer", "all"}:
        zero["offload_optimizer"] = cpu
    if offload == "all":
        zero["offload_param"] = cpu
    half = "fp16" if asked.word("precision") == "float16" else "bf16"
    config = {
        "train_micro_batch_size_per_gpu": asked.number("batch"),
        "gradient_accumulation_steps": asked.number("accumulation") or 1,
        half: {"enabled": asked.word("precision") != "float32"},
        "zero_optimization": zero,
    }
    said = ["batch", "accumulation", "zero", "offload", "precision", "data-parallel", *_ELSEWHERE]
    return asked.settings("deepspeed", "0.17", "json", json.dumps(config, indent=2), said)


def fsdp(asked: Chosen) -> Settings:
    """Accelerate's configuration of FSDP with everything sharded."""
    lines = [
        "distributed_type: FSDP",
        f"mixed_precision: {_half(asked)}",
        f"num_processes: {asked.number('data-parallel') or 1}",
        "fsdp_config:",
        "  fsdp_version: 2",
        "  fsdp_reshard_after_forward: true",
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        f"  fsdp_offload_params: {'true' if asked.word('offload') == 'all' else 'false'}",
        "  fsdp_activation_checkpointing: false",  # the trainer's own is set, and both at once are refused
        "  fsdp_state_dict_type: SHARDED_STATE_DICT",
    ]
    said = ["zero", "precision", "mixed-precision", "data-parallel", *_ELSEWHERE]
    said += ["offload"] if asked.word("offload") in {"none", "all"} else []
    return asked.settings("fsdp", "accelerate 1.10", "yaml", "\n".join(lines), said)


def _half(asked: Chosen) -> str:
    precision = asked.word("precision")
    if precision == "float32" and asked.word("compute-precision") != "bfloat16":
        return "no"
    return "fp16" if precision == "float16" else "bf16"


_ELSEWHERE: Final = (
    *("context", "batch", "accumulation", "optimizer", "checkpointing", "attention-kernel", "loss", "step-kernel"),
    *("compute-precision", "gradient-precision", "rank", "targets", "dora", "adapter-dropout", "trained-modules"),
)
"""Inputs that the trainer's own arguments say, beside which these files stand."""
