"""«Personalizado»: a model of which only parameters, hidden size and layers are known.

What is not given is assumed, and the estimate says so (note ``custom_assumptions``):

* attention as in the first transformers: ``head_dim`` is the largest divisor of the hidden size from 32 to 128 (one
  head if there is none) and every head has its own keys and values, so the KV cache is ``2 * b * s * h * L * bytes``;
* a gated feed-forward of width ``8 h / 3``: "We use a dimension of 2/3 4d instead of 4d" (LLaMA, arXiv 2302.13971,
  section 2.2), which makes a layer of ``12 h**2`` parameters as the plain one of width ``4 h`` does;
* root-mean-square norms, no biases, and no logits unless a vocabulary is given.

All parameters count as linear weights: the memory of the weights is ``parameters * bytes``.
"""

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, Tensor, TensorKind
from calc.errors import InvalidInput

CUSTOM = "custom"


def custom_architecture(  # noqa: PLR0913, PLR0917 - the numbers of the form
    parameters: int,
    hidden_size: int,
    layers: int,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    vocab_size: int = 0,
) -> Architecture:
    """An architecture from the three numbers that people know.

    Args:
        parameters: of the whole model.
        hidden_size: width of the residual stream.
        layers: decoder layers.
        kv_heads: key and value heads; as many as query heads if not given.
        head_dim: size of a head; see above if not given.
        vocab_size: 0 for unknown: logits are then left out.

    Example:
        >>> model = custom_architecture(7_000_000_000, 4096, 32)
        >>> attention = model.layers[0].attention
        >>> attention.num_key_value_heads * attention.head_dim, sum(one.parameters for one in model.tensors)
        (4096, 7000000000)

    Raises:
        InvalidInput: ``too_small`` for a number below 1.
    """
    _check(parameters=parameters, hidden_size=hidden_size, layers=layers, kv_heads=kv_heads, head_dim=head_dim)
    layer = Layer(
        attention=_attention(hidden_size, kv_heads, head_dim),
        feed_forward=DenseMLP(intermediate_size=-(-8 * hidden_size // 3), gated=True, activation="silu"),
        tensors=(),
    )
    return Architecture(
        model_type=CUSTOM,
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=(layer,) * layers,
        layer_prefix="model.layers.*",
        tensors=_tensors(parameters, hidden_size),
        tie_word_embeddings=False,
        max_position_embeddings=None,
    )


def is_custom(architecture: Architecture) -> bool:
    """Whether the architecture was made by ``custom_architecture``."""
    return architecture.model_type == CUSTOM


def has_simple_cache(architecture: Architecture) -> bool:
    """Whether it is custom with full-width keys, so that the KV cache is ``2 * b * s * h * L * B``.

    >>> has_simple_cache(custom_architecture(7 * 10**9, 4096, 32))
    True
    >>> has_simple_cache(custom_architecture(7 * 10**9, 4096, 32, kv_heads=8))
    False
    """
    if not is_custom(architecture):
        return False
    attention = architecture.layers[0].attention
    return (
        isinstance(attention, GroupedQueryAttention)
        and attention.num_key_value_heads * attention.head_dim == architecture.hidden_size
    )


def _check(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < 1:
            raise InvalidInput("too_small", place=name.replace("_", "-"), minimum=1)


def _attention(hidden_size: int, kv_heads: int | None, head_dim: int | None) -> GroupedQueryAttention:
    size = head_dim or _head_dim(hidden_size)
    heads = max(hidden_size // size, 1)
    return GroupedQueryAttention(
        num_attention_heads=max(heads, kv_heads or 0), num_key_value_heads=kv_heads or heads, head_dim=size
    )


def _tensors(parameters: int, hidden_size: int) -> tuple[Tensor, ...]:
    """All parameters as rows of the hidden size, and what is left: scales and factored states follow from rows."""
    rows, rest = divmod(parameters, hidden_size)
    whole = (Tensor(name="parameters", shape=(rows, hidden_size), kind=TensorKind.LINEAR),) if rows else ()
    return (*whole, Tensor(name="rest", shape=(rest,), kind=TensorKind.LINEAR)) if rest else whole


def _head_dim(hidden_size: int) -> int:
    return next((size for size in range(128, 31, -1) if hidden_size % size == 0), hidden_size)
