"""PyTorch's message when an allocation fails, in every form it has had.

* 0.4 to 1.3: ``(GPU 0; 3.81 GiB total capacity; 3.08 GiB already allocated; 55.38 MiB free; 9.78 MiB cached)``;
  (cached and not allocated); 1.4 to 2.0: the same with ``2.46 GiB reserved in total by PyTorch`` at the end;
* 2.1 and later (``c10/cuda/CUDACachingAllocator.cpp``, ``malloc``): ``GPU 0 has a total capacity of 23.65 GiB of
  which 1.2 GiB is free. Process 7 has 22.4 GiB memory in use. 20.00 GiB allowed; Of the allocated memory 21.5 GiB is
  allocated by PyTorch, with 22.00 MiB allocated in private pools (e.g., CUDA Graphs), and 300 MiB is reserved by
  PyTorch but unallocated``; HIP, XPU and NPU write the same words; 2.1 wrote ``capacty``;
* Apple: ``MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB``.

Every figure has two decimals and a unit up to which it fits; ``bytes`` is exact.
"""

import re
from collections.abc import Sequence

from calc.paste.log_reading import SIZE, Found, size

MESSAGE_LINES = 10
"""Most lines that a terminal or a forum breaks the message into."""

MESSAGE_LETTERS = 1500

MOST_MESSAGES = 500

ASKED = "ried to allocate"
"""What every form has: ``Tried to allocate``, or NPU's ``NPUWorkspaceAllocator tried to allocate``."""

_DEVICE = re.compile(r"\b(?:GPU|NPU) (\d{1,3})(?: has a|;)")
_CLAUSES = tuple(
    (name, re.compile(pattern.replace(" ", r"\s{1,4}").replace("SIZE", rf"(?<![\w.]){SIZE}")))
    for name, pattern in (
        ("requested", "[Tt]ried to allocate SIZE"),
        ("device_total", "total capaci?ty of SIZE"),
        ("device_total", "SIZE total capacity"),
        ("device_free", "of which SIZE is free"),
        ("device_free", "SIZE free;"),
        ("device_free", r"SIZE free\)"),
        ("process_used", "process has SIZE memory in use"),
        ("process_used", r"Process [0-9]{1,12} has SIZE memory in use"),
        ("allowed", "SIZE allowed;"),
        ("allowed", "max allowed: SIZE"),
        ("allocated", "allocated memory SIZE is allocated"),
        ("allocated", "SIZE already allocated"),
        ("allocated", "MPS allocated: SIZE"),
        ("other_allocations", "other allocations: SIZE"),
        ("private_pools", "with SIZE allocated in private"),
        ("reserved_unallocated", "SIZE is reserved by PyTorch but"),
        ("reserved", "SIZE reserved in total"),
        ("reserved_unallocated", r"SIZE cached\)"),
    )
)


def read_pytorch(lines: Sequence[str]) -> Found:
    """The figures of each message; a message that is printed again (by each layer of a traceback) counts once."""
    found, known, looked = Found(), set(), 0
    for number, line in enumerate(lines, 1):
        asked = line.find(ASKED)
        if asked < 0 or looked == MOST_MESSAGES:
            continue
        looked += 1
        start = line.rfind("out of memory", max(0, asked - 200), asked)  # Apple's figures come before what was asked
        message, used = _message(lines, number - 1, start if start >= 0 else asked - 1)
        figures = _figures(message)
        if len(figures) > 1:
            found.lines.update(range(number, number + used))
        device = f"GPU {match[1]}" if (match := _DEVICE.search(message)) else "GPU 0"
        if len(figures) > 1 and (device, *figures) not in known:
            known.add((device, *figures))
            found.tell("failure", "out_of_memory", number)
            for name, bytes_and_step in figures:
                found.add(name, device, bytes_and_step, number)
    return found


def _message(lines: Sequence[str], first: int, start: int) -> tuple[str, int]:
    """The message that begins in this line, joined if it was broken, and how many lines it takes."""
    text, used = lines[first][max(0, start) : max(0, start) + MESSAGE_LETTERS], 1
    for line in lines[first + 1 : first + MESSAGE_LINES]:
        if "unallocated" in text or "by PyTorch)" in text or "cached)" in text or ASKED in line:
            break
        if len(text) + len(line) > MESSAGE_LETTERS:
            break
        text, used = f"{text} {line.strip().lstrip('#>*│| ')}", used + 1
    end = text.find(ASKED, text.find(ASKED) + 1)
    return (text if end < 0 else text[:end]), used


def _figures(message: str) -> list[tuple[str, tuple[int, int]]]:
    figures: list[tuple[str, tuple[int, int]]] = []
    for name, pattern in _CLAUSES:
        for match in pattern.finditer(message):
            found = size(match[1], match[2])
            if found is not None and (name == "process_used" or name not in (one for one, _ in figures)):
                figures.append((name, found))
    return figures
