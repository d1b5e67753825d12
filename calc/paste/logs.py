"""Figures of memory in a pasted log: which program printed them, what they say, and the inputs that it names.

Any part of a log will do, with whatever stands before its lines: times, process names, ``vllm-1  | `` of Docker
Compose, colours, Windows line ends. Several programs may be in one text: an engine's log and ``nvidia-smi`` after it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from calc.errors import InvalidInput
from calc.paste.log_compare import Comparison, beside
from calc.paste.log_llama import read_llama
from calc.paste.log_pytorch import read_pytorch
from calc.paste.log_reading import FAILURES, READINGS, SETTINGS, Found, Kind, Log, Reading
from calc.paste.log_runtime import no_runtime_reason, runtime_of
from calc.paste.log_smi import read_nvidia, read_rocm
from calc.paste.log_vllm import read_vllm

__all__ = [
    "FAILURES",
    "READINGS",
    "SETTINGS",
    "Comparison",
    "Log",
    "Reading",
    "beside",
    "no_runtime_reason",
    "read_log",
    "runtime_of",
]

MOST_LETTERS: Final = 2_000_000
"""Longest text."""

LONGEST_LINE: Final = 16_384
"""What follows in a longer line is not looked at."""

_READERS: Final[tuple[tuple[Kind, Callable[[Sequence[str]], Found]], ...]] = (
    ("vllm", read_vllm),
    ("llama.cpp", read_llama),
    ("pytorch-oom", read_pytorch),
    ("nvidia-smi", read_nvidia),
    ("rocm-smi", read_rocm),
)
"""From what says most about memory to what says least."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0x200B, 0xFEFF))
_COMPOSE = re.compile(r"^[\w.-]{1,64}-\d{1,4}\s{1,40}\| ?")
"""Name of a container before each line (``docker compose logs``)."""
_WORDS = re.compile(r"\w")


def read_log(text: str) -> Log | None:
    """What a text says about memory, or ``None`` if it holds nothing that is known.

    Example:
        >>> log = read_log("load_tensors:        CUDA0 model buffer size =  4403.49 MiB")
        >>> log.kind, log.readings[0].name, log.readings[0].device, log.readings[0].bytes
        ('llama.cpp', 'weights', 'GPU 0', 4617393930)
        >>> read_log("nothing of the kind") is None
        True

    Raises:
        InvalidInput: ``too_long``, with the longest that is read.
    """
    if len(text) > MOST_LETTERS:
        raise InvalidInput("too_long", place="log", maximum=MOST_LETTERS)
    lines = _lines(text)
    every = [(kind, reader(lines)) for kind, reader in _READERS]
    kind = _kind(every)
    if kind is None:
        return None
    readings = sorted((one for _, found in every for one in found.readings), key=lambda one: one.line)
    understood = set[int]().union(*(found.lines for _, found in every))
    silent = sum(1 for number, line in enumerate(lines, 1) if number not in understood and _WORDS.search(line))
    return Log(kind=kind, readings=tuple(readings), settings=_settings(every), not_understood=silent)


def _lines(text: str) -> list[str]:
    """Lines as the visitor counts them, without colours and control characters."""
    plain = _ESCAPES.sub("", text).translate(_CONTROLS)
    return [_COMPOSE.sub("", line[:LONGEST_LINE]) for line in re.split(r"\r\n|\n|\r", plain)]


def _kind(every: list[tuple[Kind, Found]]) -> Kind | None:
    """The first program with figures, or else the first that told something of the run."""
    for kind, found in every:
        if found.readings:
            return kind
    return next((kind for kind, found in every if found.settings), None)


def _settings(every: list[tuple[Kind, Found]]) -> Mapping[str, str]:
    merged: dict[str, str] = {}
    for kind, found in every:
        if kind in ("vllm", "llama.cpp") and (found.readings or found.settings):
            merged.setdefault("engine", kind)
        for key, value in found.settings.items():
            merged.setdefault(key, value)
    return MappingProxyType(merged)
