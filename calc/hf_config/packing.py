"""How each quantization method stores one matrix, and which matrices it takes.

A ``Pack`` turns the shape ``(out, in)`` of a matrix into the tensors that stand for it in a file. Sources are named at
each method; sizes are those of the published format, not of a runtime that repacks it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from calc.architecture import Tensor, TensorKind
from calc.hf_config.reader import MAX_LAYERS, Reader

PLAIN_BITS: Final = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8}
ROUTERS: Final = frozenset({"gate", "router", "shared_expert_gate"})
"""Last names of matrices that score experts: GPTQ, AWQ and FP8 leave them alone."""

Applies = Callable[[str, Tensor, bool], bool]
"""Whether the method quantizes a tensor: its full name, the tensor, whether it is in a layer of the decoder."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One stored tensor: its type, its elements and its bytes."""

    type: str
    elements: int
    bytes: int


def piece(type: str, *shape: int) -> Piece:
    """A stored tensor of this type and shape.

    >>> piece("I32", 448, 3584).bytes
    6422528
    """
    width = {"I32": 32, "I64": 64, "I8": 8, "U8": 8, **PLAIN_BITS}[type]
    return Piece(type, prod(shape), prod(shape) * width // 8)


@dataclass(frozen=True, slots=True)
class Pack:
    """What a matrix ``(out, in)`` becomes; ``stacked`` methods take experts that share one tensor."""

    law: Callable[[int, int], list[Piece]]
    stacked: bool = False

    def __call__(self, tensor: Tensor) -> list[Piece]:
        """The stored tensors for one matrix of the pattern."""
        return self.law(prod(tensor.shape[:-1]), tensor.shape[-1])


def packer(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """The method of a ``quantization_config``, or None where it is unknown or its files cannot be told from it."""
    method = config.optional_text("quant_method") or ("bitsandbytes" if config.has("load_in_4bit") else None)
    makers = {
        "gptq": _gptq,
        "awq": _awq,
        "bitsandbytes": _bitsandbytes,
        "fp8": _fp8,
        "fbgemm_fp8": _fp8,
        "mxfp4": _mxfp4,
        "compressed-tensors": _compressed,
    }
    return makers[method](config, kept) if method in makers else None


def _names(config: Reader, *keys: str) -> tuple[str, ...]:
    """A list of names, or nothing."""
    for key in keys:
        value = config.mapping.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or len(value) > MAX_LAYERS or not all(isinstance(one, str) for one in value):
            raise config.refuse("not_a_list", key, value=type(value).__name__)
        return tuple(value)
    return ()


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern of a list names this tensor or a module that holds it.

    ``re:`` begins a regular expression of compressed-tensors: those in use are a suffix, tried as one here. ``*`` on
    either side stands for a layer's or an expert's number.

    >>> matches("model.layers.*.self_attn.q_proj.weight", "self_attn"), matches("lm_head.weight", "lm_head")
    (True, True)
    >>> matches("layers.*.mlp.gate.weight", "re:.*mlp.gate$"), matches("layers.*.mlp.gate_proj.weight", "gate")
    (True, False)
    """
    if pattern.startswith("re:"):
        pattern = re.sub(r"^\^|\.\*|\$$|\\", "", pattern[3:]).strip(".")
    return f".{pattern.strip('.')}." in f".{name}." if pattern else False


def _is_router(name: str) -> bool:
    return name.removesuffix(".weight").rsplit(".", 1)[-1] in ROUTERS


def _linears(ignored: Sequence[str] = (), *, head: bool = False, routers: bool = True, layers: bool = False) -> Applies:
    """Matrices, except those that a list names."""
    kinds = (TensorKind.LINEAR, TensorKind.HEAD) if head else (TensorKind.LINEAR,)

    def applies(name: str, tensor: Tensor, in_layer: bool) -> bool:
        if tensor.kind not in kinds or len(tensor.shape) != 2 or (layers and not in_layer):
            return False
        return (routers or not _is_router(name)) and not any(matches(name, pattern) for pattern in ignored)

    return applies


def _gptq(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """AutoGPTQ: ``qweight`` (in·bits/32, out), ``qzeros`` (groups, out·bits/32), ``scales``, ``g_idx`` (in)."""
    bits = config.integer("bits", maximum=8)
    special = any(config.mapping.get(key) for key in ("dynamic", "modules_in_block_to_quantize", "lm_head"))
    if special or (config.optional_text("checkpoint_format") or "gptq") not in ("gptq", "gptq_v2"):
        return None
    group = config.integer("group_size", minimum=-1)
    config.require(bits in (2, 3, 4, 8), "bits")
    config.require(group != 0, "group_size")

    def law(rows: int, columns: int) -> list[Piece]:
        groups = -(-columns // group) if group > 0 else 1
        packed = piece("I32", columns * bits // 32, rows), piece("I32", groups, rows * bits // 32)
        return [*packed, piece("F16", groups, rows), piece("I32", columns)]

    return _linears(routers=False, layers=True), Pack(law)


def _awq(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """AutoAWQ, version GEMM: ``qweight`` (in, out·bits/32), ``qzeros`` (groups, out·bits/32), ``scales``."""
    bits = config.with_defaults({"bits": 4}).integer("bits", "w_bit", maximum=8)
    group = config.with_defaults({"group_size": 128}).integer("group_size", "q_group_size", minimum=-1)
    if (config.optional_text("version") or "gemm").lower() != "gemm" or bits != 4:
        return None
    config.require(group != 0, "group_size")

    def law(rows: int, columns: int) -> list[Piece]:
        groups = -(-columns // group) if group > 0 else 1
        packed = piece("I32", columns, rows * bits // 32), piece("I32", groups, rows * bits // 32)
        return [*packed, piece("F16", groups, rows)]

    return _linears(_names(config, "modules_to_not_convert"), routers=False, layers=True), Pack(law)


def _bitsandbytes(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """8 bits: ``weight``, ``SCB`` (out) and a mark; 4 bits: packed values, ``absmax`` per 64, tables.

    The description of a 4-bit matrix that is stored beside it as JSON (about 0.2 kB) is not counted.
    """
    switches = config.with_defaults({"load_in_4bit": False, "bnb_4bit_use_double_quant": False})
    twice = switches.boolean("bnb_4bit_use_double_quant")
    ignored = _names(config, "llm_int8_skip_modules")
    if not switches.boolean("load_in_4bit"):
        return _linears(ignored), Pack(
            lambda rows, columns: [piece("I8", rows, columns), piece("F32", rows), piece("U8", 1)]
        )

    def law(rows: int, columns: int) -> list[Piece]:
        blocks = -(-rows * columns // 64)
        scales = [piece("F32", blocks)]
        if twice:
            scales = [piece("U8", blocks), piece("F32", -(-blocks // 256)), piece("F32", 256)]
        return [piece("U8", -(-rows * columns // 2)), *scales, piece("F32", 16)]

    return _linears(ignored), Pack(law)


def _fp8(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """FP8 values and float32 scales: per block (DeepSeek-V3), per row (FBGEMM) or one for the matrix."""
    block = config.optional_integers("weight_block_size", minimum=1, length=2)
    by_row = config.optional_text("quant_method") == "fbgemm_fp8"
    if config.optional_text("activation_scheme") == "static":
        return None  # input scales are stored too, by names that differ from tool to tool

    def law(rows: int, columns: int) -> list[Piece]:
        scales = rows if by_row else 1
        if block:
            scales = -(-rows // block[0]) * -(-columns // block[1])
        return [piece("F8_E4M3", rows, columns), piece("F32", scales)]

    ignored = (*_names(config, "modules_to_not_convert", "ignored_layers"), "weights_proj", "eh_proj")
    return _linears(ignored, routers=False), Pack(law)


def _mxfp4(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """MXFP4 (gpt-oss): per 32 values 16 bytes in ``blocks`` and one in ``scales``, along the input of each expert."""
    ignored = tuple(name.replace(".*", "") for name in _names(config, "modules_to_not_convert"))
    ignored = tuple(name.rsplit(".", 1)[-1] for name in ignored)

    def law(rows: int, columns: int) -> list[Piece]:
        # The checkpoint of the class is (in, out); blocks run along the input.
        groups = -(-rows // 32)
        return [piece("U8", columns, groups, 16), piece("U8", columns, groups)]

    def applies(name: str, tensor: Tensor, in_layer: bool) -> bool:
        stacked = tensor.active is not None and "*" not in tensor.name
        return tensor.kind is TensorKind.LINEAR and stacked and not any(matches(name, one) for one in ignored)

    return applies, Pack(law, stacked=True)


def _compressed(config: Reader, kept: str) -> tuple[Applies, Pack] | None:
    """compressed-tensors, one group for all linears: packed, integer or FP8 values, and scales in the kept type."""
    groups = config.mapping.get("config_groups")
    if not isinstance(groups, dict) or len(groups) != 1:
        return None
    group = config.section("config_groups").section(next(iter(groups)))
    if _names(group, "targets") != ("Linear",) or (group.has("input_activations") and _is_static(group)):
        return None
    law = _compressed_law(group, config, kept)
    return None if law is None else (_linears(_names(config, "ignore"), head=True), Pack(law))


def _is_static(group: Reader) -> bool:
    return group.section("input_activations").mapping.get("dynamic") not in (True, "local")


def _compressed_law(group: Reader, config: Reader, kept: str) -> Callable[[int, int], list[Piece]] | None:
    weights = group.section("weights", {"symmetric": True})
    bits, strategy = weights.integer("num_bits", maximum=16), weights.optional_text("strategy") or "tensor"
    size = weights.optional_integer("group_size", minimum=-1) or 0
    layout = group.optional_text("format") or config.optional_text("format")
    if not weights.boolean("symmetric") or weights.has("actorder") or strategy not in _SCALES:
        return None
    block = weights.optional_integers("block_structure", minimum=1, length=2) or (128, 128)
    grouped = strategy == "group"
    weights.require(size > 0 or not grouped, "group_size")
    values = {
        "pack-quantized": lambda rows, columns: [piece("I32", rows, -(-columns * bits // 32)), piece("I64", 2)],
        "int-quantized": lambda rows, columns: [piece("I8", rows, columns)],
        "float-quantized": lambda rows, columns: [piece("F8_E4M3", rows, columns)],
    }.get(layout or "")
    if values is None or (layout != "pack-quantized" and bits != 8):
        return None

    def law(rows: int, columns: int) -> list[Piece]:
        return [*values(rows, columns), piece(kept, _SCALES[strategy](rows, columns, size, block))]

    return law


_SCALES: Final[dict[str, Callable[[int, int, int, Sequence[int]], int]]] = {
    "tensor": lambda rows, columns, size, block: 1,
    "channel": lambda rows, columns, size, block: rows,
    "group": lambda rows, columns, size, block: rows * -(-columns // size),
    "block": lambda rows, columns, size, block: -(-rows // block[0]) * -(-columns // block[1]),
}
"""Scales of a matrix by strategy."""
