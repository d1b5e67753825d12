"""Gemma 3n and Gemma 4: windows, layers that reuse an earlier cache, inputs of their own per layer.

Laws read from ``transformers`` 5.24 (``models/{gemma3n,gemma4}``). Published checkpoints also store the key and value
projections of layers that reuse a cache; Transformers does not build them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, TensorKind, Tower
from calc.hf_config.llama import LLAMA, Block, QueryKeyNorm, attention_tensors, gated_mlp
from calc.hf_config.mixers import parameter
from calc.hf_config.moe import geometry, mixture
from calc.hf_config.parts import FULL, SLIDING, Tensors, distinct, embedding, grouped_query, linear, norm, norms
from calc.hf_config.reader import Reader
from calc.hf_config.stack import decoder, layer_kinds, repeated, stacked_experts

_ACTIVATION: Final = "gelu_pytorch_tanh"
_NORMS: Final = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
_READ_BACK: Final = ("self_attn.k_proj", "self_attn.v_proj", "self_attn.k_norm")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which layers there are: how each attends, and from which one on they reuse earlier caches."""

    kinds: tuple[str, ...]
    first_shared: int

    def reuses(self, index: int) -> bool:
        """Whether a layer reads the cache of an earlier one."""
        return index >= self.first_shared


def _plan(reader: Reader, interval: int) -> Plan:
    depth = reader.layers()
    shared = reader.integer("num_kv_shared_layers", minimum=0, maximum=depth)
    fallback = tuple(SLIDING if (index + 1) % interval else FULL for index in range(depth))
    kinds = layer_kinds(reader, "layer_types", kinds=(SLIDING, FULL), fallback=fallback)
    first = depth - shared
    produced, used = set(kinds[:first]), set(kinds)
    reader.require(not shared or not first or produced == used, "num_kv_shared_layers", value=shared)
    return Plan(kinds, first)


def _attention(reader: Reader, heads: GroupedQueryAttention, *, reuses: bool) -> tuple[Tensors, Tensors]:
    """Tensors of a layer, and those that its checkpoint stores for nothing."""
    bias = reader.boolean("attention_bias")
    style = replace(LLAMA, query_bias=bias, output_bias=bias, query_key_norm=QueryKeyNorm.HEAD)
    tensors = attention_tensors(heads, reader.size("hidden_size"), style)
    if not reuses:
        return tensors, ()
    idle = tuple(tensor for tensor in tensors if tensor.name.startswith(_READ_BACK))
    return tuple(tensor for tensor in tensors if tensor not in idle), idle


def _per_layer(reader: Reader, hidden_size: int, width: int) -> Tensors:
    """The gate and projection of a layer's own input."""
    return (
        *linear("per_layer_input_gate", width, hidden_size),
        *linear("per_layer_projection", hidden_size, width),
        *norm("post_per_layer_input_norm", hidden_size),
    )


def _per_layer_tables(reader: Reader, hidden_size: int, width: int, depth: int) -> Tensors:
    """A second table by token, as wide as all layers' inputs together, and what projects the first one to them."""
    rows = reader.integer("vocab_size_per_layer_input")
    return (
        *embedding("model.embed_tokens_per_layer", rows, depth * width, TensorKind.POSITION),
        *linear("model.per_layer_model_projection", depth * width, hidden_size),
        *norm("model.per_layer_projection_norm", width),
    )


def _with_idle(model: Architecture, idle: Tensors) -> Architecture:
    if not idle:
        return model
    merged: dict[tuple[str, tuple[int, ...]], int] = {}
    for tensor in idle:
        merged[tensor.name, tensor.shape] = merged.get((tensor.name, tensor.shape), 0) + 1
    first = {(tensor.name, tensor.shape): tensor for tensor in idle}
    tensors = tuple(replace(first[key], count=count) for key, count in merged.items())
    tower = Tower(name="reused_cache", tensors=repeated(tensors, 1, f"{model.layer_prefix}."), loaded=False)
    return replace(model, towers=(*model.towers, tower))


def gemma3n(reader: Reader) -> Architecture:
    """Gemma 3n's text: four parallel streams (AltUp), low-rank residuals (LAuReL), per-layer inputs."""
    hidden_size, plan = reader.size("hidden_size"), _plan(reader, 5)
    depth = len(plan.kinds)
    heads = grouped_query(reader, hidden_size)
    window = reader.integer("sliding_window")
    streams, rank = reader.integer("altup_num_inputs", maximum=1024), reader.integer("laurel_rank")
    own = reader.integer("hidden_size_per_layer_input")
    rest = (
        *norms(_NORMS, hidden_size),
        *parameter("altup.correct_output_scale", hidden_size),
        *linear("altup.correction_coefs", streams, streams),
        *linear("altup.prediction_coefs", streams * streams, streams),
        *linear("altup.modality_router", streams, hidden_size),
        *norm("altup.router_norm", hidden_size),
        *linear("laurel.linear_left", rank, hidden_size),
        *linear("laurel.linear_right", hidden_size, rank),
        *norm("laurel.post_laurel_norm", hidden_size),
        *_per_layer(reader, hidden_size, own),
    )

    def build(key: tuple[str, bool, int]) -> Layer:
        kind, reuses, width = key
        return Layer(
            attention=replace(heads, shares_kv=reuses),
            feed_forward=DenseMLP(intermediate_size=width, gated=True, activation=_ACTIVATION),
            tensors=_attention(reader, heads, reuses=reuses)[0] + gated_mlp(hidden_size, width) + rest,
            window=window if kind == SLIDING else None,
        )

    widths = _widths(reader, depth)
    layers = distinct(((kind, plan.reuses(i), widths[i]) for i, kind in enumerate(plan.kinds)), build)
    extra = _per_layer_tables(reader, hidden_size, own, depth)
    for name in ("model.altup_projections.*", "model.altup_unembed_projections.*"):
        extra += repeated(linear(name, hidden_size, hidden_size), streams - 1)
    idle = _attention(reader, heads, reuses=True)[1] * (depth - plan.first_shared)
    return _with_idle(decoder(reader, layers, extra=extra), idle)


