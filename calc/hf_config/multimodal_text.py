"""Text decoders that exist only inside composites: Llama 3.2 Vision, Llama 4, and the Qwen-VL ones.

Laws read from ``transformers`` 5.24 (``models/{mllama,llama4,qwen3_vl_moe}``).
"""

from dataclasses import replace
from typing import Final

from calc.architecture import Architecture, DenseMLP, Layer
from calc.hf_config.dense import glm4, qwen2, qwen3
from calc.hf_config.latent import glm4_moe
from calc.hf_config.llama import LLAMA, Block, QueryKeyNorm, attention_tensors, gated_mlp, llama_like
from calc.hf_config.llama import dense as dense_mlp
from calc.hf_config.mixers import parameter
from calc.hf_config.moe import Mixture, either, geometry, mixture
from calc.hf_config.parts import CHUNKED, FULL, Tensors, distinct, experts, grouped_query, linear, norms
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import decoder, layer_kinds, renamed, router

_NORMS: Final = ("input_layernorm", "post_attention_layernorm")


def mllama_text(reader: Reader) -> Architecture:
    """Llama 3.2 Vision's text: Llama, with gated layers that attend to the image. The table has eight rows more."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    width = reader.size("intermediate_size")
    attention = grouped_query(reader, hidden_size)
    mlp = DenseMLP(intermediate_size=width, gated=True, activation="silu")
    rest = gated_mlp(hidden_size, width) + norms(_NORMS, hidden_size)
    given = reader.optional_integers("cross_attention_layers", maximum=MAX_LAYERS)
    crosses = set((3, 8, 13, 18, 23, 28, 33, 38) if given is None else given)
    looking = renamed(attention_tensors(attention, hidden_size, LLAMA), "self_attn.", "cross_attn.")
    looking += norms(("cross_attn.q_norm", "cross_attn.k_norm"), attention.head_dim)
    looking += parameter("cross_attn_attn_gate", 1) + parameter("cross_attn_mlp_gate", 1)
    reading = attention_tensors(attention, hidden_size, LLAMA)

    def build(crossing: bool) -> Layer:
        tensors = (looking if crossing else reading) + rest
        return Layer(attention=attention, feed_forward=mlp, tensors=tensors, cross_attention=crossing)

    model = decoder(reader, distinct((index in crosses for index in range(depth)), build))
    table = model.tensors[0]
    rows = replace(table, shape=(table.shape[0] + 8, table.shape[1]))
    return replace(model, tensors=(rows, *model.tensors[1:]))


def llama4_text(reader: Reader) -> Architecture:
    """Llama 4: chunked attention in three layers of four, one routed and one shared expert a token."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    bias = reader.boolean("attention_bias")
    attention = grouped_query(reader, hidden_size)
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    common = attention_tensors(attention, hidden_size, style) + norms(_NORMS, hidden_size)
    step = reader.integer("interleave_moe_layer_step", maximum=MAX_LAYERS)
    given = reader.optional_integers("moe_layers", maximum=MAX_LAYERS)
    sparse = set(range(step - 1, depth, step) if given is None else given)
    width = reader.size("intermediate_size_mlp")
    plain: Block = (
        DenseMLP(intermediate_size=width, gated=True, activation="silu"),
        gated_mlp(hidden_size, width, prefix="feed_forward"),
    )
    mixed = _llama4_mixture(reader, hidden_size)
    chunk = reader.optional_integer("attention_chunk_size")

    def build(key: tuple[str, bool]) -> Layer:
        feed_forward, tensors = mixed if key[1] else plain
        window = chunk if key[0] == CHUNKED else None
        return Layer(attention=attention, feed_forward=feed_forward, tensors=common + tensors, window=window)

    kinds = ((kind, index in sparse) for index, kind in enumerate(_llama4_kinds(reader, depth)))
    return decoder(reader, distinct(kinds, build))


def _llama4_kinds(reader: Reader, depth: int) -> tuple[str, ...]:
    """Layers without rotation see everything; ``no_rope_layers`` marks them with 0."""
    flags = reader.optional_integers("no_rope_layers", maximum=1)
    if not flags:
        interval = reader.optional_integer("no_rope_layer_interval", maximum=MAX_LAYERS) or 4
        flags = tuple(int((index + 1) % interval != 0) for index in range(depth))
    reader.require(len(flags) == depth, "no_rope_layers", "wrong_length", length=len(flags), expected=depth)
    fallback = tuple(CHUNKED if flag else FULL for flag in flags)
    return layer_kinds(reader, "layer_types", kinds=(CHUNKED, FULL), fallback=fallback)


def _llama4_mixture(reader: Reader, hidden_size: int) -> Block:
    size = mixture(reader, width="intermediate_size", count=("num_local_experts",))
    tensors = linear("feed_forward.router", size.count, hidden_size)
    tensors += _inward(hidden_size, size, "feed_forward.experts")
    tensors += gated_mlp(hidden_size, size.width, prefix="feed_forward.shared_expert")
    return geometry(replace(size, shared_width=size.width)), tensors


def _inward(hidden_size: int, size: Mixture, prefix: str) -> Tensors:
    """All experts of a layer in two tensors, each matrix stored ``(in, out)``."""
    gate_up = experts(f"{prefix}.gate_up_proj", hidden_size, 2 * size.width, count=size.count, active=size.active)
    return gate_up + experts(f"{prefix}.down_proj", size.width, hidden_size, count=size.count, active=size.active)


def qwen3_vl_moe_text(reader: Reader) -> Architecture:
    """Qwen3-VL's text with experts: Qwen 3 MoE, its experts stacked."""
    hidden_size = reader.size("hidden_size")
    size = mixture(reader)
    tensors = router("mlp.gate", size.count, hidden_size) + _inward(hidden_size, size, "mlp.experts")
    listed = frozenset(reader.optional_integers("mlp_only_layers", maximum=MAX_LAYERS) or ())
    step = reader.integer("decoder_sparse_step", maximum=MAX_LAYERS)
    sparse: Block = geometry(size), tensors
    mlp = either(sparse, dense_mlp(reader), lambda index: index not in listed and (index + 1) % step == 0)
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    return llama_like(reader, style, mlp=mlp)


FAMILIES = {
    "mllama_text_model": mllama_text,
    "llama4_text": llama4_text,
    "glm4v_text": glm4,
    "glm4v_moe_text": glm4_moe,
    "qwen2_vl_text": qwen2,
    "qwen2_5_vl_text": qwen2,
    "qwen3_vl_text": qwen3,
    "qwen3_vl_moe_text": qwen3_vl_moe_text,
}
