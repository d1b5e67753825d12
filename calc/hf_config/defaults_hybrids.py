"""What the configuration classes of hybrids, state-space models and text parts of composites use when silent.

Source: the field defaults of the configuration classes of ``transformers`` 5.24.0, read 2026-12-01 (see
``calc.hf_config.defaults``). Keys that no builder reads are left out.
"""

from collections.abc import Mapping
from typing import Final

Rows = Mapping[str, tuple[object, ...]]


def table(columns: str, rows: Rows) -> dict[str, dict[str, object]]:
    """Rows of values under space-separated column names.

    >>> table("expand state_size", {"mamba": (2, 16)})
    {'mamba': {'expand': 2, 'state_size': 16}}
    """
    names = columns.split()
    return {name: dict(zip(names, row, strict=True)) for name, row in rows.items()}


_MINIMAX: Final = ("minimax", "minimax_text_01", "minimax_m1")
"""The class of Transformers, and the names that the first checkpoints carry."""

_SIZES: Final = table(
    "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
    "head_dim max_position_embeddings tie_word_embeddings",
    {
        "bamba": (128000, 4096, 14336, 32, 32, 8, None, 262144, False),
        "falcon_h1": (128000, 4096, 14336, 32, 32, 8, None, 8192, False),
        "gemma3n_text": (262400, 2048, 16384, 35, 8, 2, 256, 32768, True),
        "gemma4_text": (262144, 2304, 9216, 30, 8, 4, 256, 131072, True),
        "glm4v_text": (151552, 4096, 13696, 40, 32, 2, None, 32768, False),
        "glm4v_moe_text": (151424, 4096, 10944, 46, 96, 8, None, 65536, False),
        "granitemoehybrid": (32000, 4096, 11008, 32, 32, None, None, 2048, False),
        "jamba": (65536, 4096, 14336, 32, 32, 8, None, 262144, False),
        "kimi_linear": (163840, 2304, 9216, 27, 32, None, None, 1048576, False),
        "lfm2": (65536, 2560, 12288, 32, 32, 8, None, 128000, True),
        "lfm2_moe": (65536, 2048, 7168, 32, 32, 8, None, 128000, True),
        "llama4_text": (202048, 5120, 8192, 48, 40, 8, 128, 131072, False),
        **dict.fromkeys(_MINIMAX, (32000, 4096, 14336, 32, 32, 8, None, 131072, False)),
        "mllama_text_model": (128256, 4096, 14336, 40, 32, 8, None, 131072, False),
        "nemotron_h": (131072, 4096, 21504, None, 32, 8, 128, 4096, False),
        "olmo_hybrid": (100352, 3840, 11008, 32, 30, None, None, 65536, False),
        "qwen2_vl_text": (152064, 8192, 29568, 80, 64, 8, None, 32768, False),
        "qwen2_5_vl_text": (152064, 8192, 29568, 80, 64, 8, None, 32768, False),
        "qwen3_5_moe_text": (248320, 2048, None, 40, 16, 2, 256, 32768, False),
        "qwen3_5_text": (248320, 4096, 12288, 32, 16, 4, 256, 32768, False),
        "qwen3_next": (151936, 2048, 5632, 48, 16, 2, 256, 32768, False),
        "qwen3_vl_moe_text": (151936, 2048, 5632, 24, 16, 16, None, 128000, True),
        "qwen3_vl_text": (151936, 4096, 22016, 32, 32, 32, 128, 128000, False),
        "recurrent_gemma": (256000, 2560, 7680, 26, 10, None, None, None, True),
        "zamba": (32000, 3712, 14848, 76, 16, 16, None, 4096, True),
        "zamba2": (32000, 2560, None, 54, 32, None, None, 4096, True),
    },
)

_MAMBA: Final = table(
    "mamba_expand mamba_d_state mamba_d_conv mamba_conv_bias mamba_proj_bias mamba_n_heads mamba_n_groups",
    {
        "jamba": (2, 16, 4, True, False, None, None),
        "zamba": (2, 16, 4, True, False, None, None),
        "zamba2": (2, 64, 4, True, False, None, None),
        "bamba": (2, 256, 4, True, False, 128, 1),
        "falcon_h1": (2, 256, 4, True, False, 128, 1),
        "granitemoehybrid": (2, 256, 4, True, False, 128, 1),
    },
)

_STATE_SPACE: Final = table(
    "vocab_size hidden_size num_hidden_layers expand state_size conv_kernel use_conv_bias use_bias "
    "tie_word_embeddings num_heads head_dim n_groups",
    {
        "mamba": (50280, 768, 32, 2, 16, 4, True, False, True, None, None, None),
        "falcon_mamba": (50280, 768, 32, 2, 16, 4, True, False, True, None, None, None),
        "mamba2": (32768, 4096, 64, 2, 128, 4, True, False, False, 128, 64, 8),
    },
)

