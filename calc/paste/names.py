"""Which model and which format a name stands for: a repository of the hub, a folder, a GGUF file."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from calc import catalog
from calc.settings.serving import GGUF

LONGEST: Final = 300
"""Longest name that is looked at."""

FORMATS: Final = {file_type.lower(): name for name, file_type in GGUF.items()}
"""File types of llama.cpp as they stand in names, and our formats."""

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_ENDING = re.compile(r"\.(gguf|safetensors|bin)$")
_FORMAT = re.compile(r"[-_.]((?:ud-)?(?:iq|q|tq)\d\w*|bf16|f16|f32)$")
_WORDS = re.compile(r"[-_. ](instruct|chat|it|hf|gguf|awq|gptq|base|fp8|bnb|4bit|8bit|int4|int8|unsloth|v\d(\.\d)?)$")


def parted(name: str) -> tuple[str, str]:
    """A name without folders, shard and ending, in small letters, and the file type at its end.

    >>> parted("models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf")
    ('meta-llama-3.1-8b-instruct', 'q4_k_m')
    """
    stem = name[:LONGEST].strip().rstrip("/").replace("\\", "/").rsplit("/", 1)[-1].lower()
    stem = _SHARD.sub("", _ENDING.sub("", stem))
    found = _FORMAT.search(stem)
    return (stem[: found.start()], found.group(1)) if found else (stem, "")


def model_of(name: str) -> str | None:
    """The id in the catalogue of the model that a name stands for; ``None`` if it is none of them.

    >>> model_of("meta-llama/Meta-Llama-3-8B"), model_of("bartowski/Qwen2.5-7B-Instruct-GGUF"), model_of("mine")
    ('llama-3-8b', 'qwen2.5-7b', None)
    """
    repositories, shortened = _known()
    whole = name[:LONGEST].strip().lower()
    if whole in repositories:
        return repositories[whole]
    stem, _ = parted(name)
    return next((shortened[one] for one in _shorter(stem) if one in shortened), None)


def _shorter(stem: str) -> Iterable[str]:
    """A name, and the name with one word after the other taken from its end and «meta-» from its front."""
    while True:
        yield stem
        yield stem.removeprefix("meta-")
        less = _WORDS.sub("", stem)
        if less == stem:
            return
        stem = less


@cache
def _known() -> tuple[dict[str, str], dict[str, str]]:
    """Ids by repository, and by every shortened name that only one model has, or that is an id itself."""
    repositories = {one.hub_id.lower(): one.id for one in catalog.models()}
    shortened: dict[str, str] = {}
    for one in catalog.models():
        for name in _shorter(one.hub_id.rsplit("/", 1)[-1].lower()):
            shortened.setdefault(name, one.id)
    return repositories, shortened | {one.id: one.id for one in catalog.models()}
