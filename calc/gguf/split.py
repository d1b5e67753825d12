"""Models split over several GGUF files by ``gguf-split``.

Each file has ``split.no`` (from 0), ``split.count`` and ``split.tensors.count`` (of the whole model); the first holds
the metadata of all. Source: ``split_strategy`` in tools/gguf-split/gguf-split.cpp of llama.cpp.
"""

from collections.abc import Sequence

from calc.checkpoint import Checkpoint, InvalidFile, joined


def join_parts(parts: Sequence[Checkpoint]) -> Checkpoint:
    """The files of one model as one, sorted by their number.

    Raises:
        InvalidFile: ``missing_part`` (place ``split.no``, ``number`` from 1), ``mixed_parts``, ``repeated_part``,
            ``wrong_tensor_count``, ``repeated_tensor``.

    Example:
        >>> join_parts([Checkpoint(format="gguf", tensors=(), metadata={})]).parts
        1
    """
    count = parts[0].parts
    if any(part.parts != count for part in parts):
        raise InvalidFile("mixed_parts", place="split.count", count=len({part.parts for part in parts}))
    if count == 1 and len(parts) == 1:
        return parts[0]
    numbered = {part.part: part for part in parts}
    if len(numbered) != len(parts):
        raise InvalidFile("repeated_part", place="split.no", count=len(parts) - len(numbered))
    for number in range(count):
        if number not in numbered:
            raise InvalidFile("missing_part", place="split.no", number=number + 1, count=count)
    whole = joined([numbered[number] for number in range(count)])
    declared = whole.metadata.get("split.tensors.count")
    if isinstance(declared, int) and declared != len(whole.tensors):
        raise InvalidFile(
            "wrong_tensor_count", place="split.tensors.count", declared=declared, found=len(whole.tensors)
        )
    return whole
