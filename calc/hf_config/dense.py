"""Dense decoders that keep Llama's plan: biases, extra norms, windows, fused or ungated feed-forward blocks."""

from dataclasses import replace

from calc.architecture import Architecture
from calc.hf_config.blocks import fused_gate, one_window, pattern_windows, ungated
from calc.hf_config.llama import LLAMA, Block, QueryKeyNorm, Style, dense, llama, llama_like
from calc.hf_config.parts import every, vector, windows
from calc.hf_config.reader import MAX_LAYERS, Reader, shown

FOUR_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
POST_NORMS = ("post_attention_layernorm", "post_feedforward_layernorm")


def qwen_windows(reader: Reader) -> tuple[int | None, ...]:
    """Qwen's window: inert unless ``use_sliding_window``; then only from layer ``max_window_layers`` on."""
    window = reader.optional_integer("sliding_window", minimum=0) if reader.boolean("use_sliding_window") else None
    first = reader.integer("max_window_layers", minimum=0)
    return windows(reader, reader.layers(), window=window or None, is_windowed=lambda index: index >= first)


def mistral(reader: Reader) -> Architecture:
    """Mistral and Ministral 3: Llama with one window for all layers, or none."""
    return llama_like(reader, windows=one_window(reader))


def smollm3(reader: Reader) -> Architecture:
    """SmolLM 3: Llama; with ``use_sliding_window``, a window in the layers without rotation (each fourth)."""
    depth, slides = reader.layers(), reader.boolean("use_sliding_window")
    rotates = every(reader.integer("no_rope_layer_interval", maximum=MAX_LAYERS))
    flags = reader.optional_integers("no_rope_layers", maximum=1, length=depth)  # 1 where the layer does rotate
    reach = windows(
        reader,
        depth,
        window=reader.optional_integer("sliding_window"),
        is_windowed=lambda index: slides and not (flags[index] if flags else rotates(index)),
    )
    bias = reader.boolean("attention_bias")
    return llama_like(
        reader,
        replace(LLAMA, query_bias=bias, output_bias=bias),
        mlp=dense(reader, bias=reader.boolean("mlp_bias")),
        windows=reach,
    )


def qwen2(reader: Reader) -> Architecture:
    """Qwen 1.5, 2 and 2.5: biases on queries, keys and values only."""
    return llama_like(reader, replace(LLAMA, query_bias=True), windows=qwen_windows(reader))


def qwen3(reader: Reader) -> Architecture:
    """Qwen 3: query and key norms per head instead of biases."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    return llama_like(reader, style, windows=qwen_windows(reader))


def gemma(reader: Reader) -> Architecture:
    """Gemma: Llama with GeGLU and a head size of its own."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    return llama_like(reader, style, mlp=dense(reader, activation="gelu_pytorch_tanh"))


def gemma2(reader: Reader) -> Architecture:
    """Gemma 2: four norms a layer, a window in every other one."""
    bias = reader.boolean("attention_bias")
    return llama_like(
        reader,
        replace(LLAMA, norms=FOUR_NORMS, query_bias=bias, output_bias=bias),
        mlp=dense(reader, activation="gelu_pytorch_tanh"),
        windows=pattern_windows(reader, 2),
    )


