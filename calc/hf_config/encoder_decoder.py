"""T5 and its kin: an encoder beside a decoder whose layers also attend to what was encoded.

Laws read from ``transformers`` 5.24 (``models/{t5,mt5,umt5}``). One departure, on purpose: 5.24 ties the head of every
T5, but the published checkpoints of T5 1.1 and Flan hold one of their own, and say so (``tie_word_embeddings: false``).
"""

from typing import Final

from calc.architecture import Architecture, DenseMLP, GroupedQueryAttention, Layer, TensorKind, Tower
from calc.hf_config.parts import Tensors, embedding, head, linear, norm
from calc.hf_config.reader import MAX_LAYERS, Reader
from calc.hf_config.stack import repeated


def t5(reader: Reader) -> Architecture:
    """T5 (arXiv 1910.10683) and mT5: relative positions are learned in the first layer of each side."""
    return _model(reader, biased_layers=1)


def umt5(reader: Reader) -> Architecture:
    """umT5: relative positions are learned in every layer."""
    return _model(reader, biased_layers=MAX_LAYERS)


def _model(reader: Reader, *, biased_layers: int) -> Architecture:
    width, vocab_size = reader.size("d_model", "hidden_size"), reader.size("vocab_size")
    depth = reader.layers("num_layers", "num_hidden_layers")
    decoder_depth = reader.optional_integer("num_decoder_layers", maximum=MAX_LAYERS) or depth
    heads = reader.size("num_heads", "num_attention_heads", maximum=2**20)
    attention = GroupedQueryAttention(
        num_attention_heads=heads, num_key_value_heads=heads, head_dim=reader.size("d_kv", "head_dim")
    )
    mlp, feed_forward = _feed_forward(reader, width)
    table = _relative_positions(reader, heads)
    reading = _attention("layer.0.SelfAttention", attention, width) + norm("layer.0.layer_norm", width)
    looking = _attention("layer.1.EncDecAttention", attention, width) + norm("layer.1.layer_norm", width)
    decoding = reading + looking + repeated(feed_forward, 1, "layer.2.")

    def layer(tensors: Tensors) -> Layer:
        return Layer(attention=attention, feed_forward=mlp, tensors=tensors, encoder_attention=attention)

    biased = min(biased_layers, decoder_depth)
    encoding = repeated(reading + repeated(feed_forward, 1, "layer.1."), depth, "encoder.block.*.")
    encoding += repeated(table, min(biased_layers, depth), "encoder.block.*.")
    tied = reader.boolean("tie_word_embeddings")
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=width,
        vocab_size=vocab_size,
        layers=(layer(decoding + table),) * biased + (layer(decoding),) * (decoder_depth - biased),
        layer_prefix="decoder.block.*",
        tensors=embedding("shared", vocab_size, width)
        + norm("decoder.final_layer_norm", width)
        + head("lm_head", vocab_size, width, tied=tied),
        tie_word_embeddings=tied,
        max_position_embeddings=None,
        towers=(Tower(name="encoder", tensors=encoding + norm("encoder.final_layer_norm", width)),),
    )


def _attention(name: str, attention: GroupedQueryAttention, width: int) -> Tensors:
    inner = attention.num_attention_heads * attention.head_dim
    inputs = tuple(tensor for letter in "qkv" for tensor in linear(f"{name}.{letter}", inner, width))
    return inputs + linear(f"{name}.o", width, inner)


def _relative_positions(reader: Reader, heads: int) -> Tensors:
    buckets = reader.integer("relative_attention_num_buckets")
    return embedding("layer.0.SelfAttention.relative_attention_bias", buckets, heads, TensorKind.POSITION)


def _feed_forward(reader: Reader, width: int) -> tuple[DenseMLP, Tensors]:
    """``feed_forward_proj`` is an activation, or ``gated-`` and an activation."""
    inner = reader.size("d_ff", "intermediate_size")
    words = reader.text("feed_forward_proj").split("-")
    gated = words[0] == "gated"
    reader.require(
        len(words) == 1 + gated, "feed_forward_proj", "not_a_choice", value="-".join(words), choices="relu, gated-gelu"
    )
    names = ("wi_0", "wi_1") if gated else ("wi",)
    tensors = tuple(tensor for name in names for tensor in linear(f"DenseReluDense.{name}", inner, width))
    tensors += linear("DenseReluDense.wo", width, inner) + norm("layer_norm", width)
    return DenseMLP(intermediate_size=inner, gated=gated, activation=words[-1]), tensors


ENCODER_DECODERS: Final = {"t5": t5, "mt5": t5, "umt5": umt5}
