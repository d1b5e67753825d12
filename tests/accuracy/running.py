"""Rows about running a model: which workload they describe."""

import re
from dataclasses import replace

from calc.activations import widest_mlp
from calc.allocator import RUNTIME_EAGER, RUNTIME_LAZY
from calc.architecture import Architecture
from calc.estimate import Estimate, Phase, Workload
from calc.memory import estimate_inference
from calc.simple import simple_inference
from tests.accuracy.precisions import precision
from tests.accuracy.prediction import Prediction
from tests.accuracy.rows import Question, Skip

STATISTICS = {"peak_allocated": "allocated", "peak_reserved": "reserved", "nvidia_smi": "device"}
LAST_LOGITS_ONLY = (4, 45)
"""Transformers computes only the logits it needs since 4.45 (``num_logits_to_keep``)."""
LAST_LOGITS_DATE = (2024, 9)
SDPA_DATE = (2024, 1)
"""Transformers takes PyTorch's scaled_dot_product_attention by default since 4.36."""
CONTEXT_SPREAD = 200 * 2**20
"""How far contexts are from the middle of their kind, in the published runs [B]."""
LAZY_SINCE, LAZY_DATE = (12, 2), (2024, 1)
"""CUDA loads modules as they are needed by default since 12.2; PyTorch's wheels carried 12.1 until 2024."""


def predict(question: Question, architecture: Architecture) -> Prediction:
    """Peak of running the model, and the simple law.

    Raises:
        Skip: for an engine that is not modelled, or a prompt that is not given.
    """
    workload = _workload(question)
    estimate = estimate_inference(architecture, workload)
    copies = max(1, question.integer("gpus") or 1)
    over = _over_devices(question, estimate, copies)
    spare = CONTEXT_SPREAD if workload.statistic in ("needed", "device") else 0
    spare += estimate.total // 50 if workload.statistic == "needed" else 0
    scratch = _scratch(architecture) if workload.precision == "gptq-4bit" else 0
    sure = scratch if "exllamav2" in question.lower("quant_details") else 0
    simple = simple_inference(architecture, precision=workload.precision).bytes
    return Prediction(
        value=max(moment[0] for moment in over) + sure,
        low=max(moment[1] for moment in over) + sure - CONTEXT_SPREAD * (workload.statistic in ("needed", "device")),
        high=max(moment[2] for moment in over) + spare + scratch,
        simple=simple,
    )


def _scratch(architecture: Architecture) -> int:
    """ExLlamaV2's scratch space in AutoGPTQ: float32 outputs of the widest matrix for 8 inputs of 2,048 tokens.

    ``scratch_space_fixed(max_input_len=2048, max_batch_size=8)``, AutoGPTQ 0.5, ``qlinear_exllamav2.py``. Only some
    checkpoints run on that kernel: where the row does not name it, the space is in the high end.
    """
    return 4 * 2048 * 8 * widest_mlp(architecture)


def _over_devices(question: Question, estimate: Estimate, copies: int) -> list[tuple[float, float, float]]:
    """The peak; summed over devices that hold some layers each, every one at its own fullest moment.

    Accelerate's hooks bring what the model returns to the first device (``io_same_device``): before 4.45 that is the
    float32 logits of the prompt and the whole cache, which each layer then fetches again.
    """
    if copies == 1:
        return [(estimate.total, estimate.low, estimate.high)]
    if question["scope"] != "sum_all_gpus":
        raise Skip("share of a device unknown")
    moments = {moment.name: moment for moment in estimate.timeline}
    held = moments["prefill"]
    states = _of(held, "weights")
    filled, transient = _of(held, "kv_cache"), _of(held, "activations")
    cache = _of(moments.get("decode", held), "kv_cache")
    if "first_token" in moments:
        floats = _of(moments["first_token"], "logits")
        last = filled / copies + _of(moments["prompt_logits"], "logits")
        first = max(filled * (1 + 1 / copies) + floats, cache / 2 * (1 + 1 / copies))
        middle = max(filled / copies + transient, cache / 2 / copies)
        total = states + first + last + (copies - 2) * middle
    else:
        total = states + max(filled + copies * transient, cache)
    extra = total / 100
    return [(total + extra / 2, total - 5 * extra, total + 8 * extra)]


def _of(moment: Phase, name: str) -> int:
    return sum(one.bytes for one in moment.components if one.name.partition("/")[0] == name)


def statistic(question: Question) -> str:
    """What the row's instrument counts."""
    if "allocator peak plus context" in question["notes"]:
        return "needed"
    if question["metric"] not in STATISTICS:
        raise Skip("statistic unknown")
    return STATISTICS[question["metric"]]


def _workload(question: Question) -> Workload:
    framework = question.lower("framework")
    prompt, total = question.integer("seq_len"), question.integer("context_len")
    if "generate.py" in framework:
        prompt, total = prompt or 6, total or 200
    if not any(word in framework for word in ("transformers", "generate.py")) or "webui" in framework:
        raise Skip("engine not modelled")
    if "not stated" in framework:
        raise Skip("stack not stated")
    if prompt is None:
        raise Skip("prompt unknown")
    workload = Workload(
        precision=precision(question),
        batch=question.integer("batch_size") or 1,
        context_tokens=max(prompt, total or prompt),
        prompt_tokens=prompt,
        engine="transformers-legacy" if _legacy(question, framework) else "transformers",
        attention_kernel=_kernel(question),
        statistic=statistic(question),
        runtime_bytes=context_bytes(question),
    )
    if workload.statistic in ("reserved", "device") and "legacy" in workload.engine and (total or 0) > prompt + 1:
        raise Skip("cache grown by concatenation: the allocator's cache, not a need")
    if workload.statistic in ("reserved", "device") and workload.precision in ("nf4", "nf4-dq", "int8"):
        raise Skip("quantized while it was loaded: the allocator keeps what that took")
    if "generate.py" in framework and question["context_len"] and (total or 0) > 8192:
        raise Skip("static mask of the context")
    if "int8 kv" in question.lower("quant_details"):
        workload = replace(workload, kv_precision="int8")
    return workload


def context_bytes(question: Question) -> int | None:
    """The context: large where CUDA loads its modules at once (before 12.2), small after."""
    text = question.lower("framework_version")
    cuda = re.search(r"\+cu(\d\d)(\d)|cuda (\d\d)\.(\d)", text)
    if cuda:
        version = tuple(int(part) for part in cuda.groups() if part)
        return RUNTIME_EAGER if version < LAZY_SINCE else RUNTIME_LAZY
    if question.date > (0, 0):
        return RUNTIME_EAGER if question.date < LAZY_DATE else RUNTIME_LAZY
    return None


def _kernel(question: Question) -> str:
    kernel = question.lower("attention_impl")
    if kernel in ("flash", "sdpa") or (kernel != "eager" and question.date >= SDPA_DATE):
        return "flash"
    return "eager"


def _legacy(question: Question, framework: str) -> bool:
    """Whether the stack is from before Transformers kept the last logits only; others keep their own caches."""
    if "generate.py" in framework:
        return False
    version = question.version("transformers")
    if version:
        return version < LAST_LOGITS_ONLY
    return question.date < LAST_LOGITS_DATE
