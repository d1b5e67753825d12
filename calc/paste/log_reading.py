"""What is read in a log: figures in bytes, each with how finely it was printed, and the inputs that the log names.

Sizes are binary whatever their label says: vLLM divides by ``2**30`` and wrote GB until 0.8 (``vllm/worker/
model_runner.py``, ``float(2**30)``), llama.cpp divides by ``1024.0`` twice and wrote MB until October 2023
(``llama.cpp``), PyTorch writes GiB for CUDA and GB for Apple's GPUs, both ``2**30`` (``format_size`` in
``c10/cuda/CUDACachingAllocator.cpp`` and in ``aten/src/ATen/mps/MPSAllocator.h`` 1.13).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Final, Literal

from calc.units import GIB, KIB, MIB

Kind = Literal["vllm", "llama.cpp", "pytorch-oom", "nvidia-smi", "rocm-smi"]

READINGS: Final = (
    *("weights", "file_weights", "weights_and_non_torch", "kv_cache", "kv_cache_total", "recurrent_state"),
    *("compute_buffer", "output_buffer", "input_buffer", "gpu_buffers", "host_buffers", "projected", "unaccounted"),
    *("kv_pool", "kv_missing", "kv_needed", "cuda_graphs", "cuda_graphs_estimated", "activation_peak", "non_torch"),
    *("budget", "device_used", "device_total", "device_free", "driver_reserved", "process_used"),
    *("requested", "allocated", "reserved", "reserved_unallocated", "private_pools", "allowed", "other_allocations"),
)
"""Every name of a reading."""

SETTINGS: Final = (
    *("engine", "version", "model", "file", "file-type", "gpu", "precision", "quantization", "kv-precision"),
    *("kv-value-precision", "context", "concurrency", "batch-tokens", "ubatch", "gpu-layers", "flash-attention"),
    *("tensor-parallel", "pipeline-parallel", "utilization", "kv-tokens", "kv-blocks", "max-concurrency"),
    *("max-concurrency-context", "failure"),
)
"""Every key of ``Log.settings``. ``context``, ``concurrency``, ``engine``, ``precision``, ``kv-precision`` and
``kv-value-precision`` hold values of the form's fields; the rest is as the log writes it."""

FAILURES: Final = ("no_memory_for_cache", "context_over_cache", "over_budget", "out_of_memory")
"""Values of the setting ``failure``."""

SIZE: Final = r"(-?[0-9]{1,16}(?:\.[0-9]{1,15})?)\s{0,3}(bytes|B|[KMGT]i?B)(?![A-Za-z])"
"""A number and its unit, as two groups of a pattern. An exponent or more digits than any memory has make no match."""

UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("bytes", "B"), 1),
        **dict.fromkeys(("KiB", "KB"), KIB),
        **dict.fromkeys(("MiB", "MB"), MIB),
        **dict.fromkeys(("GiB", "GB"), GIB),
        **dict.fromkeys(("TiB", "TB"), 1024 * GIB),
    }
)

MOST_BYTES: Final = 2**50
"""Beyond it a figure is a counter that went below zero (PyTorch has printed ``17179869184.00 GiB memory in use``)."""

MOST_READINGS: Final = 2000
"""A log that repeats itself is cut here."""

MOST_LETTERS: Final = 200
"""Longest value of a setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One figure of a log.

    Args:
        name: one of ``READINGS``.
        device: ``GPU 0``, ``CPU``, ``all`` for a sum over devices, or as the log names it.
        bytes: the figure as printed, rounded to a whole byte [B].
        step: distance to the next figure that could have been printed, at least 1 [B].
        line: line of the text, from 1. Figures of one message have the line where it begins.
    """

    name: str
    device: str
    bytes: int
    step: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Everything that was read in a text.

    Args:
        kind: the program that says most about memory, where a text mixes several: an engine before PyTorch's message,
            and that before a monitor.
        readings: in the order of the text.
        settings: inputs that the log names, by keys of ``SETTINGS``.
        not_understood: lines with letters or digits that gave nothing.
    """

    kind: Kind
    readings: tuple[Reading, ...]
    settings: Mapping[str, str]
    not_understood: int

    def named(self, *names: str) -> tuple[Reading, ...]:
        """The readings of these names, in the order of the text."""
        return tuple(one for one in self.readings if one.name in names)


@dataclass(frozen=True, slots=True)
class Found:
    """What one reader has found so far."""

    readings: list[Reading] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def add(self, name: str, device: str, size: tuple[int, int] | None, line: int) -> None:
        """Keep a figure; one that no memory can have is passed over."""
        if size is not None and size[0] >= 0 and len(self.readings) < MOST_READINGS:
            self.readings.append(Reading(name=name, device=device, bytes=size[0], step=size[1], line=line))
            self.lines.add(line)

    def tell(self, key: str, value: str, line: int) -> None:
        """Keep an input; the first one stays, since drafts and restarts come after."""
        text = "".join(letter for letter in value[:MOST_LETTERS] if letter.isprintable()).strip()
        if text:
            self.settings.setdefault(key, text)
        self.lines.add(line)


def size(number: str, unit: str, *, decimals: int = 0) -> tuple[int, int] | None:
    """Bytes and rounding of a printed size; ``None`` if no memory is that large.

    ``decimals`` is how many the program rounds to where it drops the last zeros (vLLM's ``format_gib``).

    >>> size("14.9888", "GB"), size("2", "GiB", decimals=2)
    ((16094101452, 107375), (2147483648, 10737419))
    >>> size("17179869184.00", "GiB") is None
    True
    """
    value = Fraction(number) * UNITS[unit]
    if abs(value) > MOST_BYTES:
        return None
    printed = max(len(number.partition(".")[2]), decimals)
    return round(value), max(1, ceil(Fraction(UNITS[unit], 10**printed)))


def mib(number: str) -> tuple[int, int] | None:
    """Bytes and rounding of a whole number of MiB.

    >>> mib("24564")
    (25757220864, 1048576)
    """
    return size(number, "MiB")
