"""What the configuration classes of vision towers use where ``vision_config`` is silent.

Source: the field defaults of the configuration classes of ``transformers`` 5.24.0, read 2026-12-01 (see
``calc.hf_config.defaults``). Keys that no builder reads are left out.
"""

from collections.abc import Mapping
from typing import Final

from calc.hf_config.defaults_hybrids import table

_PATCHES: Final = table(
    "hidden_size intermediate_size num_hidden_layers num_channels image_size patch_size",
    {
        "clip_vision_model": (768, 3072, 12, 3, 224, 32),
        "siglip_vision_model": (768, 3072, 12, 3, 224, 16),
        "pixtral": (1024, 4096, 24, 3, 1024, 16),
        "mllama_vision_model": (1280, 5120, 32, 3, 448, 14),
        "llama4_vision_model": (768, 5632, 34, 3, 448, 14),
        "siglip2_vision_model": (768, 3072, 12, 3, None, 16),
        "idefics3_vision": (1152, 3072, 12, 3, 224, 32),
        "internvl_vision": (1024, 4096, 24, 3, 448, 14),
        "gemma4_vision": (768, 3072, 16, 3, None, 16),
    },
)

_QWEN: Final = table(
    "depth hidden_size intermediate_size in_channels patch_size temporal_patch_size spatial_merge_size "
    "out_hidden_size num_position_embeddings deepstack_visual_indexes",
    {
        "qwen2_vl_vision": (32, 3584, None, 3, 14, 2, 2, None, None, None),
        "qwen2_5_vl_vision": (32, 3584, 3420, 3, 14, 2, 2, 3584, None, None),
        "qwen3_vl_vision": (27, 1152, 4304, 3, 16, 2, 2, 3584, 2304, (8, 16, 24)),
        "qwen3_vl_moe_vision": (27, 1152, 4304, 3, 16, 2, 2, 3584, 2304, (8, 16, 24)),
        "qwen3_5_vision": (27, 1152, 4304, 3, 16, 2, 2, 3584, 2304, None),
        "qwen3_5_moe_vision": (27, 1152, 4304, 3, 16, 2, 2, 3584, 2304, None),
    },
)

_GLM: Final[Mapping[str, object]] = {
    "depth": 24,
    "hidden_size": 1536,
    "in_channels": 3,
    "image_size": 336,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
    "out_hidden_size": 4096,
    "intermediate_size": 13696,
    "attention_bias": False,
}

_OTHER: Final[Mapping[str, Mapping[str, object]]] = {
    "siglip_vision_model": {"vision_use_head": True},
    "siglip2_vision_model": {"vision_use_head": True, "num_patches": 256},
    "mllama_vision_model": {"num_global_layers": 8, "max_num_tiles": 4, "vision_output_dim": 7680},
    "llama4_vision_model": {"projector_input_dim": 4096, "projector_output_dim": 4096, "vision_output_dim": 7680},
    "gemma4_vision": {
        "num_attention_heads": 12,
        "num_key_value_heads": 12,
        "head_dim": 64,
        "position_embedding_size": 10240,
    },
    "glm4v_vision": _GLM,
    "glm4v_moe_vision": {**_GLM, "intermediate_size": 10944},
    "idefics3_vision": {"vision_use_head": False},
    "internvl_vision": {
        "attention_bias": False,
        "norm_type": "layer_norm",
        "use_qk_norm": False,
        "use_mask_token": False,
        "use_absolute_position_embeddings": True,
        "use_mean_pooling": True,
    },
    "gemma3n_vision": {"architecture": "mobilenetv5_300m_enc", "hidden_size": 2048, "vocab_size": 128},
    "gemma3n_audio": {
        "hidden_size": 1536,
        "vocab_size": 128,
        "input_feat_size": 128,
        "conf_num_attention_heads": 8,
        "conf_num_hidden_layers": 12,
        "conf_conv_kernel_size": 5,
        "sscp_conv_channel_size": (128, 32),
    },
    "gemma4_audio": {
        "hidden_size": 1024,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "subsampling_conv_channels": (128, 32),
        "conv_kernel_size": 5,
        "output_proj_dims": 1536,
    },
    "qwen2_vl_vision": {"embed_dim": 1280, "mlp_ratio": 4},
}

_PARTS: Final = (_PATCHES, _QWEN, _OTHER)

TOWER_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {key: value for part in _PARTS for key, value in part.get(name, {}).items()}
    for name in sorted({name for part in _PARTS for name in part})
}
