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
    """Reserved beyond allocated, in per cent; and the most that is allocated and not listed.

    ``of_working``: the per cents are of what comes and goes (caches, transients, logits). Weights are allocated once,
    in order, and leave no holes.
    """

    low: int
    usual: int
    high: int
    unlisted: int
    of_working: bool = False


# Llama 2 7B in 16 bits, 256 tokens, 16, 32 and 64 sequences: reserved beyond allocated 1.17, 2.33 and 4.82 GiB, where
# cache and logits take 2.75, 5.50 and 11.0: 42 to 44 % of them, and 1.00 to 1.33 of the whole (optimum-benchmark).
INFERENCE = Reserve(low=5, usual=40, high=60, unlisted=3, of_working=True)
RESERVED_SHARE = 4
"""The median of reserved beyond allocated in those runs, in per cent of the whole."""
# Megatron-LM 1.06 to 1.24 (BigScience, median 1.20), 1.03 to 1.09 (SimuMax on B200); 1.14 to 1.35 in training issues.
TRAINING = Reserve(low=2, usual=12, high=28, unlisted=8)
# FSDP holds blocks back until another stream is done with them (``record_stream``): up to 1.47 in a 405B run.
SHARDED = Reserve(low=2, usual=16, high=40, unlisted=8)
ALONE = Reserve(low=0, usual=5, high=20, unlisted=8)
"""Training on one GPU, where no communication holds blocks back."""


def instrument(
    statistic: str,
    components: tuple[Component, ...],
    reserve: Reserve,
    runtime_bytes: int | None,
    *,
    every_part: int = 0,
) -> tuple[Component, ...]:
    """What an instrument shows beyond the tensors.

    ``every_part`` is the sum of all parts, each at its largest moment [B]: blocks that one moment freed are rarely of
    the size that the next one asks for, so the allocator keeps both; with expandable segments it does not, and
    0 says so. Published device figures of training are that sum:
    within 2 % for a chunked loss on one GPU, 5 to 10 % in the middle of all (fms-acceleration, 250 runs).

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
        base = _working(components) if reserve.of_working else allocated
        sizes = {"low": base * reserve.low // 100, "high": base * reserve.high // 100}
        terms = {"M": base, "z": reserve.usual}
        expression = "M * z / 100"
        if every_part:
            terms["M_s"] = max(every_part, base)
            expression = f"max(M_s - M, {expression})"
            sizes["high"] = max(sizes["high"], (every_part - base) * 3 // 2)
        found.append(ranged("runtime/reserve", expression, terms, ("cuda-allocator", "fms-acceleration"), **sizes))
    if statistic in ("needed", "device"):
        found.append(runtime(runtime_bytes))
    return tuple(found)


def _working(components: Iterable[Component]) -> int:
    return sum(one.bytes for one in components if one.name.partition("/")[0] != "weights")


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
