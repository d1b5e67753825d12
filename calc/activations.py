"""Activations: what training keeps for the backward pass, with and without checkpointing, and what a prefill needs.

Checkpointing, precisely:

* ``none``: every layer keeps what ``calc.layer_laws`` lists.
* ``selective``: the attention scores and their softmax are not kept but computed again (Korthikanti et al. 2022,
  section 5): eager attention then keeps them for one layer at a time. Flash attention never keeps them, so nothing
  changes there.
* ``operators``: every second matrix product, the attention's output and the layer's input are kept, the rest is
  computed again, layer by layer (torchtitan's selective checkpointing by operator).
* ``full``: each layer keeps its input only, ``B t h`` bytes, and the layer in backward is computed again in full.
* ``sqrt``: ``ceil(sqrt(L))`` segments keep their inputs, and one whole segment of ``ceil(L / segments)`` layers is
  computed again at a time (Chen et al. 2016, section 4).

Outside the layers: rotary cosines and sines, learned positions, the final norm and the input of the head.
The loss and the logits are a component of their own (``calc.logits``).
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, isqrt

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, MixtureOfExperts, TensorKind
from calc.errors import InvalidInput
from calc.estimate import Component
from calc.formula import Formula, Number
from calc.inventory import distinct_layers
from calc.layer_laws import (
    HALF_SOFTMAX,
    Bytes,
    Law,
    Regime,
    in_backward,
    layer_law,
    norm_law,
    operator_bytes,
    polynomial,
    share,
    value_of,
)

CHECKPOINTING = ("none", "selective", "operators", "full", "sqrt")
SCORES = "a*t*s"
_NAME = re.compile(r"[A-Za-z]\w*")
_SOURCES = {
    "none": (),
    "selective": ("korthikanti-2022",),
    "operators": ("torchtitan-sac",),
    "full": ("checkpointing-2016",),
    "sqrt": ("checkpointing-2016",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The activations of one micro-batch; ``float32_residual`` where norms and embedding were cast to float32, and
    ``outside`` where the final norm and the head are on this rank."""

    batch: int
    context_tokens: int
    regime: Regime
    checkpointing: str = "none"
    rank: int = 0
    float32_residual: bool = False
    outside: bool = True

    @property
    def residual_bytes(self) -> int:
        """Bytes of an element of the residual stream, which is what checkpoints keep."""
        return 4 if self.float32_residual else self.regime.element_bytes

    @property
    def terms(self) -> dict[str, Number]:
        """Values of the symbols that do not depend on the model."""
        return {"t": self.batch * self.context_tokens, "s": self.context_tokens, "r": self.rank}


