"""Memory of the weights in a given precision, from the exact tensors.

A quantized format applies to the matrices of the layers (``TensorKind.LINEAR``); embedding, head, norms, biases,
convolutions and the rest keep 16 bits (bitsandbytes, GPTQ, AWQ, FP8, MXFP4). GGUF types quantize embedding and head as
well and keep one-dimensional tensors in 32 bits. MXFP4, in models with experts, applies to the experts only, as in the
published gpt-oss checkpoints (``modules_to_not_convert``: attention, router, embedding and head).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from calc.architecture import Architecture, Tensor, TensorKind
from calc.dtypes import DType, whole
from calc.estimate import Component
from calc.formula import Formula, Number
from calc.inventory import has_experts, loaded_tensors

_TABLES = (TensorKind.EMBEDDING, TensorKind.HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightCount:
    """Parameters that a format quantizes, the scales they need, and the parameters it leaves alone."""

    quantized: int
    scales: int
    kept: int


def count_weights(architecture: Architecture, dtype: DType) -> WeightCount:
    """Sort the loaded tensors by what the format does with them."""
    experts_only = dtype.family == "microscaling" and has_experts(architecture)
    quantized = scales = kept = 0
    for tensor, times in loaded_tensors(architecture):
        elements = prod(tensor.shape)
        if dtype.quantized and _applies(dtype, tensor, experts_only=experts_only):
            quantized += times * elements
            scales += times * dtype.groups(tensor.shape)
        else:
            kept += times * elements
    return WeightCount(quantized=quantized, scales=scales, kept=kept)


def _applies(dtype: DType, tensor: Tensor, *, experts_only: bool) -> bool:
    if tensor.kind is TensorKind.LINEAR:
        return not experts_only or ("experts" in tensor.name and "shared" not in tensor.name)
    return dtype.quantizes_embeddings and tensor.kind in _TABLES


def weight_components(architecture: Architecture, dtype: DType) -> tuple[Component, ...]:
    """``weights``, and for a quantized format ``weights/scales`` and ``weights/unquantized``: all exact.

    Formula: ``P * q / 8``; scales ``N_s * q_s / 8``; the rest ``P_u * q_u / 8``.
    """
    count = count_weights(architecture, dtype)
    config = ("hf-config", dtype.source)
    if not dtype.quantized:
        return (_exact("weights", "P * q / 8", {"P": count.kept, "q": int(dtype.value_bits)}, config),)
    values = {"P_q": count.quantized, "q": whole(dtype.value_bits)}
    scales = {"N_s": count.scales, "q_s": whole(dtype.scale_bits)}
    parts = (
        _exact("weights", "P_q * q / 8", values, config),
        _exact("weights/scales", "N_s * q_s / 8", scales, (dtype.source,)),
        _exact("weights/unquantized", "P_u * q_u / 8", {"P_u": count.kept, "q_u": dtype.kept_bits}, ("hf-config",)),
    )
    return tuple(part for part in parts if part.bytes)


def _exact(name: str, expression: str, terms: Mapping[str, Number], sources: tuple[str, ...]) -> Component:
    return Component(name=name, derivation=Formula(expression, terms), sources=sources)
