"""Measured beside estimated: only what means the same, and the overhead of the visitor's own GPU."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators.shared import RUNTIME
from calc.estimate import Component, Estimate
from calc.formula import Formula
from calc.memory import Workload, estimate_inference
from calc.paste.log_compare import COMPARISONS, NOTES, Comparison
from calc.paste.log_runtime import NO_RUNTIME
from calc.paste.logs import Log, beside, no_runtime_reason, read_log, runtime_of
from calc.units import GIB, MIB
from tests.log_samples import LLAMA, NVIDIA, PYTORCH, ROCM, TWO_GPUS, VLLM

PER_TOKEN = 131_072
"""Bytes of a token in Llama 3 8B's cache in 16 bits: 2 × 32 layers × 8 heads × 128 × 2."""


def made(**sizes: int) -> Estimate:
    """An estimate of these components [B]; two underscores are a slash."""
    return Estimate(
        components=tuple(
            Component(name=name.replace("__", "/"), derivation=Formula("N", {"N": size}), sources=())
            for name, size in sizes.items()
        )
    )


def must(text: str) -> Log:
    """What is read in a text that says something."""
    log = read_log(text)
    assert log is not None
    return log


def by_name(text: str, estimate: Estimate, gpus: int = 1) -> dict[str, Comparison]:
    """Comparisons of a text, by name; none comes twice."""
    found = beside(must(text), estimate, gpus=gpus)
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


def buffers(**sizes: int) -> str:
    """llama.cpp's lines for buffers named ``CUDA0__model`` [MiB]."""
    lines = []
    for name, size in sizes.items():
        device, kind = name.split("__")
        lines.append(f"load_tensors:   {device} {kind} buffer size = {size}.00 MiB")
    return "\n".join(lines)


def monitor(used: int, gpu: int = 0) -> str:
    """nvidia-smi's rows for a GPU [MiB]."""
    return (
        f"|   {gpu}  NVIDIA A40                     Off |   00000000:65:00.0 Off |                    0 |\n"
        f"|  0%   30C    P0             81W /  300W |     {used}MiB /  46068MiB |      0%      Default |"
    )


def test_weights_of_vllm_are_the_finest_figure() -> None:
    """Of several figures of the same weights, the one with most decimals is compared with all that are estimated."""
    text = "model weights take 14.99GiB;\nModel loading took 14.9888 GiB and 3.1 seconds\nweights memory: 15.00GiB"
    found = by_name(text, made(weights=8 * GIB, weights__scales=7 * GIB))["weights"]
    assert (found.measured, found.estimated, found.note) == (round(Fraction("14.9888") * GIB), 15 * GIB, "")
    assert found.difference == Fraction(found.estimated - found.measured, found.measured)


def test_weights_of_several_gpus_are_added() -> None:
    """A figure for each worker is a part of the model; workers that print nothing are taken for equal."""
    two = "(Worker_TP0 pid=1) Model loading took 8.0 GiB memory\n(Worker_TP1 pid=2) Model loading took 7.0 GiB memory"
    four = "INFO LLM engine max_seq_len=8192, tensor_parallel_size=4, x\nModel loading took 4.0000 GiB and 1 seconds"
    for text, whole in ((two, 15), (four, 16)):
        found = by_name(text, made(weights=GIB))["weights"]
        assert (found.measured, found.note) == (whole * GIB, "all_gpus")
    assert by_name(four, made(weights=GIB), gpus=4)["weights"].measured == 4 * GIB


def test_buffers_of_llama_are_added_over_devices() -> None:
    """Weights, cache and states on GPU and CPU are compared with the whole of each."""
    text = buffers(CUDA0__model=4000, CPU_Mapped__model=281, CUDA0__KV=900, CPU__KV=124, CUDA0__RS=62)
    found = by_name(text, made(weights=4281 * MIB, kv_cache=1024 * MIB, kv_cache__state=62 * MIB))
    assert {name: (one.measured, one.estimated, one.note) for name, one in found.items()} == {
        "weights": (4281 * MIB, 4281 * MIB, "all_devices"),
        "kv_cache": (1024 * MIB, 1024 * MIB, "all_devices"),
        "recurrent_state": (62 * MIB, 62 * MIB, ""),
    }


