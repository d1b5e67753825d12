"""A low-rank adapter on disk: ``adapter_config.json`` and its safetensors.

Names of the tensors are those of PEFT: ``base_model.model.<module>.lora_A.weight`` of shape ``(r, in)`` and ``lora_B``
of shape ``(out, r)`` (``get_peft_model_state_dict``). Without tensors, the configuration alone gives rank and targets.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from calc.checkpoint import Checkpoint, InvalidFile

MAX_RANK = 2**16
MAX_TARGETS = 4096
_MARKS = (".lora_A.", ".lora_B.", ".lora_embedding_A", ".lora_embedding_B", ".lora_magnitude_vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFile:
    """What an adapter is.

    Args:
        method: ``peft_type`` (``LORA``); ``LORA`` where only tensors are there.
        rank: ``r`` of the configuration, or of the tensors where they all have the same; ``None`` where they differ.
        targets: last names of the adapted modules, sorted; one text where the configuration holds a pattern.
        base_model: ``base_model_name_or_path``, or ``None``.
        parameters: elements of the adapter's tensors; ``None`` without them.
        bytes: bytes of all tensors of the file; ``None`` without them.
        modules: how many matrices are adapted; ``None`` without tensors.
        other_bytes: bytes of tensors that are saved whole beside the adapters (``modules_to_save``).
    """

    method: str
    rank: int | None
    targets: tuple[str, ...]
    base_model: str | None
    parameters: int | None
    bytes: int | None
    modules: int | None
    other_bytes: int = 0


def is_adapter_config(config: Mapping[str, object]) -> bool:
    """Whether a JSON object is an ``adapter_config.json``.

    >>> is_adapter_config({"peft_type": "LORA", "r": 8})
    True
    """
    return "peft_type" in config


def holds_adapter(checkpoint: Checkpoint) -> bool:
    """Whether a safetensors file holds low-rank adapters."""
    return any(_is_adapter(tensor.name) for tensor in checkpoint.tensors)


def _is_adapter(name: str) -> bool:
    return any(mark in name for mark in _MARKS)


def read_adapter(config: Mapping[str, object] | None, checkpoint: Checkpoint | None) -> AdapterFile:
    """Join what the configuration declares and what the file holds; at least one of them is there.

    Raises:
        InvalidFile: ``missing_key``, ``bad_number``, ``not_text_list`` for a key of the configuration, ``bad_shape``
            for a tensor.

    Example:
        >>> read_adapter({"peft_type": "LORA", "r": 8, "target_modules": ["v_proj", "q_proj"]}, None).targets
        ('q_proj', 'v_proj')
    """
    method, rank, targets, base = _declared(config) if config is not None else ("LORA", None, (), None)
    if checkpoint is None:
        return AdapterFile(
            method=method, rank=rank, targets=targets, base_model=base, parameters=None, bytes=None, modules=None
        )
    adapters = [tensor for tensor in checkpoint.tensors if _is_adapter(tensor.name)]
    ranks, modules, found = _measured(checkpoint)
    return AdapterFile(
        method=method,
        rank=rank if rank is not None else (next(iter(ranks)) if len(ranks) == 1 else None),
        targets=targets or tuple(sorted(found)),
        base_model=base,
        parameters=sum(tensor.elements for tensor in adapters),
        bytes=checkpoint.bytes,
        modules=modules,
        other_bytes=checkpoint.bytes - sum(tensor.bytes for tensor in adapters),
    )


def _declared(config: Mapping[str, object]) -> tuple[str, int | None, tuple[str, ...], str | None]:
    method, rank = config.get("peft_type"), config.get("r")
    if not isinstance(method, str) or len(method) > 40:
        raise InvalidFile("not_text", place="peft_type")
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK):
        raise InvalidFile("bad_number", place="r")
    targets = config.get("target_modules")
    names = [targets] if isinstance(targets, str) else targets if targets is not None else []
    if not isinstance(names, list) or len(names) > MAX_TARGETS or not all(isinstance(name, str) for name in names):
        raise InvalidFile("not_text_list", place="target_modules")
    base = config.get("base_model_name_or_path")
    return method, rank, tuple(sorted(name[:200] for name in names)), base[:200] if isinstance(base, str) else None


def _measured(checkpoint: Checkpoint) -> tuple[Counter[int], int, set[str]]:
    """Ranks of the matrices, how many modules are adapted, and their last names."""
    ranks: Counter[int] = Counter()
    names: set[str] = set()
    for tensor in checkpoint.tensors:
        module, mark, _ = tensor.name.partition(".lora_A.")
        if not mark:
            module, mark, _ = tensor.name.partition(".lora_embedding_A")
        if mark:
            if len(tensor.shape) < 2:
                raise InvalidFile("bad_shape", place=f"tensor {tensor.name[:80]}")
            ranks[tensor.shape[0]] += 1
            names.add(module.rsplit(".", 1)[-1])
    return ranks, ranks.total(), names
