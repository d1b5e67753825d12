"""vLLM's lines about memory, from 0.2 to the V1 engine of 2026.

Sources, in ``vllm-project/vllm``: ``vllm/worker/model_runner.py`` (``Loading model weights took %.4f GB``, V0),
``vllm/worker/worker.py`` (``kv_cache_size=…``, 0.6.4; a line for each figure, 0.6.5, pull request 10511; ``model
weights take …; the rest of the memory reserved for KV Cache is …``, until 0.9),
``vllm/executor/executor_base.py`` (``# CUDA blocks``, ``Maximum concurrency``), ``vllm/v1/worker/gpu_model_runner.py``
(``Model loading took %.4f GiB and %.6f seconds``, ``Graph capturing finished in %.0f secs, took %.2f GiB``),
``vllm/v1/worker/gpu_worker.py`` (``Available KV cache memory``, ``Free memory on device … Actual usage is …``),
``vllm/utils/mem_utils.py`` (``MemoryProfilingResult.__repr__``, ``format_gib``: two decimals, last zeros dropped),
``vllm/v1/core/kv_cache_utils.py`` (``GPU KV cache size``, ``To serve at least one request …``).
"""

import re
from collections.abc import Sequence

from calc.paste.log_reading import SIZE, Found, size

SHORTEST_LINE, LONGEST_LINE = 15, 16_384

DECIMALS = 2
"""What vLLM rounds GiB to where it drops the last zeros."""

_SIZES = tuple(
    (name, word, re.compile(pattern.replace("SIZE", rf"(?<![\w.]){SIZE}")))
    for name, word, pattern in (
        ("weights", "took", r"(?:Model loading|Loading model weights) took SIZE"),
        ("weights", "weights take", r"model weights take\s{1,12}SIZE"),
        ("weights", "weights memory", r"weights memory: SIZE"),
        ("weights", "Actual usage", r"Actual usage is SIZE for weight"),
        ("weights_and_non_torch", "Actual usage", r"Actual usage is SIZE for consumed memory"),
        ("non_torch", "non_torch_memory", r"non_torch_memory(?: takes)?[ \t=]{1,12}SIZE"),
        ("non_torch", "non-torch forward", r"non-torch forward increase memory: SIZE"),
        ("non_torch", "non-torch memory", r"SIZE for non-torch memory"),
        ("activation_peak", "activation peak", r"activation peak memory(?: takes)?\s{1,12}SIZE"),
        ("activation_peak", "torch peak", r"torch peak memory increase: SIZE"),
        ("activation_peak", "peak activation", r"SIZE for peak activation"),
        ("cuda_graphs", "Graph capturing", r"Graph capturing finished in \d{1,6} secs?, took SIZE"),
        ("cuda_graphs", "CUDAGraph memory", r"SIZE for CUDAGraph memory"),
        ("cuda_graphs", "graph pool", r"CUDA graph pool memory: SIZE"),
        ("cuda_graphs_estimated", "Estimated CUDA", r"Estimated CUDA graph memory: SIZE"),
        ("kv_pool", "for KV Cache", r"reserved for KV Cache is SIZE"),
        ("kv_pool", "kv_cache_", r"(?:available_kv_cache_memory[ \t]{1,12}|\bkv_cache_size=)SIZE"),
        ("kv_pool", "KV cache memory:", r"Available KV cache memory: SIZE"),
        ("kv_pool", "available KV cache", r"the available KV cache memory \(SIZE\)"),
        ("kv_pool", "memory in use", r"Current kv cache memory in use is SIZE"),
        ("kv_needed", "KV cache is needed", r"SIZE KV cache is needed"),
        ("device_total", "total_gpu_memory", r"total_gpu_memory[ \t=(]{1,12}SIZE"),
        ("budget", "gpu_memory_utilization", r"gpu_memory_utilization \([0-9.]{1,8}\) = SIZE"),
        ("budget", "GPU memory utilization", r"GPU memory utilization (?:is )?\([0-9.]{1,8}, SIZE\)"),
        ("budget", "Requested memory", r"Requested memory: [0-9.]{1,8} \(util\), SIZE"),
    )
)
_FREE = re.compile(rf"Free memory on device (?:[a-z]{{2,8}}:\d{{1,3}} )?\(([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)/{SIZE}\)")

