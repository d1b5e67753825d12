"""Many GPUs: the part of a model that one rank holds, as an architecture of its own.

* Tensor parallelism gives each rank some of the heads and a part of every feed-forward's width, of the token table and
  of the head; norms and routers stay whole (Megatron-LM, arXiv 1909.08053v4, section 3).
* Pipeline parallelism gives each stage consecutive layers, the first one the token table, the last one the final norm
  and the head (a second copy of the table where they are tied). Stage ``i`` of ``p`` holds the activations of
  ``min(p - i, m)`` micro-batches of the ``m`` of a step (1F1B, arXiv 2104.04473v5, section 2.2).
* Expert parallelism gives each rank some of the experts.
* What ZeRO and FSDP share out is divided where the states are counted (``calc.states``).

Everything else of the estimator then runs on the part as on any model.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from calc.architecture import (
    Architecture,
    DenseMLP,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    Tensor,
    TensorKind,
)
from calc.errors import InvalidInput
from calc.inventory import distinct_layers
from calc.layout import Layout

__all__ = ["Layout", "check_layout", "distinct_stages", "expert_parameters", "in_flight", "part", "stages"]

_TABLES = (TensorKind.EMBEDDING, TensorKind.POSITION)
_ROUTERS = ("gate", "router", "shared_expert_gate")
_KEYS = ("k_proj", "v_proj")


def check_layout(architecture: Architecture, layout: Layout) -> None:
    """Refuse a layout that cannot hold this model.

    Raises:
        InvalidInput: ``heads_not_divisible``, ``width_not_divisible``, ``too_few_layers``, ``experts_not_divisible``,
            ``no_experts``; ``place`` is the field.
    """
    layers = [layer for layer, _ in distinct_layers(architecture)]
    if layout.pipeline > len(architecture.layers):
        raise InvalidInput("too_few_layers", place="pipeline-parallel", layers=len(architecture.layers))
    experts = [one.feed_forward for one in layers if isinstance(one.feed_forward, MixtureOfExperts)]
    if layout.expert > 1 and not experts:
        raise InvalidInput("no_experts", place="expert-parallel")
    for moe in experts:
        if moe.num_experts % layout.expert:
            raise InvalidInput("experts_not_divisible", place="expert-parallel", experts=moe.num_experts)
    for layer in layers:
        _check_tensor(layer, layout.tensor)


def _check_tensor(layer: Layer, parts: int) -> None:
    heads = [layer.attention.num_attention_heads] if layer.attention else []
    if isinstance(layer.attention, GroupedQueryAttention):
        keys = layer.attention.num_key_value_heads
        if keys % parts and parts % keys:
            heads.append(keys)
    for number in heads:
        if number % parts:
            raise InvalidInput("heads_not_divisible", place="tensor-parallel", heads=number)
    if isinstance(layer.feed_forward, DenseMLP) and layer.feed_forward.intermediate_size % parts:
        raise InvalidInput("width_not_divisible", place="tensor-parallel", width=layer.feed_forward.intermediate_size)


def stages(layout: Layout) -> tuple[int, ...]:
    """The stages that can be the worst one: the first (most micro-batches in flight), the second (as the first without
    the token table where that is shared), and the last (the head)."""
    return tuple(sorted({0, min(1, layout.pipeline - 1), layout.pipeline - 1}))


def distinct_stages(architecture: Architecture, pipeline: int) -> tuple[int, ...]:
    """One stage of each make: the first, the last, and one for every different set of layers between them.

    >>> from calc.catalog import architecture
    >>> distinct_stages(architecture("llama-3-8b"), 8), distinct_stages(architecture("deepseek-v3"), 8)
    ((0, 1, 7), (0, 1, 5, 7))
    """
    found: dict[object, int] = {}
    for stage in range(pipeline):
        begin, end = _bounds(len(architecture.layers), pipeline, stage)
        kinds = Counter(id(layer) for layer in architecture.layers[begin:end])
        place = min(stage, 1) + (stage == pipeline - 1)
        found.setdefault((place, frozenset(kinds.items())), stage)
    return tuple(found.values())


def in_flight(layout: Layout, stage: int, micro_batches: int) -> int:
    """Micro-batches whose activations a stage holds at a time.

    >>> in_flight(Layout(pipeline=4), 0, 8), in_flight(Layout(pipeline=4), 3, 8), in_flight(Layout(pipeline=4), 0, 2)
    (4, 1, 2)
    """
    return max(1, min(layout.pipeline - stage, micro_batches))


def part(architecture: Architecture, layout: Layout, stage: int) -> Architecture:
    """What one rank of a stage holds before ZeRO divides it further.

    Example:
        >>> from calc.catalog import architecture
        >>> from calc.inventory import loaded_parameters
        >>> model = architecture("llama-3-8b")
        >>> [loaded_parameters(part(model, Layout(pipeline=2), stage)) for stage in (0, 1)]
        [4015128576, 4015132672]
    """
    if layout.tensor * layout.pipeline * layout.expert == 1:
        return architecture
    known: dict[int, Layer] = {}

    def cut(layer: Layer) -> Layer:
        return known.setdefault(id(layer), _layer_part(layer, layout))

    begin, end = _bounds(len(architecture.layers), layout.pipeline, stage)
    whole = layout.pipeline == 1
    split = _splitter(layout, None)
    first, last = whole or stage == 0, whole or stage == layout.pipeline - 1
    tensors = [one for one in architecture.tensors if (first if one.kind in _TABLES else last)]
    if last and not first and architecture.tie_word_embeddings:
        tensors += [one for one in architecture.tensors if one.kind is TensorKind.EMBEDDING]
    return replace(
        architecture,
        layers=tuple(cut(layer) for layer in architecture.layers[begin:end]),
        tensors=tuple(split(one) for one in tensors),
        shared=tuple(split(one) for one in architecture.shared),
        towers=architecture.towers if first else (),
    )


def _bounds(layers: int, parts: int, stage: int) -> tuple[int, int]:
    """Layers of a stage: as even as possible, the longer ones first."""
    each, rest = divmod(layers, parts)
    begin = stage * each + min(stage, rest)
    return begin, begin + each + (1 if stage < rest else 0)


def _layer_part(layer: Layer, layout: Layout) -> Layer:
    attention, feed_forward, parts = layer.attention, layer.feed_forward, layout.tensor
    split = _splitter(layout, attention if isinstance(attention, GroupedQueryAttention) else None)
    if isinstance(attention, GroupedQueryAttention):
        keys = max(1, attention.num_key_value_heads // parts)
        queries = attention.num_attention_heads // parts
        attention = replace(attention, num_attention_heads=queries, num_key_value_heads=keys)
    elif isinstance(attention, MultiHeadLatentAttention):
        attention = replace(attention, num_attention_heads=attention.num_attention_heads // parts)
    if isinstance(feed_forward, DenseMLP):
        feed_forward = replace(feed_forward, intermediate_size=feed_forward.intermediate_size // parts)
    elif isinstance(feed_forward, MixtureOfExperts):
        feed_forward = replace(
            feed_forward,
            num_experts=feed_forward.num_experts // layout.expert,
            moe_intermediate_size=-(-feed_forward.moe_intermediate_size // parts),
            shared_intermediate_size=-(-feed_forward.shared_intermediate_size // parts),
        )
    tensors = tuple(split(one) for one in layer.tensors)
    return replace(layer, attention=attention, feed_forward=feed_forward, tensors=tensors)


def _splitter(layout: Layout, attention: GroupedQueryAttention | None) -> Callable[[Tensor], Tensor]:
    """The function from a tensor to the part of it that a rank holds."""
    split_kinds = (TensorKind.LINEAR, TensorKind.EMBEDDING, TensorKind.HEAD)

    def split(tensor: Tensor) -> Tensor:
        if tensor.active is not None:
            count = tensor.count // layout.expert
            tensor = replace(tensor, count=count, active=min(tensor.active, count))
        name = tensor.name.removesuffix(".weight").rsplit(".", 1)[-1]
        if tensor.kind not in split_kinds or len(tensor.shape) < 2 or name in _ROUTERS:
            return tensor
        parts = layout.tensor
        if attention and name in _KEYS:
            parts = min(parts, attention.num_key_value_heads)
        return replace(tensor, shape=(-(-tensor.shape[0] // parts), *tensor.shape[1:]))

    return split


def expert_parameters(architecture: Architecture) -> int:
    """Parameters of the routed experts."""
    return sum(
        times * tensor.parameters
        for layer, times in distinct_layers(architecture)
        for tensor in layer.tensors
        if tensor.active is not None
    )
