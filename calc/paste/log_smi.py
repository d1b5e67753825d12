"""Figures of ``nvidia-smi`` (table, ``--format=csv``, ``-q``) and of ``rocm-smi --showmeminfo vram``.

Forms taken from public outputs of drivers 418 to 595: the table had ``GPU PID Type Process name`` until 440 and has
``GPU GI CI PID`` since 450; 550 and later widen the columns; Windows writes WDDM or TCC for the persistence mode.
``rocm-smi`` writes ``GPU[0] : VRAM Total Memory (B): 32195477504`` (``rocm_smi.py``, ``showMemInfo``), or JSON.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from calc.paste.log_reading import MOST_READINGS, Found, Reading, mib, size

LONGEST_ROW = 400
"""No row of these tables is as long."""

_GPU = re.compile(r"\|\s{1,8}(\d{1,3})\s{1,6}(\S[^|]{0,80})\|\s{0,8}[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_MEMORY = re.compile(r"\|([^|]{0,120})\|\s{0,20}(\d{1,9})\s?MiB\s{0,20}/\s{0,20}(\d{1,9})\s?MiB\s{0,20}\|")
_MIG = re.compile(
    r"\|\s{0,8}(\d{1,3})\s{1,8}(\d{1,3})\s{1,8}\d{1,3}\s{1,8}(\d{1,3})\s{1,8}\|"
    r"\s{0,40}(\d{1,9})MiB\s{0,20}/\s{0,20}(\d{1,9})MiB"
)
_PROCESS = re.compile(r"\|\s{1,8}(\d{1,3})\s[^|]{0,200}\s[CGM+]{1,4}\s[^|]{1,200}\s(\d{1,9})MiB\s{0,8}\|")
_MODE = re.compile(r"\s(?:On|Off|N/A|WDDM|TCC|MCDM)\s{0,20}$")
_QUERIED = re.compile(r"GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.")
_FIGURE = re.compile(r"(?:^|\s)(Total|Reserved|Used|Free)\s{1,60}:\s{1,3}(\d{1,9})\s?MiB")
_COLUMN = re.compile(r"(?:^|[\s|])(memory\.(?:used|total|free|reserved)|used_(?:gpu_)?memory) \[MiB\]$")
_CELL = re.compile(r"(\d{1,9})(?:\s?MiB)?")
_ROCM = re.compile(
    r"GPU\[(\d{1,3})\]\s{0,12}:\s{0,4}(?:VRAM|vram) Total (Used )?Memory \(B\):\s{0,8}(\d{1,16})(?!\d)"
    r'|"card(\d{1,3})"|"VRAM Total (Used )?Memory \(B\)":\s{0,4}"?(\d{1,16})(?!\d)'
)

_QUERY_NAMES = {
    **dict.fromkeys(("Total", "memory.total"), "device_total"),
    **dict.fromkeys(("Used", "memory.used"), "device_used"),
    **dict.fromkeys(("Free", "memory.free"), "device_free"),
    **dict.fromkeys(("Reserved", "memory.reserved"), "driver_reserved"),
    **dict.fromkeys(("used_memory", "used_gpu_memory"), "process_used"),
}


@dataclass(slots=True)
class _State:
    """Where in the output the reader is."""

    pending: str = ""
    rows: int = 0
    mig: bool = False
    queried: int = -1
    frame_buffer: bool = False
    columns: list[str] = field(default_factory=list)
    identities: dict[str, int] = field(default_factory=dict)
    peaks: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def peak(self, found: Found, name: str, device: str, printed: tuple[int, int] | None, line: int) -> None:
        """Keep the largest figure of each device: output is often repeated (``-l``, ``watch``)."""
        if printed is None:
            return
        found.lines.add(line)
        known = self.peaks.get((name, device))
        if printed[0] > known.bytes if known else len(self.peaks) < MOST_READINGS:
            reading = Reading(name=name, device=device, bytes=printed[0], step=printed[1], line=line)
            self.peaks[name, device] = reading


def read_nvidia(lines: Sequence[str]) -> Found:
    """Used, total and free memory of each GPU, and that of each process."""
    found, state = Found(), _State()
    for number, line in enumerate(lines, 1):
        if not line.strip() or len(line) > LONGEST_ROW:
            continue
        if "|" in line and "," not in line.partition("|")[0]:
            _table(line, number, state, found)
        if state.columns or "[MiB]" in line:
            _csv(line, number, state, found)
        _query(line, number, state, found)
        if "VLLM::" in line and number in found.lines:  # the name that vLLM gives its processes since 0.10
            found.tell("engine", "vllm", number)
    found.readings.extend(state.peaks.values())
    return found


def _table(line: str, number: int, state: _State, found: Found) -> None:
    if "MIG devices" in line:
        state.mig = True
    elif "Processes:" in line or "NVIDIA-SMI" in line:
        state.mig, state.pending = False, ""
        state.rows = 0 if "NVIDIA-SMI" in line else state.rows
        found.lines.add(number)
    elif row := _GPU.search(line):
        state.pending, state.mig = row[1], False
        found.tell("gpu", _MODE.sub("", row[2].rstrip()), number)
    elif state.mig:
        if row := _MIG.search(line):
            device = f"GPU {row[1]} MIG {row[3]}"
            state.peak(found, "device_used", device, mib(row[4]), number)
            state.peak(found, "device_total", device, mib(row[5]), number)
    elif (row := _MEMORY.search(line)) and row[1].strip():
        device = f"GPU {state.pending or state.rows}"
        state.pending, state.rows = "", state.rows + 1
        state.peak(found, "device_used", device, mib(row[2]), number)
        state.peak(found, "device_total", device, mib(row[3]), number)
    elif row := _PROCESS.search(line):
        found.add("process_used", f"GPU {row[1]}", mib(row[2]), number)


def _csv(line: str, number: int, state: _State, found: Found) -> None:
    cells = [cell.strip() for cell in line.split(",")]
    if "[MiB]" in line and any(_COLUMN.search(cell) for cell in cells):
        names = [match[1] if (match := _COLUMN.search(cell)) else cell.split(" ")[0] for cell in cells]
        state.columns, state.identities = names, {}
        found.lines.add(number)
        return
    if len(cells) < len(state.columns):
        state.columns = []
        return
    shift = len(cells) - len(state.columns)  # a process may have commas in its name: count from the right
    device = _gpu(state, cells)
    for place, name in enumerate(state.columns):
        if name in _QUERY_NAMES and (cell := _CELL.fullmatch(cells[place + shift])):
            _keep(state, found, (_QUERY_NAMES[name], device), mib(cell[1]), number)
    if "name" in state.columns and number in found.lines:
        found.tell("gpu", cells[state.columns.index("name")], number)


def _keep(state: _State, found: Found, place: tuple[str, str], printed: tuple[int, int] | None, number: int) -> None:
    """Every process, and the largest figure of each GPU."""
    if place[0] == "process_used":
        found.add(*place, printed, number)
    else:
        state.peak(found, *place, printed, number)


def _gpu(state: _State, cells: list[str]) -> str:
    """Which GPU a row is about: its index, or the order in which its address first came.

    Without either, each row is another GPU, unless the rows have times: then they are the same one again and again.
    """
    if "index" in state.columns and (cell := _CELL.fullmatch(cells[state.columns.index("index")])):
        return f"GPU {int(cell[1])}"
    keys = [key for key in ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id") if key in state.columns]
    if not keys and "pid" in state.columns:
        return "GPU"
    alone = "" if "timestamp" in state.columns else str(len(state.identities))
    identity = cells[state.columns.index(keys[0])] if keys else alone
    return f"GPU {state.identities.setdefault(identity, len(state.identities))}"


def _query(line: str, number: int, state: _State, found: Found) -> None:
    if _QUERIED.search(line):
        state.queried, state.frame_buffer = state.queried + 1, False
        found.lines.add(number)
    elif "Memory Usage" in line:
        state.frame_buffer = "FB Memory Usage" in line
        found.lines.add(number)
    elif state.frame_buffer and (row := _FIGURE.search(line)):
        state.peak(found, _QUERY_NAMES[row[1]], f"GPU {max(state.queried, 0)}", mib(row[2]), number)


def read_rocm(lines: Sequence[str]) -> Found:
    """Used and total memory of each GPU."""
    found, state, card = Found(), _State(), "0"
    for number, line in enumerate(lines, 1):
        if "VRAM Total" not in line and "vram Total" not in line and '"card' not in line:
            continue
        for row in _ROCM.finditer(line):
            card = row[1] or row[4] or card
            figure = row[3] or row[6]
            if figure:
                name = "device_used" if row[2] or row[5] else "device_total"
                state.peak(found, name, f"GPU {card}", size(figure, "B"), number)
    found.readings.extend(state.peaks.values())
    return found
