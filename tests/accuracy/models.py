"""The architecture of a row's model: the catalogue's, or one built from ``measured_models.json``."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from calc import catalog
from calc.architecture import Architecture
from calc.errors import CalcError
from calc.hf_config import architecture_from_hf_config
from tests.accuracy.rows import Skip

_CUSTOM_GPT = re.compile(
    r"custom GPT: hidden (\d+), (\d+) layers, (\d+) heads, ffn 4h, learned positions, tied embeddings, "
    r"vocab (\d+)(?: padded to (\d+))?"
)
_SUFFIX = re.compile(r"[-_ ](gptq|awq|chat|instruct|hf|int4|int8|base|gguf|it|4bits|8bits|fp8)\b.*$", re.IGNORECASE)
SAME = (("gptbigcode", "gpt_bigcode"),)


class Models:
    """Looks models up by the ``hf_id`` of a row.

    Args:
        path: a file like ``measured_models.json``; ``None`` to know the catalogue only.
    """

    def __init__(self, path: Path | None) -> None:
        entries: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["models"] if path else {}
        self._entries: dict[str, Mapping[str, Any]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        for canonical, entry in entries.items():
            names = (canonical, *entry["aliases"])
            for name in names:
                self._entries[name.lower()] = {**entry, "name": canonical}
                self._names[name.lower()] = names

    def find(self, hf_id: str) -> Architecture:
        """The architecture of a model.

        Raises:
            Skip: where nobody describes it well enough.
        """
        if custom := _CUSTOM_GPT.search(hf_id):
            return _gpt(*(int(number or 0) for number in custom.groups()))
        known = _catalogue()
        names = (hf_id, *self._names.get(hf_id.lower(), ()))
        entry = self._entries.get(hf_id.lower())
        for name in names:
            if name.lower() in known:
                return _with_head(known[name.lower()], entry)
        if entry is not None:
            return _built(entry["name"], entry)
        short = _SUFFIX.sub("", hf_id).lower()
        for name, model in known.items():
            if _SUFFIX.sub("", name) == short:
                return catalog.architecture(model)
        raise Skip("model unknown")


def _with_head(model: str, entry: Mapping[str, Any] | None) -> Architecture:
    """The catalogue's model; with a head of its own where its checkpoints were found to load one (Qwen1.5 1.8B)."""
    tied = entry.get("tie_word_embeddings") if entry else None
    architecture = catalog.architecture(model)
    if tied is not False or not architecture.tie_word_embeddings:
        return architecture
    return architecture_from_hf_config({**catalog.model(model).config, "tie_word_embeddings": False})


@cache
def _catalogue() -> Mapping[str, str]:
    return {model.hub_id.lower(): model.id for model in catalog.models()}


@cache
def _gpt(hidden: int, layers: int, heads: int, vocabulary: int, padded: int) -> Architecture:
    """Megatron's GPT: learned positions (as many as the rows' sequence of 1024 or 2048), a tied head."""
    config = {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "n_positions": 1024}
    return architecture_from_hf_config({**config, "vocab_size": padded or vocabulary, "activation_function": "gelu"})


_NEEDED = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("intermediate_size", "vocab_size"),
)


_MORE = ("linear_attention", "kv_lora_rank", "layer_types_summary")
"""What makes layers that a plain configuration cannot describe."""


def _built(name: str, entry: Mapping[str, Any]) -> Architecture:
    """A model that is not in the catalogue, from its numbers; refused where they do not say how it is made."""
    if any(entry.get(key) is None for key in _NEEDED) or any(entry.get(key) for key in _MORE):
        raise Skip("model not described well enough")
    config = {key: entry[key] for key in _NEEDED}
    config["tie_word_embeddings"] = bool(entry.get("tie_word_embeddings"))
    if entry.get("head_dim"):
        config["head_dim"] = entry["head_dim"]
    if entry.get("max_position_embeddings"):
        config["max_position_embeddings"] = entry["max_position_embeddings"]
    try:
        return architecture_from_hf_config({**config, **_family(name, entry)})
    except CalcError as error:
        raise Skip("model not described well enough") from error


def _family(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry.get("num_experts"):
        if entry.get("num_shared_experts") or entry.get("first_k_dense"):
            raise Skip("model not described well enough")
        experts = {"num_local_experts": entry["num_experts"], "num_experts_per_tok": entry["num_experts_per_tok"]}
        width = entry.get("moe_intermediate_size") or entry["intermediate_size"]
        return {"model_type": "mixtral", **experts, "intermediate_size": width}
    if not entry["mlp_gated"]:
        kind = "gpt_bigcode" if entry["num_key_value_heads"] == 1 else "gpt_neox"
        return {"model_type": kind} | ({"multi_query": True} if kind == "gpt_bigcode" else {})
    return {"model_type": "qwen2" if "qwen" in name.lower() and "qwen3" not in name.lower() else "llama"}