_DELTA: Final = table(
    "linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim linear_num_key_heads linear_num_value_heads",
    dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), (4, 128, 128, 16, 32)),
)

_EXPERTS: Final = table(
    "num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size decoder_sparse_step",
    {
        "qwen3_next": (512, 10, 512, 512, 1),
        "qwen3_5_moe_text": (256, 8, 512, 512, 1),
        "qwen3_vl_moe_text": (60, 4, 1408, None, 1),
        "lfm2_moe": (32, 4, 1792, None, None),
        "jamba": (16, 2, None, None, None),
    },
)

_T5: Final = table(
    "vocab_size d_model d_kv d_ff num_layers num_heads relative_attention_num_buckets feed_forward_proj "
    "tie_word_embeddings",
    {
        "t5": (32128, 512, 64, 2048, 6, 8, 32, "relu", True),
        "mt5": (250112, 512, 64, 1024, 8, 6, 32, "gated-gelu", True),
        "umt5": (250112, 512, 64, 1024, 8, 6, 32, "gated-gelu", True),
    },
)

_OTHER: Final[Mapping[str, Mapping[str, object]]] = {
    "falcon_h1": {"mamba_d_ssm": 1024, "projectors_bias": False, "mamba_rms_norm": False},
    "gemma3n_text": {
        "sliding_window": 512,
        "vocab_size_per_layer_input": 262144,
        "hidden_size_per_layer_input": 256,
        "altup_num_inputs": 4,
        "num_kv_shared_layers": 15,
        "laurel_rank": 64,
    },
    "gemma4_text": {
        "sliding_window": 512,
        "vocab_size_per_layer_input": 262144,
        "hidden_size_per_layer_input": 256,
        "attention_k_eq_v": False,
        "num_kv_shared_layers": 0,
        "enable_moe_block": False,
        "use_double_wide_mlp": False,
        "global_head_dim": 512,
    },
    "glm4v_text": {"attention_bias": True},
    "glm4v_moe_text": {
        "attention_bias": True,
        "use_qk_norm": False,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
    },
    "granitemoehybrid": {"shared_intermediate_size": 1024, "num_local_experts": 8, "num_experts_per_tok": 2},
    "jamba": {"attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1},
    "kimi_linear": {
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "moe_intermediate_size": 1024,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "index_head_dim": 0,
        "linear_head_dim": 128,
        "linear_num_heads": 32,
        "linear_conv_kernel_dim": 4,
    },
    "olmo_hybrid": {"linear_conv_kernel_dim": 4},
    "lfm2": {
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_multiple_of": 256,
        "block_ffn_dim_multiplier": 1,
        "block_auto_adjust_ff_dim": True,
    },
    "lfm2_moe": {"conv_bias": False, "conv_L_cache": 3, "num_dense_layers": 2},
    "llama4_text": {
        "intermediate_size_mlp": 16384,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "attention_chunk_size": 8192,
    },
    **{name: {"num_local_experts": 8, "num_experts_per_tok": 2} for name in _MINIMAX},
    "nemotron_h": {
        "ssm_state_size": 128,
        "mamba_num_heads": 128,
        "mamba_head_dim": 64,
        "n_groups": 8,
        "conv_kernel": 4,
        "use_conv_bias": True,
        "use_bias": False,
        "n_routed_experts": 8,
        "moe_intermediate_size": 7688,
        "moe_shared_expert_intermediate_size": 7688,
        "num_experts_per_tok": 2,
        "num_nextn_predict_layers": 0,
    },
    "qwen2_vl_text": {"sliding_window": 4096, "max_window_layers": 80},
    "qwen2_5_vl_text": {"sliding_window": 4096, "max_window_layers": 80},
    "recurrent_gemma": {"attention_window_size": 2048, "conv1d_width": 4},
    "zamba": {"n_mamba_heads": 2, "attn_layer_period": 6, "attn_layer_offset": 4},
    "zamba2": {
        "mamba_ngroups": 1,
        "n_mamba_heads": 8,
        "add_bias_linear": False,
        "num_mem_blocks": 1,
        "use_shared_attention_adapter": False,
        "adapter_rank": 128,
    },
}

_PARTS: Final = (_SIZES, _MAMBA, _STATE_SPACE, _DELTA, _EXPERTS, _T5, _OTHER)

HYBRID_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {key: value for part in _PARTS for key, value in part.get(name, {}).items()}
    for name in sorted({name for part in _PARTS for name in part})
}
