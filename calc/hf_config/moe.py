"""Mixtures of experts on Llama's plan: routed experts, shared ones, dense layers between them.

Experts are named one by one, as published checkpoints do (Transformers 5 packs them in memory, with equal counts).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from calc.architecture import Architecture, MixtureOfExperts, Tensor, TensorKind
from calc.hf_config.blocks import one_window, pattern_windows
from calc.hf_config.llama import (
    LLAMA,
    AttentionBlock,
    Block,
    QueryKeyNorm,
    attention_tensors,
    dense,
    gated_mlp,
    llama_like,
)
from calc.hf_config.parts import Tensors, expert_biases, experts, grouped_query, linear, vector, windows
from calc.hf_config.reader import MAX_EXPERTS, MAX_LAYERS, Reader

NAMES = ("gate_proj", "up_proj", "down_proj")
MIXTRAL_NAMES = ("w1", "w3", "w2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Numbers of a mixture: ``count`` routed experts of ``width``, ``active`` of them per token, shared ones beside."""

    count: int
    active: int
    width: int
    shared_width: int = 0


def mixture(
    reader: Reader,
    *,
    width: str = "moe_intermediate_size",
    count: tuple[str, ...] = ("num_experts", "num_local_experts"),
    active: tuple[str, ...] = ("num_experts_per_tok",),
) -> Mixture:
    """Read a mixture's numbers; a token cannot use more experts than there are."""
    routed = reader.integer(*count, maximum=MAX_EXPERTS)
    used = reader.integer(*active, maximum=MAX_EXPERTS)
    reader.require(used <= routed, active[0], "out_of_range", value=used, minimum=1, maximum=routed)
    return Mixture(count=routed, active=used, width=reader.integer(width))


def routed(hidden_size: int, size: Mixture, prefix: str, names: tuple[str, str, str] = NAMES) -> Tensors:
    """Gate, up and down matrices of every routed expert."""
    gate, up, down = (f"{prefix}.experts.*.{name}.weight" for name in names)
    return (
        *experts(gate, size.width, hidden_size, count=size.count, active=size.active),
        *experts(up, size.width, hidden_size, count=size.count, active=size.active),
        *experts(down, hidden_size, size.width, count=size.count, active=size.active),
    )


def geometry(size: Mixture, activation: str = "silu") -> MixtureOfExperts:
    """The feed-forward geometry of a gated mixture."""
    return MixtureOfExperts(
        num_experts=size.count,
        num_experts_per_tok=size.active,
        moe_intermediate_size=size.width,
        shared_intermediate_size=size.shared_width,
        gated=True,
        activation=activation,
    )


def deepseek_block(hidden_size: int, size: Mixture, extra: Tensors = (), *, shared_bias: bool = False) -> Block:
    """A router, routed experts and one MLP that holds all the shared ones (DeepSeek, GLM 4.5, ERNIE)."""
    tensors = linear("mlp.gate", size.count, hidden_size) + routed(hidden_size, size, "mlp") + extra
    if size.shared_width:
        tensors += gated_mlp(hidden_size, size.shared_width, prefix="mlp.shared_experts", bias=shared_bias)
    return geometry(size), tensors


def either(sparse: Block, plain: Callable[[int], Block], is_sparse: Callable[[int], bool]) -> Callable[[int], Block]:
    """Experts in some layers, a dense MLP in the others."""
    return lambda index: sparse if is_sparse(index) else plain(index)


def _qwen_sparse(reader: Reader) -> Callable[[int], bool]:
    only_dense = frozenset(reader.optional_integers("mlp_only_layers", maximum=MAX_LAYERS) or ())
    step = reader.integer("decoder_sparse_step", maximum=MAX_LAYERS)
    return lambda index: index not in only_dense and (index + 1) % step == 0


