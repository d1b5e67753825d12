"""Models made of state-space layers alone: Mamba, Falcon Mamba, Mamba 2.

Laws read from ``transformers`` 5.24 (``models/{mamba,falcon_mamba,mamba2}``).
"""

from calc.architecture import Architecture, Layer
from calc.hf_config.mixers import Mamba2Shape, MambaShape, Mixer, automatic, ceiling, mamba2
from calc.hf_config.mixers import mamba as mamba_mixer
from calc.hf_config.parts import embedding, head, norm
from calc.hf_config.reader import Reader


def _stack(reader: Reader, hidden_size: int, mixer: Mixer) -> Architecture:
    """A column of equal layers: a norm, a mixer, no feed-forward."""
    vocab_size = reader.size("vocab_size")
    tied = reader.boolean("tie_word_embeddings")
    layer = Layer(
        attention=None,
        feed_forward=None,
        tensors=norm("norm", hidden_size) + mixer.tensors,
        state=mixer.state,
    )
    return Architecture(
        model_type=reader.text("model_type"),
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=(layer,) * reader.layers(),
        layer_prefix="backbone.layers.*",
        tensors=embedding("backbone.embeddings", vocab_size, hidden_size)
        + norm("backbone.norm_f", hidden_size)
        + head("lm_head", vocab_size, hidden_size, tied=tied),
        tie_word_embeddings=tied,
        max_position_embeddings=None,
    )


def mamba(reader: Reader) -> Architecture:
    """Mamba and Falcon Mamba. ``intermediate_size``, where the file has it, wins over ``expand``."""
    hidden_size = reader.size("hidden_size")
    expanded = int(reader.number("expand") * hidden_size)
    shape = MambaShape(
        hidden_size=hidden_size,
        inner_size=reader.optional_integer("intermediate_size") or expanded,
        state_size=reader.integer("state_size"),
        time_step_rank=automatic(reader, "time_step_rank", fallback=ceiling(hidden_size, 16)),
        kernel=reader.integer("conv_kernel"),
        conv_bias=reader.boolean("use_conv_bias"),
        bias=reader.boolean("use_bias"),
    )
    return _stack(reader, hidden_size, mamba_mixer("mixer", shape))


def mamba2_stack(reader: Reader) -> Architecture:
    """Mamba 2 (and Codestral Mamba): heads x head_dim must be the expanded width."""
    hidden_size = reader.size("hidden_size")
    heads, head_dim = reader.integer("num_heads", maximum=2**20), reader.integer("head_dim")
    expanded = int(reader.number("expand") * hidden_size)
    reader.require(heads * head_dim == expanded, "num_heads", value=heads, expected=expanded)
    bias = reader.boolean("use_bias")
    shape = Mamba2Shape(
        hidden_size=hidden_size,
        heads=heads,
        head_dim=head_dim,
        state_size=reader.integer("state_size"),
        groups=reader.integer("n_groups"),
        kernel=reader.integer("conv_kernel"),
        conv_bias=reader.boolean("use_conv_bias"),
        bias=bias,
        out_bias=bias,
    )
    return _stack(reader, hidden_size, mamba2("mixer", shape))


FAMILIES = {"mamba": mamba, "falcon_mamba": mamba, "mamba2": mamba2_stack}
