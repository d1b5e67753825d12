"""From the memory that tensors take to what each instrument shows.

* ``allocated``: the bytes of live tensors, rounded up to 512 each (``torch.cuda.max_memory_allocated``);
* ``reserved``: what PyTorch's caching allocator has taken from the device; freed blocks stay in it, so it depends on
  the order and sizes of everything that came before;
* ``device``: what ``nvidia-smi`` shows: reserved, and the context with its libraries;
* ``needed``, the default: allocated and the context. Under it a run cannot be; the reserve is in the high end.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from calc.errors import InvalidInput
from calc.estimate import Component, ranged
from calc.units import MIB

CUBLAS_WORKSPACE = 8_519_680
"""Bytes that PyTorch gives cuBLAS on Ampere: ``CUBLAS_WORKSPACE_CONFIG`` is ``:4096:2:16:8`` by default."""

STATISTICS = ("needed", "allocated", "reserved", "device")

# A CUDA context with its libraries took 508 to 1,428 MiB beyond what the allocator had reserved, over published runs of
# 2023 to 2026 on A100s (nvidia-smi minus reserved). The default is the middle of that range.
RUNTIME_LOW, RUNTIME_HIGH = 508 * MIB, 1428 * MIB
# What decides is whether the CUDA modules are loaded as they are needed, the default from CUDA 12.2 on, or all at once.
RUNTIME_LAZY, RUNTIME_EAGER = 510 * MIB, 1375 * MIB
RUNTIME_DEFAULT = (RUNTIME_LOW + RUNTIME_HIGH) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Reserved beyond allocated, in per cent of what is allocated; and the most that is allocated and not listed."""

    low: int
    usual: int
    high: int
    unlisted: int


# Reserved over allocated in published inference runs of Transformers: 1.00 to 1.33, median 1.04 (optimum-benchmark).
INFERENCE = Reserve(low=0, usual=4, high=20, unlisted=3)
# Megatron-LM 1.06 to 1.24 (BigScience, median 1.20), 1.03 to 1.09 (SimuMax on B200); 1.14 to 1.35 in training issues.
TRAINING = Reserve(low=2, usual=12, high=28, unlisted=8)


def instrument(
    statistic: str, components: Iterable[Component], reserve: Reserve, runtime_bytes: int | None
) -> tuple[Component, ...]:
    """What an instrument shows beyond the tensors.

    Raises:
        InvalidInput: ``unknown_choice``, with the known statistics.
    """
    if statistic not in STATISTICS:
        raise InvalidInput("unknown_choice", place="statistic", value=statistic, known=STATISTICS)
    found = []
    allocated = sum(one.bytes for one in components)
    if statistic != "needed":
        found.append(workspace(allocated, reserve.unlisted))
    if statistic in ("reserved", "device"):
        sizes = {"low": allocated * reserve.low // 100, "high": allocated * reserve.high // 100}
        terms = {"M": allocated, "z": reserve.usual}
        found.append(ranged("runtime/reserve", "M * z / 100", terms, ("cuda-allocator",), **sizes))
    if statistic in ("needed", "device"):
        found.append(runtime(runtime_bytes))
    return tuple(found)


def workspace(allocated: int, unlisted: int) -> Component:
    """What is allocated and not listed: cuBLAS's workspace (8.125 MiB on Ampere) and small tensors, such as masks,
    position ids and what kernels need while they run.

    Published peaks of inference are 0 to 3 % above the tensors that are listed here, half a per cent in the middle.
    """
    terms = {"O": CUBLAS_WORKSPACE, "M": allocated}
    high = allocated * unlisted // 100 + 8 * CUBLAS_WORKSPACE
    return ranged("runtime/workspace", "O + M / 200", terms, ("cuda-allocator",), low=0, high=high)


def runtime(given: int | None) -> Component:
    """The context and libraries of the device: what the visitor gave, or the range of published runs."""
    if given is not None:
        return ranged("runtime", "O", {"O": given}, (), low=given, high=given)
    return ranged("runtime", "O", {"O": RUNTIME_DEFAULT}, ("cuda-context-2026",), low=RUNTIME_LOW, high=RUNTIME_HIGH)
