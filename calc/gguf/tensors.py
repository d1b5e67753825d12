"""The tensors of a GGUF as the tensors of an architecture: experts apart, each with its kind."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from calc.architecture import Tensor, TensorKind
from calc.checkpoint import StoredTensor
from calc.gguf.families import BUFFERS, ROUTING_BIAS_IS_PARAMETER
from calc.gguf.keys import Keys

_LAYER: Final = re.compile(r"blk\.([0-9]{1,5})\.(.+)", re.DOTALL)
_OUTSIDE: Final = {
    "token_embd": TensorKind.EMBEDDING,
    "position_embd": TensorKind.POSITION,
    "token_types": TensorKind.POSITION,
    "per_layer_token_embd": TensorKind.POSITION,
    "output": TensorKind.HEAD,
}


def split(tensors: Iterable[StoredTensor]) -> tuple[list[StoredTensor], dict[int, dict[str, StoredTensor]]]:
    """Tensors outside the layers, and those of each layer by the rest of their name.

    >>> outside, inside = split([StoredTensor("output_norm.weight", (4,), "F32", 16)])
    >>> len(outside), len(inside)
    (1, 0)
    """
    outside: list[StoredTensor] = []
    inside: dict[int, dict[str, StoredTensor]] = defaultdict(dict)
    for tensor in tensors:
        found = _LAYER.fullmatch(tensor.name)
        if found:
            inside[int(found[1])][found[2]] = tensor
        else:
            outside.append(tensor)
    return outside, dict(inside)


def is_parameter(name: str, family: str) -> bool:
    """Whether a stored tensor is a parameter of the model, and not a table that its code computes or adjusts.

    >>> is_parameter("rope_freqs.weight", "llama"), is_parameter("exp_probs_b.bias", "ernie4_5-moe")
    (False, True)
    """
    stem = name.removesuffix(".weight").removesuffix(".bias").rsplit(".", 1)[-1]
    return stem not in BUFFERS or (stem == "exp_probs_b" and family in ROUTING_BIAS_IS_PARAMETER)


def tensor_of(keys: Keys, stored: StoredTensor, name: str) -> Tensor:
    """One tensor; experts stacked along a first axis become as many matrices (``exps.*.ffn_up_exps.weight``)."""
    stem = name.removesuffix(".weight").removesuffix(".bias").rsplit(".", 1)[-1]
    if stem.endswith("_exps") and len(stored.shape) > 1:
        experts, *shape = stored.shape
        used = keys.integer("expert_used_count", maximum=experts)
        return Tensor(name=f"exps.*.{name}", shape=tuple(shape), kind=_kind(name), count=experts, active=used)
    return Tensor(name=name, shape=stored.shape, kind=_kind(name))


def _kind(name: str) -> TensorKind:
    if "norm" in name:
        return TensorKind.NORM
    if name.endswith(".bias"):
        return TensorKind.BIAS
    outside = _OUTSIDE.get(name.removesuffix(".weight"))
    if outside is not None:
        return outside
    if "conv" in name:
        return TensorKind.CONVOLUTION
    if not name.endswith(".weight") or "sinks" in name:
        return TensorKind.OTHER
    return TensorKind.LINEAR
