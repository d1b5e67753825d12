"""From the keys and tensors of a GGUF header to an ``Architecture``.

Keys have the same names for every model family (``llama.block_count``, ``llama.attention.head_count_kv`` …), so one
builder reads them all. What differs by family and is written in no key is in ``WINDOWS`` below, as llama.cpp has it in
its code. A family that llama.cpp knows and this table does not is refused, never guessed; the exact bytes of the file
do not need it.

Sources: https://github.com/ggml-org/ggml/blob/v0.9.4/docs/gguf.md (keys) and ``load_hparams`` of llama.cpp
(src/llama-model.cpp and src/models, read on 2026-12-01) for windows and recurrent layers.
"""

from collections import defaultdict
from collections.abc import Callable
from difflib import get_close_matches

from calc.architecture import (
    Architecture,
    Attention,
    DenseMLP,
    FeedForward,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    RecurrentState,
    StoredType,
    Tensor,
    TensorKind,
    Tower,
)
from calc.checkpoint import ArrayLength, Checkpoint, InvalidFile, StoredTensor
from calc.compare import types_of
from calc.errors import UnsupportedArchitecture

WINDOWS: dict[str, Callable[[int], bool]] = {
    "gemma2": lambda layer: layer % 2 == 0,
    "gemma3": lambda layer: layer % 6 != 5,
    "gemma3n": lambda layer: layer % 5 != 4,
    "gemma-embedding": lambda layer: layer % 6 != 5,
    "gpt-oss": lambda layer: layer % 2 == 0,
    "cohere2": lambda layer: layer % 4 != 3,
    "llama4": lambda layer: layer % 4 != 3,
    "olmo2": lambda layer: layer % 4 != 3,
    "exaone4": lambda layer: layer % 4 != 3,
    "exaone-moe": lambda layer: layer % 4 != 3,
    "afmoe": lambda layer: layer % 4 != 3,
    "smallthinker": lambda layer: layer % 4 != 0,
    "plamo3": lambda layer: layer % 8 != 7,
}
"""Which layers look back only ``attention.sliding_window`` tokens, where no per-layer key says so."""

NO_WINDOW = frozenset(
    [
        "llama",
        "qwen2",
        "qwen2moe",
        "qwen2vl",
        "qwen3",
        "qwen3moe",
        "qwen3vl",
        "qwen3vlmoe",
        "gemma",
        "phi2",
        "phi3",
        "phimoe",
        "gpt2",
        "gptneox",
        "gptj",
        "bloom",
        "falcon",
        "mpt",
        "starcoder",
        "starcoder2",
        "stablelm",
        "command-r",
        "olmo",
        "olmoe",
        "internlm2",
        "baichuan",
        "minicpm",
        "minicpm3",
        "deepseek",
        "deepseek2",
        "glm4",
        "glm4moe",
        "chatglm",
        "granite",
        "granitemoe",
        "nemotron",
        "exaone",
        "dbrx",
        "arctic",
        "apertus",
        "ernie4_5",
        "ernie4_5-moe",
        "smollm3",
        "seed_oss",
        "hunyuan-moe",
        "hunyuan-dense",
        "dots1",
        "bailingmoe",
        "bailingmoe2",
        "minimax-m2",
        "grok",
        "xverse",
        "orion",
        "refact",
        "codeshell",
        "jais",
        "arcee",
        "mistral3",
        "mamba",
        "mamba2",
        "jamba",
        "granitehybrid",
        "nemotron_h",
        "nemotron_h_moe",
        "falcon-h1",
        "lfm2",
        "lfm2moe",
        "qwen3next",
        "qwen35",
        "qwen35moe",
        "kimi-linear",
        "mimo2",
        "gemma4",
        "step35",
        "glm-dsa",
    ]
)
"""Families whose windows, if any, are told by ``attention.sliding_window_pattern`` as a list of layers."""

LLAMA4_CHUNK = 8192


