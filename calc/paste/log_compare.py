"""What a log measured beside what is estimated, and the visitor's own overhead.

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

NO_RUNTIME: Final = ("no_figure", "engine_reserves", "several_gpus", "partly_on_cpu", "until_failure", "estimate_above")
"""Every reason why the overhead cannot be told."""

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


def runtime_of(log: Log, estimate: Estimate) -> int | None:
    """The visitor's own context and libraries, for the field ``runtime`` [B]; ``None`` where it cannot be told.

    * PyTorch's message says it all: what the process has, minus what PyTorch had reserved (other processes come along
      in the forms that do not name the process). The estimate is not looked at.
    * Otherwise, what is in use on the fullest GPU minus everything else that is estimated; other processes come along.

    It cannot be told without such a figure; while vLLM runs, which fills the GPU; for a model that llama.cpp has
    divided among GPUs or left partly to the CPU, since the estimate is of the whole; from a failure without the figure
    of what PyTorch had reserved; or when the rest of the estimate is already above what was measured.

    >>> from calc.paste.logs import read_log
    >>> runtime_of(read_log("| 30%   41C | 950MiB /  4094MiB | 0% |"), Estimate(components=())) // 2**20
    950
    """
    found = _runtime(log, estimate)
    return found if isinstance(found, int) else None


def no_runtime_reason(log: Log, estimate: Estimate) -> str | None:
    """Why ``runtime_of`` gives nothing: one of ``NO_RUNTIME``, or ``None`` where it gives a figure."""
    found = _runtime(log, estimate)
    return found if isinstance(found, str) else None


def _runtime(log: Log, estimate: Estimate) -> int | str:
    messages = _messages(log)
    for message in reversed(messages):
        if (own := _own_of_message(message)) is not None:
            return own
    fullest = max(log.named("device_used"), key=lambda one: one.bytes, default=None)
    if log.settings.get("engine") == "vllm":
        return "engine_reserves"
    if fullest is None:
        return "until_failure" if messages else "no_figure"
    if len(_on_gpus(log.named("weights"))) > 1:
        return "several_gpus"
    if _partly_on_cpu(log):
        return "partly_on_cpu"
    rest = estimate.total - sum(one.bytes for one in estimate.components if one.name == "runtime")
    own = fullest.bytes - rest
    return max(own, 0) if own >= -fullest.step else "estimate_above"


def _own_of_message(message: Mapping[str, list[Reading]]) -> int | None:
    """What a process holds beyond PyTorch's reserve, by one message."""
    reserved = _first(message, "reserved")
    if reserved is None:
        allocated, free = _first(message, "allocated"), _first(message, "reserved_unallocated")
        if allocated is None or free is None:
            return None
        reserved = allocated + free
    steps = sum(one.step for several in message.values() for one in several)
    held = [one.bytes for one in message.get("process_used", ()) if one.bytes >= reserved - steps]
    total, free = _first(message, "device_total"), _first(message, "device_free")
    if not held and not message.get("process_used") and total is not None and free is not None:
        held = [total - free]
    own = min(held, default=-1) - reserved
    return max(own, 0) if held and own >= -steps else None


def _messages(log: Log) -> list[dict[str, list[Reading]]]:
    """Figures of each of PyTorch's messages, by name."""
    lines = {one.line for one in log.named("allocated")}
    found: dict[int, dict[str, list[Reading]]] = {line: {} for line in sorted(lines)}
    for one in log.readings:
        if one.line in found:
            found[one.line].setdefault(one.name, []).append(one)
    return list(found.values())


def _first(message: Mapping[str, list[Reading]], name: str) -> int | None:
    return message[name][0].bytes if name in message else None


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
    sizes = _on_gpus(readings) or _by_device(readings)
    estimated = _transient(estimate)
    if sizes and estimated:
        yield _compared("compute_buffer", max(sizes.values()), estimated, "largest_device" if len(sizes) > 1 else "")
    projected = log.named("projected")
    if projected:
        yield _compared("projected", projected[-1].bytes, _without(estimate, "runtime"), "without_context")


def _allocated(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    """PyTorch's tensors when an allocation failed: all of them, and with the one that was asked for."""
    fullest = max(_messages(log), key=lambda one: _first(one, "allocated") or 0, default=None)
    if fullest is None:
        return
    allocated, requested = _first(fullest, "allocated") or 0, _first(fullest, "requested")
    estimated = _without(estimate, "runtime", "runtime/reserve")
    yield _compared("allocated", allocated, estimated, "until_failure")
    if requested is not None:
        yield _compared("allocated_and_requested", allocated + requested, estimated, "at_least")


def _device(log: Log, estimate: Estimate) -> Iterator[Comparison]:
    fullest = max(log.named("device_used"), key=lambda one: one.bytes, default=None)
    if fullest is not None and len(_on_gpus(log.named("weights"))) <= 1:
        note = "partly_on_cpu" if _partly_on_cpu(log) else "other_processes"
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


def _by_device(readings: Iterable[Reading]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in readings:
        found[one.device] = found.get(one.device, 0) + one.bytes
    return found


def _on_gpus(readings: Iterable[Reading]) -> dict[str, int]:
    return {device: size for device, size in _by_device(readings).items() if device.startswith("GPU")}


def _partly_on_cpu(log: Log) -> bool:
    on_gpu, _, of = log.settings.get("gpu-layers", "0/0").partition("/")
    return int(on_gpu) < int(of)


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
