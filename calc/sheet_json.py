"""The «ficha» of a model as plain JSON values, under the names that ``python -m calc modelo FILE --json`` promises."""

from calc.architecture import Architecture, GroupedQueryAttention, MixtureOfExperts, MultiHeadLatentAttention
from calc.model_sheet import SHEET, Cache, ModelSheet


def summary(architecture: Architecture) -> dict[str, object]:
    """The architecture in a few plain values, under the names of ``config.json``.

    >>> from calc import catalog
    >>> summary(catalog.architecture("llama-3-8b"))["num_key_value_heads"]
    8
    """
    first = next((layer.attention for layer in architecture.layers if layer.attention is not None), None)
    experts = next(
        (one.feed_forward for one in architecture.layers if isinstance(one.feed_forward, MixtureOfExperts)), None
    )
    values: dict[str, object] = {
        "model_type": architecture.model_type,
        "hidden_size": architecture.hidden_size,
        "vocab_size": architecture.vocab_size,
        "num_hidden_layers": len(architecture.layers),
        "attention_layers": sum(layer.attention is not None for layer in architecture.layers),
        "recurrent_layers": sum(layer.state is not None for layer in architecture.layers),
        "tie_word_embeddings": architecture.tie_word_embeddings,
        "max_position_embeddings": architecture.max_position_embeddings,
        "towers": [tower.name for tower in architecture.towers if tower.loaded],
    }
    if isinstance(first, GroupedQueryAttention):
        values |= {
            "num_attention_heads": first.num_attention_heads,
            "num_key_value_heads": first.num_key_value_heads,
            "head_dim": first.head_dim,
        }
    elif isinstance(first, MultiHeadLatentAttention):
        values |= {
            "num_attention_heads": first.num_attention_heads,
            "kv_lora_rank": first.kv_lora_rank,
            "qk_rope_head_dim": first.qk_rope_head_dim,
        }
    if experts is not None:
        values |= {"num_experts": experts.num_experts, "num_experts_per_tok": experts.num_experts_per_tok}
    return values


def sheet_json(sheet: ModelSheet) -> dict[str, object]:
    """The sheet as plain JSON values: what ``python -m calc modelo FILE --json`` prints."""
    cache = sheet.cache
    value: dict[str, object] = {
        "calculator": SHEET,
        "name": sheet.name,
        "format": sheet.format,
        "files": [{"name": name, "bytes": size} for name, size in sheet.files],
        "parameters": {
            "total": sheet.total,
            "active": sheet.active,
            "embedding": sheet.embedding,
            "stored": sheet.stored,
            "by_kind": dict(sheet.by_kind),
        },
        "weights_bytes": sheet.weights_bytes,
        "types": [{"type": one.name, "elements": one.elements, "bytes": one.bytes} for one in sheet.types],
        "kv_cache": None if cache is None else _cache_json(cache),
        "architecture": None if sheet.architecture is None else summary(sheet.architecture),
        "known": dict(sheet.known),
        "notes": [{"code": note.code, **note.params} for note in sheet.notes],
    }
    if sheet.refusal is not None:
        value["refusal"] = {"code": sheet.refusal.code, "place": sheet.refusal.place, **sheet.refusal.params}
    if sheet.adapter is not None:
        one = sheet.adapter
        value["adapter"] = {
            "method": one.method,
            "rank": one.rank,
            "targets": list(one.targets),
            "base_model": one.base_model,
            "parameters": one.parameters,
            "bytes": one.bytes,
            "modules": one.modules,
        }
    return value


def _cache_json(cache: Cache) -> dict[str, object]:
    return {
        "bytes_per_token": cache.bytes_per_token,
        "grouped_bytes_per_token": cache.grouped_bytes_per_token,
        "state_bytes": cache.state_bytes,
        "windows": [{"tokens": tokens, "layers": layers} for tokens, layers in cache.windows],
        "per_1000_tokens": [
            {"engine": engine, "dtype": dtype, "bytes": size} for engine, dtype, size in cache.per_thousand
        ],
    }