def training_activations(architecture: Architecture, training: Training) -> Component:
    """The ``activations`` of training, from the laws of the layers.

    Range: below, the same with fused norms, which save only their input; above, the gradients that one layer holds
    while it is in backward. Layers whose law is our approximation widen it to 0.6 and 1.6 times their bytes.

    Raises:
        InvalidInput: ``unknown_choice`` for an unknown way of checkpointing.
    """
    if training.checkpointing not in CHECKPOINTING:
        raise InvalidInput("unknown_choice", place="checkpointing", value=training.checkpointing, known=CHECKPOINTING)
    formula, doubtful = _derivation(architecture, training)
    size = formula.bytes
    fused = replace(training, regime=replace(training.regime, fused_norm=True))
    low = _derivation(architecture, fused)[0].bytes
    extra = backward_transient(architecture, training)
    if doubtful:
        low, extra = min(low, 6 * size // 10), max(extra, 6 * size // 10)
    kernel = () if training.regime.eager else ("flash-attention-2022",)
    return Component(
        name="activations",
        derivation=formula,
        bytes=size,
        low=min(low, size),
        high=size + extra,
        sources=("saved-tensors-2026", *kernel, *_SOURCES[training.checkpointing]),
    )


def saved_component(architecture: Architecture, training: Training, *, copies: int = 1) -> Component | None:
    """What is saved at the end of the forward pass, of ``copies`` micro-batches in flight.

    Range: below, the same with fused norms; layers whose law is our approximation widen it to 0.6 and 1.6 times.
    """
    if not copies:
        return None
    formula = saved_formula(architecture, training)
    low = saved_formula(architecture, replace(training, regime=replace(training.regime, fused_norm=True))).bytes
    if copies > 1:
        formula = Formula(f"m * ({formula.expression})", {**formula.terms, "m": copies})
    size = formula.bytes
    low, high = min(low * copies, size * 92 // 100), size * 21 // 20
    if approximate_layers(architecture, training.regime):
        low, high = min(low, 6 * size // 10), 16 * size // 10
    kernel = () if training.regime.eager else ("flash-attention-2022",)
    return Component(
        name="activations",
        derivation=formula,
        low=low,
        high=high,
        sources=("saved-tensors-2026", *kernel, *_SOURCES[training.checkpointing]),
    )


def approximate_layers(architecture: Architecture, regime: Regime) -> int:
    """How many layers have a law that is not checked against measured saved tensors."""
    return sum(
        times for layer, times in distinct_layers(architecture) if layer_law(architecture, layer, regime).approximate
    )


def backward_transient(architecture: Architecture, training: Training) -> int:
    """Gradients of the widest feed-forward and of the residual that one layer holds in backward [B].

    ``2 B t f + 2 B t h``: the temporary part of the measured peaks with checkpointing (``saved-tensors-2026``).
    """
    tokens = training.batch * training.context_tokens
    return 2 * training.regime.element_bytes * tokens * (widest_mlp(architecture) + architecture.hidden_size)


def widest_mlp(architecture: Architecture) -> int:
    """Feed-forward width that one token passes through in the widest layer: all its experts side by side."""
    return max((_mlp_width(layer) for layer, _ in distinct_layers(architecture)), default=0)


def _mlp_width(layer: Layer) -> int:
    match layer.feed_forward:
        case DenseMLP(intermediate_size=width):
            return width
        case MixtureOfExperts() as moe:
            return moe.num_experts_per_tok * moe.moe_intermediate_size + moe.shared_intermediate_size
    return layer.state.inner_size if layer.state else 0


def saved_formula(architecture: Architecture, training: Training) -> Formula:
    """What is saved at the end of the forward pass [B]: all layers, or what checkpointing leaves of them."""
    terms: dict[str, Number] = {}
    laws = _laws(architecture, training)
    kept, _ = _body(laws, training, terms)
    return _formula(architecture, training, terms, [kept], outside=True)


def live_formula(architecture: Architecture, training: Training) -> Formula:
    """What the layer in backward adds to what is saved [B]: its recomputed tensors and its gradients in flight."""
    terms: dict[str, Number] = {}
    laws = _laws(architecture, training)
    _, recomputed = _body(laws, training, terms)
    backward = [in_backward(law, training.regime) for law, _ in laws]
    growth = [_size(one, training) - _size(law, training) for one, (law, _) in zip(backward, laws, strict=True)]
    extra: Bytes = Counter()
    if laws:
        index = max(range(len(laws)), key=growth.__getitem__)
        extra = Counter(backward[index].saved)
        extra.subtract(laws[index][0].saved)
        terms |= laws[index][0].terms
    grown = polynomial({name: count for name, count in extra.items() if count})
    live = " + ".join(part for part in (recomputed, grown if grown != "0" else "") if part)
    return _formula(architecture, training, terms, [live], outside=False)


def _size(law: Law, training: Training) -> int:
    return value_of(law.saved, {**law.terms, **training.terms})


def _derivation(architecture: Architecture, training: Training) -> tuple[Formula, bool]:
    """The formula for the whole model, and whether any law in it is an approximation."""
    terms: dict[str, Number] = {}
    laws = _laws(architecture, training)
    doubtful = any(law.approximate for law, _ in laws)
    return _formula(architecture, training, terms, list(_body(laws, training, terms)), outside=True), doubtful


def _formula(
    architecture: Architecture, training: Training, terms: dict[str, Number], body: list[str], *, outside: bool
) -> Formula:
    parts = [part for part in body if part]
    terms |= training.terms
    if outside and (around := _outside(architecture, training, terms)):
        parts.append(polynomial(around))
    terms["h"] = share(architecture.hidden_size, training.regime.sequence_shards)
    expression = " + ".join(parts) or "0 * t"
    used = set(_NAME.findall(expression))
    return Formula(expression, {name: value for name, value in terms.items() if name in used})


def _body(laws: list[tuple[Law, int]], training: Training, terms: dict[str, Number]) -> tuple[str, str]:
    """What all layers keep, and what is computed again at a time; empty where there is nothing."""
    if not laws:
        return "", ""
    return (_uniform if len(laws) == 1 else _mixed)(laws, training, terms)


def _laws(architecture: Architecture, training: Training) -> list[tuple[Law, int]]:
    """Each different law with how many layers follow it."""
    found: list[tuple[Law, int]] = []
    for layer, times in distinct_layers(architecture):
        law = layer_law(architecture, layer, training.regime)
        for index, (known, count) in enumerate(found):
            if known == law:
                found[index] = (law, count + times)
                break
        else:
            found.append((law, times))
    return found


def _uniform(laws: list[tuple[Law, int]], training: Training, terms: dict[str, Number]) -> tuple[str, str]:
    """All layers follow one law: the whole polynomial is in the formula."""
    law, layers = laws[0]
    terms |= {**law.terms, "L": layers}
    kept = f"{training.residual_bytes}*t*h"
    if training.checkpointing == "operators" and law.saved:
        kept = polynomial(operator_bytes(law, training.regime))
        return f"L * ({kept})", f"({law.expression})"
    match training.checkpointing:
        case "full":
            return f"L * {kept}", f"({law.expression})"
        case "sqrt":
            return f"ceil(sqrt(L)) * {kept}", f"ceil(L / ceil(sqrt(L))) * ({law.expression})"
        case "selective" if law.saved.get(SCORES):
            rest = polynomial({name: count for name, count in law.saved.items() if name != SCORES})
            return f"L * ({rest})", f"{law.saved[SCORES]}*{SCORES}"
    return f"L * ({law.expression})", ""


def _mixed(laws: list[tuple[Law, int]], training: Training, terms: dict[str, Number]) -> tuple[str, str]:
    """Layers of several kinds: ``L_1 * A_1 + L_2 * A_2``, with the bytes of one layer of each kind as ``A``."""
    total = sum(count for _, count in laws)
    sizes = [_size(law, training) for law, _ in laws]
    kept = f"{training.residual_bytes}*t*h"
    if training.checkpointing == "operators":
        each = [value_of(operator_bytes(law, training.regime), {**law.terms, **training.terms}) for law, _ in laws]
        terms["A"] = max(sizes)
        for index, (size, (_, count)) in enumerate(zip(each, laws, strict=True), start=1):
            terms |= {f"L_{index}": count, f"A_{index}": size}
        return " + ".join(f"L_{index} * A_{index}" for index in range(1, len(laws) + 1)), "A"
    if training.checkpointing in ("full", "sqrt"):
        terms |= {"L": total, "A": max(sizes)}
        if training.checkpointing == "full":
            return f"L * {kept}", "A"
        terms["A"] = _largest_segment(laws, sizes, ceil(total / _rounded_root(total)))
        return f"ceil(sqrt(L)) * {kept}", "A"
    scores = 0
    if training.checkpointing == "selective":
        each = [_score_size(law, training) for law, _ in laws]
        sizes = [size - part for size, part in zip(sizes, each, strict=True)]
        scores = max(each)
    for index, (size, (_, count)) in enumerate(zip(sizes, laws, strict=True), start=1):
        terms |= {f"L_{index}": count, f"A_{index}": size}
    body = " + ".join(f"L_{index} * A_{index}" for index in range(1, len(laws) + 1))
    if scores:
        terms["A_s"] = scores
    return body, "A_s" if scores else ""


def _score_size(law: Law, training: Training) -> int:
    count = law.saved.get(SCORES)
    return value_of({SCORES: count}, {**law.terms, **training.terms}) if count else 0


def _largest_segment(laws: list[tuple[Law, int]], sizes: list[int], length: int) -> int:
    """An upper bound of one segment: the largest layers that could fall together in it."""
    total = 0
    for size, (_, count) in sorted(zip(sizes, laws, strict=True), key=lambda pair: -pair[0]):
        taken = min(count, length)
        total += taken * size
        length -= taken
    return total


def _rounded_root(number: int) -> int:
    root = isqrt(number)
    return root if root * root == number else root + 1


def _outside(architecture: Architecture, training: Training, terms: dict[str, Number]) -> Bytes:
    """Final norm and head input; positions; and under LoRA what the first layer does not keep."""
    regime, one = training.regime, training.regime.element_bytes
    if not training.outside:
        return Counter()
    saved: Bytes = Counter(norm_law(architecture, regime))
    frozen = regime.adapted is not None
    if not frozen:
        saved["t*h"] += one
    if any(tensor.kind is TensorKind.POSITION for tensor in architecture.tensors):
        saved["s"] += 0 if frozen else 8
    elif rotary := _rotary_size(architecture):
        saved["s*p"] += 2 * one if training.checkpointing in ("none", "selective") else 0
        terms["p"] = rotary
    if regime.eager and training.checkpointing in ("full", "sqrt") and architecture.model_type in HALF_SOFTMAX:
        saved["t*s"] += one  # GPT-2 hands its attention mask to the checkpoints, which keep it once
    if frozen and training.checkpointing in ("none", "selective"):
        saved.subtract(norm_law(architecture, regime))  # the first layer's input asks for no gradient
    return Counter({name: count for name, count in saved.items() if count})


def _rotary_size(architecture: Architecture) -> int:
    """Width of the cosine and sine tables, saved once and shared by all layers."""
    for layer, _ in distinct_layers(architecture):
        if isinstance(layer.attention, GroupedQueryAttention):
            return layer.attention.head_dim
        if layer.attention:
            return layer.attention.qk_rope_head_dim
    return 0
