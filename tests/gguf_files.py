"""GGUF headers of real models, written by the ``gguf`` package with the names and keys of llama.cpp's converter.

Names come from ``gguf.get_tensor_name_map``, keys are those that ``convert_hf_to_gguf.py`` writes for the family. Only
headers are made: the data of a model would be gigabytes, and no door reads them.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from calc.architecture import Architecture, Tensor
from calc.parameters import named_tensors

Shapes = dict[str, tuple[int, ...]]
Keys = dict[str, Any]
EXPERT = re.compile(r"\.experts\.\d+\.")


def header(
    family: str,
    keys: Mapping[str, Any],
    tensors: Mapping[str, tuple[tuple[int, ...], gguf.GGMLQuantizationType]],
    *,
    big_endian: bool = False,
) -> tuple[bytes, int]:
    """The header of a file with these keys and tensors, and the size that the whole file would have."""
    endian = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        writer = gguf.GGUFWriter(path, family, endianess=endian)
        for key, value in keys.items():
            add(writer, key, value)
        size = 0
        for name, (shape, kind) in tensors.items():
            stored = gguf.quant_shape_to_byte_shape(shape, kind) if shape else ()
            nbytes = prod(stored) if kind not in PLAIN else prod(shape) * np.dtype(PLAIN[kind]).itemsize
            raw = None if kind in PLAIN else kind
            info = shape if kind in PLAIN else stored
            writer.add_tensor_info(name, info, np.dtype(PLAIN.get(kind, np.uint8)), nbytes, raw_dtype=raw)
            size += -(-nbytes // 32) * 32
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.close()
        data = path.read_bytes()
    start = -(-len(data) // 32) * 32
    return data, start + size


PLAIN: Mapping[gguf.GGMLQuantizationType, Any] = {
    gguf.GGMLQuantizationType.F32: np.float32,
    gguf.GGMLQuantizationType.F16: np.float16,
    gguf.GGMLQuantizationType.F64: np.float64,
    gguf.GGMLQuantizationType.I8: np.int8,
    gguf.GGMLQuantizationType.I16: np.int16,
    gguf.GGMLQuantizationType.I32: np.int32,
    gguf.GGMLQuantizationType.I64: np.int64,
}


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """Write one key with the type that its value asks for."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_uint32(key, value)


def shapes_of(architecture: Architecture, family: gguf.MODEL_ARCH) -> Shapes:
    """Names and shapes of a converted model: experts stacked, fused experts and projections taken apart."""
    architecture = replace(architecture, towers=())
    names = gguf.get_tensor_name_map(family, len(architecture.layers))
    found: Shapes = {}
    for name, shape in _stacked(_apart(architecture, named_tensors(architecture))).items():
        known = _mapped(names, name)
        assert known is not None, name
        found[known] = shape
    return found


def _mapped(names: Any, name: str) -> str | None:
    for stem in (name, re.sub(r"^(model|transformer)\.", "", name)) if "experts.gate_up" not in name else ():
        known: str | None = names.get_name(stem, try_suffixes=(".weight", ".bias"))
        if known is not None:
            return known
    for pattern, known in BY_HAND:
        if re.search(pattern, name):
            return re.sub(r".*?layers\.(\d+)\..*", rf"blk.\1.{known}", name)
    return None


BY_HAND: Sequence[tuple[str, str]] = (
    (r"router\.scale$", "ffn_gate_inp.scale"),
    (r"router\.per_expert_scale$", "ffn_down_exps.scale"),
    (r"e_score_correction_bias$", "exp_probs_b.bias"),
    (r"experts\.gate_up_proj$", "ffn_gate_up_exps.weight"),
    (r"experts\.up_proj\.weight$", "ffn_up_exps.weight"),
    (r"experts\.down_proj\.weight$", "ffn_down_exps.weight"),
)
"""Names that the converter writes itself."""


def _stacked(tensors: Iterable[tuple[str, tuple[int, ...]]]) -> Shapes:
    """Experts of one layer become one tensor with a first axis."""
    found: Shapes = {}
    for name, shape in tensors:
        stem = EXPERT.sub(".experts.", name)
        if stem == name:
            found[name] = shape
        else:
            stem = re.sub(r"model\.(layers\.\d+\.)block_sparse_moe\.experts\.(w\d)", r"\1feed_forward.experts.\2", stem)
            count = found[stem][0] if stem in found else 0
            found[stem] = (count + 1, *shape)
    return found