def gemma3(reader: Reader) -> Architecture:
    """Gemma 3 (text): Gemma 2 with query and key norms, and a window in five layers of six."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, norms=FOUR_NORMS, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    interval = reader.optional_integer("sliding_window_pattern", "_sliding_window_pattern", maximum=MAX_LAYERS) or 6
    return llama_like(
        reader,
        style,
        mlp=dense(reader, activation="gelu_pytorch_tanh"),
        windows=pattern_windows(reader, interval),
    )


def phi3(reader: Reader) -> Architecture:
    """Phi 3, 3.5 and 4: Llama with fused query-key-value and gate-up matrices, one window for all layers."""
    return llama_like(
        reader,
        replace(LLAMA, fused_qkv="self_attn.qkv_proj"),
        mlp=fused_gate(reader),
        windows=one_window(reader),
    )


def _olmo2_style(reader: Reader) -> Style:
    bias = reader.boolean("attention_bias")
    return replace(LLAMA, norms=POST_NORMS, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.ALL)


def olmo2(reader: Reader) -> Architecture:
    """OLMo 2: norms after the blocks, query and key norms over all heads."""
    return llama_like(reader, _olmo2_style(reader))


def olmo3(reader: Reader) -> Architecture:
    """OLMo 3: OLMo 2 with a window in three layers of four."""
    return llama_like(reader, _olmo2_style(reader), windows=pattern_windows(reader, 4))


def exaone_windows(reader: Reader) -> tuple[int | None, ...]:
    """EXAONE's rule where ``layer_types`` is absent: an interval, or letters (``LLLG``) that repeat."""
    depth, key = reader.layers(), "sliding_window_pattern"
    letters = reader.mapping.get(key)
    if not isinstance(letters, str):
        return pattern_windows(reader, reader.optional_integer(key, maximum=MAX_LAYERS) or 1)
    fits = 0 < len(letters) <= MAX_LAYERS and set(letters) <= {"L", "G"}
    reader.require(fits, key, "not_a_choice", value=shown(letters), choices="L, G")
    window = reader.optional_integer("sliding_window")

    def is_windowed(index: int) -> bool:
        return index != depth - 1 and letters[index % len(letters)] == "L"

    return windows(reader, depth, window=window, is_windowed=is_windowed)


def exaone4(reader: Reader) -> Architecture:
    """EXAONE 4: norms after the blocks, query and key norms per head, windows by ``layer_types`` or a pattern."""
    style = replace(LLAMA, norms=POST_NORMS, query_key_norm=QueryKeyNorm.HEAD)
    return llama_like(reader, style, windows=exaone_windows(reader))


def glm(reader: Reader) -> Architecture:
    """GLM 4 (9B, 2024): biases on queries, keys and values; fused gate and up matrices."""
    return llama_like(reader, replace(LLAMA, query_bias=reader.boolean("attention_bias")), mlp=fused_gate(reader))


def glm4(reader: Reader) -> Architecture:
    """GLM 4 (0414): GLM with norms before and after each block."""
    names = ("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm")
    style = replace(LLAMA, norms=names, query_bias=reader.boolean("attention_bias"))
    return llama_like(reader, style, mlp=fused_gate(reader))


def ernie(reader: Reader) -> Architecture:
    """ERNIE 4.5 dense: Llama with all biases or none."""
    bias = reader.boolean("use_bias")
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias), mlp=dense(reader, bias=bias))


def seed_oss(reader: Reader) -> Architecture:
    """Seed-OSS: separate switches for the biases of the inputs and of the output of attention."""
    style = replace(
        LLAMA, query_bias=reader.boolean("attention_bias"), output_bias=reader.boolean("attention_out_bias")
    )
    return llama_like(reader, style, mlp=dense(reader, bias=reader.boolean("mlp_bias")))


def apertus(reader: Reader) -> Architecture:
    """Apertus: an ungated MLP whose xIELU activation has two learned numbers, query and key norms per head."""
    bias = reader.boolean("attention_bias")
    style = replace(
        LLAMA,
        norms=("attention_layernorm", "feedforward_layernorm"),
        query_bias=bias,
        output_bias=bias,
        query_key_norm=QueryKeyNorm.HEAD,
    )
    feed_forward, tensors = ungated(reader, ("mlp.up_proj", "mlp.down_proj"), bias=False)(0)  # mlp_bias is not read
    if reader.text("hidden_act") == "xielu":
        tensors += vector("mlp.act_fn.alpha_n", 1) + vector("mlp.act_fn.alpha_p", 1)
    block: Block = feed_forward, tensors
    return llama_like(reader, style, mlp=lambda _: block)


def internlm3(reader: Reader) -> Architecture:
    """InternLM 3: Llama with one switch for the biases of attention inputs (``qkv_bias``) and one for the rest."""
    bias = reader.boolean("bias")
    style = replace(LLAMA, query_bias=reader.boolean("qkv_bias"), output_bias=bias)
    return llama_like(reader, style, mlp=dense(reader, bias=bias))


FAMILIES = {
    "mistral": mistral,
    "ministral3": mistral,
    "smollm3": smollm3,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
    "phi3": phi3,
    "olmo2": olmo2,
    "olmo3": olmo3,
    "exaone4": exaone4,
    "glm": glm,
    "glm4": glm4,
    "granite": llama,
    "ernie4_5": ernie,
    "seed_oss": seed_oss,
    "apertus": apertus,
    "internlm3": internlm3,
}