_SETTINGS = tuple(
    (key, word, re.compile(pattern))
    for key, word, pattern in (
        ("version", "LLM engine", r"Initializing (?:a V[01]|an) LLM engine \(v?([^)]{1,80})\)"),
        ("model", "with config: model=", r"with config: model='([^']{1,400})'"),
        ("context", "max_seq_len=", r"\bmax_seq_len=(\d{1,9})\b"),
        ("context", "max model len", r"Using max model len (\d{1,9})\b"),
        ("context", "max seq len", r"max seq len \((\d{1,9})\)"),
        ("model", "non-default args", r"'model': '([^']{1,400})'"),
        ("context", "non-default args", r"'max_model_len': (\d{1,9})\b"),
        ("tensor-parallel", "non-default args", r"'tensor_parallel_size': (\d{1,4})\b"),
        ("pipeline-parallel", "non-default args", r"'pipeline_parallel_size': (\d{1,4})\b"),
        ("utilization", "non-default args", r"'gpu_memory_utilization': ([0-9.]{1,8})\b"),
        ("precision", "max_seq_len=", r"\bdtype=torch\.(\w{1,20})"),
        ("quantization", "max_seq_len=", r"\bquantization=(\w{1,40})"),
        ("kv-precision", "max_seq_len=", r"\bkv_cache_dtype=(\w{1,20})"),
        ("tensor-parallel", "max_seq_len=", r"\btensor_parallel_size=(\d{1,4})\b"),
        ("pipeline-parallel", "max_seq_len=", r"\bpipeline_parallel_size=(\d{1,4})\b"),
        ("batch-tokens", "max_num_batched_tokens", r"max_num_batched_tokens=(\d{1,9})\b"),
        ("utilization", "gpu_memory_utilization", r"gpu_memory_utilization \(([0-9.]{1,8})\)"),
        ("utilization", "GPU memory utilization", r"GPU memory utilization (?:is )?\(([0-9.]{1,8}),"),
        ("kv-tokens", "KV cache size", r"GPU KV cache size: ([0-9,]{1,20}) tokens"),
        ("kv-blocks", "blocks:", r"# (?:GPU|CUDA|cuda) blocks: (\d{1,12})\b"),
        ("max-concurrency", "Maximum concurrency", r"tokens per request: ([0-9]{1,9}(?:\.[0-9]{1,4})?)x"),
        ("max-concurrency-context", "Maximum concurrency", r"Maximum concurrency for ([0-9,]{1,20}) tokens"),
    )
)
_FAILURES = (
    ("no_memory_for_cache", "No available memory for the cache blocks"),
    ("context_over_cache", "KV cache is needed, which is larger than"),
    ("context_over_cache", "is larger than the maximum number of tokens that can be stored in KV cache"),
    ("over_budget", "on startup is less than desired GPU memory utilization"),
)
_WORKER = re.compile(r"\((?:Ray)?(?:Vllm)?Worker(?:Proc|Wrapper)?[^)\s]{0,20}?(?:_TP| rank=|_)(\d{1,4})[^)]{0,60}\)")
_STAGE = re.compile(r"\(Worker_(PP\d{1,3}_TP\d{1,3})")
_KV_FORMATS = {"auto": "auto", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8"}
_DTYPES = ("bfloat16", "float16", "float32")


def read_vllm(lines: Sequence[str]) -> Found:
    """Weights, peak of the activations, pool of the KV cache and CUDA graphs of each worker."""
    found = Found()
    for number, whole in enumerate(lines, 1):
        if len(whole) < SHORTEST_LINE:
            continue
        line = whole[:LONGEST_LINE]
        device = _device(line)
        for name, word, pattern in _SIZES:
            if word in line and (match := pattern.search(line)):
                _add(found, name, device, (match[1], match[2]), number)
        if "Free memory on device" in line and (match := _FREE.search(line)):
            found.add("device_free", device, size(match[1], match[3], decimals=DECIMALS), number)
            found.add("device_total", device, size(match[2], match[3], decimals=DECIMALS), number)
        for key, word, pattern in _SETTINGS:
            if word in line and (match := pattern.search(line)):
                found.tell(key, match[1].replace(",", ""), number)
        for code, words in _FAILURES:
            if words in line:
                found.tell("failure", code, number)
    _forms(found.settings)
    return found


def _device(line: str) -> str:
    if "Worker" not in line[:400]:
        return "GPU 0"
    if match := _STAGE.search(line[:400]):
        return match[1]
    return f"GPU {match[1]}" if (match := _WORKER.search(line[:400])) else "GPU 0"


def _add(found: Found, name: str, device: str, printed: tuple[str, str], number: int) -> None:
    """Keep a size; a pool below zero is what was missing."""
    amount = size(*printed, decimals=0 if printed[1] == "bytes" else DECIMALS)
    if amount is not None and amount[0] < 0:
        if name != "kv_pool":
            return
        name, amount = "kv_missing", (-amount[0], amount[1])
    found.add(name, device, amount, number)


def _forms(settings: dict[str, str]) -> None:
    """Data types as the form has them; one that it has not is left out, but for ``quantization``, kept as written."""
    quantization = settings.get("quantization", "None")
    if quantization == "None":
        settings.pop("quantization", None)
    if quantization == "fp8":
        settings["precision"] = "fp8"
    elif quantization != "None" or settings.get("precision") not in _DTYPES:
        settings.pop("precision", None)
    if "kv-precision" in settings:
        form = _KV_FORMATS.get(settings["kv-precision"], "")
        form = settings["kv-precision"] if settings["kv-precision"] in _DTYPES else form
        settings["kv-precision"] = form
        if not form:
            del settings["kv-precision"]
