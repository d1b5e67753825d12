"""What of a model llama.cpp puts on the GPU: the last layers and the head; the rest stays in the computer's memory.

``llama_model_base::load_tensors`` (src/llama-model.cpp, read on 2026-12-01) counts the output matrix as one more layer,
after the others, and gives the GPU the last ``--n-gpu-layers`` of them. The token table and the tables of positions are
inputs and always stay on the CPU; where the table is also the head, the GPU gets a copy of it. ``--cpu-moe`` keeps the
tensors of the routed experts there as well.
"""

from dataclasses import dataclass, replace

from calc.architecture import Architecture, Layer, Tensor, TensorKind


@dataclass(frozen=True, slots=True)
class Held:
    """Which part of a model the GPU holds.

    Args:
        first: index of the first layer that it holds.
        head: whether it holds the output matrix and the last norm.
        tables: whether it holds the tables of the input.
        experts: whether it holds the routed experts of those layers.
    """

    first: int = 0
    head: bool = True
    tables: bool = True
    experts: bool = True


EVERYTHING = Held()


def held_by_llama_cpp(architecture: Architecture, gpu_layers: int | None, *, experts_on_cpu: bool) -> Held:
    """What the GPU holds with these options.

    >>> from calc.catalog import architecture
    >>> held_by_llama_cpp(architecture("llama-3-8b"), 11, experts_on_cpu=False)
    Held(first=22, head=True, tables=False, experts=True)
    """
    layers = len(architecture.layers)
    given = layers + 1 if gpu_layers is None else min(gpu_layers, layers + 1)
    return Held(first=layers + 1 - max(given, 1), head=given > 0, tables=False, experts=not experts_on_cpu)


def part_held(architecture: Architecture, held: Held) -> Architecture:
    """The layers and tensors that the GPU holds; a tied table is the head's copy.

    >>> from calc.catalog import architecture
    >>> from calc.inventory import loaded_parameters
    >>> model = architecture("llama-3-8b")
    >>> loaded_parameters(model) - loaded_parameters(part_held(model, Held(tables=False))) == 128256 * 4096
    True
    """
    if held == EVERYTHING:
        return architecture
    known: dict[int, Layer] = {}

    def kept(layer: Layer) -> Layer:
        if held.experts:
            return layer
        tensors = tuple(one for one in layer.tensors if not is_routed(one))
        return known.setdefault(id(layer), replace(layer, tensors=tensors))

    layers = tuple(kept(layer) for layer in architecture.layers[held.first :])
    tensors = tuple(one for one in architecture.tensors if _outside(architecture, one, held))
    towers = architecture.towers if held.head else ()
    return replace(architecture, layers=layers, tensors=tensors, towers=towers)


def is_routed(tensor: Tensor) -> bool:
    """Whether a tensor belongs to experts of which a token uses some."""
    return tensor.active is not None


def _outside(architecture: Architecture, tensor: Tensor, held: Held) -> bool:
    if tensor.kind is TensorKind.EMBEDDING:
        return held.tables or (held.head and architecture.tie_word_embeddings)
    return held.tables if tensor.kind is TensorKind.POSITION else held.head
