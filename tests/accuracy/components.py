"""Rows about one component: weights, KV cache or a buffer, compared with the component that the metric names."""

import re
from dataclasses import replace

from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention, TensorKind
from calc.compute_buffer import compute_buffer
from calc.dtypes import CACHE_BITS, DTYPES, MIXES, DType
from calc.errors import InvalidInput
from calc.inventory import distinct_layers, loaded_parameters
from calc.kv_cache import kv_cache_bytes, state_bytes
from calc.layout import Layout
from calc.offload import Held
from calc.parallelism import check_layout, part, stages
from calc.simple import simple_kv_cache
from calc.weights import weight_components
from tests.accuracy.precisions import gguf_type, precision, weight_only
from tests.accuracy.prediction import Prediction
from tests.accuracy.rows import Question, Skip


def predict(question: Question, architecture: Architecture) -> Prediction:
    """The component that the row's metric names.

    Raises:
        Skip: where the component is not modelled or not described.
    """
    metric = question["metric"]
    if metric == "weights_only":
        return _weights(question, architecture)
    if metric == "kv_cache":
        return _kv_cache(question, architecture)
    if metric == "buffer" and "llama.cpp" in question.lower("framework"):
        return _compute_buffer(question, architecture)
    raise Skip("buffer not modelled" if metric == "buffer" else "component not modelled")


def _compute_buffer(question: Question, architecture: Architecture) -> Prediction:
    """llama.cpp's compute buffer on the device with the head: the law of the engine (``calc.compute_buffer``).

    Without flash attention only of llama.cpp itself, whose logs say that all layers are on the GPU: those of the fork
    do not, and a matrix that waits on the host is copied into the buffer.
    """
    found = re.search(r"n_ubatch (\d+)", question["quant_details"])
    latent = any(isinstance(layer.attention, MultiHeadLatentAttention) for layer, _ in distinct_layers(architecture))
    flash, fork = question.lower("attention_impl") == "flash", "ik_llama" in question.lower("framework")
    if not found or latent or (fork and not flash) or "overrides" in question["parallelism"]:
        raise Skip("buffer not modelled")
    part = compute_buffer(
        architecture, ubatch=int(found[1]), context_tokens=question.needed("context_len"), flash=flash
    )
    return Prediction(part.bytes, part.low, part.high)


KEEPS_PREDICTION = ("glm4_moe",)
"""Families whose multi-token-prediction layer llama.cpp's converter keeps in the file (``nextn``)."""


def _near(size: float, simple: float | None = None) -> Prediction:
    """An exact count: half a per cent either way for headers and alignment."""
    return Prediction(size, size * 0.995, size * 1.005, simple)


def _weights(question: Question, architecture: Architecture) -> Prediction:
    if any(tower.loaded for tower in architecture.towers):
        raise Skip("what of the model is loaded is not said")
    kind = _weights_type(question)
    mine = _on_one_gpu(question, architecture)
    if "llama.cpp" in question.lower("framework") and architecture.model_type in KEEPS_PREDICTION:
        mine = replace(mine, towers=tuple(replace(tower, loaded=True) for tower in mine.towers))
    notes = question.lower("notes")
    on_gpu = "cuda model buffers" in notes or "stays on the host" in notes
    size = sum(one.bytes for one in weight_components(mine, kind, Held(tables=not on_gpu)))
    if "token embedding excluded" in notes:
        size -= _table(mine, kind)
    return _near(size, float(loaded_parameters(architecture) * kind.value_bits / 8))


def _weights_type(question: Question) -> DType:
    if "llama.cpp" in question.lower("framework"):
        name = gguf_type(question["precision_or_quant"])
        if name is None:
            raise Skip("mix of tensor types")
        if name in MIXES and "label alone does not give the size" in question["notes"]:
            raise Skip("mix of tensor types of its own")
        return DTYPES[name]
    return weight_only(question) or DTYPES[precision(question)]


def _table(architecture: Architecture, kind: DType) -> int:
    """The token table."""
    bits = kind.bits if kind.quantizes_embeddings else max(kind.compute_bits, 16)
    return int(sum(one.parameters for one in architecture.tensors if one.kind is TensorKind.EMBEDDING) * bits / 8)


def _on_one_gpu(question: Question, architecture: Architecture) -> Architecture:
    layout = Layout(tensor=question.degree("tp"), pipeline=question.degree("pp"))
    if layout.gpus == 1 and (question.integer("gpus") or 1) > 1 and question["scope"] == "per_gpu_max":
        raise Skip("share of a device unknown")
    try:
        check_layout(architecture, layout)
    except InvalidInput as error:
        raise Skip(f"refused: {error.code}") from error
    return part(architecture, layout, stages(layout)[0])


_FORMAT = re.compile(r"\b(?P<part>c\^KV|kv\^T|K|V) \((?P<format>\w+)\)")


def _kv_cache(question: Question, architecture: Architecture) -> Prediction:
    details, framework = question["quant_details"], question.lower("framework")
    if "recurrent state" in details:
        size = state_bytes(architecture, engine="llama.cpp")
        if not size:
            raise Skip("model has no recurrent state")
        return Prediction(size, size * 0.98, size * 1.01)  # engines keep the convolution's kernel, or one less
    if "vllm" in framework:
        return _pool(question, architecture)
    formats = {found["part"]: _cache_format(found["format"]) for found in _FORMAT.finditer(details)}
    if "f16 k/v" in details.lower():
        formats = {"K": "float16", "V": "float16"}
    if not formats:
        raise Skip("format of the cache unknown")
    tokens = question.needed("context_len")
    layers = distinct_layers(architecture)
    cached = float(sum(times * tokens * _layer_bytes(layer.attention, formats) for layer, times in layers))
    simple = simple_kv_cache(architecture, batch=1, context_tokens=tokens).bytes
    depth = len(architecture.layers)
    kept = (depth + 1) / depth if architecture.model_type in KEEPS_PREDICTION else 1.0
    return Prediction(cached, cached * 0.995, cached * kept * 1.005, simple)


