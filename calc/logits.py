"""Logits: the largest single tensor of many training steps, and a small one in inference.

Training, at the start of the loss's backward pass, measured live with Transformers 5.24: log-probabilities in float32
(saved), their gradient and the gradient of the logits, ``12 t V`` bytes in all whatever the model's dtype, and eight
bytes of label per token. Gemma's final soft-cap saves one more copy in the model's dtype. A caller that keeps
``outputs.logits`` adds ``B t V``; a fused loss (Liger) needs almost none of it.

Inference: only the last position of each sequence, in the model's dtype and in float32 (Transformers since 4.45).
"""

from calc.architecture import Architecture
from calc.estimate import Component, ranged

FINAL_SOFT_CAP = {"gemma2", "gemma3n", "gemma3n_text", "recurrent_gemma"}


def training_logits(architecture: Architecture, *, tokens: int, element_bytes: int) -> Component | None:
    """Logits and loss at the start of the backward pass; nothing where the vocabulary is unknown.

    Range: what stays saved through the backward pass below, a kept copy of the logits above.
    """
    if not architecture.vocab_size:
        return None
    cap = f" + {element_bytes}*t*V" if architecture.model_type in FINAL_SOFT_CAP else ""
    values = tokens * architecture.vocab_size
    total = 12 * values + 8 * tokens + (element_bytes * values if cap else 0)
    return ranged(
        "logits",
        f"12*t*V{cap} + 8*t",
        {"t": tokens, "V": architecture.vocab_size},
        ("saved-tensors-2026",),
        low=4 * values + 8 * tokens,
        high=total + element_bytes * values,
    )


def inference_logits(architecture: Architecture, *, sequences: int, element_bytes: int) -> Component | None:
    """Scores of the next token of each sequence, ``(B + 4) b V``; nothing where the vocabulary is unknown."""
    if not architecture.vocab_size:
        return None
    terms = {"b": sequences, "V": architecture.vocab_size, "B": element_bytes}
    size = (element_bytes + 4) * sequences * architecture.vocab_size
    return ranged("logits", "(B + 4) * b * V", terms, ("transformers-logits",), low=0, high=size)
