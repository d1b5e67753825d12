"""From the keys and tensors of a GGUF header to an ``Architecture``.

Keys have the same names for every model family (``llama.block_count``, ``llama.attention.head_count_kv`` …), so one
builder reads them all; what a family has and no key tells is in ``families``. A family that llama.cpp knows and that
table does not is refused, never guessed; the exact bytes of the file do not need it.

Source: https://github.com/ggml-org/ggml/blob/v0.9.4/docs/gguf.md (keys), and ``convert_hf_to_gguf.py`` of llama.cpp.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from calc.architecture import Architecture, Layer, StoredType, Tower
from calc.checkpoint import ArrayLength, Checkpoint, InvalidFile, StoredTensor, shown_name
from calc.compare import types_of
from calc.errors import UnsupportedArchitecture
from calc.gguf.families import CACHED_LAYERS, KNOWN
from calc.gguf.keys import Keys
from calc.gguf.layers import Stored, attention_of, feed_forward_of, state_of
from calc.gguf.tensors import is_parameter, split, tensor_of

MAX_LAYERS = 10_000


def architecture_from_gguf(checkpoint: Checkpoint) -> Architecture:
    """Describe the model of a GGUF header (all its parts joined).

    Raises:
        InvalidFile: a key is missing or absurd (``place`` is the key).
        UnsupportedArchitecture: ``general.architecture`` is not known here.
    """
    keys = _keys(checkpoint)
    family = keys.family
    blocks = keys.integer("block_count", maximum=MAX_LAYERS)
    predicted = keys.integer("nextn_predict_layers", 0, maximum=blocks)
    outside, inside = split(checkpoint.tensors)
    _check_blocks(inside, blocks)
    return Architecture(
        model_type=family,
        hidden_size=keys.positive("embedding_length"),
        vocab_size=_vocabulary(checkpoint, keys),
        layers=_layers(keys, blocks - predicted, inside),
        layer_prefix="blk.*",
        tensors=tuple(tensor_of(keys, one, one.name) for one in outside if is_parameter(one.name, family)),
        tie_word_embeddings=all(tensor.name != "output.weight" for tensor in outside),
        max_position_embeddings=keys.integer("context_length", 0) or None,
        norm="rms" if keys.has("attention.layer_norm_rms_epsilon") else "layer",
        towers=_predictors(keys, range(blocks - predicted, blocks), inside),
        stored=_loaded_types(checkpoint, inside, range(blocks - predicted, blocks)),
    )


def _keys(checkpoint: Checkpoint) -> Keys:
    family = checkpoint.metadata.get("general.architecture")
    if not isinstance(family, str):
        raise InvalidFile("missing_key", place="general.architecture")
    if family not in KNOWN:
        closest = next(iter(get_close_matches(family[:80], sorted(KNOWN), n=1)), None)
        name = shown_name(family)
        raise UnsupportedArchitecture(
            "unknown_architecture", place="general.architecture", model_type=name, closest=closest
        )
    return Keys(checkpoint.metadata, family)


def _check_blocks(inside: Mapping[int, Stored], blocks: int) -> None:
    if not blocks or inside.keys() != set(range(blocks)):
        raise InvalidFile("wrong_layers", place="block_count", declared=blocks, found=len(inside))


def _vocabulary(checkpoint: Checkpoint, keys: Keys) -> int:
    for tensor in checkpoint.tensors:
        if tensor.name == "token_embd.weight" and len(tensor.shape) == 2:
            return tensor.shape[0]
    tokens = checkpoint.metadata.get("tokenizer.ggml.tokens")
    return tokens.length if isinstance(tokens, ArrayLength) else keys.integer("vocab_size")


def _layers(keys: Keys, count: int, inside: Mapping[int, Stored]) -> tuple[Layer, ...]:
    windows = keys.windows(count)
    heads = keys.per_layer("attention.head_count", count, 0)
    grouped = keys.has("attention.head_count_kv")
    kv_heads = keys.per_layer("attention.head_count_kv", count) if grouped else heads
    default = CACHED_LAYERS.get(keys.family, count)
    cached = count - keys.integer("attention.shared_kv_layers", max(count - default, 0), maximum=count)
    known: dict[Layer, Layer] = {}
    layers = []
    for index in range(count):
        layer = _layer(keys, inside[index], (heads[index], kv_heads[index]), windows[index], shares=index >= cached)
        layers.append(known.setdefault(layer, layer))
    return tuple(layers)


def _layer(keys: Keys, stored: Stored, heads: tuple[int, int], window: int | None, *, shares: bool) -> Layer:
    attention = attention_of(keys, stored, heads, window, shares=shares)
    parameters = sorted(name for name in stored if is_parameter(name, keys.family))
    return Layer(
        attention=attention,
        feed_forward=feed_forward_of(keys, stored),
        tensors=tuple(tensor_of(keys, stored[name], name) for name in parameters),
        window=window if attention is not None else None,
        state=state_of(keys, stored),
    )


def _predictors(keys: Keys, blocks: range, inside: Mapping[int, Stored]) -> tuple[Tower, ...]:
    """Multi-token-prediction layers, which are stored after the others and not run by default."""
    stored = [(f"blk.{block}.{name}", tensor) for block in blocks for name, tensor in inside[block].items()]
    tensors = tuple(tensor_of(keys, tensor, name) for name, tensor in stored if is_parameter(name, keys.family))
    return (Tower(name="nextn", tensors=tensors, loaded=False),) if tensors else ()


def _loaded_types(
    checkpoint: Checkpoint, inside: Mapping[int, Mapping[str, StoredTensor]], unloaded: range
) -> tuple[StoredType, ...]:
    """What the loaded tensors take in the file, by type: all but the layers that predict further tokens."""
    left_out = {tensor.name for block in unloaded for tensor in inside[block].values()}
    return types_of([tensor for tensor in checkpoint.tensors if tensor.name not in left_out])