def qwen2_moe(reader: Reader) -> Architecture:
    """Qwen 1.5 and 2 MoE: a shared expert behind a sigmoid gate, biases on queries, keys and values."""
    hidden_size = reader.size("hidden_size")
    size = replace(mixture(reader), shared_width=reader.integer("shared_expert_intermediate_size"))
    tensors = (
        *linear("mlp.gate", size.count, hidden_size),
        *routed(hidden_size, size, "mlp"),
        *gated_mlp(hidden_size, size.shared_width, prefix="mlp.shared_expert"),
        *linear("mlp.shared_expert_gate", 1, hidden_size),
    )
    sparse: Block = geometry(size), tensors
    style = replace(LLAMA, query_bias=reader.boolean("qkv_bias"))
    mlp = either(sparse, dense(reader), _qwen_sparse(reader))
    return llama_like(reader, style, mlp=mlp, windows=_qwen2_moe_windows(reader))


def _qwen2_moe_windows(reader: Reader) -> tuple[int | None, ...]:
    """Every other one of the first ``max_window_layers``, unlike Qwen 2; inert unless ``use_sliding_window``."""
    window = reader.optional_integer("sliding_window", minimum=0) if reader.boolean("use_sliding_window") else None
    end = reader.integer("max_window_layers", minimum=0)
    return windows(
        reader, reader.layers(), window=window or None, is_windowed=lambda index: index % 2 == 0 and index < end
    )


def qwen3_moe(reader: Reader) -> Architecture:
    """Qwen 3 MoE: no shared expert, query and key norms per head."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    sparse = deepseek_block(reader.size("hidden_size"), mixture(reader))
    window = reader.optional_integer("sliding_window") if reader.boolean("use_sliding_window") else None
    mlp = either(sparse, dense(reader), _qwen_sparse(reader))
    return llama_like(reader, style, mlp=mlp, windows=[window] * reader.layers())


def _mixtral_mlp(reader: Reader) -> Callable[[int], Block]:
    hidden_size = reader.size("hidden_size")
    size = mixture(reader, width="intermediate_size")
    tensors = (
        *linear("block_sparse_moe.gate", size.count, hidden_size),
        *routed(hidden_size, size, "block_sparse_moe", MIXTRAL_NAMES),
    )
    block: Block = geometry(size), tensors
    return lambda _: block


def mixtral(reader: Reader) -> Architecture:
    """Mixtral: every MLP is a mixture; ``intermediate_size`` is an expert's."""
    return llama_like(reader, mlp=_mixtral_mlp(reader), windows=one_window(reader))


def phimoe(reader: Reader) -> Architecture:
    """Phi 3.5 MoE: Mixtral with LayerNorm and optional biases of attention and head."""
    bias = reader.boolean("attention_bias")
    style = replace(
        LLAMA,
        norm_bias=True,
        layer_norm=True,
        query_bias=bias,
        output_bias=bias,
        head_bias=reader.boolean("lm_head_bias"),
    )
    return llama_like(reader, style, mlp=_mixtral_mlp(reader), windows=one_window(reader))


def minimax_m2(reader: Reader) -> Architecture:
    """MiniMax M2: Mixtral's experts, query and key norms over all heads."""
    style = replace(LLAMA, query_key_norm=QueryKeyNorm.ALL if reader.boolean("use_qk_norm") else QueryKeyNorm.NONE)
    return llama_like(reader, style, mlp=_mixtral_mlp(reader))


def olmoe(reader: Reader) -> Architecture:
    """OLMoE: experts of ``intermediate_size``, query and key norms over all heads, norms before the blocks."""
    bias, hidden_size = reader.boolean("attention_bias"), reader.size("hidden_size")
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.ALL)
    heads = grouped_query(reader, hidden_size)  # the norms are as wide as the hidden size: no other head size runs
    reader.require(heads.head_dim * heads.num_attention_heads == hidden_size, "head_dim")
    sparse = deepseek_block(hidden_size, mixture(reader, width="intermediate_size"))
    return llama_like(reader, style, mlp=lambda _: sparse)


