"""Configurations of trainers as mappings: Axolotl, LLaMA-Factory, DeepSpeed.

Keys: Axolotl 0.12 (``docs/config-reference``), LLaMA-Factory 0.9 (``src/llamafactory/hparams``), DeepSpeed
(https://www.deepspeed.ai/docs/config-json/).
"""

from collections.abc import Callable, Mapping
from typing import Final

from calc.paste.names import model_of
from calc.paste.pasted import Pasted, Reader
from calc.settings.training import OPTIMIZERS

OPTIMIZER_NAMES: Final = {
    **{written: name for name, written in OPTIMIZERS.items()},
    **dict.fromkeys(("adamw_torch", "adamw_torch_fused", "adamw_hf", "adam", "adamw"), "adamw"),
    "adamw_8bit": "adamw-8bit",
    "paged_adamw_8bit": "paged-adamw-8bit",
    "lion": "lion",
    "galore_adamw": "galore",
}
"""Optimizers by the names that trainers give them."""

ATTENTION: Final = frozenset(("q_proj", "k_proj", "v_proj", "o_proj"))
QUERY_VALUE: Final = frozenset(("q_proj", "v_proj"))
ALL: Final = ATTENTION | {"gate_proj", "up_proj", "down_proj"}

Put = Callable[[Reader, object, str], None]

NO_EFFECT: Final = frozenset(
    (
        *("datasets", "dataset", "dataset_dir", "dataset_prepared_path", "val_set_size", "output_dir", "num_epochs"),
        *(
            "learning_rate",
            "lr_scheduler",
            "lr_scheduler_type",
            "warmup_steps",
            "warmup_ratio",
            "weight_decay",
            "template",
        ),
        *(
            "logging_steps",
            "save_steps",
            "saves_per_epoch",
            "evals_per_epoch",
            "eval_steps",
            "save_strategy",
            "plot_loss",
        ),
        *("num_train_epochs", "max_samples", "preprocessing_num_workers", "overwrite_cache", "overwrite_output_dir"),
        *(
            "lora_alpha",
            "wandb_project",
            "wandb_entity",
            "report_to",
            "do_train",
            "tokenizer_type",
            "model_type",
            "seed",
        ),
        *("chat_template", "special_tokens", "train_on_inputs", "group_by_length", "logging_dir", "trust_remote_code"),
        *("strict", "tf32", "wandb_watch", "wandb_name", "wandb_log_model", "hub_model_id", "resume_from_checkpoint"),
        *(
            "gradient_clipping",
            "steps_per_print",
            "wall_clock_breakdown",
            "train_batch_size",
            "scheduler",
            "is_llama_derived_model",
        ),
        *(
            "save_total_limit",
            "max_steps",
            "ddp_timeout",
            "dataloader_num_workers",
            "cutoff_strategy",
            "save_only_model",
        ),
    )
)
"""Keys that do not change the memory of the GPU."""


def read_training(config: Mapping[str, object]) -> Pasted | None:
    """The inputs that a trainer's configuration stands for; ``None`` if it is none that is known.

    >>> found = read_training({"base_model": "meta-llama/Meta-Llama-3-8B", "adapter": "qlora", "lora_r": 32})
    >>> found.kind, found.calculator, dict(found.inputs)
    ('axolotl', 'lora', {'method': 'qlora', 'model': 'llama-3-8b', 'rank': '32'})
    """
    if "base_model" in config:
        return _axolotl(config)
    if "model_name_or_path" in config or "finetuning_type" in config:
        return _llama_factory(config)
    if "zero_optimization" in config or "train_micro_batch_size_per_gpu" in config:
        return _deepspeed(config)
    return None


def _read(reader: Reader, config: Mapping[str, object], known: Mapping[str, Put]) -> None:
    for key, value in config.items():
        said = f"{key}: {value}"
        if key in known:
            known[key](reader, value, said)
        elif key in NO_EFFECT or value in (None, "", [], {}):
            reader.pass_over(str(key))
        else:
            reader.miss(said)


def _to(field: str) -> Put:
    return lambda reader, value, said: reader.put(field, value, said)


def _model(reader: Reader, value: object, said: str) -> None:
    found = model_of(str(value))
    if found:
        reader.put("model", found, said)
    else:
        reader.miss(said)


def _optimizer(reader: Reader, value: object, said: str) -> None:
    name = OPTIMIZER_NAMES.get(str(value).lower())
    if name is None:
        reader.miss(said)
        return
    reader.put("optimizer", name, said)
    if name == "adamw" and str(value) == "adamw_torch":
        reader.put("step-kernel", "foreach", said)


def _checkpointing(reader: Reader, value: object, said: str) -> None:
    reader.put("checkpointing", "full" if value else "none", said)


def _dropout(reader: Reader, value: object, said: str) -> None:
    if isinstance(value, int | float):
        reader.put("adapter-dropout", value > 0, said)
    else:
        reader.miss(said)


def _targets(reader: Reader, value: object, said: str) -> None:
    names = frozenset(value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ())
    names = frozenset(str(name).strip() for name in names)
    known = {ATTENTION: "attention", QUERY_VALUE: "q-v", ALL: "all-linear"}
    if names in known or names & {"all", "all-linear"}:
        reader.put("targets", known.get(names, "all-linear"), said)
    else:
        reader.miss(said)


