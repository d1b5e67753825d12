"""The visitor's own overhead, from a log: what the GPU's context and libraries take beyond what is estimated."""

from collections.abc import Iterable, Mapping
from typing import Final

from calc.estimate import Estimate
from calc.paste.log_reading import Log, Reading

NO_RUNTIME: Final = ("no_figure", "engine_reserves", "several_gpus", "partly_on_cpu", "until_failure", "estimate_above")
"""Every reason why the overhead cannot be told."""

BUFFERS: Final = ("weights", "kv_cache", "recurrent_state", "compute_buffer", "output_buffer", "input_buffer")
"""What llama.cpp holds on a device."""


def runtime_of(log: Log, estimate: Estimate) -> int | None:
    """The visitor's own context and libraries, for the field ``runtime`` [B]; ``None`` where it cannot be told.

    * PyTorch's message says it all: what the process has, minus what PyTorch had reserved (other processes come along
      in the forms that do not name the process). The estimate is not looked at.
    * With llama.cpp's buffers: what is in use on the GPU minus its buffers there. The estimate is not looked at either.
    * Otherwise, what is in use on the fullest GPU minus everything else that is estimated.

    What is in use counts other processes as well. The overhead cannot be told without such a figure; while vLLM runs,
    which fills the GPU; for a model divided among GPUs or left partly to the CPU whose buffers are not all there, since
    the estimate is of the whole; from a failure without the figure of what PyTorch had reserved; or when the rest of
    the estimate is already above what was measured.

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
    every, vllm = messages(log), log.settings.get("engine") == "vllm"
    owns = [own for message in reversed(every) if (own := _own_of_message(message)) is not None]
    if not owns and not vllm and (beside_buffers := _own_beside_buffers(log)) is not None:
        owns = [beside_buffers]
    if owns:
        return owns[0]
    fullest = max(log.named("device_used"), key=lambda one: one.bytes, default=None)
    if vllm or fullest is None:
        return "engine_reserves" if vllm else "until_failure" if every else "no_figure"
    if len(on_gpus(log.named("weights"))) > 1:
        return "several_gpus"
    rest = estimate.total - sum(one.bytes for one in estimate.components if one.name == "runtime")
    own = fullest.bytes - rest
    if partly_on_cpu(log) or own < -fullest.step:
        return "partly_on_cpu" if partly_on_cpu(log) else "estimate_above"
    return max(own, 0)


def _own_of_message(message: Mapping[str, list[Reading]]) -> int | None:
    """What a process holds beyond PyTorch's reserve, by one message."""
    reserved = first(message, "reserved")
    if reserved is None:
        allocated, free = first(message, "allocated"), first(message, "reserved_unallocated")
        if allocated is None or free is None:
            return None
        reserved = allocated + free
    steps = sum(one.step for several in message.values() for one in several)
    held = [one.bytes for one in message.get("process_used", ()) if one.bytes >= reserved - steps]
    total, free = first(message, "device_total"), first(message, "device_free")
    if not held and not message.get("process_used") and total is not None and free is not None:
        held = [total - free]
    own = min(held, default=-1) - reserved
    return max(own, 0) if held and own >= -steps else None


def _own_beside_buffers(log: Log) -> int | None:
    """What is in use on the fullest GPU that llama.cpp uses, minus llama.cpp's buffers there."""
    used = {one.device: one for one in log.named("device_used")}
    complete = on_gpus(log.named("weights")).keys() & on_gpus(log.named("compute_buffer")).keys() & used.keys()
    fullest = max(complete, key=lambda device: (used[device].bytes, device), default=None)
    if fullest is None:
        return None
    held = sum(one.bytes for one in log.named(*BUFFERS) if one.device == fullest)
    own = used[fullest].bytes - held
    return max(own, 0) if own >= -used[fullest].step else None


def messages(log: Log) -> list[dict[str, list[Reading]]]:
    """Figures of each of PyTorch's messages, by name."""
    lines = {one.line for one in log.named("allocated")}
    found: dict[int, dict[str, list[Reading]]] = {line: {} for line in sorted(lines)}
    for one in log.readings:
        if one.line in found:
            found[one.line].setdefault(one.name, []).append(one)
    return list(found.values())


def first(message: Mapping[str, list[Reading]], name: str) -> int | None:
    """The first figure of this name in a message [B]."""
    return message[name][0].bytes if name in message else None


def by_device(readings: Iterable[Reading]) -> dict[str, int]:
    """Sum of the readings of each device [B]."""
    found: dict[str, int] = {}
    for one in readings:
        found[one.device] = found.get(one.device, 0) + one.bytes
    return found


def on_gpus(readings: Iterable[Reading]) -> dict[str, int]:
    """The same of GPUs alone."""
    return {device: size for device, size in by_device(readings).items() if device.startswith("GPU")}


def partly_on_cpu(log: Log) -> bool:
    """Whether llama.cpp left layers to the CPU."""
    on_gpu, _, of = log.settings.get("gpu-layers", "0/0").partition("/")
    return int(on_gpu) < int(of)
