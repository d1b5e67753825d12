"""The laws of the layers against PyTorch itself, where it is installed: saved-tensor hooks on blocks of our own.

The block is Llama's: RMS norms computed in float32, grouped queries through ``scaled_dot_product_attention``, a gated
feed-forward, everything in bfloat16. Shapes are ours and differ from those of ``data/saved_tensors.csv``.
"""

from typing import Any

import pytest

from calc.formula import Formula
from calc.hf_config import architecture_from_hf_config
from calc.layer_laws import Regime, layer_law

torch = pytest.importorskip("torch")

SHAPES = [(1, 40, 96, 6, 2, 16, 144), (2, 24, 80, 5, 5, 16, 256), (3, 16, 64, 8, 1, 8, 80)]
"""Batch, tokens, hidden size, query heads, key heads, head size, feed-forward width."""


def norm(hidden: Any, gain: Any) -> Any:
    """Root-mean-square norm in float32, as Transformers computes it."""
    wide = hidden.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return gain * scaled.to(hidden.dtype)


def block(hidden: Any, weights: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """One decoder layer without rotation, which saves only tables that all layers share."""
    batch, tokens, _, heads, keys, size, _ = shape
    normed = norm(hidden, weights["input"])
    query, key, value = (
        torch.nn.functional.linear(normed, weights[name]).view(batch, tokens, count, size).transpose(1, 2)
        for name, count in (("q", heads), ("k", keys), ("v", keys))
    )
    # The rotation makes tensors of their own of queries and keys.
    query, key = query * 1.0, key * 1.0
    mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    hidden = hidden + torch.nn.functional.linear(mixed.transpose(1, 2).reshape(batch, tokens, -1), weights["o"])
    normed = norm(hidden, weights["after"])
    gate = torch.nn.functional.silu(torch.nn.functional.linear(normed, weights["gate"]))
    return hidden + torch.nn.functional.linear(
        gate * torch.nn.functional.linear(normed, weights["up"]), weights["down"]
    )


def parameters(shape: tuple[int, ...]) -> dict[str, Any]:
    """Weights of one block."""
    _, _, hidden, heads, keys, size, width = shape
    sizes: dict[str, tuple[int, ...]] = {"input": (hidden,), "after": (hidden,), "q": (heads * size, hidden)}
    sizes |= {"k": (keys * size, hidden), "v": (keys * size, hidden), "o": (hidden, heads * size)}
    sizes |= {"gate": (width, hidden), "up": (width, hidden), "down": (hidden, width)}
    return {name: torch.randn(size, dtype=torch.bfloat16, requires_grad=True) for name, size in sizes.items()}


def saved_bytes(shape: tuple[int, ...]) -> int:
    """Bytes that autograd saves in one block: every storage once, parameters left out."""
    weights = parameters(shape)
    own = {one.untyped_storage().data_ptr() for one in weights.values()}
    held: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        held.setdefault(tensor.untyped_storage().data_ptr(), tensor.untyped_storage())
        return tensor

    given = torch.randn((*shape[:2], shape[2]), dtype=torch.bfloat16, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = block(given, weights, shape)
    assert result.requires_grad
    return sum(storage.nbytes() for pointer, storage in held.items() if pointer not in own)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_block_saves_what_the_law_says(shape: tuple[int, ...]) -> None:
    """Within 2 %, on shapes that no constant of the law has seen."""
    batch, tokens, hidden, heads, keys, size, width = shape
    config = {"model_type": "llama", "hidden_size": hidden, "intermediate_size": width, "num_hidden_layers": 1}
    config |= {"num_attention_heads": heads, "num_key_value_heads": keys, "head_dim": size, "vocab_size": 100}
    model = architecture_from_hf_config(config)
    law = layer_law(model, model.layers[0], Regime(element_bytes=2))
    expected = Formula(law.expression, {**law.terms, "t": batch * tokens, "s": tokens}).bytes
    assert saved_bytes(shape) == pytest.approx(expected, rel=0.02)