def granite_block(hidden_size: int, size: Mixture) -> Block:
    """Granite's mixture: all experts of a layer in two stacked tensors, gate and up fused."""
    prefix = "block_sparse_moe"
    up, down = f"{prefix}.input_linear.weight", f"{prefix}.output_linear.weight"
    tensors = (
        *linear(f"{prefix}.router.layer", size.count, hidden_size),
        *experts(up, 2 * size.width, hidden_size, count=size.count, active=size.active),
        *experts(down, hidden_size, size.width, count=size.count, active=size.active),
    )
    return geometry(size), tensors


def granitemoe(reader: Reader) -> Architecture:
    """Granite 3 MoE: Granite with a mixture in every layer."""
    size = mixture(reader, width="intermediate_size", count=("num_local_experts",))
    block, bias = granite_block(reader.size("hidden_size"), size), reader.boolean("attention_bias")
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias), mlp=lambda _: block)


def gpt_oss(reader: Reader) -> Architecture:
    """gpt-oss: stacked experts with biases, biases in the router and attention, one sink per head, windows 1:1."""
    hidden_size = reader.size("hidden_size")
    size = mixture(reader, width="intermediate_size", count=("num_local_experts", "num_experts"))
    many = {"count": size.count, "active": size.active}
    router = (  # plain parameters of a module of its own, not a linear
        Tensor(name="mlp.router.weight", shape=(size.count, hidden_size), kind=TensorKind.OTHER),
        *vector("mlp.router.bias", size.count, TensorKind.BIAS),
    )
    tensors = (
        *router,
        *experts("mlp.experts.gate_up_proj", hidden_size, 2 * size.width, **many),
        *expert_biases("mlp.experts.gate_up_proj_bias", 2 * size.width, **many),
        *experts("mlp.experts.down_proj", size.width, hidden_size, **many),
        *expert_biases("mlp.experts.down_proj_bias", hidden_size, **many),
    )
    block: Block = geometry(size, "swiglu_oai"), tensors
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias)
    attention = grouped_query(reader, hidden_size)
    reads: AttentionBlock = (
        attention,
        attention_tensors(attention, hidden_size, style) + vector("self_attn.sinks", attention.num_attention_heads),
    )
    return llama_like(reader, style, mlp=lambda _: block, attention=lambda _: reads, windows=pattern_windows(reader, 2))


def ernie_moe(reader: Reader) -> Architecture:
    """ERNIE 4.5 MoE: experts in a range of layers, the router's correction bias is a parameter."""
    hidden_size, depth = reader.size("hidden_size"), reader.layers()
    size = mixture(reader, count=("moe_num_experts", "num_experts"), active=("moe_k", "num_experts_per_tok"))
    shared = reader.optional_integer("moe_num_shared_experts", minimum=0, maximum=MAX_EXPERTS) or 0
    name = "mlp.moe_statics.e_score_correction_bias"
    correction = (Tensor(name=name, shape=(1, size.count), kind=TensorKind.BIAS),)
    bias = reader.boolean("use_bias")
    size = replace(size, shared_width=shared * size.width)
    sparse = deepseek_block(hidden_size, size, correction, shared_bias=bias)
    first = reader.integer("moe_layer_start_index", minimum=0, maximum=MAX_LAYERS)
    last = reader.integer("moe_layer_end_index", minimum=-1, maximum=MAX_LAYERS)
    last = depth - 1 if last == -1 else last
    step = reader.integer("moe_layer_interval", maximum=MAX_LAYERS)
    mlp = either(sparse, dense(reader, bias=bias), lambda index: (index + 1) % step == 0 and first <= index <= last)
    return llama_like(reader, replace(LLAMA, query_bias=bias, output_bias=bias, head_bias=bias), mlp=mlp)


FAMILIES = {
    "qwen2_moe": qwen2_moe,
    "qwen3_moe": qwen3_moe,
    "mixtral": mixtral,
    "phimoe": phimoe,
    "minimax_m2": minimax_m2,
    "olmoe": olmoe,
    "granitemoe": granitemoe,
    "gpt_oss": gpt_oss,
    "ernie4_5_moe": ernie_moe,
}
