"""LoRA: which matrices get an adapter, and how many parameters that is.

An adapter of a matrix ``(out, in)`` is two matrices, ``(r, in)`` and ``(out, r)``: ``r * (in + out)`` parameters
(Hu et al. 2021, section 4.1). Targets are names of modules, matched as PEFT does, by the end of the module's path.

``all-linear`` is every linear of the model but the head (PEFT's rule), routers and vision towers included.
Transformers 5 stacks the experts of a layer in one tensor, and PEFT 0.21 adapts it in its own way (``packed_modules``);
without ``packed`` each expert has its own adapters, as where it was a module of its own (Mixtral, Qwen 3 MoE, DeepSeek,
OLMoE in Transformers up to 4.57). Experts that no version has as modules (gpt-oss, Llama 4) get none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from calc.architecture import Architecture, Tensor, TensorKind
from calc.custom import is_custom
from calc.dtypes import dtype
from calc.errors import InvalidInput
from calc.estimate import Lora
from calc.inventory import distinct_layers

SAVED_MODULES = {"embedding": TensorKind.EMBEDDING, "head": TensorKind.HEAD}
"""Modules that can be trained whole beside the adapters."""

ALL_LINEAR, ATTENTION, QUERY_VALUE = "all-linear", "attention", "q-v"
ROUTERS_WITHOUT_MODULE = ("router",)
"""gpt-oss keeps its router's matrix as a plain parameter (``GptOssTopKRouter``), which PEFT does not adapt."""

DEEPSEEK = ("deepseek_v2", "deepseek_v3", "kimi_k2", "deepseek_v32")
PACKED_UNADAPTED = ("gpt_oss", "llama4_text", "qwen2_moe", "jamba")
"""Families whose stacked routed experts PEFT 0.21 leaves alone."""

