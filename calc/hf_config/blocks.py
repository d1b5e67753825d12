"""Feed-forward blocks and window rules that several families share."""

from collections.abc import Callable

from calc.architecture import DenseMLP
from calc.hf_config.llama import Block
from calc.hf_config.parts import always, every, linear, windows
from calc.hf_config.reader import Reader


def ungated(reader: Reader, names: tuple[str, str], *, bias: bool) -> Callable[[int], Block]:
    """Two matrices with an activation between them."""
    hidden_size, width = reader.size("hidden_size"), reader.size("intermediate_size")
    tensors = linear(names[0], width, hidden_size, bias=bias) + linear(names[1], hidden_size, width, bias=bias)
    activation = reader.optional_text("hidden_act") or "gelu"
    block = DenseMLP(intermediate_size=width, gated=False, activation=activation), tensors
    return lambda _: block


def fused_gate(reader: Reader) -> Callable[[int], Block]:
    """A gated MLP whose gate and up matrices are one (Phi-3, GLM)."""
    hidden_size, width = reader.size("hidden_size"), reader.size("intermediate_size")
    tensors = linear("mlp.gate_up_proj", 2 * width, hidden_size) + linear("mlp.down_proj", hidden_size, width)
    activation = reader.optional_text("hidden_act") or "silu"
    block = DenseMLP(intermediate_size=width, gated=True, activation=activation), tensors
    return lambda _: block


def pattern_windows(reader: Reader, interval: int) -> tuple[int | None, ...]:
    """``sliding_window`` in all layers but each ``interval``-th, unless ``layer_types`` says otherwise."""
    window = reader.optional_integer("sliding_window")
    return windows(reader, reader.layers(), window=window, is_windowed=every(interval))


def one_window(reader: Reader) -> tuple[int | None, ...]:
    """``sliding_window`` in all layers, or in none where it is null (Mistral)."""
    window = reader.optional_integer("sliding_window")
    return windows(reader, reader.layers(), window=window, is_windowed=always)
