"""llama.cpp's compute buffer on a GPU: what its graph needs at its fullest operation, for one physical batch.

The allocator of the graph reuses memory from one operation to the next, so the buffer is the largest of three
(``llm_graph_context``, src/llama-graph.cpp; float32 throughout), for ``u`` tokens at a time:

* the head: logits ``u V`` and two hidden states ``u h`` (one or two, by family);
* attention: the mask, ``u`` rows of ``s`` cells in float32, and again in float16 for flash attention, or the scores of
  ``a`` heads without it; queries of ``a d`` before and after they are turned, and two hidden states;
* the feed-forward: both projections of ``f``, or those of the ``K`` experts and what each of them gives, and two hidden
  states.

A matrix that waits in the computer's memory is copied to the GPU for batches of 32 tokens and more
(``ggml_backend_cuda_device_offload_op``): the largest of them stands in the buffer with its operation.

Published buffers that show it: Llama 3.1 8B, no flash attention, 512 x 1,024: 266.5 MiB = ``4 u (V + 2 h)``; layers of
Qwen3 235B with flash attention, 65,536 cells: 240 MiB = ``6 u s + 4 u (2 a d + 2 h)``; Qwen3.5 397B with its head on
the host, Q6_K and the like: 1,304 MiB, the head's 800 among them (ik_llama.cpp).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from calc.architecture import (
    Architecture,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    TensorKind,
)
from calc.dtypes import DType
from calc.estimate import Component
from calc.formula import Formula, Number
from calc.inventory import distinct_layers
from calc.offload import Held, is_routed

CELLS = 256
"""Cells of the cache come in multiples of this (``llama_kv_cache``, padding with flash attention)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Largest matrices that are copied to the GPU to be multiplied: one of the layers, and the head [B]."""

    layer: int = 0
    head: int = 0


NOTHING_COPIED = Copied()


def compute_buffer(
    architecture: Architecture, *, ubatch: int, context_tokens: int, flash: bool, copied: Copied = NOTHING_COPIED
) -> Component:
    """The buffer on the device that has the head.

    Args:
        architecture: the whole model.
        ubatch: tokens that are computed at a time.
        context_tokens: tokens of one sequence.
        flash: whether attention is computed without its scores.
        copied: what waits in the computer's memory.

    Range: a hidden state less, or two more; 15 % where attention or the feed-forward leads.

    >>> from calc.catalog import architecture
    >>> model = architecture("llama-3.1-8b")
    >>> compute_buffer(model, ubatch=512, context_tokens=1024, flash=False).bytes / 2**20
    266.5
    """
    terms: dict[str, Number] = {"u": ubatch, "V": architecture.vocab_size, "h": architecture.hidden_size}
    head = _plus("4 * u * (V + 2 * h)", "W_h", copied.head, terms)
    layers = [layer for layer, _ in distinct_layers(architecture)]
    attention = _attention(layers, context_tokens, terms, flash=flash)
    feed_forward = _feed_forward(layers, terms)
    work = [_plus(f"4 * u * ({one} + 2 * h)", "", 0, terms) for one in (attention, feed_forward) if one]
    inner = f"max({', '.join(work)})" if len(work) > 1 else "".join(work)
    inner = _plus(inner, "W_l", copied.layer, terms) if inner else ""
    derivation = Formula(f"max({head}, {inner})" if inner else head, terms)
    logits = 4 * ubatch * architecture.vocab_size + copied.head
    state, size = 4 * ubatch * architecture.hidden_size, derivation.bytes
    leads = size == logits + 2 * state
    low, high = (size - 2 * state, size + 2 * state) if leads else (size * 17 // 20, size * 23 // 20)
    return Component(name="activations", derivation=derivation, sources=("llama-cpp-graph",), low=low, high=high)


def _plus(expression: str, symbol: str, value: int, terms: dict[str, Number]) -> str:
    if not value:
        return expression
    terms[symbol] = value
    return f"{expression} + {symbol}"


def _attention(layers: Iterable[Layer], context_tokens: int, terms: dict[str, Number], *, flash: bool) -> str:
    """Mask, scores and queries of the layer with most heads, per token; empty where no layer attends."""
    sizes = [_heads(layer.attention) for layer in layers]
    heads, width = max((one for one in sizes if one[0]), key=lambda one: (one[0], one[1]), default=(0, 0))
    if not heads:
        return ""
    terms |= {"s": context_tokens, "a": heads, "d": width}
    cells = f"{CELLS} * ceil(s / {CELLS})"
    return f"3 * {cells} / 2 + 2 * a * d" if flash else f"(a + 1) * {cells} + 2 * a * d"


def _heads(attention: object) -> tuple[int, int]:
    if isinstance(attention, GroupedQueryAttention):
        return attention.num_attention_heads, attention.head_dim
    if isinstance(attention, MultiHeadLatentAttention):
        return attention.num_attention_heads, attention.kv_lora_rank + attention.qk_rope_head_dim
    return 0, 0


def _feed_forward(layers: Iterable[Layer], terms: dict[str, Number]) -> str:
    """Values per token between the matrices of the widest feed-forward; empty where there is none."""
    widest, text, named = 0, "", dict[str, Number]()
    for layer in layers:
        block = layer.feed_forward
        if isinstance(block, MixtureOfExperts):
            found: dict[str, Number] = {"K": block.num_experts_per_tok, "f": block.moe_intermediate_size}
            size = block.num_experts_per_tok * (2 * block.moe_intermediate_size + int(terms["h"]))
            expression = "K * (2 * f + h)"
        elif block is not None:
            found, size, expression = {"f": block.intermediate_size}, 2 * block.intermediate_size, "2 * f"
        else:
            continue
        if size > widest:
            widest, text, named = size, expression, found
    terms |= named
    return text


def copied_to_gpu(architecture: Architecture, held: Held, dtype: DType) -> Copied:
    """What has to be copied for a batch of a prompt: the largest matrix that waits, and the head if it does."""
    bits, head = dtype.bits, 0
    if not held.head:
        kind = TensorKind.EMBEDDING if architecture.tie_word_embeddings else TensorKind.HEAD
        head = sum(one.parameters for one in architecture.tensors if one.kind is kind)
    layer = max(
        (
            one.parameters
            for index, layer in enumerate(architecture.layers)
            for one in layer.tensors
            if one.kind is TensorKind.LINEAR and (index < held.first or (is_routed(one) and not held.experts))
        ),
        default=0,
    )
    return Copied(layer=int(layer * bits / 8), head=int(head * bits / 8))
