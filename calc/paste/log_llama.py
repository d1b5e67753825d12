"""llama.cpp's lines about memory, from July 2023 on, whatever program prints them (llama-server, Ollama, LocalAI).

Sources, in ``ggml-org/llama.cpp``: ``src/llama-model.cpp``, ``load_tensors`` (``%12s model buffer size = %8.2f MiB``,
``offloaded %d/%d layers to GPU``); ``src/llama-kv-cache.cpp`` (``%10s KV buffer size``, and ``size = %7.2f MiB (%6u
cells, %3d layers, %2u/%u seqs), K (%s): …``; ``KV self size`` until 2025); ``src/llama-memory-recurrent.cpp`` (``RS
buffer size``); ``src/llama-context.cpp`` (``%10s compute buffer size``, ``%10s  output buffer size``, ``n_ctx``,
``n_ubatch``); ``common/fit.cpp`` (``projected to use``) and ``llama_memory_breakdown_print``, MiB without decimals.
Until January 2024: ``llm_load_tensors: VRAM used: 20607.34 MiB``, weights alone; and until October 2023 ``VRAM used:
12860 MB`` or ``total VRAM used``, with the cache.

One text may have several loads. The same file again is a restart, and only the last counts; another file is a draft
model or a projector, and both count. A context reserves its compute buffers more than once; the last time counts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from calc.paste.log_reading import SIZE, Found, Reading, mib, size

LONGEST_LINE = 1000

_BUFFER = re.compile(
    rf"(?:^|\s)(\S{{1,60}})\s{{1,4}}(?:(model|KV|RS|compute|output|input) )?buffer size\s{{0,8}}=\s{{0,12}}{SIZE}"
)
_TOTAL = re.compile(
    rf"size\s{{0,4}}=\s{{0,12}}{SIZE}[^K]{{0,80}}K \((\w{{1,12}})\):\s{{0,12}}[0-9.]{{1,16}} MiB, V \((\w{{1,12}})\)"
)
_SELF = re.compile(rf"(?:kv|KV) self size\s{{0,4}}=\s{{0,12}}{SIZE}")
_FILE = re.compile(rf"(?:model|file) size\s{{1,20}}=\s{{0,12}}{SIZE} \(")
_OTHER = tuple(
    (name, device, word, re.compile(pattern.replace("SIZE", SIZE)))
    for name, device, word, pattern in (
        ("gpu_buffers", "all", "VRAM used: ", r"VRAM used: SIZE"),
        ("host_buffers", "CPU", "mem required", r"mem required\s{1,4}=\s{0,12}SIZE"),
        ("compute_buffer", "all", "compute buffer total", r"compute buffer total size\s{0,4}=\s{0,12}SIZE"),
        ("projected", "all", "projected to use", r"projected to use SIZE of device memory"),
    )
)
_REQUESTED = re.compile(rf"allocating {SIZE} on device (\d{{1,3}})")
_USING = re.compile(r"using device (\S{1,40}) \(([^)]{1,80})\)[^-]{0,60}- (\d{1,9}) MiB free")
_BREAKDOWN = re.compile(
    r"\|\s{1,5}- (\S{1,40})[^|]{0,120}\|\s{0,20}(\d{1,9}) =\s{0,12}(\d{1,9}) \+ \(\s{0,12}(\d{1,9}) =\s{0,12}(\d{1,9}) "
    r"\+\s{0,12}(\d{1,9}) \+\s{0,12}(\d{1,9})\) \+\s{0,12}(\d{1,20})\s"
)
_HOST = re.compile(
    r"\|\s{1,5}- (Host)[^|]{0,120}\|\s{0,80}(\d{1,9}) =\s{0,12}(\d{1,9}) \+\s{0,12}(\d{1,9}) \+\s{0,12}(\d{1,9})\s"
)
_LOADED = re.compile(r"loaded meta data with .{1,80} from (.{1,500}) \(version")
_CONTEXT = re.compile(
    r"llama_(?:context|new_context_with_model|init_from_model): (n_\w{1,14}|flash_attn)\s{1,20}=\s(\w{1,12})"
)
_TEXTS = tuple(
    (key, word, re.compile(pattern))
    for key, word, pattern in (
        ("gpu-layers", "layers to GPU", r"offloaded (\d{1,5}/\d{1,5}) layers to GPU"),
        ("model", "general.name", r"general\.name\s{1,40}(?:str\s{1,20})?=\s(.{1,200})"),
        ("file-type", "ftype", r"model ftype\s{1,20}=\s(.{1,80})"),
        ("file-type", "file type", r"file type\s{1,20}=\s(.{1,80})"),
        ("version", "build: ", r"\bbuild: (\d{1,6} \([0-9a-f]{6,12}\))"),
    )
)
_NAMES = {"model": "weights", "KV": "kv_cache", "RS": "recurrent_state"}
_GPU = re.compile(r"(?:CUDA|ROCm|HIP|Vulkan|SYCL|MTL|CANN|MUSA|OpenCL|GPUOpenCL)(\d{1,3})(?:_Split|_Mapped)?")
_PRECISIONS = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_CACHES = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")


@dataclass(slots=True)
class _State:
    """Files loaded since the last restart, and the numbers of the first context."""

    files: set[str] = field(default_factory=set)
    contexts: int = 0
    numbers: dict[str, str] = field(default_factory=dict)
    reserved: dict[tuple[int, str, str], int] = field(default_factory=dict)
    known: set[tuple[str, str]] = field(default_factory=set)


def device_of(buffer: str) -> str:
    """The device of a buffer's name: ``GPU n``, ``CPU`` for everything in the system's memory, or the name itself.

    >>> [device_of(name) for name in ("CUDA0", "CUDA_Host", "CPU_Mapped", "Metal_Mapped", "RPC[10.0.0.2:50052]")]
    ['GPU 0', 'CPU', 'CPU', 'GPU 0', 'RPC[10.0.0.2:50052]']
    """
    if match := _GPU.fullmatch(buffer):
        return f"GPU {int(match[1])}"
    if buffer in ("Metal", "Metal_Mapped", "Metal_Private"):
        return "GPU 0"
    return "CPU" if buffer.startswith(("CPU", "Host", "BLAS", "AMX")) or buffer.endswith("_Host") else buffer


def read_llama(lines: Sequence[str]) -> Found:
    """Buffers of weights, cache, recurrent states and computation on each device."""
    found, state = Found(), _State()
    for number, line in enumerate(lines, 1):
        if not line or len(line) > LONGEST_LINE:
            continue
        _loads(line, number, state, found)
        _sizes(line, number, state, found)
        for key, word, pattern in _TEXTS:
            if word in line and (match := pattern.search(line)):
                found.tell(key, match[1], number)
        if "llama_" in line and (match := _CONTEXT.search(line)):
            state.contexts += match[1] == "n_ctx"
            found.lines.add(number)
            if state.contexts <= 1:
                state.numbers.setdefault(match[1], match[2])
    _inputs(state, found.settings)
    return found


def _loads(line: str, number: int, state: _State, found: Found) -> None:
    if "loaded meta data" not in line or not (match := _LOADED.search(line)):
        return
    if match[1] in state.files:  # a restart: what was loaded before is gone
        found.readings.clear()
        found.settings.clear()
        state.files, state.contexts, state.numbers, state.reserved, state.known = set(), 0, {}, {}, set()
    state.files.add(match[1])
    found.tell("file", match[1].replace("\\", "/").rpartition("/")[2], number)


def _sizes(line: str, number: int, state: _State, found: Found) -> None:
    if "buffer size" in line and (match := _BUFFER.search(line)):
        _buffer(match, line, number, state, found)
    elif "self size" in line and (match := _SELF.search(line)):
        found.add("kv_cache_total", "all", size(match[1], match[2]), number)
    if "K (" in line and (match := _TOTAL.search(line)):
        if "self size" not in line:
            found.add("kv_cache_total", "all", size(match[1], match[2]), number)
        _cache_formats(match[3], match[4], found.settings)
    if " size " in line and (match := _FILE.search(line)):
        found.add("file_weights", "all", size(match[1], match[2]), number)
    for name, device, word, pattern in _OTHER:
        if word in line and (match := pattern.search(line)):
            alone = name == "gpu_buffers" and match[2] == "MiB"
            found.add("weights" if alone else name, "GPU 0" if alone else device, size(match[1], match[2]), number)
    if "on device" in line and (match := _REQUESTED.search(line)):
        found.add("requested", f"GPU {match[3]}", size(match[1], match[2]), number)
        found.tell("failure", "out_of_memory", number)
    if "using device" in line and (match := _USING.search(line)):
        found.add("device_free", device_of(match[1]), mib(match[3]), number)
        found.tell("gpu", match[2], number)
    if "| " in line and "- " in line:
        _breakdown(line, number, state, found)


def _buffer(match: re.Match[str], line: str, number: int, state: _State, found: Found) -> None:
    kind, device, amount = match[2], device_of(match[1]), size(match[3], match[4])
    if not kind and "load_tensors" not in line:
        return
    name = _NAMES.get(kind or "model", f"{kind}_buffer")
    state.known.add((name, device))
    if amount is None or name in _NAMES.values():
        found.add(name, device, amount, number)
        return
    key = state.contexts, name, match[1]  # reserved again: the last time counts
    place = state.reserved.get(key)
    if place is not None and place < len(found.readings):
        found.readings[place] = Reading(name=name, device=device, bytes=amount[0], step=amount[1], line=number)
        found.lines.add(number)
    else:
        state.reserved[key] = len(found.readings)
        found.add(name, device, amount, number)


def _breakdown(line: str, number: int, state: _State, found: Found) -> None:
    """The table that is printed at the end, in MiB: what the buffers have not said already."""
    if row := _BREAKDOWN.search(line):
        device, total, free, own, unaccounted = device_of(row[1]), row[2], row[3], int(row[4]), int(row[8])
        found.add("device_total", device, mib(total), number)
        if int(free) + own <= int(total):  # otherwise it was printed before anything was loaded
            found.add("device_free", device, mib(free), number)
            found.add("device_used", device, mib(str(int(total) - int(free))), number)
            found.add("unaccounted", device, mib(str(unaccounted)), number)
        parts = row[5], row[6], row[7]
    elif row := _HOST.search(line):
        device, parts = "CPU", (row[3], row[4], row[5])
    else:
        return
    for name, amount in zip(("weights", "kv_cache", "compute_buffer"), parts, strict=True):
        if (name, device) not in state.known and int(amount):
            state.known.add((name, device))
            found.add(name, device, mib(amount), number)


def _cache_formats(keys: str, values: str, settings: dict[str, str]) -> None:
    for key, name in (("kv-precision", keys), ("kv-value-precision", values)):
        form = _PRECISIONS.get(name) or (name if name in _CACHES else "")
        if form:
            settings.setdefault(key, form)


def _inputs(state: _State, settings: dict[str, str]) -> None:
    """Context and sequences: the cells of the cache are ``n_ctx`` for all sequences together.

    With a unified cache each sequence may fill it whole (``n_ctx_seq`` is ``n_ctx``): as much memory as one sequence.
    """
    numbers = {name: int(value) for name, value in state.numbers.items() if value.isdecimal()}
    cells = numbers.get("n_ctx", 0)
    each = numbers.get("n_ctx_seq") or numbers.get("n_ctx_per_seq") or cells
    if cells and each:
        settings["context"] = str(min(each, cells))
        settings["concurrency"] = str(max(1, cells // each))
    for key, name in (("ubatch", "n_ubatch"), ("batch-tokens", "n_batch")):
        if name in numbers:
            settings[key] = str(numbers[name])
    if "flash_attn" in state.numbers:
        settings["flash-attention"] = state.numbers["flash_attn"]
