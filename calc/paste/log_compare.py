"""What a log measured beside what is estimated.

Only figures that mean the same are put side by side. vLLM's pool of the KV cache is not the cache of a workload: it is
whatever was left, so it is compared per request or per token. What a monitor shows while vLLM runs is that reservation
and is not compared at all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from calc.estimate import Component, Estimate
from calc.formula import Formula
from calc.paste.log_reading import Log, Reading
from calc.paste.log_runtime import by_device, first, messages, on_gpus, partly_on_cpu

COMPARISONS: Final = (
    *("weights", "kv_cache", "recurrent_state", "kv_request", "kv_token", "compute_buffer", "activation_peak"),
    *("projected", "allocated", "allocated_and_requested", "device_used"),
)
"""Every name of a comparison, in its order."""

NOTES: Final = (
    *("", "all_devices", "all_gpus", "file_size", "buffers_repeat_weights", "largest_device", "profile_run"),
    *("one_request", "one_token", "other_processes", "partly_on_cpu", "without_context", "until_failure", "at_least"),
)
"""Every note of a comparison; the empty one says nothing."""

FAR_TOKENS: Final = 2**20
"""Contexts by which a cache is seen to grow evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One part, measured and estimated.

    Args:
        name: one of ``COMPARISONS``.
        measured: what the log says [B].
        estimated: what corresponds to it in the estimate [B].
        difference: estimated minus measured, as a fraction of the measured; ``None`` where that is 0.
        note: one of ``NOTES``: what keeps the two from meaning quite the same.
    """

    name: str
    measured: int
    estimated: int
    difference: Fraction | None
    note: str = ""


def beside(log: Log, estimate: Estimate, *, gpus: int = 1) -> tuple[Comparison, ...]:
    """The parts that the log and the estimate both have.

    Args:
        log: what was read.
        estimate: of the same model and inputs; nothing here checks that it is.
        gpus: GPUs among which the estimate is already divided (those of its layout).

    Example:
        >>> from calc.estimate import Component
        >>> from calc.paste.logs import read_log
        >>> log = read_log("INFO Model loading took 15.0000 GiB and 3.1 seconds")
        >>> weights = Component(name="weights", derivation=Formula("P * 2", {"P": 8 * 10**9}), sources=())
        >>> [(one.name, float(round(one.difference, 3))) for one in beside(log, Estimate(components=(weights,)))]
        [('weights', -0.007)]
    """
    vllm = log.settings.get("engine") == "vllm"
    parts: list[Callable[[], Iterator[Comparison]]] = [lambda: _weights(log, estimate, vllm, gpus)]
    if vllm:
        parts += [lambda: _pool(log, estimate, gpus), lambda: _peak(log, estimate)]
    else:
        parts += [lambda: _cache(log, estimate), lambda: _buffers(log, estimate)]
        parts += [lambda: _allocated(log, estimate), lambda: _device(log, estimate)]
    return tuple(one for part in parts for one in part())


def _weights(log: Log, estimate: Estimate, vllm: bool, gpus: int) -> Iterator[Comparison]:
    estimated = estimate.component("weights")
    readings = log.named("weights")
    if not estimated:
        return
    if vllm:
        if readings:
            total, count = _over_gpus(log, _finest(readings))
            yield _compared("weights", total // gpus, estimated, "all_gpus" if count > 1 else "")
        return
    files = log.named("file_weights")
    held, stored = sum(one.bytes for one in readings), sum(one.bytes for one in files)
    if readings and not (files and held > stored + sum(one.step for one in (*readings, *files))):
        several = len({one.device for one in readings}) > 1
        yield _compared("weights", held, estimated, "all_devices" if several else "")
    elif files:
        yield _compared("weights", stored, estimated, "buffers_repeat_weights" if readings else "file_size")


def _pool(log: Log, estimate: Estimate, gpus: int) -> Iterator[Comparison]:
    """vLLM's cache: what it takes for one request of this length, or for a token."""
    caches = [one for one in estimate.components if one.name.partition("/")[0] == "kv_cache"]
    if not caches or any(not {"s", "b"} & one.derivation.terms.keys() for one in caches):
        return
    needed, pools = log.named("kv_needed"), log.named("kv_pool")
    tokens = _whole(log, "max-concurrency-context")
    requests = Fraction(log.settings.get("max-concurrency", "0"))
    if needed and _whole(log, "context"):
        size, count = _over_gpus(log, _finest(needed))
        yield _compared(
            "kv_request", size // gpus, _cache_of(caches, _whole(log, "context")), _note(count, "one_request")
        )
    elif pools and requests and tokens:
        size, count = _over_gpus(log, _finest(pools))
        yield _compared(
            "kv_request", round(size / requests) // gpus, _cache_of(caches, tokens), _note(count, "one_request")
        )
    elif pools and _whole(log, "kv-tokens"):
        even = _cache_of(caches, FAR_TOKENS)
        if 2 * even == _cache_of(caches, 2 * FAR_TOKENS):
            size, count = _over_gpus(log, _finest(pools))
            measured = round(Fraction(size, _whole(log, "kv-tokens"))) // gpus
            yield _compared("kv_token", measured, even // FAR_TOKENS, _note(count, "one_token"))


def _peak(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    peaks = _finest(log.named("activation_peak"))
    estimated = _transient(estimate)
    if peaks and estimated:
        yield _compared("activation_peak", max(one.bytes for one in peaks.values()), estimated, "profile_run")


def _cache(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    """llama.cpp's cache, over all devices."""
    state = estimate.component("kv_cache/state")
    estimated = estimate.component("kv_cache")
    buffers, totals, states = log.named("kv_cache"), log.named("kv_cache_total"), log.named("recurrent_state")
    readings = buffers or totals
    if readings and states and state:
        estimated -= state
    if readings and estimated:
        several = len({one.device for one in readings}) > 1
        yield _compared("kv_cache", sum(one.bytes for one in readings), estimated, "all_devices" if several else "")
    if states and state:
        several = len({one.device for one in states}) > 1
        yield _compared("recurrent_state", sum(one.bytes for one in states), state, "all_devices" if several else "")


def _buffers(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    readings = log.named("compute_buffer")
    sizes = on_gpus(readings) or by_device(readings)
    estimated = _transient(estimate)
    if sizes and estimated:
        yield _compared("compute_buffer", max(sizes.values()), estimated, "largest_device" if len(sizes) > 1 else "")
    projected = log.named("projected")
    if projected:
        yield _compared("projected", projected[-1].bytes, _without(estimate, "runtime"), "without_context")


def _allocated(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    """PyTorch's tensors when an allocation failed: all of them, and with the one that was asked for."""
    fullest = max(messages(log), key=lambda one: first(one, "allocated") or 0, default=None)
    if fullest is None:
        return
    allocated, requested = first(fullest, "allocated") or 0, first(fullest, "requested")
    estimated = _without(estimate, "runtime", "runtime/reserve")
    yield _compared("allocated", allocated, estimated, "until_failure")
    if requested is not None:
        yield _compared("allocated_and_requested", allocated + requested, estimated, "at_least")


def _device(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    fullest = max(log.named("device_used"), key=lambda one: one.bytes, default=None)
    if fullest is not None and len(on_gpus(log.named("weights"))) <= 1:
        note = "partly_on_cpu" if partly_on_cpu(log) else "other_processes"
        yield _compared("device_used", fullest.bytes, estimate.total, note)


def _compared(name: str, measured: int, estimated: int, note: str) -> Comparison:
    difference = Fraction(estimated - measured, measured) if measured else None
    return Comparison(name=name, measured=measured, estimated=estimated, difference=difference, note=note)


def _note(count: int, otherwise: str) -> str:
    return "all_gpus" if count > 1 else otherwise


def _finest(readings: Iterable[Reading]) -> dict[str, Reading]:
    """Of each device, the figure printed most finely; of equal ones, the last."""
    found: dict[str, Reading] = {}
    for one in readings:
        if one.device not in found or one.step <= found[one.device].step:
            found[one.device] = one
    return found


def _over_gpus(log: Log, readings: Mapping[str, Reading]) -> tuple[int, int]:
    """The sum over the GPUs of an engine and their number; those that were not printed are like the first."""
    count = max(len(readings), _whole(log, "tensor-parallel", 1) * _whole(log, "pipeline-parallel", 1))
    sizes = [one.bytes for one in readings.values()]
    return sum(sizes) + (count - len(sizes)) * sizes[0], count


def _whole(log: Log, key: str, otherwise: int = 0) -> int:
    value = log.settings.get(key, "")
    return int(value) if value.isdecimal() else otherwise


def _transient(estimate: Estimate) -> int:
    return estimate.component("activations") + estimate.component("logits")


def _without(estimate: Estimate, *names: str) -> int:
    return sum(one.bytes for one in estimate.components if one.name not in names)


def _cache_of(caches: Iterable[Component], tokens: int) -> int:
    """The cache of one sequence of this many tokens, by the formulas of the estimate."""
    return sum(
        Formula(one.derivation.expression, {**one.derivation.terms, "s": tokens, "b": 1}).bytes for one in caches
    )
