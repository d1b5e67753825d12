"""Token mixers without a growing cache: state-space and linear-attention blocks, their tensors and their state.

Convolution states are kept as ``[channels, kernel]`` in the model's dtype and recurrent states in 32 bits, as the cache
of ``transformers`` 5.24 holds them (``LinearAttentionLayer`` in ``cache_utils.py``).
"""

from dataclasses import dataclass

from calc.architecture import RecurrentState, Tensor, TensorKind
from calc.hf_config.parts import Tensors, linear, norm, vector
from calc.hf_config.reader import Reader


@dataclass(frozen=True, slots=True)
class Mixer:
    """A block's tensors and what it remembers of a sequence."""

    tensors: Tensors
    state: RecurrentState


def parameter(name: str, *shape: int) -> Tensors:
    """A bare parameter: neither a linear nor a norm."""
    return (Tensor(name=name, shape=shape, kind=TensorKind.OTHER),)


def convolution(name: str, channels: int, kernel: int, *, bias: bool) -> Tensors:
    """A depthwise causal convolution, stored ``(channels, 1, kernel)``.

    >>> convolution("mixer.conv1d", 8, 4, bias=True)[0].shape
    (8, 1, 4)
    """
    weight = Tensor(name=f"{name}.weight", shape=(channels, 1, kernel), kind=TensorKind.CONVOLUTION)
    return (weight, *vector(f"{name}.bias", channels, TensorKind.CONVOLUTION)) if bias else (weight,)


def automatic(reader: Reader, *keys: str, fallback: int) -> int:
    """An integer that the file may leave to the class with ``"auto"`` (``time_step_rank``, ``mamba_d_head``)."""
    values = [reader.mapping[key] for key in keys if key in reader.mapping]
    return reader.integer(*keys) if values and values[0] not in ("auto", None) else fallback


def ceiling(numerator: int, denominator: int) -> int:
    """The quotient rounded up: ``ceil(hidden_size / 16)`` is the automatic rank of the time step."""
    return -(-numerator // denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class MambaShape:
    """Sizes of a Mamba block (Gu and Dao 2023, arXiv 2312.00752, section 3.4)."""

    hidden_size: int
    inner_size: int
    state_size: int
    time_step_rank: int
    kernel: int
    conv_bias: bool
    bias: bool


def mamba(prefix: str, shape: MambaShape, *, inner_norms: bool = False) -> Mixer:
    """Mamba: a selective state of ``inner x state`` per sequence; ``inner_norms`` are Jamba's on dt, B and C.

    >>> shape = MambaShape(hidden_size=4, inner_size=8, state_size=2, time_step_rank=1, kernel=4, conv_bias=True,
    ...     bias=False)
    >>> mamba("mixer", shape).state.state_elements
    16
    """
    inner, state, rank = shape.inner_size, shape.state_size, shape.time_step_rank
    tensors = (
        *linear(f"{prefix}.in_proj", 2 * inner, shape.hidden_size, bias=shape.bias),
        *convolution(f"{prefix}.conv1d", inner, shape.kernel, bias=shape.conv_bias),
        *linear(f"{prefix}.x_proj", rank + 2 * state, inner),
        *linear(f"{prefix}.dt_proj", inner, rank, bias=True),
        *parameter(f"{prefix}.A_log", inner, state),
        *parameter(f"{prefix}.D", inner),
        *linear(f"{prefix}.out_proj", shape.hidden_size, inner, bias=shape.bias),
    )
    if inner_norms:
        tensors += norm(f"{prefix}.dt_layernorm", rank)
        tensors += norm(f"{prefix}.b_layernorm", state) + norm(f"{prefix}.c_layernorm", state)
    return Mixer(tensors, _state("mamba", inner, inner * shape.kernel, inner * state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2Shape:
    """Sizes of a Mamba 2 block (Dao and Gu 2024, arXiv 2405.21060, section 7): heads share B and C in groups."""

    hidden_size: int
    heads: int
    head_dim: int
    state_size: int
    groups: int
    kernel: int
    conv_bias: bool
    bias: bool
    out_bias: bool
    gated_norm: bool = True

    @property
    def inner_size(self) -> int:
        """Width of the block: heads x head_dim."""
        return self.heads * self.head_dim

    @property
    def channels(self) -> int:
        """Width of the convolution: the block and its groups' B and C."""
        return self.inner_size + 2 * self.groups * self.state_size


def mamba2(prefix: str, shape: Mamba2Shape) -> Mixer:
    """Mamba 2: a state of ``heads x head_dim x state`` per sequence.

    >>> shape = Mamba2Shape(hidden_size=2560, heads=80, head_dim=64, state_size=128, groups=1, kernel=4,
    ...     conv_bias=True, bias=False, out_bias=False)
    >>> mamba2("mixer", shape).tensors[0].shape
    (10576, 2560)
    """
    inner, channels, heads = shape.inner_size, shape.channels, shape.heads
    tensors = (
        *linear(f"{prefix}.in_proj", inner + channels + heads, shape.hidden_size, bias=shape.bias),
        *convolution(f"{prefix}.conv1d", channels, shape.kernel, bias=shape.conv_bias),
        *parameter(f"{prefix}.dt_bias", heads),
        *parameter(f"{prefix}.A_log", heads),
        *parameter(f"{prefix}.D", heads),
        *(norm(f"{prefix}.norm", inner) if shape.gated_norm else ()),
        *linear(f"{prefix}.out_proj", shape.hidden_size, inner, bias=shape.out_bias),
    )
    return Mixer(tensors, _state("mamba2", inner, channels * shape.kernel, inner * shape.state_size))


def _state(name: str, inner: int, convolution_elements: int, state_elements: int) -> RecurrentState:
    return RecurrentState(
        name=name, inner_size=inner, convolution_elements=convolution_elements, state_elements=state_elements
    )


def read_mamba(reader: Reader, hidden_size: int) -> MambaShape:
    """Mamba's sizes under the ``mamba_*`` names that Jamba and Zamba use."""
    return MambaShape(
        hidden_size=hidden_size,
        inner_size=reader.integer("mamba_expand") * hidden_size,
        state_size=reader.integer("mamba_d_state"),
        time_step_rank=automatic(reader, "mamba_dt_rank", fallback=ceiling(hidden_size, 16)),
        kernel=reader.integer("mamba_d_conv"),
        conv_bias=reader.boolean("mamba_conv_bias"),
        bias=reader.boolean("mamba_proj_bias"),
    )


def read_mamba2(reader: Reader, hidden_size: int, *, inner_size: int | None = None) -> Mamba2Shape:
    """Mamba 2's sizes under the ``mamba_*`` names that Bamba, Granite 4 and Falcon-H1 use."""
    inner = inner_size or int(reader.number("mamba_expand") * hidden_size)
    heads = reader.integer("mamba_n_heads", maximum=2**20)
    reader.require(inner % heads == 0, "mamba_n_heads", "not_a_divisor", value=heads, of=inner)
    head_dim = automatic(reader, "mamba_d_head", fallback=inner // heads)
    reader.require(heads * head_dim == inner, "mamba_d_head", value=head_dim)
    bias = reader.boolean("mamba_proj_bias")
    return Mamba2Shape(
        hidden_size=hidden_size,
        heads=heads,
        head_dim=head_dim,
        state_size=reader.integer("mamba_d_state"),
        groups=reader.integer("mamba_n_groups"),
        kernel=reader.integer("mamba_d_conv"),
        conv_bias=reader.boolean("mamba_conv_bias"),
        bias=bias,
        out_bias=bias,
    )