def _cache_format(text: str) -> str:
    name = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}.get(text.lower(), text.lower())
    if name not in CACHE_BITS:
        raise Skip("format of the cache unknown")
    return name


def _layer_bytes(attention: object, formats: dict[str, str]) -> float:
    """Keys and values of one layer for one token, every layer in full as the fork stores them."""
    bits = {name: float(CACHE_BITS[kind]) for name, kind in formats.items()}
    if isinstance(attention, MultiHeadLatentAttention):
        if "c^KV" in bits:
            latent = (attention.kv_lora_rank + attention.qk_rope_head_dim) * bits["c^KV"]
            return (latent + attention.kv_lora_rank * bits.get("kv^T", 0)) / 8
        keys = attention.num_attention_heads * (attention.qk_nope_head_dim + attention.qk_rope_head_dim)
        return (keys * bits["K"] + attention.num_attention_heads * attention.v_head_dim * bits["V"]) / 8
    if isinstance(attention, GroupedQueryAttention) and "K" in bits:
        values = attention.v_head_dim or attention.head_dim
        heads = attention.num_key_value_heads
        return heads * (attention.head_dim * bits["K"] + values * bits["V"]) / 8
    return 0


def _pool(question: Question, architecture: Architecture) -> Prediction:
    """A pool that holds so many tokens: what one GPU keeps of them."""
    if "not shown" in question["quant_details"] or "not in the excerpt" in question["notes"]:
        raise Skip("capacity unknown")
    if any(layer.window or layer.cross_attention for layer, _ in distinct_layers(architecture)):
        raise Skip("capacity of windows unknown")
    tokens = question.needed("context_len")
    mine = _on_one_gpu(question, architecture)
    size = kv_cache_bytes(mine, context_tokens=tokens, engine="vllm")
    return Prediction(size, size * 0.99, size * 1.01, simple_kv_cache(mine, batch=1, context_tokens=tokens).bytes)


# Bytes per element of what a benchmark of one layer holds at its peak: input, output, what is saved, and gradients.
ALONE = {
    ("cross_entropy", "huggingface"): 20,  # float32: input and its gradient, log-probabilities and two gradients
    ("cross_entropy", "liger"): 4,  # the input, over which the gradient is written
    ("megatron_cross_entropy", "liger"): 8,
    ("megatron_cross_entropy", "megatron-unfused"): 8,
    ("megatron_cross_entropy", "megatron-fused"): 12,
    ("megatron_swiglu", "torch"): 14,  # two halves, activation, output and four gradients in 16 bits
    ("megatron_swiglu", "liger"): 12,
    ("megatron_swiglu", "megatron"): 10,
    ("megatron_swiglu", "liger_in_place"): 8,
    ("layer_norm", "huggingface"): 20,  # float32: input, output, their gradients and one more
    ("layer_norm", "liger"): 20,
    ("rms_norm", "huggingface"): 40,  # 16 bits, with float32 inside
}


def _with_matrices(kernel: str, question: Question) -> Prediction | None:
    """Layers with matrices, as Transformers computes them: weights and gradients, and tensors of each width.

    A head with its loss: the matrix three times in 16 bits, logits in 16 and 32 bits. A gated feed-forward: three
    matrices and their gradients, seven tensors of its width and four of the model's.
    """
    if "mode=full" not in question["quant_details"] or not question["framework"].endswith("huggingface"):
        return None
    sizes = {name: int(value) for name, value in re.findall(r'"?\b(\w+)"?[=:] ?(\d+)', question["quant_details"])}
    if kernel == "fused_linear_cross_entropy":
        tokens, hidden, vocabulary = sizes["BT"], sizes["H"], sizes["V"]
        size = 6 * vocabulary * (hidden + tokens) + 4 * tokens * hidden
    elif kernel in ("geglu", "swiglu"):
        tokens, hidden, width = (
            sizes.get("bsz", sizes.get("B", 1)) * sizes["T"],
            sizes["hidden_size"],
            sizes["intermediate_size"],
        )
        size = 12 * hidden * width + tokens * (14 * width + 8 * hidden)
    else:
        return None
    return Prediction(size, size * 0.95, size * 1.05)


def alone(question: Question) -> Prediction:
    """A layer measured alone (Liger-Kernel's benchmarks).

    Raises:
        Skip: for a layer that is not modelled.
    """
    kernel = question["model"].partition(" ")[0]
    if matrix := _with_matrices(kernel, question):
        return matrix
    each = ALONE.get((kernel, question["framework"].rpartition("provider ")[2]))
    sizes = {name: int(value) for name, value in re.findall(r'"?\b(\w+)"?[=:] ?(\d+)', question["quant_details"])}
    try:
        rows = sizes["M"] if "M" in sizes else sizes.get("B", 1) * sizes.get("T", sizes.get("S", 1))
        width = next(sizes[name] for name in ("V", "ffn_local", "N", "H") if name in sizes)
    except StopIteration:
        raise Skip("layer alone: not modelled") from None
    if each is None or "mode=full" not in question["quant_details"]:
        raise Skip("layer alone: not modelled")
    size = each * rows * width
    return Prediction(size, size * 0.98, size * 1.03)
