"""What a language model is made of, as far as its memory is concerned.

Rules that nothing in this package may break:

1. A model is a tuple of layers plus the tensors outside them. Layers may all differ: hybrids, dense first layers and
   sliding windows need no special case.
2. A layer holds two independent facts: its *tensors* (what is stored in the checkpoint, exactly, by name and shape)
   and its *geometry* (what attention, feed-forward and recurrent state look like, for caches and activations).
   Parameters are only ever counted from tensors; caches are only ever computed from geometry.
3. Names of tensors are those of the published checkpoint, relative to their owner. ``*`` stands for an expert index.
4. Nothing here guesses: a builder (``calc.hf_config``, ``calc.gguf``) fills every field or raises.

Field names are the keys of Hugging Face ``config.json``.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from math import prod


class TensorKind(StrEnum):
    """What a tensor is for; decides what quantization and LoRA do with it."""

    LINEAR = "linear"  # a matrix multiplied by activations: quantized by every scheme, adapted by LoRA
    EMBEDDING = "embedding"  # token table
    POSITION = "position"  # any other table: learned positions, token types, inputs of single layers
    HEAD = "head"  # output projection to the vocabulary
    NORM = "norm"  # normalisation gains and their biases
    BIAS = "bias"  # bias of a linear
    CONVOLUTION = "convolution"  # short causal convolutions of state-space layers, patch embeddings
    OTHER = "other"  # decays, sinks, gates held as plain parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One stored tensor, or ``count`` tensors of the same name pattern and shape.

    Args:
        name: checkpoint name relative to the owner; ``*`` for an expert index (``mlp.experts.*.up_proj.weight``).
        shape: as stored, e.g. ``(out_features, in_features)``.
        kind: see ``TensorKind``.
        count: how many tensors the pattern stands for (experts); 1 for a single tensor.
        active: how many of them one token uses; ``None`` means all.
    """

    name: str
    shape: tuple[int, ...]
    kind: TensorKind = TensorKind.LINEAR
    count: int = 1
    active: int | None = None

    @property
    def parameters(self) -> int:
        """Elements of all the tensors of this pattern.

        >>> Tensor(name="mlp.experts.*.up_proj.weight", shape=(14336, 4096), count=8, active=2).parameters
        469762048
        """
        return prod(self.shape) * self.count

    @property
    def active_parameters(self) -> int:
        """Elements that take part in computing one token.

        >>> Tensor(name="mlp.experts.*.up_proj.weight", shape=(14336, 4096), count=8, active=2).active_parameters
        117440512
        """
        return prod(self.shape) * (self.count if self.active is None else self.active)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQueryAttention:
    """Multi-head, grouped-query and multi-query attention: they differ only in ``num_key_value_heads``.

    ``v_head_dim`` is the width of a value head where it differs from ``head_dim``.
    ``cached_heads`` is how many heads Transformers really caches where it expands K and V (Falcon 40B); ``None`` means
    ``num_key_value_heads``. ``shares_kv`` marks a layer that reads the cache of an earlier one (Gemma 3n).
    """

    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    v_head_dim: int | None = None
    cached_heads: int | None = None
    shares_kv: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiHeadLatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).

    ``index_head_dim`` is the width of the extra key that the sparse indexer of DeepSeek-V3.2 keeps per token, or 0.
    """

    num_attention_heads: int
    kv_lora_rank: int
    q_lora_rank: int | None
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    index_head_dim: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentState:
    """What a linear-attention or state-space layer keeps per sequence, whatever the number of tokens.

    ``name`` says which law: ``mamba``, ``mamba2``, ``gated_delta_net``, ``lightning``, ``rg_lru``, ``short_conv`` …
    ``convolution_elements`` are held in the model's dtype, ``state_elements`` in ``state_bytes`` bytes each
    (None: the model's dtype too).
    """

    name: str
    inner_size: int
    convolution_elements: int
    state_elements: int
    state_bytes: int | None = 4


Attention = GroupedQueryAttention | MultiHeadLatentAttention


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseMLP:
    """A feed-forward block: ``gated`` for SwiGLU, GeGLU and the like (three matrices), else two."""

    intermediate_size: int
    gated: bool
    activation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOfExperts:
    """Routed experts, of which each token uses ``num_experts_per_tok``, and the shared ones that all tokens use."""

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    shared_intermediate_size: int
    gated: bool
    activation: str


FeedForward = DenseMLP | MixtureOfExperts


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One decoder layer. ``None`` means that the layer has no such part.

    ``window`` is how many tokens attention looks back (sliding or chunked); ``None`` is the whole context.
    ``cross_attention`` marks layers whose keys come from an image, not from the tokens: they cache nothing of the text.
    ``encoder_attention`` is a second attention of the same layer, over an encoded text (T5): it caches as much again
    for each token of that text, which is counted as long as the context.
    """

    attention: Attention | None
    feed_forward: FeedForward | None
    tensors: tuple[Tensor, ...]
    window: int | None = None
    state: RecurrentState | None = None
    cross_attention: bool = False
    encoder_attention: Attention | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """Layers that hold no cache of the text: a vision tower, an encoder, a projector, multi-token-prediction layers.

    ``tensors`` have full checkpoint names (``*`` for the layer index, with ``count``).
    ``loaded`` is False for what the checkpoint stores and Transformers does not build (multi-token prediction).
    """

    name: str
    tensors: tuple[Tensor, ...]
    loaded: bool = True


@dataclass(frozen=True, slots=True)
class StoredType:
    """How many elements a checkpoint stores in one format, and in how many bytes, scales included."""

    name: str
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A whole model. See the rules at the top of this file.

    Args:
        model_type: Hugging Face ``model_type`` (the text part's where they are nested).
        hidden_size: width of the residual stream.
        vocab_size: rows of the token table.
        layers: the decoder, in order; equal layers may be the same object.
        layer_prefix: checkpoint prefix of the layers, with ``*`` for the index (``model.layers.*``).
        tensors: what lies outside the layers, with full checkpoint names: embedding, final norm, head unless tied.
        tie_word_embeddings: whether the head is the token table.
        max_position_embeddings: longest context that the configuration declares, or None where it says nothing.
        norm: ``rms`` or ``layer``; ``parallel`` when attention and feed-forward read the same norm.
        towers: parts that are not the decoder.
        shared: tensors used by several layers but stored once (Zamba), with full checkpoint names.
        stored: what the loaded tensors take as they are stored, by type, where a file or its configuration tells.
    """

    model_type: str
    hidden_size: int
    vocab_size: int
    layers: tuple[Layer, ...]
    layer_prefix: str
    tensors: tuple[Tensor, ...]
    tie_word_embeddings: bool
    max_position_embeddings: int | None
    norm: str = "rms"
    parallel: bool = False
    towers: tuple[Tower, ...] = ()
    shared: tuple[Tensor, ...] = field(default=())
    stored: tuple[StoredType, ...] = ()
