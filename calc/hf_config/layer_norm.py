"""Dense decoders on Llama's plan that normalise with LayerNorm, often with attention and MLP side by side."""

from dataclasses import replace

from calc.architecture import Architecture, Tensor, TensorKind
from calc.hf_config.blocks import one_window, pattern_windows, ungated
from calc.hf_config.llama import LLAMA, AttentionBlock, QueryKeyNorm, attention_tensors, llama_like
from calc.hf_config.parts import grouped_query
from calc.hf_config.reader import MAX_LAYERS, Reader


def phi(reader: Reader) -> Architecture:
    """Phi 1, 1.5 and 2: attention and MLP side by side after one LayerNorm; biases everywhere, the head included."""
    style = replace(
        LLAMA,
        norms=("input_layernorm",),
        final_norm="model.final_layernorm",
        norm_bias=True,
        layer_norm=True,
        parallel=True,
        query_bias=True,
        output_bias=True,
        output_name="self_attn.dense",
        query_key_norm=QueryKeyNorm.HEAD if reader.boolean("qk_layernorm") else QueryKeyNorm.NONE,
        query_key_norm_bias=True,
        query_norm_name="self_attn.q_layernorm",
        key_norm_name="self_attn.k_layernorm",
        head_bias=True,
    )
    return llama_like(reader, style, mlp=ungated(reader, ("mlp.fc1", "mlp.fc2"), bias=True))


def olmo(reader: Reader) -> Architecture:
    """OLMo 1: Llama whose LayerNorms have no parameters."""
    bias = reader.boolean("attention_bias")
    return llama_like(reader, replace(LLAMA, has_norms=False, layer_norm=True, query_bias=bias, output_bias=bias))


def stablelm(reader: Reader) -> Architecture:
    """StableLM: LayerNorm, optional query-key-value biases, per-head norms and parallel residual."""
    parallel = reader.boolean("use_parallel_residual")
    style = replace(
        LLAMA,
        norms=("input_layernorm",) if parallel else LLAMA.norms,
        norm_bias=True,
        layer_norm=True,
        parallel=parallel,
        query_bias=reader.boolean("use_qkv_bias"),
    )
    hidden_size = reader.size("hidden_size")
    own = {key: value for key, value in reader.mapping.items() if key != "head_dim"}  # its class does not read it
    attention = grouped_query(replace(reader, mapping=own), hidden_size)
    tensors = attention_tensors(attention, hidden_size, style)
    if reader.boolean("qk_layernorm"):
        tensors += _norm_of_each_head("q_layernorm", attention.num_attention_heads, attention.head_dim)
        tensors += _norm_of_each_head("k_layernorm", attention.num_key_value_heads, attention.head_dim)
    block: AttentionBlock = attention, tensors
    return llama_like(reader, style, attention=lambda _: block)


def _norm_of_each_head(name: str, heads: int, head_dim: int) -> tuple[Tensor, ...]:
    return (Tensor(name=f"self_attn.{name}.norms.*.weight", shape=(head_dim,), kind=TensorKind.NORM, count=heads),)


def starcoder2(reader: Reader) -> Architecture:
    """StarCoder 2: LayerNorm, an ungated MLP, biases everywhere, one window for all layers."""
    bias = reader.boolean("use_bias")
    style = replace(LLAMA, norm_bias=True, layer_norm=True, query_bias=bias, output_bias=bias)
    return llama_like(
        reader,
        style,
        mlp=ungated(reader, ("mlp.c_fc", "mlp.c_proj"), bias=bias),
        windows=one_window(reader),
    )


def cohere(reader: Reader) -> Architecture:
    """Command R and Aya: parallel blocks after one LayerNorm without bias, optional norms for each head."""
    bias = reader.boolean("attention_bias")
    style = replace(
        LLAMA,
        norms=("input_layernorm",),
        layer_norm=True,
        parallel=True,
        query_bias=bias,
        output_bias=bias,
        query_key_norm=QueryKeyNorm.EACH if reader.boolean("use_qk_norm") else QueryKeyNorm.NONE,
    )
    return llama_like(reader, style)


def cohere2(reader: Reader) -> Architecture:
    """Command R7B and Command A: Cohere with a window in three layers of four."""
    bias = reader.boolean("attention_bias")
    style = replace(
        LLAMA, norms=("input_layernorm",), layer_norm=True, parallel=True, query_bias=bias, output_bias=bias
    )
    interval = reader.optional_integer("sliding_window_pattern", "_sliding_window_pattern", maximum=MAX_LAYERS) or 4
    return llama_like(reader, style, windows=pattern_windows(reader, interval))


def nemotron(reader: Reader) -> Architecture:
    """Nemotron 4 and Minitron: LayerNorm with bias, an ungated MLP with squared ReLU."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, norm_bias=True, layer_norm=True, query_bias=bias, output_bias=bias)
    mlp = ungated(reader, ("mlp.up_proj", "mlp.down_proj"), bias=reader.boolean("mlp_bias"))
    return llama_like(reader, style, mlp=mlp)


FAMILIES = {
    "phi": phi,
    "olmo": olmo,
    "stablelm": stablelm,
    "starcoder2": starcoder2,
    "cohere": cohere,
    "cohere2": cohere2,
    "nemotron": nemotron,
}
