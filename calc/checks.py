"""What a workload may not be, said at the field that is wrong."""

from calc.activations import CHECKPOINTING
from calc.dtypes import CACHE_BITS, dtype
from calc.engines import ENGINES
from calc.errors import InvalidInput
from calc.estimate import Workload
from calc.logits import loss_of


def check_workload(workload: Workload) -> None:
    """Refuse numbers below one and unknown choices.

    Raises:
        InvalidInput: ``too_small`` or ``unknown_choice``; ``place`` is the field.
    """
    numbers = {"batch": workload.batch, "context": workload.context_tokens, "steps": workload.accumulation_steps}
    serving = workload.serving
    numbers |= {"ubatch": serving.ubatch, "lora-rank": serving.adapter_rank}
    numbers["max-batched-tokens"] = 1 if serving.batched_tokens is None else serving.batched_tokens
    numbers["prompt"] = 1 if workload.prompt_tokens is None else workload.prompt_tokens
    for place, value in numbers.items():
        if value < 1:
            raise InvalidInput("too_small", place=place, minimum=1)
    for place, value in {
        "prefix-tokens": serving.prefix_tokens,
        "lora-adapters": serving.adapters,
        "gpu-layers": serving.gpu_layers or 0,
    }.items():
        if value < 0:
            raise InvalidInput("too_small", place=place, minimum=0)
    if workload.lora and workload.lora.rank < 1:
        raise InvalidInput("too_small", place="rank", minimum=1)
    if workload.runtime_bytes is not None and workload.runtime_bytes < 0:
        raise InvalidInput("too_small", place="runtime", minimum=0)
    choices = {
        "kv-precision": (workload.kv_precision, ("auto", *CACHE_BITS)),
        "kv-value-precision": (workload.kv_value_precision, ("auto", *CACHE_BITS)),
        "attention-kernel": (workload.attention_kernel, ("flash", "eager")),
        "checkpointing": (workload.checkpointing, CHECKPOINTING),
        "engine": (workload.engine, tuple(ENGINES)),
        "experts": (workload.experts, ("grouped", "loop")),
        "compute-precision": (workload.compute_precision, ("auto", "bfloat16")),
    }
    for place, (choice, known) in choices.items():
        if choice not in known:
            raise InvalidInput("unknown_choice", place=place, value=choice, known=known)
    dtype(workload.precision)
    loss_of(workload.loss_kernel)