def _widths(reader: Reader, depth: int) -> tuple[int, ...]:
    """``intermediate_size`` is one number or one per layer."""
    if isinstance(reader.mapping.get("intermediate_size"), list):
        return reader.optional_integers("intermediate_size", minimum=1, length=depth) or ()
    return (reader.size("intermediate_size"),) * depth


def gemma4(reader: Reader) -> Architecture:
    """Gemma 4's text: full-attention layers have heads of their own size and number, some sizes have experts."""
    hidden_size, plan = reader.size("hidden_size"), _plan(reader, 6)
    plan = replace(plan, kinds=(*plan.kinds[:-1], FULL))  # the class forces it
    window = reader.integer("sliding_window")
    own = reader.integer("hidden_size_per_layer_input", minimum=0)
    rest = norms(_NORMS, hidden_size) + (_per_layer(reader, hidden_size, own) if own else ())
    rest += _experts_beside(reader, hidden_size)[1]
    double = reader.boolean("use_double_wide_mlp")
    tied_values = reader.boolean("attention_k_eq_v")

    def attend(kind: str, reuses: bool, heads: GroupedQueryAttention) -> tuple[Tensors, Tensors]:
        used, idle = _attention(reader, heads, reuses=reuses)
        if kind != FULL or not tied_values:
            return used, idle
        return _without_values(used), _without_values(idle)

    def build(key: tuple[str, bool, GroupedQueryAttention]) -> Layer:
        kind, reuses, heads = key
        width = reader.size("intermediate_size") * (2 if double and reuses else 1)
        return Layer(
            attention=replace(heads, shares_kv=reuses),
            feed_forward=_experts_beside(reader, hidden_size, width)[0],
            tensors=attend(*key)[0] + gated_mlp(hidden_size, width) + rest,
            window=window if kind == SLIDING else None,
        )

    heads = _gemma4_heads(reader, plan)
    keys = [(kind, plan.reuses(index), heads[index]) for index, kind in enumerate(plan.kinds)]
    extra = _per_layer_tables(reader, hidden_size, own, len(keys)) if own else ()
    idle = tuple(tensor for key in keys if key[1] for tensor in attend(*key)[1])
    return _with_idle(decoder(reader, distinct(keys, build), extra=extra), idle)


def _without_values(tensors: Tensors) -> Tensors:
    """Keys serve as values."""
    return tuple(tensor for tensor in tensors if not tensor.name.startswith("self_attn.v_proj"))


def _gemma4_heads(reader: Reader, plan: Plan) -> tuple[GroupedQueryAttention, ...]:
    """Heads of each layer: ``global_*`` keys speak of full attention, ``per_layer_config`` of single layers."""
    local = grouped_query(reader, reader.size("hidden_size"))
    given = reader.mapping.get("per_layer_config")
    if isinstance(given, Mapping):
        return tuple(_overridden(reader, local, index, given) for index in range(len(plan.kinds)))
    kv_heads = reader.optional_integer("num_global_key_value_heads", maximum=local.num_attention_heads)
    if not reader.boolean("attention_k_eq_v") or kv_heads is None:
        kv_heads = local.num_key_value_heads
    full = replace(local, head_dim=reader.integer("global_head_dim", maximum=2**20), num_key_value_heads=kv_heads)
    return tuple(full if kind == FULL else local for kind in plan.kinds)


def _overridden(
    reader: Reader, local: GroupedQueryAttention, index: int, given: Mapping[str, object]
) -> GroupedQueryAttention:
    key = next((key for key in (str(index), f"{index:02d}", f"{index:03d}") if key in given), None)
    if key is None:
        return local
    own = reader.section("per_layer_config").section(key)
    return replace(
        local,
        head_dim=own.optional_integer("head_dim", maximum=2**20) or local.head_dim,
        num_key_value_heads=own.optional_integer("num_key_value_heads", maximum=2**20) or local.num_key_value_heads,
    )


def _experts_beside(reader: Reader, hidden_size: int, width: int = 0) -> Block:
    """Experts that run beside the dense MLP (the shared one, in this package's terms), with norms of their own."""
    if not reader.boolean("enable_moe_block"):
        return DenseMLP(intermediate_size=width, gated=True, activation=_ACTIVATION), ()
    size = mixture(reader, count=("num_experts",), active=("top_k_experts",))
    names = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    tensors = (
        *linear("router.proj", size.count, hidden_size),
        *parameter("router.scale", hidden_size),
        *parameter("router.per_expert_scale", size.count),
        *stacked_experts(hidden_size, size, "experts"),
        *norms(names, hidden_size),
    )
    return geometry(replace(size, shared_width=width), _ACTIVATION), tensors


FAMILIES: Final = {"gemma3n_text": gemma3n, "gemma4_text": gemma4}