def _apart(architecture: Architecture, tensors: Iterable[Tensor]) -> Iterable[tuple[str, tuple[int, ...]]]:
    """What ``modify_tensors`` of the converter does to names and shapes."""
    for tensor in tensors:
        name = tensor.name.replace("language_model.model.", "model.").replace("model.language_model.", "model.")
        name = re.sub(r"\.dt_bias$", ".dt_proj.bias", name).removeprefix("language_model.")
        shape = tuple(size for size in tensor.shape if size != 1) if "conv" in name else tensor.shape
        yield from _pieces(architecture, name, shape)


def _pieces(architecture: Architecture, name: str, shape: tuple[int, ...]) -> Iterable[tuple[str, tuple[int, ...]]]:
    if re.search(r"layers\.\d+\.experts\.gate_up_proj$", name):  # Gemma 4 keeps them fused
        yield name, shape
    elif name.endswith("experts.down_proj"):
        yield f"{name}.weight", shape
    elif re.search(r"experts\.gate_up_proj(_bias)?$", name):
        end = ".bias" if name.endswith("_bias") else ".weight"
        half = (*shape[:-1], shape[-1] // 2)
        stem = name[: name.index("gate_up_proj")]
        yield from ((f"{stem}{part}{end}", half) for part in ("gate_proj", "up_proj"))
    elif name.endswith("experts.down_proj_bias"):
        yield name.replace("down_proj_bias", "down_proj.bias"), shape
    elif name.endswith("input_linear.weight"):
        half = (*shape[:-2], shape[-2] // 2, shape[-1])
        moe = "block_sparse_moe" in name
        for part in ("gate_proj", "up_proj"):
            stem = "mlp.experts" if moe else "mlp.shared_expert" if _is_mixture(architecture) else "mlp"
            yield re.sub(r"(block_sparse_moe|shared_mlp)\.input_linear", f"{stem}.{part}", name), half
    elif name.endswith("attention.wqkv.weight"):
        attention: Any = architecture.layers[0].attention
        width = attention.num_key_value_heads * attention.head_dim
        yield name.replace("wqkv", "wq"), (shape[0] - 2 * width, shape[1])
        yield from ((name.replace("wqkv", part), (width, shape[1])) for part in ("wk", "wv"))
    elif name.endswith("kv_b_proj.weight"):
        yield from _latent(architecture, name)
    elif re.search(r"altup_(unembed_)?projections\.0\.", name):
        yield re.sub(r"\.0\.weight", ".weight", name), (3, *shape)
    elif not re.search(r"altup_(unembed_)?projections\.\d", name):
        yield name, shape


def _is_mixture(architecture: Architecture) -> bool:
    return any("block_sparse_moe" in tensor.name for tensor in architecture.layers[0].tensors)


def _latent(architecture: Architecture, name: str) -> Iterable[tuple[str, tuple[int, ...]]]:
    attention: Any = architecture.layers[0].attention
    heads, rank = attention.num_attention_heads, attention.kv_lora_rank
    yield name.replace("kv_b_proj", "k_b_proj"), (heads, rank, attention.qk_nope_head_dim)
    yield name.replace("kv_b_proj", "v_b_proj"), (heads, attention.v_head_dim, rank)


def common_keys(family: str, config: Mapping[str, Any], architecture: Architecture) -> Keys:
    """What ``TextModel.set_gguf_parameters`` writes for every family."""
    first = {
        "block_count": len(architecture.layers),
        "context_length": architecture.max_position_embeddings or 2048,
        "embedding_length": architecture.hidden_size,
    }
    written: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("attention.head_count", ("num_attention_heads", "n_head", "n_heads")),
        ("attention.head_count_kv", ("num_key_value_heads", "n_head_kv", "num_kv_heads")),
        ("attention.key_length", ("head_dim",)),
        ("attention.value_length", ("head_dim",)),
        ("expert_count", ("num_local_experts", "num_experts", "n_routed_experts")),
        ("expert_used_count", ("num_experts_per_tok", "num_experts_per_token")),
    )
    for key, sources in written:
        value = next((config[name] for name in sources if config.get(name) is not None), None)
        if value is not None:
            first[key] = value
    return {f"{family}.{key}": value for key, value in first.items()}


Extra = Callable[[Mapping[str, Any], Architecture], Keys]
