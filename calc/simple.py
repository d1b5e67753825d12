"""The laws that people write in threads, computed for the same model so that they can stand beside the exact ones.

They are shown, never added to an estimate.
"""

from fractions import Fraction

from calc.architecture import Architecture, GroupedQueryAttention, MultiHeadLatentAttention
from calc.dtypes import STORED, dtype, whole
from calc.formula import Formula, Number
from calc.inventory import loaded_parameters


def simple_kv_cache(
    architecture: Architecture, *, batch: int, context_tokens: int, bits: Fraction = Fraction(16)
) -> Formula:
    """``2 b s h L B``: every layer caches keys and values as wide as the model. True of multi-head attention only.

    >>> from calc.custom import custom_architecture
    >>> simple_kv_cache(custom_architecture(8 * 10**9, 4096, 32), batch=1, context_tokens=8192).bytes // 2**30
    4
    """
    terms: dict[str, Number] = {"b": batch, "s": context_tokens, "h": architecture.hidden_size}
    terms |= {"L": len(architecture.layers), "B": whole(bits / 8)}
    return Formula("2 * b * s * h * L * B", terms)


def simple_inference(architecture: Architecture, *, precision: str = "bfloat16") -> Formula:
    """``1.2`` times the weights, ``P * q / 8``, with no scales and nothing kept in 16 bits."""
    parameters = loaded_parameters(architecture)
    bits = dtype(precision).value_bits
    if precision == STORED.name:
        bits = Fraction(8 * sum(one.bytes for one in architecture.stored), parameters)
    terms = {"P": parameters, "q": whole(bits)}
    return Formula("P * q / 8 * 12 / 10", terms)


def simple_training(architecture: Architecture, *, batch: int, context_tokens: int) -> Formula:
    """``16 P + s b h L (34 + 5 a s / h)``: AdamW in mixed precision; a GPT with dropout and no flash attention.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1, equation 1, times the layers.
    """
    terms = {
        "P": loaded_parameters(architecture),
        "b": batch,
        "s": context_tokens,
        "h": architecture.hidden_size,
        "L": len(architecture.layers),
        "a": _heads(architecture),
    }
    return Formula("16 * P + s * b * h * L * (34 + 5 * a * s / h)", terms)


def _heads(architecture: Architecture) -> int:
    for layer in architecture.layers:
        if isinstance(layer.attention, GroupedQueryAttention | MultiHeadLatentAttention):
            return layer.attention.num_attention_heads
    return 0