def _liger(reader: Reader, value: object, said: str) -> None:
    if value:
        reader.put("loss", "chunked", said)
    else:
        reader.pass_over(said)


def _quiet(reader: Reader, _: object, said: str) -> None:
    reader.pass_over(said)


def _half(precision: str) -> Put:
    def put(reader: Reader, value: object, said: str) -> None:
        if value in (True, "true", "auto", "full") and reader.calculator == "gpu":
            reader.put("precision", precision, said)
        else:
            reader.pass_over(said)

    return put


COMMON: Final[Mapping[str, Put]] = {
    "gradient_accumulation_steps": _to("accumulation"),
    "gradient_checkpointing": _checkpointing,
    "lora_dropout": _dropout,
    "bf16": _half("bfloat16"),
    "fp16": _half("float16"),
    "load_in_4bit": _quiet,
    "load_in_8bit": lambda reader, value, said: reader.miss(said) if value else reader.pass_over(said),
}


def _axolotl(config: Mapping[str, object]) -> Pasted:
    adapter = config.get("adapter")
    reader = Reader("lora" if adapter in {"lora", "qlora"} else "gpu")
    if reader.calculator == "gpu":
        reader.inputs["workload"] = "training"
    else:
        reader.inputs["method"] = str(adapter)
    known: dict[str, Put] = {
        **COMMON,
        "adapter": lambda reader, value, said: None if value in {"lora", "qlora", None, ""} else reader.miss(said),
        "base_model": _model,
        "sequence_len": _to("context"),
        "micro_batch_size": _to("batch"),
        "optimizer": _optimizer,
        "lora_r": _to("rank"),
        "lora_target_modules": _targets,
        "lora_target_linear": lambda reader, value, said: _targets(reader, ["all"], said) if value else None,
        "peft_use_dora": _to("dora"),
        "liger_fused_linear_cross_entropy": _liger,
        "flash_attention": _quiet,
    }
    _read(reader, config, known)
    return reader.done("axolotl")


def _llama_factory(config: Mapping[str, object]) -> Pasted:
    kind = config.get("finetuning_type", "lora")
    reader = Reader("lora" if kind == "lora" else "gpu")
    if reader.calculator == "gpu":
        reader.inputs["workload"] = "training"
    else:
        reader.inputs["method"] = "qlora" if config.get("quantization_bit") == 4 else "lora"

    def quantization(reader: Reader, value: object, said: str) -> None:
        if value != 4:
            reader.miss(said)

    known: dict[str, Put] = {
        **COMMON,
        "finetuning_type": lambda reader, value, said: None if value in {"lora", "full"} else reader.miss(said),
        "stage": lambda reader, value, said: reader.pass_over(said) if value in {"sft", "pt"} else reader.miss(said),
        "model_name_or_path": _model,
        "cutoff_len": _to("context"),
        "per_device_train_batch_size": _to("batch"),
        "optim": _optimizer,
        "lora_rank": _to("rank"),
        "lora_target": _targets,
        "quantization_bit": quantization,
        "use_dora": _to("dora"),
        "enable_liger_kernel": _liger,
        "disable_gradient_checkpointing": lambda reader, value, said: _checkpointing(reader, not value, said),
        "flash_attn": _quiet,
    }
    _read(reader, config, known)
    return reader.done("llama-factory")


def _deepspeed(config: Mapping[str, object]) -> Pasted:
    reader = Reader("gpu")
    reader.inputs["workload"] = "training"
    _read(
        reader,
        config,
        {
            "train_micro_batch_size_per_gpu": _to("batch"),
            "gradient_accumulation_steps": _to("accumulation"),
            "bf16": _enabled("bfloat16"),
            "fp16": _enabled("float16"),
            "zero_optimization": _zero,
            "optimizer": _typed,
        },
    )
    return reader.done("deepspeed")


def _enabled(precision: str) -> Put:
    def put(reader: Reader, value: object, said: str) -> None:
        enabled = value.get("enabled") if isinstance(value, Mapping) else None
        if enabled is True:
            reader.put("precision", precision, said)
        elif enabled is False:
            reader.pass_over(said)
        else:
            reader.miss(said)

    return put


def _zero(reader: Reader, value: object, said: str) -> None:
    if not isinstance(value, Mapping):
        reader.miss(said)
        return
    reader.put("zero", value.get("stage", 0), said)
    offloads = {name: value.get(f"offload_{name}") for name in ("param", "optimizer")}
    to_cpu = {name: isinstance(one, Mapping) and one.get("device") == "cpu" for name, one in offloads.items()}
    if to_cpu["param"] or to_cpu["optimizer"]:
        reader.put("offload", "all" if to_cpu["param"] else "optimizer", said)
    for name, one in offloads.items():
        if isinstance(one, Mapping) and one.get("device") not in {"cpu", "none"}:
            reader.miss(f"offload_{name}: {one}")


def _typed(reader: Reader, value: object, said: str) -> None:
    _optimizer(reader, value.get("type") if isinstance(value, Mapping) else value, said)
