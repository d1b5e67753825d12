"""Memory of the weights in a given precision, from the exact tensors.

A quantized format applies to the matrices of the layers (``TensorKind.LINEAR``); embedding, head, norms, biases,
convolutions and the rest keep 16 bits (bitsandbytes, GPTQ, AWQ, FP8, MXFP4). MXFP4, in models with experts, applies to
the experts only, as in the published gpt-oss checkpoints (``modules_to_not_convert``: attention, router, embedding and
head).

GGUF types quantize the token table as well and keep one-dimensional tensors in 32 bits; llama.cpp gives the head (the
token table where it is the head) a finer type: Q6_K, Q5_K in files of 1 to 3 bits, Q8_0 where a row is not a multiple
of 256 and in Falcon (``llama_tensor_get_type``). A matrix whose rows are not whole blocks of 256 falls back to a type
in blocks of 32 (``FALLBACK``), and to float16 where they are not whole blocks of 32 either. File types that mix tensor
types (Q4_K_M) give each tensor the one that ``calc.gguf_mixes`` tells.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from calc.architecture import Architecture, Tensor, TensorKind
from calc.custom import is_custom
from calc.dtypes import DTYPES, MIXES, STORED, DType, whole
from calc.errors import InvalidInput
from calc.estimate import Component
from calc.formula import Formula, Number
from calc.gguf_mixes import layer_types
from calc.inventory import distinct_layers, has_experts, loaded_parameters, loaded_tensors
from calc.offload import EVERYTHING, Held, is_routed, part_held

_LOW_BIT = {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs"}

FALLBACK: Mapping[str, str] = {
    **dict.fromkeys(("q2_k", "q3_k", "iq3_s", "iq3_xxs", "iq4_xs", *_LOW_BIT), "iq4_nl"),
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
    "tq1_0": "q4_0",
    "tq2_0": "q4_0",
}
"""What llama.cpp stores a matrix in where its rows are not whole blocks of the type asked for
(``llama_tensor_get_type``, src/llama-quant.cpp, read on 2026-12-01)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightCount:
    """Parameters that a format quantizes, their scales, those of a head with its own type, those left alone, and
    those of each type that a GGUF falls back to."""

    quantized: int
    scales: int
    head: int
    kept: int
    fallen: Mapping[str, int] = field(default_factory=dict)


def count_weights(architecture: Architecture, dtype: DType) -> WeightCount:
    """Sort the loaded tensors by what the format does with them."""
    experts_only = dtype.family == "microscaling" and has_experts(architecture)
    head = _head_kind(architecture) if head_dtype(architecture, dtype) else None
    quantized = scales = kept = finer = 0
    fallen: Counter[str] = Counter()
    for tensor, times in loaded_tensors(architecture):
        elements = prod(tensor.shape)
        if tensor.kind is head:
            finer += times * elements
        elif not (dtype.quantized and _applies(dtype, tensor, experts_only=experts_only)):
            kept += times * elements
        elif (other := fallback(dtype, tensor.shape)) is not dtype:
            fallen[other.name] += times * elements
        else:
            quantized += times * elements
            scales += times * dtype.groups(tensor.shape)
    return WeightCount(quantized=quantized, scales=scales, head=finer, kept=kept, fallen=fallen)


def fallback(dtype: DType, shape: tuple[int, ...]) -> DType:
    """The type that a matrix really gets in a GGUF: the one asked for, if its rows are whole blocks of it.

    >>> fallback(DTYPES["q4_k"], (128, 896)).name, fallback(DTYPES["q4_k"], (128, 1024)).name
    ('q5_0', 'q4_k')
    """
    while dtype.family == "gguf" and shape[-1] % dtype.group:
        dtype = DTYPES[FALLBACK.get(dtype.name, "float16")]
    return dtype


def head_dtype(architecture: Architecture, dtype: DType) -> DType | None:
    """The finer type of the head in a GGUF file of this type, or ``None`` where it is the file's own.

    >>> from calc.custom import custom_architecture
    >>> head_dtype(custom_architecture(10**9, 4096, 32), DTYPES["q4_0"]).name
    'q6_k'
    """
    if dtype.family != "gguf":
        return None
    name = "q5_k" if dtype.name in _LOW_BIT else "q6_k"
    eight = architecture.hidden_size % 256 or architecture.model_type == "falcon"
    finer = DTYPES["q8_0" if eight else name]
    return finer if finer.bits > dtype.bits else None


def _head_kind(architecture: Architecture) -> TensorKind:
    return TensorKind.EMBEDDING if architecture.tie_word_embeddings else TensorKind.HEAD


def _applies(dtype: DType, tensor: Tensor, *, experts_only: bool) -> bool:
    if tensor.kind is TensorKind.LINEAR:
        return not experts_only or tensor.active is not None  # of routed experts, a token uses some
    return dtype.quantizes_embeddings and tensor.kind in (TensorKind.EMBEDDING, TensorKind.HEAD)


