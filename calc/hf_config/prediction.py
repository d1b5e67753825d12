"""Multi-token-prediction layers: stored in the checkpoint after the last layer, not built by Transformers.

Source: DeepSeek-V3 (arXiv 2412.19437, section 2.2). Checked against the published element counts of DeepSeek V3 and
V3.2, GLM 4.5, GLM 4.5 Air and GLM 5, whose layers do not repeat the token table and the head.
"""

from dataclasses import replace
from typing import Final

from calc.architecture import Architecture, Layer, Tensor, Tower
from calc.hf_config.parts import Tensors, embedding, head, linear, norms
from calc.hf_config.reader import Reader

MAX_COPIES: Final = 64


def with_prediction(reader: Reader, architecture: Architecture, *, own_tables: bool = True) -> Architecture:
    """Add the layers that ``num_nextn_predict_layers`` of the file announces, as a tower that is not loaded."""
    copies = reader.optional_integer("num_nextn_predict_layers", minimum=0, maximum=MAX_COPIES)
    if not copies:
        return architecture
    hidden_size, vocab_size = architecture.hidden_size, architecture.vocab_size
    extra = (
        *norms(("enorm", "hnorm", "shared_head.norm"), hidden_size),
        *linear("eh_proj", hidden_size, 2 * hidden_size),
    )
    if own_tables:
        extra += embedding("embed_tokens", vocab_size, hidden_size)
        extra += head("shared_head.head", vocab_size, hidden_size, tied=False)
    depth = len(architecture.layers)
    tensors = tuple(
        tensor
        for index in range(depth, depth + copies)
        for tensor in _placed(architecture.layers[-1], extra, architecture.layer_prefix.replace("*", str(index)))
    )
    tower = Tower(name="multi_token_prediction", tensors=tensors, loaded=False)
    return replace(architecture, towers=(*architecture.towers, tower))


def _placed(layer: Layer, extra: Tensors, prefix: str) -> tuple[Tensor, ...]:
    return tuple(replace(tensor, name=f"{prefix}.{tensor.name}") for tensor in layer.tensors + extra)
