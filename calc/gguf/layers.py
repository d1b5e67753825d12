"""A layer of a GGUF: its attention, its feed-forward and its recurrent state, from the keys and the tensors it has."""

from collections.abc import Mapping
from typing import Final

from calc.architecture import (
    Attention,
    DenseMLP,
    FeedForward,
    GroupedQueryAttention,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    RecurrentState,
)
from calc.checkpoint import InvalidFile, StoredTensor
from calc.gguf.keys import Keys

Stored = Mapping[str, StoredTensor]
"""The tensors of one layer by name without ``blk.N.``."""

MAX_KERNEL: Final = 2**16
_QUERIES: Final = ("attn_q.weight", "attn_q_a.weight", "attn_q_b.weight")
_DELTA: Final = ("ssm_beta.weight", "ssm_ba.weight", "ssm_beta_alpha.weight", "ssm_alpha.weight")


def attention_of(
    keys: Keys, stored: Stored, heads: tuple[int, int], window: int | None, *, shares: bool
) -> Attention | None:
    """The attention of a layer, or None where it has none (recurrent and feed-forward layers).

    ``attn_qkv`` beside a convolution is the input of a gated delta net, not attention (Qwen 3.5).
    """
    recurrent = "ssm_conv1d.weight" in stored
    if not any(name in stored for name in _QUERIES) and ("attn_qkv.weight" not in stored or recurrent):
        return None
    query, key_value = heads
    if not query or not key_value:
        return None
    if "attn_kv_a_mqa.weight" in stored:
        return _latent(keys, query, indexes=any(name.startswith("indexer.") for name in stored))
    suffix = "_swa" if window is not None and keys.has("attention.key_length_swa") else ""
    width = max(keys.integer("embedding_length") // query, 1)
    key_width = keys.positive(f"attention.key_length{suffix}", width)
    value_width = keys.positive(f"attention.value_length{suffix}", width)
    return GroupedQueryAttention(
        num_attention_heads=query,
        num_key_value_heads=key_value,
        head_dim=key_width,
        v_head_dim=value_width if value_width != key_width else None,
        # Transformers expands Falcon's groups before it caches them (``new_decoder_architecture``).
        cached_heads=query if keys.family == "falcon" and 1 < key_value < query else None,
        shares_kv=shares,
    )


def _latent(keys: Keys, heads: int, *, indexes: bool) -> MultiHeadLatentAttention:
    """Latent attention; files from before ``key_length_mla`` keep the width of a whole key in ``key_length``."""
    rotary = keys.positive("rope.dimension_count")
    names = ("attention.key_length_mla", "attention.value_length_mla")
    key, value = names if keys.has(names[0]) else (name.removesuffix("_mla") for name in names)
    whole = keys.positive(key)
    if whole <= rotary:
        raise InvalidFile("bad_number", place=keys.place(key))
    return MultiHeadLatentAttention(
        num_attention_heads=heads,
        kv_lora_rank=keys.positive("attention.kv_lora_rank"),
        q_lora_rank=keys.integer("attention.q_lora_rank", 0) or None,
        qk_nope_head_dim=whole - rotary,
        qk_rope_head_dim=rotary,
        v_head_dim=keys.positive(value),
        index_head_dim=keys.integer("attention.indexer.key_length", 0) if indexes else 0,
    )


def feed_forward_of(keys: Keys, stored: Stored) -> FeedForward | None:
    """The feed-forward of a layer, from the shapes of its tensors."""
    if "ffn_up_exps.weight" in stored or "ffn_gate_up_exps.weight" in stored:
        return _mixture(keys, stored)
    up, down = stored.get("ffn_up.weight"), stored.get("ffn_down.weight")
    if up is None or down is None or not up.shape or not down.shape:
        return None
    width = down.shape[-1]
    gate = "ffn_gate.weight" in stored
    return DenseMLP(
        intermediate_size=width,
        gated=gate or up.shape[0] == 2 * width,
        activation="silu" if gate or up.shape[0] == 2 * width else "gelu",
    )


def _mixture(keys: Keys, stored: Stored) -> MixtureOfExperts:
    down, shared = stored.get("ffn_down_exps.weight"), stored.get("ffn_down_shexp.weight")
    if down is None or len(down.shape) != 3:
        raise InvalidFile("bad_shape", place="ffn_down_exps.weight")
    return MixtureOfExperts(
        num_experts=down.shape[0],
        num_experts_per_tok=keys.integer("expert_used_count", maximum=down.shape[0]),
        moe_intermediate_size=down.shape[2],
        shared_intermediate_size=shared.shape[-1] if shared and shared.shape else 0,
        gated="ffn_gate_exps.weight" in stored or "ffn_gate_up_exps.weight" in stored,
        activation="silu",
    )


def state_of(keys: Keys, stored: Stored) -> RecurrentState | None:
    """The recurrent state of a layer, in the shapes that Transformers keeps: a whole kernel, and a float32 state."""
    if "shortconv.conv.weight" in stored:
        hidden = keys.positive("embedding_length")
        kept = hidden * keys.positive("shortconv.l_cache", maximum=MAX_KERNEL)
        return RecurrentState(name="short_conv", inner_size=hidden, convolution_elements=kept, state_elements=0)
    if "ssm_conv1d.weight" not in stored:
        return None
    kernel, inner = keys.positive("ssm.conv_kernel", maximum=MAX_KERNEL), keys.positive("ssm.inner_size")
    state, groups = keys.positive("ssm.state_size", maximum=2**20), keys.integer("ssm.group_count", 0)
    name = "mamba" if "ssm_x.weight" in stored else "mamba2"
    if any(delta in stored for delta in _DELTA):
        name = "gated_delta_net"
    return RecurrentState(
        name=name,
        inner_size=inner,
        convolution_elements=kernel * (inner + (0 if name == "mamba" else 2 * groups * state)),
        state_elements=inner * state,
    )