def weight_components(architecture: Architecture, dtype: DType, held: Held = EVERYTHING) -> tuple[Component, ...]:
    """``weights``; for a quantized format also ``weights/scales``, ``weights/head`` and ``weights/unquantized``.

    Of the part of the model that is ``held``. Formula: ``P * q / 8``; scales ``N_s * q_s / 8``; head ``P_h * q_h / 8``;
    the rest ``P_u * q_u / 8``. All exact.

    >>> from calc.custom import custom_architecture
    >>> [(part.name, part.bytes) for part in weight_components(custom_architecture(1280, 128, 1), DTYPES["int4"])]
    [('weights', 640), ('weights/scales', 25)]

    Raises:
        InvalidInput: ``no_stored_weights`` where the weights are wanted as stored and no file tells how.
    """
    if dtype.family == STORED.family:
        return _as_stored(architecture, held)
    if dtype.name in MIXES:
        return _as_mixed(architecture, dtype, held)
    count = count_weights(part_held(architecture, held), dtype)
    config = (dtype.source,) if is_custom(architecture) else ("hf-config", dtype.source)
    if not dtype.quantized:
        found = _exact("weights", "P * q / 8", {"P": count.kept, "q": whole(dtype.value_bits)}, config)
        return (found,) if count.kept else ()
    values = {"P_q": count.quantized, "q": whole(dtype.value_bits)}
    scales = {"N_s": count.scales, "q_s": whole(dtype.scale_bits)}
    head = {"P_h": count.head, "q_h": whole((head_dtype(architecture, dtype) or dtype).bits)}
    fallen = (
        _exact(f"weights/{name}", "P_q * q / 8", {"P_q": number, "q": whole(DTYPES[name].bits)}, ("gguf-mixes",))
        for name, number in count.fallen.items()
    )
    parts = (
        _exact("weights", "P_q * q / 8", values, config),
        _exact("weights/scales", "N_s * q_s / 8", scales, (dtype.source,)),
        *fallen,
        _exact("weights/head", "P_h * q_h / 8", head, ("gguf-mixes",)),
        _exact("weights/unquantized", "P_u * q_u / 8", {"P_u": count.kept, "q_u": dtype.kept_bits}, ("hf-config",)),
    )
    return tuple(part for part in parts if part.bytes)


def dequantized(architecture: Architecture, dtype: DType) -> Component | None:
    """The largest matrix in 16 bits, into which kernels of 4 and 8 bits unpack it to multiply a prompt.

    bitsandbytes does so in every pass (``dequantize_4bit``), AutoAWQ's and ExLlamaV2's kernels for more than a few
    rows; ExLlamaV2 keeps the buffer. GGUF kernels multiply the blocks as they are. Low end: none.
    """
    if dtype.family not in ("bitsandbytes", "post_training") or dtype.name == "fp8":
        return None
    matrices = [one for one, _ in loaded_tensors(architecture) if one.kind is TensorKind.LINEAR and len(one.shape) == 2]
    widest = max((prod(one.shape) for one in matrices), default=0)
    if not widest or is_custom(architecture):
        return None
    derivation = Formula("2 * P_m", {"P_m": widest})
    return Component(name="activations/dequantized", derivation=derivation, sources=("gptq-2022",), low=0)


def _as_stored(architecture: Architecture, held: Held) -> tuple[Component, ...]:
    """A component for each type of the file, most bytes first; ``P`` are stored elements, ``q`` their exact bits.

    The file's types are known as sums: of a part of the model each is taken to be the same share. High end: all of it.
    """
    if not architecture.stored:
        raise InvalidInput("no_stored_weights", place="precision")
    alone, everything = len(architecture.stored) == 1, loaded_parameters(architecture)
    mine = everything if held == EVERYTHING else loaded_parameters(part_held(architecture, held))
    found = []
    for one in architecture.stored:
        if one.elements and mine:
            elements = one.elements if mine == everything else one.elements * mine // everything
            terms: dict[str, Number] = {"P": elements, "q": whole(Fraction(8 * one.bytes, one.elements))}
            name = "weights" if alone else f"weights/{one.name.lower()}"
            part = _exact(name, "P * q / 8", terms, (STORED.source,))
            found.append(part if mine == everything else _shared(part, one.bytes))
    return tuple(found)


def _shared(part: Component, whole_bytes: int) -> Component:
    """A share of a type of the file, of which it is not known which tensors have it."""
    low = max(0, 2 * part.bytes - whole_bytes)
    return Component(
        name=part.name, derivation=part.derivation, sources=part.sources, low=low, high=max(whole_bytes, part.bytes)
    )


def _as_mixed(architecture: Architecture, mix: DType, held: Held) -> tuple[Component, ...]:
    """A component for each tensor type of a file type of llama.cpp, most elements first."""
    base = DTYPES[MIXES[mix.name]]
    elements: Counter[str] = Counter()
    for tensor, asked, times in layer_types(architecture, mix.name, base.name, first=held.first):
        if is_routed(tensor) and not held.experts:
            continue
        kind = fallback(DTYPES[asked], tensor.shape).name if asked else "float32"
        elements[kind] += times * tensor.count * prod(tensor.shape)
    inside = {id(one) for layer, _ in distinct_layers(architecture) for one in layer.tensors}
    head, finer = _head_kind(architecture), head_dtype(architecture, base) or base
    for tensor, times in loaded_tensors(part_held(architecture, held)):
        if id(tensor) not in inside:
            elements[_outside_type(tensor, head, finer, base)] += times * prod(tensor.shape)
    kept = elements.pop("float32", 0)
    return tuple(
        _exact(f"weights/{name}", "P_q * q / 8", {"P_q": number, "q": whole(DTYPES[name].bits)}, (mix.source,))
        for name, number in elements.most_common()
    ) + ((_exact("weights/unquantized", "P_u * q_u / 8", {"P_u": kept, "q_u": 32}, ("hf-config",)),) if kept else ())


def _outside_type(tensor: Tensor, head: TensorKind, finer: DType, base: DType) -> str:
    if tensor.kind is head:
        return finer.name
    matrix = tensor.kind in (TensorKind.EMBEDDING, TensorKind.LINEAR) and len(tensor.shape) > 1
    return fallback(base, tensor.shape).name if matrix else "float32"


def _exact(name: str, expression: str, terms: Mapping[str, Number], sources: tuple[str, ...]) -> Component:
    return Component(name=name, derivation=Formula(expression, terms), sources=sources)
