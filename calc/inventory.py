"""The tensors of a model that are loaded, with how often each occurs, and its layers without repetition.

Everything that sums over a model goes through here, so that a model of a hundred equal layers costs as much as one.
"""

from collections.abc import Iterator

from calc.architecture import Architecture, Layer, MixtureOfExperts, Tensor


def distinct_layers(architecture: Architecture) -> tuple[tuple[Layer, int], ...]:
    """Each layer object once, with how many times it occurs, in order of first appearance."""
    counts: dict[int, int] = {}
    first: dict[int, Layer] = {}
    for layer in architecture.layers:
        counts[id(layer)] = counts.get(id(layer), 0) + 1
        first.setdefault(id(layer), layer)
    return tuple((layer, counts[key]) for key, layer in first.items())


def loaded_tensors(architecture: Architecture) -> Iterator[tuple[Tensor, int]]:
    """Every tensor that is in memory when the model runs, with its number of copies.

    Towers that Transformers does not build (multi-token prediction) are left out.
    """
    for layer, times in distinct_layers(architecture):
        for tensor in layer.tensors:
            yield tensor, times * tensor.count
    for tower in architecture.towers:
        if tower.loaded:
            yield from ((tensor, tensor.count) for tensor in tower.tensors)
    yield from ((tensor, tensor.count) for tensor in (*architecture.shared, *architecture.tensors))


def loaded_parameters(architecture: Architecture) -> int:
    """Parameters in memory when the model runs."""
    return sum(times * (tensor.parameters // tensor.count) for tensor, times in loaded_tensors(architecture))


def has_experts(architecture: Architecture) -> bool:
    """Whether any layer routes tokens to experts."""
    return any(isinstance(layer.feed_forward, MixtureOfExperts) for layer, _ in distinct_layers(architecture))


def is_quantized(architecture: Architecture) -> bool:
    """Whether a file holds the weights in another format than one float of 16 bits or more for each."""
    return any(one.name not in ("F16", "BF16", "F32", "F64") for one in architecture.stored)
