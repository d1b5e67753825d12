"""Parameters, counted by listing tensors and adding: a list can be compared name by name with a real checkpoint."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from calc.architecture import Architecture, Tensor, TensorKind
from calc.inventory import distinct_layers

_TABLES = (TensorKind.EMBEDDING, TensorKind.POSITION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCount:
    """What a model has, as Transformers builds it: a tied head once, multi-token-prediction layers left out.

    Args:
        total: elements of all the tensors.
        active: elements that take part in computing one token, the token table included.
        embedding: the token table.
        stored: ``total`` plus what the checkpoint stores besides (multi-token-prediction layers).
        by_kind: elements by what the tensors are for.
        tensors: every tensor under its full checkpoint name, ``*`` for the layer and for the expert; ``count`` says
            how many the pattern stands for. Experts without ``*`` are one tensor, stacked along a first axis.
    """

    total: int
    active: int
    embedding: int
    stored: int
    by_kind: Mapping[TensorKind, int]
    tensors: tuple[Tensor, ...]


def count_parameters(architecture: Architecture) -> ParameterCount:
    """Count the parameters of a model, as integers.

    Example:
        >>> from calc.hf_config import architecture_from_hf_config
        >>> config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
        ...     "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
        >>> count = count_parameters(architecture_from_hf_config(config))
        >>> count.total, count.embedding, count.by_kind[TensorKind.NORM]
        (8030261248, 525336576, 266240)
    """
    tensors = grouped_tensors(architecture)
    by_kind: Counter[TensorKind] = Counter()
    for tensor in tensors:
        by_kind[tensor.kind] += tensor.parameters
    total = sum(tensor.parameters for tensor in tensors)
    unloaded = (tensor for tower in architecture.towers if not tower.loaded for tensor in tower.tensors)
    return ParameterCount(
        total=total,
        active=sum(tensor.active_parameters for tensor in tensors),
        embedding=by_kind[TensorKind.EMBEDDING],
        stored=total + sum(tensor.parameters for tensor in unloaded),
        by_kind=dict(by_kind),
        tensors=tensors,
    )


def grouped_tensors(architecture: Architecture) -> tuple[Tensor, ...]:
    """Every loaded tensor under its full name pattern, layers of one shape together, in the order of the model."""
    return _grouped(_full_names(architecture))


def _full_names(architecture: Architecture) -> Iterator[Tensor]:
    yield from _before(architecture)
    for layer, times in distinct_layers(architecture):
        for tensor in layer.tensors:
            yield _times(replace(tensor, name=f"{architecture.layer_prefix}.{tensor.name}"), times)
    yield from _after(architecture)


def _before(architecture: Architecture) -> Iterator[Tensor]:
    """Tables of tokens and positions."""
    return (tensor for tensor in architecture.tensors if tensor.kind in _TABLES)


def _after(architecture: Architecture) -> Iterator[Tensor]:
    """What follows the layers, other towers included."""
    yield from architecture.shared
    yield from (tensor for tower in architecture.towers if tower.loaded for tensor in tower.tensors)
    yield from (tensor for tensor in architecture.tensors if tensor.kind not in _TABLES)


def _times(tensor: Tensor, times: int) -> Tensor:
    active = None if tensor.active is None else tensor.active * times
    return replace(tensor, count=tensor.count * times, active=active)


def _grouped(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    groups: dict[tuple[str, tuple[int, ...], TensorKind], Tensor] = {}
    for tensor in tensors:
        key = tensor.name, tensor.shape, tensor.kind
        groups[key] = _merged(groups[key], tensor) if key in groups else tensor
    return tuple(groups.values())


def _merged(first: Tensor, second: Tensor) -> Tensor:
    active = None
    if first.active is not None or second.active is not None:
        active = sum(one.count if one.active is None else one.active for one in (first, second))
    return replace(first, count=first.count + second.count, active=active)


def named_tensors(architecture: Architecture) -> Iterator[Tensor]:
    """Every loaded tensor one by one, as a checkpoint names it; experts stacked in one tensor keep their first axis.

    >>> from calc.hf_config import architecture_from_hf_config
    >>> config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100,
    ...     "num_hidden_layers": 2, "num_attention_heads": 4}
    >>> [tensor.name for tensor in named_tensors(architecture_from_hf_config(config))][1]
    'model.layers.0.self_attn.q_proj.weight'
    """
    for tensor in _before(architecture):
        yield from expanded(tensor)
    for index, layer in enumerate(architecture.layers):
        prefix = architecture.layer_prefix.replace("*", str(index))
        for tensor in layer.tensors:
            yield from expanded(replace(tensor, name=f"{prefix}.{tensor.name}"))
    for tensor in _after(architecture):
        yield from expanded(tensor)


def name_count(architecture: Architecture) -> int:
    """How many tensors ``named_tensors`` gives, without listing them: a hostile file may declare thousands of millions.

    >>> from calc.hf_config import architecture_from_hf_config
    >>> config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100,
    ...     "num_hidden_layers": 2, "num_attention_heads": 4}
    >>> name_count(architecture_from_hf_config(config))
    21
    """
    outside = sum(_names(tensor) for part in (_before, _after) for tensor in part(architecture))
    layers = distinct_layers(architecture)
    return outside + sum(times * sum(_names(tensor) for tensor in layer.tensors) for layer, times in layers)


def _names(tensor: Tensor) -> int:
    return tensor.count if tensor.name.count("*") == 1 else 1


def expanded(tensor: Tensor) -> Iterator[Tensor]:
    """The tensors that a pattern with one ``*`` stands for; a pattern with several stays as it is.

    >>> [one.name for one in expanded(Tensor(name="experts.*.w1", shape=(2, 3), count=2, active=1))]
    ['experts.0.w1', 'experts.1.w1']
    >>> next(expanded(Tensor(name="experts.w1", shape=(2, 3), count=8, active=1))).shape
    (8, 2, 3)
    """
    if tensor.count == 1:
        yield replace(tensor, active=None)
    elif "*" not in tensor.name:
        yield replace(tensor, shape=(tensor.count, *tensor.shape), count=1, active=None)
    elif tensor.name.count("*") == 1:
        for index in range(tensor.count):
            yield replace(tensor, name=tensor.name.replace("*", str(index)), count=1, active=None)
    else:
        yield tensor
