"""Logits: the largest single tensors of many training steps, and a small one in inference.

Training, what the loss holds per token and entry of the vocabulary, ``t V`` elements each (``LOSSES``):

* at the end of the forward pass, the logits in the model's format, their float32 copy, perhaps a third copy shifted by
  one token, and the log-probabilities in float32;
* at the start of the backward pass, the log-probabilities, their gradient and the gradient of the logits in float32:
  ``12 t V`` bytes whatever the model's format (measured live, Transformers 5.24), and eight bytes of label per token.

Checked on published peaks of LoRA, where the loss is the peak: Mistral 7B with Transformers 4.48 gives ``14 t V``, with
a fused cross-entropy kernel ``10 t V``; Llama 3 8B with Transformers 4.45 and that kernel ``8 t V`` (fms-acceleration).
Gemma's final soft-cap saves one more copy in the model's format.

Inference: only the last position of each sequence, in the model's format and in float32 (Transformers since 4.45);
before, the logits of the whole prompt in both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from calc.architecture import Architecture
from calc.errors import InvalidInput
from calc.estimate import Component, ranged

FINAL_SOFT_CAP = {"gemma2", "gemma3n", "gemma3n_text", "recurrent_gemma"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How the loss is computed.

    Args:
        name: id in forms, flags and addresses.
        forward: tensors of ``t V`` at the end of the forward pass: in the model's format, and in float32.
        backward: the same at the start of the backward pass.
        source: key of ``calc.sources.SOURCES``.
        replaced: tensors in the model's format that others of float32 replaced before the end of the forward pass: they
            are gone from what is allocated, and their blocks stay with the allocator.
        chunked: the vocabulary is never computed for all tokens at once.
        offered: whether a visitor chooses it; the others are what older versions and other loops did.
    """

    name: str
    forward: tuple[int, int]
    backward: tuple[int, int]
    source: str
    replaced: int = 0
    chunked: bool = False
    offered: bool = False

    def coefficient(self, moment: tuple[int, int], element_bytes: int) -> int:
        """Bytes per token and entry of the vocabulary; where the model computes in float32, nothing is copied to it."""
        own, wide = moment
        if element_bytes == 4 and own and wide:
            wide -= 1
        return own * element_bytes + wide * 4


_OBSERVED = "fms-acceleration"

LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            # ForCausalLMLoss of Transformers 5: logits, float32 copy, log-probabilities; the labels are shifted.
            Loss(name="standard", forward=(1, 2), backward=(0, 3), source="saved-tensors-2026", offered=True),
            # Cross-entropy kernels that write the gradient over the logits (Unsloth, Megatron, flash-attention).
            Loss(name="in-place", forward=(1, 1), backward=(1, 1), source=_OBSERVED, offered=True),
            # Loss and head fused and computed for a part of the tokens at a time (Liger, Cut Cross-Entropy).
            Loss(name="chunked", forward=(0, 0), backward=(0, 0), source="liger-2024", chunked=True, offered=True),
            # A compiled loss (torchtitan, _maybe_compile): Inductor fuses the cast to float32 with the maximum and the
            # sum, so that the 16-bit logits are all that is kept, and it writes their gradient in 16 bits.
            Loss(name="compiled", forward=(1, 0), backward=(2, 0), source="torchtitan-loss"),
            # Transformers 4.46 to 4.49 shifted the float32 logits, which copies them once more.
            Loss(name="shifted", forward=(1, 3), backward=(0, 3), source=_OBSERVED),
            Loss(name="shifted-in-place", forward=(1, 2), backward=(0, 2), source=_OBSERVED),
            # Before 4.46 the float32 copy replaced the logits.
            Loss(name="upcast", forward=(0, 3), backward=(0, 3), replaced=1, source=_OBSERVED),
            Loss(name="upcast-in-place", forward=(0, 2), backward=(0, 2), replaced=1, source=_OBSERVED),
            # A training loop that keeps the model's output in a variable keeps its logits through the backward pass.
            Loss(name="upcast-kept", forward=(0, 3), backward=(0, 4), replaced=1, source="fsdp-qlora-2024"),
            # Models that take the loss in their own format (GPT-2's and BigCode's classes before 4.50).
            Loss(name="own-format", forward=(3, 0), backward=(4, 0), source=_OBSERVED),
            Loss(name="own-format-in-place", forward=(2, 0), backward=(3, 0), source=_OBSERVED),
        )
    }
)
"""Every way of computing the loss, by id."""


