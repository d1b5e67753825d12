"""Figures of memory in pasted logs: every form, with what stands around it, and texts that are none."""

import re
import time
from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.errors import InvalidInput
from calc.es import logs as words
from calc.paste.log_compare import COMPARISONS, NOTES
from calc.paste.log_reading import FAILURES, MOST_BYTES, READINGS, SETTINGS, SIZE, size
from calc.paste.log_runtime import NO_RUNTIME
from calc.paste.logs import Log, read_log
from tests.log_samples import LLAMA, NOTHING, NVIDIA, PYTORCH, ROCM, TWO_GPUS, VLLM, Expected

SAMPLES = {"vllm": VLLM, "llama.cpp": LLAMA, "pytorch-oom": PYTORCH, "nvidia-smi": NVIDIA, "rocm-smi": ROCM}
EVERY = [(kind, text, expected) for kind, samples in SAMPLES.items() for text, expected in samples]
MIB = 2**20


def must(text: str) -> Log:
    """What is read in a text that says something."""
    log = read_log(text)
    assert log is not None
    return log


def figures(log: Log) -> Counter[tuple[str, str, int]]:
    """Names, devices and bytes, wherever they stand."""
    return Counter((one.name, one.device, one.bytes) for one in log.readings)


def in_bytes(expected: Expected) -> Counter[tuple[str, str, int]]:
    """Expected figures in bytes."""
    return Counter((*place, round(Fraction(mib) * MIB)) for place, mib in expected.items())


@pytest.mark.parametrize(("kind", "text", "expected"), EVERY)
def test_every_form_is_read(kind: str, text: str, expected: Expected) -> None:
    """Each sample gives exactly its figures, and is known for what it is."""
    log = must(text)
    assert log.kind == kind
    assert figures(log) == in_bytes(expected)


@pytest.mark.parametrize(
    "before",
    ["vllm-1  | ", "llama-server-12 | ", "\x1b[36m", "\x1b]0;title\x07", "\x00\x00", "\ufeff", "    "],
    ids=["compose", "compose-long", "colour", "title", "nul", "mark", "indent"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_what_stands_before_a_line_changes_nothing(kind: str, end: str, before: str) -> None:
    """Container names, colours, titles, NULs and marks before each line, and any line end, are looked through."""
    for text, expected in SAMPLES[kind]:
        dressed = end.join(f"{before}{line}" for line in re.split(r"\r\n|\n", text))
        assert figures(must(dressed)) == in_bytes(expected), text


@pytest.mark.parametrize(
    "before",
    ["INFO 05-12 10:00:00 [gpu_model_runner.py:1234] ", "(EngineCore_0 pid=123) ", "2026-05-14 22:14:31.035 | "],
)
@pytest.mark.parametrize("kind", ["vllm", "llama.cpp", "pytorch-oom"])
def test_times_and_processes_before_a_message_change_nothing(kind: str, before: str) -> None:
    """Times, levels and process names of loggers are looked through."""
    for text, expected in SAMPLES[kind]:
        if "\n" not in text:
            assert figures(must(before + text)) == in_bytes(expected), text


@pytest.mark.parametrize(("one", "other"), list(permutations(SAMPLES, 2)))
def test_a_text_may_mix_programs(one: str, other: str) -> None:
    """Logs one after the other give the figures of both, and the one that says most names the text."""
    order = list(SAMPLES)
    for (first, of_first), (second, of_second) in zip(SAMPLES[one], SAMPLES[other], strict=False):
        log = must(f"{first}\n\n{second}")
        assert figures(log) == in_bytes(of_first) + in_bytes(of_second)
        assert log.kind == min(one, other, key=order.index)


@pytest.mark.parametrize("text", NOTHING)
def test_other_texts_say_nothing(text: str) -> None:
    """Words without figures, figures without a known unit and sizes that no memory has are no log."""
    assert read_log(text) is None


def test_lines_are_counted_as_the_visitor_sees_them() -> None:
    """A figure knows its line, whatever the line ends, and lines that gave nothing are counted."""
    log = must(
        "first\r\n\r\nModel loading took 15.0000 GiB\rGraph capturing finished in 5 secs, took 0.50 GiB\n---\nlast"
    )
    assert [(one.name, one.line) for one in log.readings] == [("weights", 3), ("cuda_graphs", 4)]
    assert log.not_understood == 2


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Model loading took 14.9888 GiB", Fraction(2**30, 10**4)),
        ("Model loading took 15.0 GiB memory", Fraction(2**30, 100)),
        ("load_tensors: CUDA0 model buffer size = 4403.49 MiB", Fraction(MIB, 100)),
        ("index, memory.used [MiB]\n0, 5 MiB", Fraction(MIB)),
        ("GPU[0]: VRAM Total Memory (B): 5", Fraction(1)),
        ("Current kv cache memory in use is 59212694937 bytes.", Fraction(1)),
    ],
)
def test_a_figure_knows_how_finely_it_was_printed(text: str, step: Fraction) -> None:
    """The step is a unit of the last decimal; where vLLM drops zeros it is still a hundredth of a GiB."""
    assert 0 <= must(text).readings[0].step - step < 1


