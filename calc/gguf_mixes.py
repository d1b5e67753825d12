"""GGUF file types that mix tensor types (Q2_K, Q3_K_S … Q5_K_M): which type llama.cpp gives to each tensor.

Source: ``llama_tensor_get_type_impl`` and ``tensor_allows_quantization`` (llama.cpp, src/llama-quant.cpp, read on
2026-12-01), without an importance matrix. Routers, position tables, norms and biases are not quantized: they stay in
float32. A fused matrix of queries, keys and values has a rule of its own; the code as read no longer reaches it and
treats such a matrix as values (``category_is_attn_v``), but it is what published files were made with: Pythia 2.8B in
ggml-org's logs. Latent attention is left at the type of the file: llama.cpp splits its matrices in two.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from calc.architecture import (
    Architecture,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    Tensor,
    TensorKind,
)
from calc.inventory import has_experts

WIDER_VALUES = 4
"""Query heads that share a value head from which some file types give the values more bits (``n_gqa() >= 4``)."""
EIGHT_EXPERTS = 8
"""Models of exactly eight experts have rules of their own (Mixtral)."""
DEEP_LLAMA, DEEP_TYPES = 80, ("llama", "qwen2")
"""``LLM_TYPE_70B``: what llama.cpp takes the models of 80 layers of these families for."""


class Role(Enum):
    """What the rule looks at in a tensor."""

    VALUES = auto()
    FUSED = auto()
    KEYS = auto()
    OUTPUT = auto()
    DOWN = auto()
    OTHER = auto()


_VALUES = ("v_proj",)
_FUSED = ("qkv_proj", "query_key_value", "Wqkv", "c_attn", "W_pack")
_DOWN = ("down_proj", "fc2", "dense_4h_to_h", "w2", "wo")
_OUTPUT = ("o_proj", "out_proj", "dense")
_NAMES = {Role.VALUES: _VALUES, Role.FUSED: _FUSED, Role.KEYS: ("k_proj",), Role.OUTPUT: _OUTPUT, Role.DOWN: _DOWN}
_ROUTERS = ("router", "gate", "shared_expert_gate")


def role_of(tensor: Tensor) -> Role:
    """The role of a matrix of a layer, from its name in the checkpoint.

    >>> role_of(Tensor(name="mlp.down_proj.weight", shape=(4096, 14336), kind=TensorKind.LINEAR))
    <Role.DOWN: 5>
    """
    path = tensor.name.removesuffix(".weight").split(".")
    name = path[-1]
    if name == "c_proj":  # GPT-2 calls both outputs so
        return Role.DOWN if "mlp" in path else Role.OUTPUT
    return next((role for role, names in _NAMES.items() if name in names), Role.OTHER)


def is_router(layer: Layer, tensor: Tensor) -> bool:
    """Whether a matrix chooses experts, which llama.cpp leaves in float32."""
    return isinstance(layer.feed_forward, MixtureOfExperts) and tensor.name.split(".")[-2] in _ROUTERS


def more_bits(index: int, of: int) -> bool:
    """``use_more_bits``: the first and last eighth of the layers, and every third between.

    >>> [index for index in range(32) if more_bits(index, 32)]
    [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
    """
    return index < of // 8 or index >= 7 * of // 8 or (index - of // 8) % 3 == 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a matrix is: layer and number of layers, and the number among those that have attention."""

    layer: int
    layers: int
    attention: int
    attentions: int


@dataclass(frozen=True, slots=True)
class Family:
    """What the rule asks of a model."""

    falcon: bool
    eight_experts: bool
    wide_values: bool
    deep: bool


def family_of(architecture: Architecture) -> Family:
    """The answers for this model."""
    shared = _queries_per_value(architecture)
    experts = {
        one.feed_forward.num_experts for one in architecture.layers if isinstance(one.feed_forward, MixtureOfExperts)
    }
    deep = len(architecture.layers) == DEEP_LLAMA and architecture.model_type in DEEP_TYPES
    return Family(
        falcon=architecture.model_type == "falcon",
        eight_experts=has_experts(architecture) and experts == {EIGHT_EXPERTS},
        wide_values=shared >= WIDER_VALUES,
        deep=deep and (shared > 1 or architecture.model_type == "qwen2"),
    )


def _queries_per_value(architecture: Architecture) -> int:
    for layer in architecture.layers:
        if isinstance(layer.attention, GroupedQueryAttention):
            return layer.attention.num_attention_heads // layer.attention.num_key_value_heads
        if isinstance(layer.attention, MultiHeadLatentAttention):
            return 1
    return 1


def type_of(file_type: str, base: str, role: Role, place: Place, family: Family) -> str:
    """The tensor type of one matrix.

    >>> one = Family(falcon=False, eight_experts=False, wide_values=True, deep=False)
    >>> [type_of("q4_k_m", "q4_k", role, Place(0, 32, 0, 32), one) for role in (Role.VALUES, Role.KEYS, Role.DOWN)]
    ['q6_k', 'q4_k', 'q6_k']
    """
    match role:
        case Role.VALUES:
            found = _values(file_type, base, place, family)
            if family.deep and found in ("q3_k", "q4_k"):
                found = "q5_k"
            return "q8_0" if family.eight_experts else found
        case Role.FUSED:
            return _FUSED_TYPES.get(file_type, base)
        case Role.KEYS:
            return "q8_0" if family.eight_experts else base
        case Role.DOWN:
            return _down(file_type, base, place, falcon=family.falcon)
        case Role.OUTPUT:
            return _output(file_type, base, family)
    return base


_FUSED_TYPES = {"q3_k_m": "q4_k", "q3_k_l": "q4_k", "q4_k_m": "q5_k", "q5_k_m": "q6_k"}


def _values(file_type: str, base: str, place: Place, family: Family) -> str:
    """Raised to five bits in the first layers, to six where more bits are used, to four where many heads share."""
    wide, number = more_bits(place.attention, place.attentions), place.attention
    found = {
        "q2_k_m": "q4_k" if family.wide_values else "q3_k",
        "q2_k_s": "q4_k" if family.wide_values else base,
        "q3_k_m": "q5_k" if number < 2 else "q4_k",
        "q3_k_l": "q5_k",
        "q4_k_s": "q5_k" if number < 4 else base,
        "q4_k_m": "q6_k" if wide else base,
        "q5_k_m": "q6_k" if wide else base,
    }
    return found.get(file_type, base)


def _down(file_type: str, base: str, place: Place, *, falcon: bool) -> str:
    """By eighths and sixteenths of the layers; Falcon is raised in fewer of them."""
    first, wide = place.layer < place.layers // 8, more_bits(place.layer, place.layers)
    very_first = place.layer < place.layers // 16
    found = {
        "q2_k_m": "q3_k",
        "q2_k_s": "q4_k" if first else base,
        "q3_k_m": "q5_k" if very_first else "q4_k" if wide or not falcon else base,
        "q3_k_l": "q4_k" if falcon else "q5_k",
        "q4_k_s": "q5_k" if first and not falcon else base,
        "q4_k_m": ("q6_k" if very_first or not falcon else "q5_k") if wide or very_first else base,
        "q5_k_m": "q6_k" if wide else base,
    }
    return found.get(file_type, base)


def _output(file_type: str, base: str, family: Family) -> str:
    if family.falcon:
        return "q4_k" if file_type == "q3_k_l" else base
    if family.eight_experts:
        return "q5_k" if file_type in ("q2_k_m", "q3_k_s", "q3_k_m", "q4_k_s", "q4_k_m") else base
    return {"q2_k_m": "q3_k", "q3_k_m": "q4_k", "q3_k_l": "q5_k"}.get(file_type, base)


def layer_types(
    architecture: Architecture, file_type: str, base: str, *, first: int = 0
) -> Iterator[tuple[Tensor, str | None, int]]:
    """Every tensor of the layers with the type it is asked to have, ``None`` for float32, and how many times so.

    Only of the layers from ``first`` on; the rule looks at the place of each among all of them.
    """
    family, layers = family_of(architecture), architecture.layers
    attentions = sum(layer.attention is not None for layer in layers)
    roles: dict[int, tuple[tuple[Tensor, Role | None], ...]] = {}
    counts: Counter[tuple[int, int, str | None]] = Counter()
    seen = 0
    for index, layer in enumerate(layers):
        key = id(layer)
        if key not in roles:
            roles[key] = tuple((one, _quantized_role(layer, one)) for one in layer.tensors)
        place = Place(index, len(layers), seen, attentions)
        seen += layer.attention is not None
        if index < first:
            continue
        for number, (_, role) in enumerate(roles[key]):
            asked = None if role is None else type_of(file_type, base, role, place, family)
            counts[key, number, asked] += 1
    for (key, number, asked), times in counts.items():
        yield roles[key][number][0], asked, times


def _quantized_role(layer: Layer, tensor: Tensor) -> Role | None:
    if tensor.kind is not TensorKind.LINEAR or len(tensor.shape) < 2 or is_router(layer, tensor):
        return None
    return role_of(tensor)