def test_without_buffers_of_the_cache_its_total_counts() -> None:
    """Old logs have the total alone; new ones have both, and it is not added to the buffers."""
    total = "llama_new_context_with_model: KV self size  =  256.00 MiB, K (f16):  128.00 MiB, V (f16):  128.00 MiB"
    estimate = made(kv_cache=256 * MIB)
    assert by_name(total, estimate)["kv_cache"].measured == 256 * MIB
    assert by_name(f"{buffers(CUDA0__KV=256)}\n{total}", estimate)["kv_cache"].measured == 256 * MIB


@pytest.mark.parametrize(
    ("loaded", "measured", "note"), [(0, 5000, "file_size"), (4990, 4990, ""), (5600, 5000, "buffers_repeat_weights")]
)
def test_weights_in_two_places_count_once(loaded: int, measured: int, note: str) -> None:
    """Where the buffers are more than the file, the file is compared; a mapped file may be counted twice."""
    text = "print_info: file size   = 5000.00 MiB (4.89 BPW)\n" + (buffers(CUDA0__model=loaded) if loaded else "")
    found = by_name(text, made(weights=GIB))["weights"]
    assert (found.measured, found.note) == (measured * MIB, note)


def test_compute_buffer_is_beside_what_comes_and_goes() -> None:
    """The largest buffer of a GPU is beside activations and logits; that of the CPU is not looked at."""
    text = buffers(CUDA0__compute=500, CUDA1__compute=700, CUDA_Host__compute=9000)
    found = by_name(text, made(activations=100, activations__prefill=50, logits=5))["compute_buffer"]
    assert (found.measured, found.estimated, found.note) == (700 * MIB, 155, "largest_device")


def test_what_llama_plans_leaves_the_context_out() -> None:
    """The projection is beside the total without the context of the GPU."""
    text = "llama_params_fit_impl: projected to use 3185 MiB of device memory vs. 6339 MiB of free device memory"
    found = by_name(text, made(weights=7, runtime=100))["projected"]
    assert (found.measured, found.estimated) == (3185 * MIB, 7)


POOL = (
    "INFO Available KV cache memory: 32.00 GiB\nINFO GPU KV cache size: 262,144 tokens\n"
    "INFO Maximum concurrency for 8,192 tokens per request: 32.00x"
)


@pytest.mark.parametrize(("context", "batch"), [(4096, 1), (8192, 3), (100, 2)])
def test_the_pool_is_compared_by_request(context: int, batch: int) -> None:
    """vLLM's pool divided by the requests that it holds is the cache of one, whatever the workload of the estimate."""
    workload = Workload(engine="vllm", context_tokens=context, batch=batch)
    estimate = estimate_inference(catalog.architecture("llama-3-8b"), workload)
    found = by_name(POOL, estimate)
    assert (found["kv_request"].measured, found["kv_request"].estimated) == (GIB, GIB)
    assert "kv_cache" not in found
    assert "kv_token" not in found


def test_a_windowed_cache_is_compared_by_request() -> None:
    """The formula of the estimate runs again with the context of the log: windows are not taken for even growth."""
    gemma = catalog.architecture("gemma-3-12b")
    one = estimate_inference(gemma, Workload(engine="vllm", context_tokens=8192)).component("kv_cache")
    other = estimate_inference(gemma, Workload(engine="vllm", context_tokens=500, batch=7))
    assert by_name(POOL, other)["kv_request"].estimated == one
    assert "kv_token" not in by_name("\n".join(POOL.split("\n")[:2]), other)


def test_the_pool_is_compared_by_token() -> None:
    """Without the requests it holds, a pool that grows evenly is compared by token."""
    estimate = estimate_inference(catalog.architecture("llama-3-8b"), Workload(engine="vllm"))
    found = by_name("\n".join(POOL.split("\n")[:2]), estimate)["kv_token"]
    assert (found.measured, found.estimated, found.difference) == (PER_TOKEN, PER_TOKEN, Fraction(0))