@settings(deadline=None)
@given(st.integers(0, MOST_BYTES), st.sampled_from(["bytes", "KiB", "MiB", "GiB"]), st.integers(0, 4))
def test_a_printed_size_is_within_half_a_step(amount: int, unit: str, decimals: int) -> None:
    """Whatever was rounded to be printed is at most half a step from what is read."""
    scale = {"bytes": 1, "KiB": 2**10, "MiB": MIB, "GiB": 2**30}[unit]
    units = round(Fraction(amount, scale) * 10**decimals)
    whole, part = divmod(units, 10**decimals)
    printed = f"{whole}.{part:0{decimals}}" if decimals else f"{whole}"
    match = re.fullmatch(SIZE, f"{printed} {unit}")
    assert match
    found = size(match[1], match[2])
    assert found is not None or units * scale > MOST_BYTES * 10**decimals
    if found:
        assert abs(found[0] - amount) <= Fraction(found[1] + 1, 2)


LOADED = (
    "llama_model_loader: loaded meta data with 29 key-value pairs and 291 tensors from {} (version GGUF V3 (latest))\n"
)
BUFFER = "load_tensors:        CUDA0 model buffer size =  {}.00 MiB\n"


def test_a_restart_of_the_same_file_counts_once() -> None:
    """Loading a file again drops what was read before; loading another adds its buffers."""
    again = LOADED.format("/m/a.gguf") + BUFFER.format(100) + LOADED.format("/m/a.gguf") + BUFFER.format(200)
    assert [one.bytes // MIB for one in must(again).readings] == [200]
    draft = LOADED.format("C:\\m\\a.gguf") + BUFFER.format(100) + LOADED.format("C:\\m\\draft.gguf") + BUFFER.format(7)
    log = must(draft)
    assert [one.bytes // MIB for one in log.readings] == [100, 7]
    assert log.settings["file"] == "a.gguf"


def test_buffers_reserved_again_count_once() -> None:
    """Of the compute buffers of one context the last counts; those of another context are added."""
    context = "llama_context: n_ctx         = 512\n"
    reserve = "sched_reserve:      CUDA0 compute buffer size =   {}.00 MiB\n"
    log = must(context + reserve.format(100) + reserve.format(90) + context + reserve.format(5))
    assert [one.bytes // MIB for one in log.named("compute_buffer")] == [90, 5]


def test_both_caches_of_a_windowed_model_count() -> None:
    """llama.cpp prints a buffer for the layers without a window and another for those with one."""
    line = "llama_kv_cache:      CUDA0 KV buffer size =   {}.00 MiB\n"
    assert sum(one.bytes for one in must(line.format(80) + line.format(300)).readings) == 380 * MIB


@pytest.mark.parametrize(
    ("numbers", "context", "concurrency"),
    [
        ({"n_ctx": 8192}, "8192", "1"),
        ({"n_seq_max": 4, "n_ctx": 8192, "n_ctx_per_seq": 2048}, "2048", "4"),
        ({"n_seq_max": 4, "n_ctx": 8192, "n_ctx_seq": 2048}, "2048", "4"),
        ({"n_seq_max": 4, "n_ctx": 8192, "n_ctx_seq": 8192}, "8192", "1"),
    ],
    ids=["old", "2025", "2026", "unified"],
)
def test_context_and_sequences_of_llama(numbers: dict[str, int], context: str, concurrency: str) -> None:
    """The cells are shared among the sequences; a unified cache takes what one sequence of all cells takes."""
    lines = "\n".join(f"llama_context: {name}     = {value}" for name, value in numbers.items())
    log = must(f"{lines}\nllama_context: n_ubatch      = 256\n{BUFFER.format(1)}")
    assert (log.settings["context"], log.settings["concurrency"], log.settings["ubatch"]) == (
        context,
        concurrency,
        "256",
    )


def test_inputs_that_llama_names() -> None:
    """Model, type of file, formats of the cache and layers on the GPU are told."""
    log = must(
        "print_info: general.name     = Llama 3.1 8B\nprint_info: file type   = Q4_K - Medium\n"
        "load_tensors: offloaded 33/33 layers to GPU\nllama_context: flash_attn    = auto\n"
        "llama_kv_cache: size =  640.00 MiB (  4096 cells,  40 layers,  1/1 seqs), K (f16):  320.00 MiB, V (q8_0):  "
        "320.00 MiB"
    )
    assert dict(log.settings) == {
        "engine": "llama.cpp",
        "model": "Llama 3.1 8B",
        "file-type": "Q4_K - Medium",
        "gpu-layers": "33/33",
        "flash-attention": "auto",
        "kv-precision": "float16",
        "kv-value-precision": "q8_0",
    }


CONFIG = (
    "(EngineCore pid=188) INFO 04-03 17:24:39 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: "
    "model='Qwen/Qwen3-0.6B', speculative_config=None, tokenizer='Qwen/Qwen3-0.6B', dtype=torch.{dtype}, "
    "max_seq_len=8192, "
    "download_dir=None, load_format=auto, tensor_parallel_size=4, pipeline_parallel_size=2, "
    "quantization={quantization}, "
    "enforce_eager=True, kv_cache_dtype={cache}, device_config=cuda"
)


@pytest.mark.parametrize(
    ("dtype", "quantization", "cache", "told"),
    [
        ("bfloat16", "None", "auto", {"precision": "bfloat16", "kv-precision": "auto"}),
        ("bfloat16", "fp8", "fp8_e4m3", {"precision": "fp8", "quantization": "fp8", "kv-precision": "fp8"}),
        ("float16", "awq", "auto", {"quantization": "awq", "kv-precision": "auto"}),
        ("float8", "None", "nvfp4", {}),
    ],
)
def test_inputs_that_vllm_names(dtype: str, quantization: str, cache: str, told: dict[str, str]) -> None:
    """Model, context, parts and formats are told; a format that the form has not is left out."""
    log = must(CONFIG.format(dtype=dtype, quantization=quantization, cache=cache))
    assert log.kind == "vllm"
    assert not log.readings
    assert dict(log.settings) == {
        "engine": "vllm",
        "version": "0.19.0",
        "model": "Qwen/Qwen3-0.6B",
        "context": "8192",
        "tensor-parallel": "4",
        "pipeline-parallel": "2",
        **told,
    }


def test_arguments_of_vllm() -> None:
    """What was asked of the server is told as well, and comes first."""
    log = must(
        "INFO 09-03 16:28:10 [utils.py:328] non-default args: {'model_tag': '/data/q/', 'model': '/data/q/', "
        "'max_model_len': 4096, 'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.95}\n"
        "INFO 09-03 16:28:17 [__init__.py:1773] Using max model len 32768\n"
        "INFO 09-03 16:28:17 [scheduler.py:222] Chunked prefill is enabled with max_num_batched_tokens=2048."
    )
    assert dict(log.settings) == {
        "engine": "vllm",
        "model": "/data/q/",
        "context": "4096",
        "tensor-parallel": "2",
        "utilization": "0.95",
        "batch-tokens": "2048",
    }


def test_capacity_of_vllm() -> None:
    """Tokens, blocks and concurrency of the pool are told, without the commas of thousands."""
    log = must(
        "INFO [kv_cache_utils.py:864] GPU KV cache size: 451,072 tokens\n"
        "INFO [kv_cache_utils.py:868] Maximum concurrency for 8,192 tokens per request: 55.06x\n"
        "INFO executor_base.py:108] # CUDA blocks: 2356, # CPU blocks: 2048"
    )
    assert dict(log.settings) == {
        "engine": "vllm",
        "kv-tokens": "451072",
        "max-concurrency": "55.06",
        "max-concurrency-context": "8192",
        "kv-blocks": "2356",
    }


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("ValueError: No available memory for the cache blocks. Try increasing", "no_memory_for_cache"),
        ("the model's max seq len (131072), (5.6 GiB KV cache is needed, which is larger than", "context_over_cache"),
        (
            "The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV "
            "cache "
            "(37696).",
            "context_over_cache",
        ),
        ("Free memory on device (1.0/8.0 GiB) on startup is less than desired GPU memory utilization", "over_budget"),
        (PYTORCH[0][0], "out_of_memory"),
        ("allocating 1234.50 MiB on device 0: cudaMalloc failed: out of memory", "out_of_memory"),
    ],
)
def test_failures_are_told(text: str, failure: str) -> None:
    """A log that ends in a refusal says which."""
    assert must(text).settings["failure"] == failure


def test_a_message_printed_by_every_layer_counts_once() -> None:
    """The same message again is no other failure; that of another GPU is."""
    text = PYTORCH[3][0]
    assert figures(must(f"{text}\n  File x\n{text}")) == figures(must(text))
    assert len(must(text + "\n" + text.replace("GPU 0", "GPU 1")).readings) == 2 * len(must(text).readings)


def test_monitor_tells_the_gpu_and_vllm() -> None:
    """The first GPU's name is told, without its persistence mode, and vLLM is known by its processes."""
    assert dict(must(TWO_GPUS).settings) == {"gpu": "NVIDIA A40"}
    assert must(TWO_GPUS.replace("python     ", "VLLM::Worker")).settings["engine"] == "vllm"


def test_too_long_a_text_is_refused() -> None:
    """Beyond two million characters nothing is read."""
    with pytest.raises(InvalidInput) as caught:
        read_log("x" * 2_000_001)
    assert (caught.value.code, caught.value.place) == ("too_long", "log")


HOSTILE = (
    *("a ", "1", "| ", "|  0 ", "\x1b[", "\x1b]", "buffer size = ", "aaaa model buffer size = ", "12MiB / 3MiB | "),
    *("size = 1 MiB ( ", "KV self size =  ", "Tried to allocate 1 GiB. ", "(Worker", "GPU 0 has a ", "GiB for weight "),
    *("memory.used [MiB], ", "Total : ", "using device a (b) - ", '"card0"', "GPU[0] : VRAM Total Memory (B): ", "\n"),
    *("|   - CUDA0 | 1 = 1 + (1 = 1 + 1 + 1) + 1 \n", "Tried to allocate 1 GiB\n", "memory.used [MiB]\n1 MiB\n"),
    *("Model loading took 1.0 GiB\n", "CUDA0 compute buffer size = 1 MiB\n", "llama_context: n_ctx = 1\n"),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_anything_is_read_at_once(piece: str) -> None:
    """A megabyte of a repeated piece, on one line or on long ones, takes less than two seconds of work."""
    whole = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    for text in (whole, "\n".join(whole[at : at + 390] for at in range(0, len(whole), 390))):
        start = time.process_time()
        read_log(text)
        assert time.process_time() - start < 2


PIECES = st.one_of(
    st.sampled_from([text for _, text, _ in EVERY] + list(NOTHING)),
    st.sampled_from(HOSTILE),
    st.text(max_size=40),
    st.sampled_from(["\x00", "\r", "\n", "\x1b[0m", "9" * 400, "1e400", "-", "nan", "\ud800", ",", "|"]),
)


@given(st.lists(st.tuples(PIECES, st.integers(0, 400), st.integers(0, 400)), max_size=12))
@settings(max_examples=300, deadline=None)
def test_broken_logs_never_break_the_reader(pieces: list[tuple[str, int, int]]) -> None:
    """Pieces of logs cut anywhere and joined give figures that a memory can have, at lines of the text, or nothing."""
    text = "".join(piece[start : start + length] for piece, start, length in pieces)
    log = read_log(text)
    if log is None:
        return
    lines = len(re.split(r"\r\n|\n|\r", text))
    assert 0 <= log.not_understood <= lines
    assert set(log.settings) <= set(SETTINGS)
    for one in log.readings:
        assert one.name in READINGS
        assert one.device
        assert 0 <= one.bytes <= MOST_BYTES
        assert one.step >= 1
        assert 1 <= one.line <= lines


def test_every_code_has_its_words() -> None:
    """Readings, settings, failures, comparisons, notes and reasons have Spanish words, and no word is left over."""
    assert set(words.KINDS) == set(SAMPLES)
    assert set(words.READINGS) == set(READINGS)
    assert set(words.SETTINGS) == set(SETTINGS)
    assert set(words.FAILURES) == set(FAILURES)
    assert set(words.COMPARISONS) == set(COMPARISONS)
    assert set(words.NOTES) == set(NOTES)
    assert set(words.NO_RUNTIME) == set(NO_RUNTIME)