_BLOCKS = {"self_attn", "self_attention", "attn", "attention", "cross_attn", "SelfAttention", "EncDecAttention"}
_SHARED_BLOCKS = {"mixer", "temporal_block"}
"""Hybrids name attention and recurrence alike (Nemotron-H, RecurrentGemma): only the projections tell them apart."""
_PROJECTIONS = {"q_proj", "k_proj", "v_proj", "o_proj"}
_GGUF_PREFIX = "attn_"
"""GGUF has no modules: ``blk.0.attn_q``, ``blk.0.attn_output``."""
_FUSED = {"query_key_value", "qkv_proj", "Wqkv", "wqkv", "c_attn", "qkv"}
_QUERY_VALUE = {"q_proj", "v_proj", "q_b_proj", "kv_b_proj", "q", "v"} | _FUSED
_QUERY_VALUE |= {"attn_q", "attn_v", "attn_qkv", "attn_q_b", "attn_k_b", "attn_v_b", "attn_kv_b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One adapted matrix, or ``count`` of the same shape; ``module`` is its path without ``.weight``."""

    module: str
    out_features: int
    in_features: int
    count: int

    def parameters(self, rank: int) -> int:
        """Parameters of all ``count`` adapters."""
        return rank * (self.in_features + self.out_features) * self.count


def adapters(
    architecture: Architecture, target_modules: str | tuple[str, ...], *, packed: bool = True
) -> tuple[Adapter, ...]:
    """The matrices that get an adapter.

    Raises:
        InvalidInput: ``unknown_module`` with the names that exist, for a target that matches nothing;
            ``no_linear_modules`` for a rule that matches nothing, as in a custom model.
    """
    linears = () if is_custom(architecture) else tuple((packed_modules if packed else linear_modules)(architecture))
    if isinstance(target_modules, str) and target_modules in _RULES:
        chosen = tuple(one for one in linears if _RULES[target_modules](one.module))
        if not chosen:
            raise InvalidInput("no_linear_modules", place="targets", value=target_modules)
        return chosen
    wanted = (target_modules,) if isinstance(target_modules, str) else tuple(target_modules)
    known = module_names(architecture)
    for name in wanted:
        if not any(_matches(one.module, name) for one in linears):
            raise InvalidInput("unknown_module", place="targets", value=name, known=known)
    return tuple(one for one in linears if any(_matches(one.module, name) for name in wanted))


def lora_parameters(
    architecture: Architecture, *, rank: int, target_modules: str | tuple[str, ...], packed: bool = True
) -> int:
    """Trainable parameters of the adapters: the sum of ``r * (in + out)`` over the chosen matrices.

    Args:
        architecture: the base model.
        rank: ``r``, at least 1.
        target_modules: ``all-linear``, ``attention``, ``q-v``, a module name, or several.
        packed: experts stacked in one tensor (Transformers 5 with PEFT 0.21, checked with 5.24 and 0.21.2), or one by
            one (up to 4.57).

    Source: Hu et al. 2021, arXiv 2106.09685v2, section 4.1; PEFT ``tuners/lora/layer.py``.

    Example:
        >>> from calc.hf_config import architecture_from_hf_config
        >>> llama_3_8b = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
        ...     "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
        >>> lora_parameters(architecture_from_hf_config(llama_3_8b), rank=16, target_modules="all-linear")
        41943040

    Raises:
        InvalidInput: ``too_small`` for the rank; ``unknown_module`` with the known names.
    """
    if rank < 1:
        raise InvalidInput("too_small", place="rank", minimum=1)
    return sum(one.parameters(rank) for one in adapters(architecture, target_modules, packed=packed))


def adapter_shapes(found: tuple[Adapter, ...], rank: int) -> tuple[tuple[tuple[int, int], int], ...]:
    """Shapes of the two matrices of each adapter, with how many there are."""
    return tuple(
        pair for one in found for pair in (((rank, one.in_features), one.count), ((one.out_features, rank), one.count))
    )


def extra_shapes(
    architecture: Architecture, found: tuple[Adapter, ...], lora: Lora
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """What is trained beside the two matrices: DoRA's magnitudes and the modules trained whole.

    DoRA keeps one magnitude per output of each adapted matrix (PEFT, ``tuners/lora/dora.py``); rsLoRA changes the scale
    only. ``modules_to_save`` trains a copy of the token table or of the head.

    Raises:
        InvalidInput: ``unknown_choice`` for a module that is neither ``embedding`` nor ``head``.
    """
    shapes: list[tuple[tuple[int, ...], int]] = []
    if lora.dora:
        shapes += [((one.out_features,), one.count) for one in found]
    for name in lora.trained_modules:
        if name not in SAVED_MODULES:
            raise InvalidInput("unknown_choice", place="trained-modules", value=name, known=tuple(SAVED_MODULES))
        kind = SAVED_MODULES[name]
        if name == "head" and architecture.tie_word_embeddings:
            kind = TensorKind.EMBEDDING
        shapes += [(one.shape, one.count) for one in architecture.tensors if one.kind is kind]
    return tuple(shapes)


def adapter_file_bytes(parameters: int, precision: str = "bfloat16") -> int:
    """Bytes of the adapters' weights in a saved file, without its header of a few kilobytes.

    >>> adapter_file_bytes(41_943_040)
    83886080
    """
    return parameters * int(dtype(precision).value_bits) // 8


def module_names(architecture: Architecture) -> tuple[str, ...]:
    """Last names of the modules that can be adapted, sorted."""
    return tuple(sorted({one.module.rsplit(".", 1)[-1] for one in linear_modules(architecture)}))


def linear_modules(architecture: Architecture) -> Iterator[Adapter]:
    """Every matrix that can get an adapter."""
    parameters = ROUTERS_WITHOUT_MODULE if architecture.model_type == "gpt_oss" else ()
    for one in _linears(architecture):
        if not any(_matches(one.module, name) for name in parameters):
            yield one


def packed_modules(architecture: Architecture) -> Iterator[Adapter]:
    """Every matrix that PEFT 0.21 adapts where Transformers 5 stacks the experts.

    Gate and up are one stacked tensor with adapters of rank ``2 r E``, down another with rank ``r E``; it skips the
    routed experts of some families, and in DeepSeek's the dense and shared feed-forwards. Counted with PEFT 0.21.2 and
    Transformers 5.24: Mixtral 8x7B at rank 8 has 179,832,832 parameters.
    """
    latent = architecture.model_type in DEEPSEEK
    for one in linear_modules(architecture):
        routed = ".experts." in one.module
        if (routed or one.module.endswith("mlp.gate")) and architecture.model_type in PACKED_UNADAPTED:
            continue
        if latent and not routed and ".mlp." in f".{one.module}" and not one.module.endswith("gate"):
            continue
        name = one.module.rsplit(".", 1)[-1]
        if not routed:
            yield one
        elif name in ("gate_proj", "w1"):
            module = f"{one.module.partition('.experts.')[0]}.experts.gate_up_proj"
            yield Adapter(
                module=module, out_features=2 * one.out_features, in_features=one.in_features, count=2 * one.count
            )
        elif name in ("down_proj", "w2"):
            yield one


def _linears(architecture: Architecture) -> Iterator[Adapter]:
    for layer, times in distinct_layers(architecture):
        for tensor in layer.tensors:
            yield from _adapter(tensor, times)
    for tower in architecture.towers:
        if tower.loaded:
            for tensor in tower.tensors:
                yield from _adapter(tensor, 1)
    for tensor in (*architecture.shared, *architecture.tensors):
        yield from _adapter(tensor, 1)


def _adapter(tensor: Tensor, times: int) -> Iterator[Adapter]:
    stacked = tensor.active is not None and "*" not in tensor.name
    if tensor.kind is TensorKind.LINEAR and len(tensor.shape) == 2 and not stacked:
        yield Adapter(
            module=tensor.name.removesuffix(".weight"),
            out_features=tensor.shape[0],
            in_features=tensor.shape[1],
            count=times * tensor.count,
        )


def _matches(module: str, name: str) -> bool:
    return module == name or module.endswith(f".{name}")


def _is_attention(module: str) -> bool:
    *path, last = module.split(".")
    shared = last in _PROJECTIONS and not _SHARED_BLOCKS.isdisjoint(path)
    return "indexer" not in module and (shared or last.startswith(_GGUF_PREFIX) or not _BLOCKS.isdisjoint(path))


def _any(_: str) -> bool:
    return True


def _is_query_or_value(module: str) -> bool:
    return _is_attention(module) and module.rsplit(".", 1)[-1] in _QUERY_VALUE


_RULES: dict[str, Callable[[str], bool]] = {
    ALL_LINEAR: _any,
    ATTENTION: _is_attention,
    QUERY_VALUE: _is_query_or_value,
}
