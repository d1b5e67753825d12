"""Pieces that builders are made of: tensors as checkpoints name them, windows, and layers built once each.

Names are relative to their owner: ``linear("self_attn.q_proj", …)`` gives ``self_attn.q_proj.weight`` (and ``.bias``).
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, TypeVar

from calc.architecture import GroupedQueryAttention, Layer, Tensor, TensorKind
from calc.hf_config.reader import Reader

Tensors = tuple[Tensor, ...]
K = TypeVar("K", bound=Hashable)

SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
FULL: Final = "full_attention"
LAYER_TYPES: Final = (FULL, SLIDING, CHUNKED)


def linear(name: str, out_features: int, in_features: int, *, bias: bool = False) -> Tensors:
    """A matrix stored ``(out, in)`` and its bias.

    >>> [tensor.name for tensor in linear("mlp.fc1", 8, 2, bias=True)]
    ['mlp.fc1.weight', 'mlp.fc1.bias']
    """
    weight = Tensor(name=f"{name}.weight", shape=(out_features, in_features))
    return (weight, *vector(f"{name}.bias", out_features, TensorKind.BIAS)) if bias else (weight,)


def transposed(name: str, out_features: int, in_features: int, *, bias: bool = True) -> Tensors:
    """GPT-2's ``Conv1D``: a linear whose matrix is stored ``(in, out)``."""
    weight = Tensor(name=f"{name}.weight", shape=(in_features, out_features))
    return (weight, *vector(f"{name}.bias", out_features, TensorKind.BIAS)) if bias else (weight,)


def vector(name: str, size: int, kind: TensorKind = TensorKind.OTHER) -> Tensors:
    """A one-dimensional tensor under its full name."""
    return (Tensor(name=name, shape=(size,), kind=kind),)


def norm(name: str, size: int, *, bias: bool = False) -> Tensors:
    """The gain of a normalisation, and its bias where it is a LayerNorm."""
    gain = vector(f"{name}.weight", size, TensorKind.NORM)
    return gain + vector(f"{name}.bias", size, TensorKind.NORM) if bias else gain


def norms(names: Iterable[str], size: int, *, bias: bool = False) -> Tensors:
    """Several normalisations of one size."""
    return tuple(tensor for name in names for tensor in norm(name, size, bias=bias))


def embedding(name: str, rows: int, width: int, kind: TensorKind = TensorKind.EMBEDDING) -> Tensors:
    """A table: of tokens, or of positions with ``TensorKind.POSITION``."""
    return (Tensor(name=f"{name}.weight", shape=(rows, width), kind=kind),)


def head(name: str, vocab_size: int, width: int, *, tied: bool, bias: bool = False) -> Tensors:
    """The output projection: nothing where it is the token table (a bias stays, it is never tied)."""
    weight = () if tied else embedding(name, vocab_size, width, TensorKind.HEAD)
    return weight + vector(f"{name}.bias", vocab_size, TensorKind.BIAS) if bias else weight


def experts(name: str, out_features: int, in_features: int, *, count: int, active: int) -> Tensors:
    """One matrix per routed expert; ``name`` has ``*`` for the expert, or none where all are stacked in one tensor.

    >>> experts("mlp.experts.*.up_proj.weight", 6, 4, count=8, active=2)[0].active_parameters
    48
    """
    return (Tensor(name=name, shape=(out_features, in_features), count=count, active=active),)


def expert_biases(name: str, size: int, *, count: int, active: int) -> Tensors:
    """One bias per routed expert, named as ``experts`` names the matrices."""
    return (Tensor(name=name, shape=(size,), kind=TensorKind.BIAS, count=count, active=active),)


def grouped_query(reader: Reader, hidden_size: int, *, cached_heads: int | None = None) -> GroupedQueryAttention:
    """Heads of a Llama-like class: ``num_key_value_heads`` null means all, ``head_dim`` null means hidden / heads."""
    heads = reader.size("num_attention_heads", maximum=2**20)
    kv_heads = reader.optional_integer("num_key_value_heads", maximum=2**20) or heads
    reader.require(heads % kv_heads == 0, "num_key_value_heads", "not_a_divisor", value=kv_heads, of=heads)
    return GroupedQueryAttention(
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim(reader, hidden_size, heads),
        cached_heads=cached_heads,
    )


def head_dim(reader: Reader, hidden_size: int, heads: int) -> int:
    """``head_dim`` where the file or the class gives it, else hidden size / heads, which must then be whole."""
    given = reader.optional_integer("head_dim", maximum=2**20)
    if given is not None:
        return given
    reader.require(hidden_size % heads == 0, "num_attention_heads", "not_a_divisor", value=heads, of=hidden_size)
    return hidden_size // heads


def distinct(kinds: Iterable[K], build: Callable[[K], Layer]) -> tuple[Layer, ...]:
    """One layer per kind in order; equal kinds share one object, so that a model of 126 layers is built once.

    >>> layers = distinct([None] * 3, lambda window: Layer(attention=None, feed_forward=None, tensors=()))
    >>> layers[0] is layers[2]
    True
    """
    made: dict[K, Layer] = {}
    result = []
    for kind in kinds:
        if kind not in made:
            made[kind] = build(kind)
        result.append(made[kind])
    return tuple(result)


def windows(
    reader: Reader, layers: int, *, window: int | None, is_windowed: Callable[[int], bool]
) -> tuple[int | None, ...]:
    """How far each layer looks back: ``layer_types`` where the file has it, else the class's own rule.

    A class that has no window (``window`` None) attends to everything, whatever ``layer_types`` says.
    """
    types = reader.optional_words("layer_types", choices=LAYER_TYPES, length=layers)
    if types is None:
        return tuple(window if is_windowed(index) else None for index in range(layers))
    return tuple(window if kind != FULL else None for kind in types)


def every(interval: int) -> Callable[[int], bool]:
    """The common rule: all layers are windowed but each ``interval``-th.

    >>> [every(4)(index) for index in range(4)]
    [True, True, True, False]
    """
    return lambda index: (index + 1) % interval != 0


def always(_: int) -> bool:
    """Every layer is windowed (Mistral)."""
    return True