class Keys:
    """Typed access to the metadata of one family, with the full key in every complaint."""

    def __init__(self, metadata: dict[str, object], family: str) -> None:
        self.metadata = metadata
        self.family = family

    def integer(self, name: str, default: int | None = None, maximum: int = 2**31) -> int:
        """One non-negative integer; the default where the key is absent, an error where there is none."""
        value = self.metadata.get(f"{self.family}.{name}", default)
        if value is None:
            raise InvalidFile("missing_key", place=f"{self.family}.{name}")
        return self._checked(value, name, maximum)

    def per_layer(self, name: str, layers: int, default: int | None = None) -> list[int]:
        """One integer for every layer, whether the file gives a single number or a list."""
        value = self.metadata.get(f"{self.family}.{name}", default)
        if value is None:
            raise InvalidFile("missing_key", place=f"{self.family}.{name}")
        if not isinstance(value, tuple):
            return [self._checked(value, name, 2**31)] * layers
        if len(value) < layers:
            raise InvalidFile("short_list", place=f"{self.family}.{name}", length=len(value), expected=layers)
        return [self._checked(int(item), name, 2**31) for item in value[:layers]]

    def _checked(self, value: object, name: str, maximum: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
            raise InvalidFile("bad_number", place=f"{self.family}.{name}")
        return value


def architecture_from_gguf(checkpoint: Checkpoint) -> Architecture:
    """Describe the model of a GGUF header (all its parts joined).

    Raises:
        InvalidFile: a key is missing or absurd (``place`` is the key).
        UnsupportedArchitecture: ``general.architecture`` is not known here.
    """
    family = checkpoint.metadata.get("general.architecture")
    if not isinstance(family, str):
        raise InvalidFile("missing_key", place="general.architecture")
    if family not in NO_WINDOW and family not in WINDOWS:
        closest = get_close_matches(family, [*NO_WINDOW, *WINDOWS], n=1)
        raise UnsupportedArchitecture(
            "unknown_architecture",
            place="general.architecture",
            model_type=family[:80],
            closest=next(iter(closest), None),
        )
    keys = Keys(dict(checkpoint.metadata), family)
    blocks = keys.integer("block_count", maximum=10_000)
    predicted = keys.integer("nextn_predict_layers", 0, maximum=blocks)
    outside, inside = _split(checkpoint.tensors)
    _check_blocks(inside, blocks)
    layers = _layers(keys, blocks - predicted, inside)
    names = {tensor.name for tensor in outside}
    return Architecture(
        model_type=family,
        hidden_size=keys.integer("embedding_length"),
        vocab_size=_vocabulary(checkpoint, keys),
        layers=layers,
        layer_prefix="blk.*",
        tensors=tuple(_tensor(keys, tensor, tensor.name) for tensor in outside),
        tie_word_embeddings="output.weight" not in names,
        max_position_embeddings=keys.integer("context_length", 0) or None,
        norm="rms" if f"{family}.attention.layer_norm_rms_epsilon" in checkpoint.metadata else "layer",
        towers=_predictors(keys, blocks - predicted, blocks, inside),
    )


def _split(tensors: tuple[StoredTensor, ...]) -> tuple[list[StoredTensor], dict[int, list[StoredTensor]]]:
    outside: list[StoredTensor] = []
    inside: dict[int, list[StoredTensor]] = defaultdict(list)
    for tensor in tensors:
        head, _, rest = tensor.name.partition(".")
        index, dot, _ = rest.partition(".")
        if head == "blk" and dot and index.isascii() and index.isdigit() and len(index) < 6:
            inside[int(index)].append(tensor)
        else:
            outside.append(tensor)
    return outside, inside


def _check_blocks(inside: dict[int, list[StoredTensor]], blocks: int) -> None:
    extra = [index for index in inside if index >= blocks]
    missing = [index for index in range(blocks) if index not in inside]
    if extra or missing:
        raise InvalidFile("wrong_layers", place="block_count", declared=blocks, found=len(inside))


def _vocabulary(checkpoint: Checkpoint, keys: Keys) -> int:
    for tensor in checkpoint.tensors:
        if tensor.name == "token_embd.weight" and len(tensor.shape) == 2:
            return tensor.shape[0]
    tokens = checkpoint.metadata.get("tokenizer.ggml.tokens")
    return tokens.length if isinstance(tokens, ArrayLength) else keys.integer("vocab_size")


def _windows(keys: Keys, layers: int) -> list[int | None]:
    window = keys.integer("attention.sliding_window", LLAMA4_CHUNK if keys.family == "llama4" else 0)
    pattern = keys.metadata.get(f"{keys.family}.attention.sliding_window_pattern")
    if not window:
        return [None] * layers
    if isinstance(pattern, tuple):
        return [window if index < len(pattern) and pattern[index] else None for index in range(layers)]
    if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
        return [window if index % pattern < pattern - 1 else None for index in range(layers)]
    slides = WINDOWS.get(keys.family)
    return [window if slides and slides(index) else None for index in range(layers)]


def _layers(keys: Keys, count: int, inside: dict[int, list[StoredTensor]]) -> tuple[Layer, ...]:
    windows = _windows(keys, count)
    heads = keys.per_layer("attention.head_count", count, 0)
    kv_key = f"{keys.family}.attention.head_count_kv"
    kv_heads = keys.per_layer("attention.head_count_kv", count) if kv_key in keys.metadata else heads
    cached = count - keys.integer("attention.shared_kv_layers", 0, maximum=count)
    known: dict[Layer, Layer] = {}
    layers = []
    for index in range(count):
        stored = {tensor.name.split(".", 2)[2]: tensor for tensor in inside[index]}
        layer = Layer(
            attention=_attention(keys, stored, (heads[index], kv_heads[index]), windows[index], index >= cached),
            feed_forward=_feed_forward(keys, stored),
            tensors=tuple(_tensor(keys, tensor, name) for name, tensor in sorted(stored.items())),
            window=windows[index],
            state=_state(keys, stored),
        )
        layers.append(known.setdefault(layer, layer))
    return tuple(layers)


def _attention(
    keys: Keys, stored: dict[str, StoredTensor], heads: tuple[int, int], window: int | None, shares: bool
) -> Attention | None:
    """The attention of a layer, or None where it has no attention tensors (state-space and feed-forward layers)."""
    if not {"attn_q.weight", "attn_qkv.weight", "attn_q_b.weight"} & stored.keys() or "ssm_beta.weight" in stored:
        return None
    query, key_value = heads
    if not query or not key_value:
        return None
    latent = keys.integer("attention.kv_lora_rank", 0)
    if latent and "attn_kv_a_mqa.weight" in stored:
        rotary = keys.integer("rope.dimension_count")
        key_width = keys.integer("attention.key_length_mla", keys.integer("attention.key_length"))
        return MultiHeadLatentAttention(
            num_attention_heads=query,
            kv_lora_rank=latent,
            q_lora_rank=keys.integer("attention.q_lora_rank", 0) or None,
            qk_nope_head_dim=key_width - rotary,
            qk_rope_head_dim=rotary,
            v_head_dim=keys.integer("attention.value_length_mla", keys.integer("attention.value_length")),
            index_head_dim=keys.integer("attention.indexer.key_length", 0),
        )
    suffix = "_swa" if window is not None and f"{keys.family}.attention.key_length_swa" in keys.metadata else ""
    width = keys.integer("embedding_length") // query
    key_width = keys.integer(f"attention.key_length{suffix}", width)
    value_width = keys.integer(f"attention.value_length{suffix}", width)
    return GroupedQueryAttention(
        num_attention_heads=query,
        num_key_value_heads=key_value,
        head_dim=key_width,
        v_head_dim=value_width if value_width != key_width else None,
        shares_kv=shares,
    )


def _feed_forward(keys: Keys, stored: dict[str, StoredTensor]) -> FeedForward | None:
    if "ffn_up_exps.weight" in stored or "ffn_gate_up_exps.weight" in stored:
        down = stored.get("ffn_down_exps.weight")
        shared = stored.get("ffn_down_shexp.weight")
        if down is None or len(down.shape) != 3:
            raise InvalidFile("bad_shape", place="ffn_down_exps.weight")
        return MixtureOfExperts(
            num_experts=down.shape[0],
            num_experts_per_tok=keys.integer("expert_used_count", maximum=down.shape[0]),
            moe_intermediate_size=down.shape[2],
            shared_intermediate_size=shared.shape[-1] if shared else 0,
            gated="ffn_gate_exps.weight" in stored or "ffn_gate_up_exps.weight" in stored,
            activation="silu",
        )
    up, down = stored.get("ffn_up.weight"), stored.get("ffn_down.weight")
    if up is None or down is None:
        return None
    width = down.shape[-1]
    return DenseMLP(
        intermediate_size=width,
        gated="ffn_gate.weight" in stored or up.shape[0] == 2 * width,
        activation="silu" if "ffn_gate.weight" in stored else "gelu",
    )


def _state(keys: Keys, stored: dict[str, StoredTensor]) -> RecurrentState | None:
    """The recurrent state of a layer, in the shapes that Transformers keeps (a whole kernel, float32 state)."""
    if "shortconv.conv.weight" in stored:
        hidden = keys.integer("embedding_length")
        kept = hidden * keys.integer("shortconv.l_cache", maximum=2**16)
        return RecurrentState(name="short_conv", inner_size=hidden, convolution_elements=kept, state_elements=0)
    if not {"ssm_conv1d.weight", "ssm_conv1d_q.weight"} & stored.keys():
        return None
    kernel, inner = keys.integer("ssm.conv_kernel", maximum=2**16), keys.integer("ssm.inner_size")
    state, groups = keys.integer("ssm.state_size", maximum=2**20), keys.integer("ssm.group_count", 0)
    if {"ssm_beta.weight", "ssm_ba.weight", "ssm_beta_alpha.weight"} & stored.keys():
        name, elements = "gated_delta_net", inner * state
    else:
        name, elements = ("mamba" if "ssm_x.weight" in stored else "mamba2"), inner * state
        groups = 0 if name == "mamba" else groups
    return RecurrentState(
        name=name,
        inner_size=inner,
        convolution_elements=kernel * (inner + 2 * groups * state),
        state_elements=elements,
    )


def _predictors(keys: Keys, first: int, end: int, inside: dict[int, list[StoredTensor]]) -> tuple[Tower, ...]:
    """Multi-token-prediction layers, which llama.cpp stores after the others and does not run by default."""
    tensors = tuple(_tensor(keys, tensor, tensor.name) for index in range(first, end) for tensor in inside[index])
    return (Tower(name="nextn", tensors=tensors, loaded=False),) if tensors else ()


def _tensor(keys: Keys, stored: StoredTensor, name: str) -> Tensor:
    kind = _kind(name)
    if name.split(".")[-2 if name.endswith((".weight", ".bias")) else -1].endswith("_exps") and len(stored.shape) > 1:
        experts, *shape = stored.shape
        used = keys.integer("expert_used_count", maximum=experts)
        return Tensor(name=name, shape=tuple(shape), kind=kind, count=experts, active=used)
    return Tensor(name=name, shape=stored.shape, kind=kind)


def _kind(name: str) -> TensorKind:
    stem = name.removesuffix(".weight").rsplit(".", 1)[-1]
    if name.endswith(".bias") and "norm" not in stem and "norm" not in name:
        return TensorKind.BIAS
    if "norm" in name:
        return TensorKind.NORM
    outside = {
        "token_embd": TensorKind.EMBEDDING,
        "position_embd": TensorKind.POSITION,
        "token_types": TensorKind.POSITION,
        "output": TensorKind.HEAD,
    }
    if name.removesuffix(".weight") in outside:
        return outside[name.removesuffix(".weight")]
    if "conv" in name:
        return TensorKind.CONVOLUTION
    if not name.endswith(".weight") or name.startswith("rope_") or "sinks" in name:
        return TensorKind.OTHER
    return TensorKind.LINEAR


def loaded_types(checkpoint: Checkpoint, architecture: Architecture) -> tuple[StoredType, ...]:
    """What the loaded tensors take in the file, by type: all but the layers that predict further tokens."""
    unloaded = {tensor.name for tower in architecture.towers if not tower.loaded for tensor in tower.tensors}
    return types_of([tensor for tensor in checkpoint.tensors if tensor.name not in unloaded])
