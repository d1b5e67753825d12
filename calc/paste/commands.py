"""Commands that start a server: ``vllm serve``, vLLM's older entry point and image, ``llama-server``.

Options: vLLM's engine arguments (https://docs.vllm.ai/en/v0.8.5/serving/engine_args.html; later ones as they are there)
and ``llama-server --help`` of build b6500 (an older bare ``-fa`` is read as well).
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from calc.errors import InvalidInput
from calc.paste.names import FORMATS, model_of, parted
from calc.paste.pasted import Pasted, Reader
from calc.settings.serving import CACHE_TYPES

MOST: Final = 200_000
"""Longest text [characters]."""

DTYPES: Final = {
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "float32": "float32",
}
QUANTIZATIONS: Final = {
    "fp8": "fp8",
    "bitsandbytes": "nf4",
    "awq": "awq-4bit",
    "awq_marlin": "awq-4bit",
    "gptq": "gptq-4bit",
    "gptq_marlin": "gptq-4bit",
    "mxfp4": "mxfp4",
}
CACHES: Final = {written: name for name, written in CACHE_TYPES.items()}
CACHES_OF_VLLM: Final = {"auto": "auto", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bfloat16"}

SWITCHES: Final = frozenset(
    (
        *(
            "--enforce-eager",
            "--enable-lora",
            "--trust-remote-code",
            "--enable-prefix-caching",
            "--enable-chunked-prefill",
        ),
        *("--disable-log-requests", "--disable-log-stats", "--enable-auto-tool-choice", "--no-enable-prefix-caching"),
        *(
            "--cpu-moe",
            "-cmoe",
            "--mlock",
            "--no-mmap",
            "--jinja",
            "--metrics",
            "--embedding",
            "--verbose",
            "-v",
            "--no-webui",
        ),
        *("--cont-batching", "-cb", "--kv-unified", "-kvu", "--swa-full", "--no-kv-offload", "-nkvo"),
    )
)
"""Options without a value."""

NO_EFFECT: Final = frozenset(
    (
        *(
            "--host",
            "--port",
            "--api-key",
            "--served-model-name",
            "--trust-remote-code",
            "--download-dir",
            "--tokenizer",
        ),
        *("--tokenizer-mode", "--seed", "--chat-template", "--tool-call-parser", "--reasoning-parser", "--root-path"),
        *(
            "--enable-auto-tool-choice",
            "--disable-log-requests",
            "--disable-log-stats",
            "--uvicorn-log-level",
            "--revision",
        ),
        *("--enable-prefix-caching", "--no-enable-prefix-caching", "--enable-chunked-prefill", "--load-format"),
        *(
            "-t",
            "--threads",
            "-tb",
            "--threads-batch",
            "-b",
            "--batch-size",
            "--temp",
            "--top-k",
            "--top-p",
            "--min-p",
            "-n",
        ),
        *(
            "--mlock",
            "--no-mmap",
            "--jinja",
            "--metrics",
            "--alias",
            "-a",
            "--log-file",
            "--verbose",
            "-v",
            "-s",
            "--no-webui",
        ),
        *(
            "--cont-batching",
            "-cb",
            "--n-predict",
            "--timeout",
            "-to",
            "--chat-template-file",
            "--prio",
            "--repeat-penalty",
        ),
    )
)
"""Options that do not change the memory, or only by less than an estimate tells."""

_THOUSANDS = re.compile(r"^(\d+(?:\.\d+)?)([kKmM])$")
_SERVER = re.compile(r"(?:^|/)(llama-server|llama-cli|server)(?:\.exe)?$")
_ENTRY = "vllm.entrypoints.openai.api_server"
_IMAGE = re.compile(r"^(?:[\w.-]+/)*vllm-openai(?::[\w.-]+)?$")

Option = tuple[str, str | None]


def read_command(text: str) -> Pasted | None:
    """The inputs that a command stands for; ``None`` if it starts none of these servers.

    Example:
        >>> found = read_command("vllm serve meta-llama/Meta-Llama-3-8B --max-model-len 4K --port 8000")
        >>> dict(found.inputs), found.ignored
        ({'model': 'llama-3-8b', 'engine': 'vllm', 'context': '4096'}, ('--port 8000',))

    Raises:
        InvalidInput: ``too_long``, or ``unbalanced_quotes`` in a text that begins like such a command.
    """
    if len(text) > MOST:
        raise InvalidInput("too_long", place="paste", maximum=MOST)
    if not any(name in text for name in ("vllm", "llama-server", "llama-cli", "/server")):
        return None
    flat = text.replace("\x00", " ").replace("\\\r\n", " ").replace("\\\n", " ").replace("`\n", " ")
    try:
        words = shlex.split(flat, comments=True)
    except ValueError:
        raise InvalidInput("unbalanced_quotes", place="paste") from None
    for at, word in enumerate(words):
        if word == "vllm" and words[at + 1 : at + 2] == ["serve"]:
            return _vllm(words[at + 2 :])
        if word == _ENTRY or _IMAGE.match(word):
            return _vllm(words[at + 1 :])
        if _SERVER.search(word) and (word != "server"):
            return _llama(words[at + 1 :])
    return None


def _options(words: list[str]) -> Iterator[Option]:
    """Options with their values, and what stands alone as a value of no option."""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        name, equals, value = word.partition("=")
        if equals and name.startswith("--"):
            yield name, value
        elif word in SWITCHES or at == len(words) or _is_option(words[at]):
            yield word, None
        else:
            yield word, words[at]
            at += 1


def _is_option(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


def _read(reader: Reader, words: list[str], known: Mapping[str, Callable[[Reader, str, str], None]]) -> None:
    for name, value in _options(words):
        said = " ".join(part for part in (name, value) if part)
        if name in known:
            known[name](reader, value or "", said)
        elif name.replace("_", "-") in NO_EFFECT:
            reader.pass_over(said)
        else:
            reader.miss(said)


def _to(field: str) -> Callable[[Reader, str, str], None]:
    return lambda reader, value, said: reader.put(field, _count(value), said)


def _by(field: str, names: Mapping[str, str]) -> Callable[[Reader, str, str], None]:
    def put(reader: Reader, value: str, said: str) -> None:
        if value.lower() in names:
            reader.put(field, names[value.lower()], said)
        else:
            reader.miss(said)

    return put


def _count(value: str) -> str:
    """«32k» as vLLM reads it: 1k is 1,000 and 1K is 1,024; anything else as it is.

    >>> _count("4k"), _count("4K"), _count("8192")
    ('4000', '4096', '8192')
    """
    found = _THOUSANDS.match(value)
    if not found:
        return value
    scale = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}[found.group(2)]
    return str(int(float(found.group(1)) * scale))


def _model(reader: Reader, value: str, said: str) -> None:
    found = model_of(value)
    if found:
        reader.put("model", found, said)
    else:
        reader.miss(said)


def _draft(reader: Reader, value: str, said: str) -> None:
    """The draft model of a configuration in JSON."""
    try:
        config = json.loads(value)
        name = model_of(str(config["model"])) if isinstance(config, dict) else None
    except (ValueError, KeyError, RecursionError):
        name = None
    if name:
        reader.put("draft-model", name, said)
    else:
        reader.miss(said)


VLLM: Final[Mapping[str, Callable[[Reader, str, str], None]]] = {
    "": _model,
    "--model": _model,
    "--dtype": lambda reader, value, said: None if value == "auto" else _by("precision", DTYPES)(reader, value, said),
    "--max-model-len": _to("context"),
    "--max-num-seqs": _to("concurrency"),
    "--kv-cache-dtype": _by("kv-precision", CACHES_OF_VLLM),
    "--gpu-memory-utilization": _to("gpu-memory-utilization"),
    "--max-num-batched-tokens": _to("max-batched-tokens"),
    "--tensor-parallel-size": _to("tensor-parallel"),
    "-tp": _to("tensor-parallel"),
    "--enforce-eager": lambda reader, _, said: reader.put("cuda-graphs", False, said),
    "--enable-lora": lambda reader, _, said: reader.pass_over(said),
    "--max-loras": _to("lora-adapters"),
    "--max-lora-rank": _to("lora-rank"),
    "--speculative-config": _draft,
}


def _vllm(words: list[str]) -> Pasted:
    reader = Reader("inferencia")
    quantized: list[str] = []

    def quantization(reader: Reader, value: str, said: str) -> None:
        if value.lower() in QUANTIZATIONS:
            quantized.append(QUANTIZATIONS[value.lower()])
        else:
            reader.miss(said)

    reader.inputs["engine"] = "vllm"
    _read(reader, words, {**VLLM, "--quantization": quantization, "-q": quantization})
    if quantized:
        reader.put("precision", quantized[-1], "--quantization")
    if "model" in reader.inputs:
        reader.inputs = {"model": reader.inputs.pop("model"), **reader.inputs}
    return reader.done("vllm")


def _file(reader: Reader, value: str, said: str) -> None:
    """A GGUF file, or ``repository:TYPE``."""
    repository, colon, kind = value.partition(":")
    name = repository if colon and "/" in repository else value
    _model(reader, name, said)
    kind = kind if colon and "/" in repository else parted(name)[1]
    if kind.lower() in FORMATS:
        reader.put("precision", FORMATS[kind.lower()], said)
    elif kind:
        reader.miss(kind)


def _layers(reader: Reader, value: str, said: str) -> None:
    """Layers on the GPU: all, or more than any model has, is the empty field."""
    if value in {"all", "auto", "-1"} or (value.isdecimal() and len(value) < 5 and int(value) >= 99):
        reader.pass_over(said)
    else:
        reader.put("gpu-layers", value, said)


def _flash(reader: Reader, value: str, said: str) -> None:
    reader.put("flash-attention", value.lower() not in {"off", "0", "false"}, said)


def _tensors(reader: Reader, value: str, said: str) -> None:
    """``-ot`` that leaves the experts with the processor."""
    if "exps" in value and value.upper().endswith("=CPU"):
        reader.put("experts-on-cpu", True, said)
    else:
        reader.miss(said)


LLAMA: Final[Mapping[str, Callable[[Reader, str, str], None]]] = {
    **dict.fromkeys(("-m", "--model", "-hf", "-hfr", "--hf-repo"), _file),
    **dict.fromkeys(("-ngl", "--gpu-layers", "--n-gpu-layers"), _layers),
    **dict.fromkeys(("-ub", "--ubatch-size"), _to("ubatch")),
    **dict.fromkeys(("-ctk", "--cache-type-k"), _by("kv-precision", CACHES)),
    **dict.fromkeys(("-ctv", "--cache-type-v"), _by("kv-value-precision", CACHES)),
    **dict.fromkeys(("-fa", "--flash-attn"), _flash),
    **dict.fromkeys(("-ot", "--override-tensor"), _tensors),
    **dict.fromkeys(("--cpu-moe", "-cmoe"), lambda reader, _, said: reader.put("experts-on-cpu", True, said)),
}


def _llama(words: list[str]) -> Pasted:
    reader = Reader("inferencia")
    reader.inputs["engine"] = "llama.cpp"
    sizes: dict[str, tuple[str, str]] = {}

    def keep(name: str) -> Callable[[Reader, str, str], None]:
        return lambda _, value, said: sizes.__setitem__(name, (value, said))

    known = {
        **LLAMA,
        "-c": keep("context"),
        "--ctx-size": keep("context"),
        "-np": keep("slots"),
        "--parallel": keep("slots"),
    }
    _read(reader, words, known)
    slots, said = sizes.get("slots", ("1", ""))
    many = int(slots) if slots.isdecimal() and 0 < int(slots[:9]) < 10**6 else 1
    if "slots" in sizes:
        reader.put("concurrency", slots, said)
    if "context" in sizes:
        text, said = sizes["context"]
        shared = str(int(text) // many) if text.isdecimal() and len(text) < 12 else text
        reader.put("context", shared, said)
    if reader.inputs.get("kv-value-precision") == reader.inputs.get("kv-precision", "auto"):
        reader.inputs.pop("kv-value-precision", None)  # the values take after the keys
    return reader.done("llama-server")