def loss_of(name: str) -> Loss:
    """The loss of this id.

    Raises:
        InvalidInput: ``unknown_choice``, with the known ids.
    """
    if name not in LOSSES:
        offered = tuple(loss.name for loss in LOSSES.values() if loss.offered)
        raise InvalidInput("unknown_choice", place="loss", value=name, known=offered)
    return LOSSES[name]


def forward_logits(
    architecture: Architecture, *, tokens: int, element_bytes: int, loss: Loss = LOSSES["standard"], shards: int = 1
) -> Component | None:
    """Logits and loss at the end of the forward pass; nothing where the vocabulary is unknown."""
    coefficient = loss.coefficient(loss.forward, element_bytes)
    return _component(architecture, tokens, element_bytes, loss, coefficient, shards)


def training_logits(
    architecture: Architecture, *, tokens: int, element_bytes: int, loss: Loss = LOSSES["standard"], shards: int = 1
) -> Component | None:
    """Logits and loss at the start of the backward pass; nothing where the vocabulary is unknown.

    Range: a tenth below, a kept copy of the logits above.
    """
    coefficient = loss.coefficient(loss.backward, element_bytes)
    return _component(architecture, tokens, element_bytes, loss, coefficient, shards)


def _component(  # noqa: PLR0913, PLR0917 - the parts of a formula
    architecture: Architecture, tokens: int, element_bytes: int, loss: Loss, coefficient: int, shards: int
) -> Component | None:
    if not architecture.vocab_size:
        return None
    if loss.chunked:
        return _chunked(architecture, tokens, element_bytes, loss)
    cap = f" + {element_bytes}*t*V" if architecture.model_type in FINAL_SOFT_CAP else ""
    terms = {"t": tokens, "V": architecture.vocab_size} | ({"n": shards} if shards > 1 else {})
    part = " / n" if shards > 1 else ""
    values = tokens * architecture.vocab_size // shards
    total = coefficient * values + 8 * tokens + (element_bytes * values if cap else 0)
    return ranged(
        "logits",
        f"{coefficient}*t*V{part}{cap}{part if cap else ''} + 8*t",
        terms,
        (loss.source,),
        low=total * 9 // 10,
        high=total + element_bytes * values,
    )


def _chunked(architecture: Architecture, tokens: int, element_bytes: int, loss: Loss) -> Component:
    """The gradient of the head's input, and one chunk of logits of about ``t h / V`` tokens, in 16 bits and float32.

    Liger-Kernel, ``fused_linear_cross_entropy.py``: the number of chunks is ``ceil(V / h)``.
    """
    terms = {"t": tokens, "h": architecture.hidden_size, "B": element_bytes}
    size = (2 * element_bytes + 4) * tokens * architecture.hidden_size
    return ranged("logits", "(2 * B + 4) * t * h", terms, (loss.source,), low=size // 4, high=size)


def inference_logits(
    architecture: Architecture, *, sequences: int, element_bytes: int, positions: int = 1
) -> Component | None:
    """Scores of the next token of each sequence, ``(B + 4) b V``; nothing where the vocabulary is unknown.

    With ``positions`` the scores of the whole prompt, ``(B + 4) t V``, as Transformers kept them before 4.45.
    """
    if not architecture.vocab_size:
        return None
    terms = {"V": architecture.vocab_size, "B": element_bytes}
    number = sequences * positions
    size = (element_bytes + 4) * number * architecture.vocab_size
    symbol = "t" if positions > 1 else "b"
    low = size if positions > 1 else 0
    return ranged(
        "logits", f"(B + 4) * {symbol} * V", terms | {symbol: number}, ("transformers-logits",), low=low, high=size
    )