def test_what_a_request_lacked_is_compared() -> None:
    """The refusal says what one request needs: that, with its context, is beside the estimate."""
    estimate = estimate_inference(catalog.architecture("llama-3-8b"), Workload(engine="vllm", context_tokens=64))
    text = (
        "ValueError: To serve at least one request with the models's max seq len (16384), (2.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (0.18 GiB)."
    )
    found = by_name(text, estimate)["kv_request"]
    assert (found.measured, found.estimated, found.note) == (2 * GIB, 2 * GIB, "one_request")


def test_a_monitor_beside_vllm_is_not_compared() -> None:
    """vLLM fills the GPU: what the monitor shows is its reservation, and nothing is told of the context."""
    log = must(f"{POOL}\n{monitor(40000)}")
    estimate = made(weights=GIB, runtime=GIB)
    assert not {"device_used", "allocated"} & {one.name for one in beside(log, estimate)}
    assert (runtime_of(log, estimate), no_runtime_reason(log, estimate)) == (None, "engine_reserves")


def test_the_fullest_gpu_is_beside_the_total() -> None:
    """Of several GPUs the one in use counts, and what is left of it is the context."""
    estimate = made(weights=20000 * MIB, kv_cache=500 * MIB, runtime=1)
    found = by_name(TWO_GPUS, estimate)["device_used"]
    assert (found.measured, found.estimated, found.note) == (21276 * MIB, estimate.total, "other_processes")
    assert runtime_of(must(TWO_GPUS), estimate) == 776 * MIB


@pytest.mark.parametrize(("rest", "own"), [(1000, 0), (1001, 0), (1002, None), (999, MIB), (0, 1000 * MIB)])
def test_the_context_is_what_the_rest_leaves(rest: int, own: int | None) -> None:
    """What is left is never below 0: within the rounding of the monitor it is 0, and beyond it there is no answer."""
    log, estimate = must(monitor(1000)), made(weights=rest * MIB, runtime=77)
    assert runtime_of(log, estimate) == own
    assert no_runtime_reason(log, estimate) == (None if own is not None else "estimate_above")


def test_the_context_beside_the_buffers_needs_no_estimate() -> None:
    """With llama.cpp's buffers, what is in use minus them is the context, whatever part went to the CPU."""
    held = buffers(CUDA0__model=3000, CPU__model=9000, CUDA0__KV=500, CUDA0__RS=50, CUDA0__compute=250)
    text = f"load_tensors: offloaded 10/33 layers to GPU\n{held}\n{monitor(4300)}"
    assert runtime_of(must(text), made(weights=50 * GIB)) == 500 * MIB
    table = "|   - CUDA0 (RTX 5090)   | 32606 = 26057 + ( 5685 =  4403 +    1024 +     258) +         864 |"
    assert runtime_of(must(table), made()) == 864 * MIB


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (buffers(CUDA0__model=3000), "no_figure"),
        ("memory.total [MiB]\n24564 MiB", "no_figure"),
        (f"{buffers(CUDA0__model=3000, CUDA1__model=3000)}\n{monitor(4000)}", "several_gpus"),
        (f"load_tensors: offloaded 10/33 layers to GPU\n{monitor(4000)}", "partly_on_cpu"),
        (
            "CUDA out of memory. Tried to allocate 1 GiB. GPU 0 has a total capacity of 8 GiB of which 1 GiB is free. "
            "Of the allocated memory 6 GiB is allocated by PyTorch",
            "until_failure",
        ),
        ("Model loading took 15.0000 GiB", "engine_reserves"),
    ],
)
def test_why_the_context_cannot_be_told(text: str, reason: str) -> None:
    """Each reason is told where there is no answer."""
    assert (runtime_of(must(text), made()), no_runtime_reason(must(text), made())) == (None, reason)


FAILED = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.00 GiB is "
    "free. "
    "{}Of the allocated memory 20.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
)
OLD = "Tried to allocate 2.00 GiB (GPU 0; 24.00 GiB total capacity; 20.00 GiB already allocated; 1.00 GiB free; {})"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (FAILED.format("Including non-PyTorch memory, this process has 21.50 GiB memory in use. "), GIB // 2),
        (FAILED.format("Process 1 has 0.50 GiB memory in use. Process 2 has 21.75 GiB memory in use. "), 3 * GIB // 4),
        (FAILED.format(""), 2 * GIB),
        (FAILED.format("Process 1 has 17179869184.00 GiB memory in use. "), 2 * GIB),
        (FAILED.format("Process 1 has 20.99 GiB memory in use. "), 0),
        (FAILED.format("Process 1 has 0.50 GiB memory in use. "), None),
        (OLD.format("21.25 GiB reserved in total by PyTorch"), 7 * GIB // 4),
        (OLD.format("256.00 MiB cached"), 11 * GIB // 4),
    ],
    ids=["this", "two", "unnamed", "overflow", "rounding", "other", "old", "oldest"],
)
def test_the_context_by_the_message_of_pytorch(text: str, own: int | None) -> None:
    """What the process holds beyond what PyTorch has reserved is the context; the estimate is not looked at."""
    assert runtime_of(must(text), made(weights=90 * GIB)) == own


def test_a_failure_is_beside_the_tensors() -> None:
    """What was allocated, and with what was asked for, is beside the total without context and reserve."""
    estimate = made(weights=15 * GIB, activations=6 * GIB, runtime=GIB, runtime__reserve=GIB, runtime__workspace=8)
    found = by_name(FAILED.format(""), estimate)
    assert {name: (one.measured, one.estimated, one.note) for name, one in found.items()} == {
        "allocated": (20 * GIB, 21 * GIB + 8, "until_failure"),
        "allocated_and_requested": (22 * GIB, 21 * GIB + 8, "at_least"),
    }


def test_of_several_failures_the_fullest_counts() -> None:
    """The message with most allocated is compared, and its own request is added."""
    text = FAILED.format("") + "\n" + OLD.format("21.25 GiB reserved in total by PyTorch").replace("20.00", "20.50")
    assert by_name(text, made(weights=GIB))["allocated"].measured == 41 * GIB // 2


def test_a_failure_of_vllm_is_not_compared() -> None:
    """What vLLM had allocated has the pool of the cache in it."""
    assert "allocated" not in by_name(f"{POOL}\n{FAILED.format('')}", made(weights=GIB))


def test_nothing_estimated_is_beside_nothing() -> None:
    """Parts that the estimate lacks are left out, and a measured 0 has no difference."""
    assert set(by_name(buffers(CUDA0__model=1, CUDA0__KV=1, CUDA0__compute=1), made(runtime=1))) == set()
    assert by_name(monitor(0), made(runtime=1))["device_used"].difference is None


def test_the_overhead_fits_the_field() -> None:
    """The largest GPU of a log is within what the field ``runtime`` accepts, in GiB."""
    own = runtime_of(must(monitor(46068)), made())
    assert own is not None
    assert RUNTIME.maximum is not None
    assert own <= RUNTIME.maximum * GIB


EVERY = [text for samples in (VLLM, LLAMA, PYTORCH, NVIDIA, ROCM) for text, _ in samples]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(EVERY), min_size=1, max_size=4),
    st.sampled_from([("llama-3-8b", "vllm"), ("gemma-3-12b", "llama.cpp"), ("mixtral-8x7b", "transformers-legacy")]),
    st.integers(1, 4),
)
def test_any_logs_beside_any_estimate(texts: list[str], model: tuple[str, str], gpus: int) -> None:
    """Whatever is joined, comparisons have known names in their order, and the overhead has a figure or a reason."""
    estimate = estimate_inference(catalog.architecture(model[0]), Workload(engine=model[1], context_tokens=512))
    log = must("\n".join(texts))
    names = [one.name for one in beside(log, estimate, gpus=gpus)]
    assert [name for name in COMPARISONS if name in names] == names
    assert all(one.note in NOTES and one.measured >= 0 for one in beside(log, estimate, gpus=gpus))
    own, reason = runtime_of(log, estimate), no_runtime_reason(log, estimate)
    assert (own is None) == (reason in NO_RUNTIME)
    assert own is None or own >= 0
