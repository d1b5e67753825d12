"""Training states: gradients, optimizer states and master weights, in bytes per trained parameter.

An optimizer keeps its states in float32 unless its id says otherwise: that is what mixed-precision frameworks do
(ZeRO, arXiv 1910.02054, section 3.1: "the optimizer states [...] fp32"). PyTorch keeps them in the parameters' own
dtype, so pure 16-bit training is ``adamw-bf16``, half of ``adamw``.

States of adaptive methods are counted from the shapes of the trained tensors, not per parameter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from types import MappingProxyType

from calc.dtypes import DType
from calc.errors import InvalidInput
from calc.estimate import Component
from calc.formula import Formula

Shapes = Iterable[tuple[tuple[int, ...], int]]
"""Shapes of the trained tensors, each with how many there are of it."""

MINIMUM_8BIT_ELEMENTS = 4096
"""bitsandbytes keeps the states of smaller tensors in 32 bits (``min_8bit_size``, bitsandbytes 0.48, ``optim``)."""

BLOCK_8BIT = 256
"""Elements that share one float32 scale in an 8-bit state (bitsandbytes 0.48, ``optimizer.py``, block size 256; 2048 in
the paper, arXiv 2110.02861, section 2.1)."""


MOST_HIDDEN = 2**15
"""Longest side of a hidden matrix: a token table or a head has more rows than this."""

GALORE_RANK = 128
"""Rank that GaLore projects gradients to (its README's example for Llama 7B is 1024, for small models 128)."""


class States(StrEnum):
    """How the size of an optimizer's states follows from the parameters."""

    DENSE = "dense"  # ``bytes_per_parameter`` for each
    BLOCKWISE = "blockwise"  # 8-bit states with scales
    FACTORED = "factored"  # a row and a column for each matrix
    MATRICES = "matrices"  # one momentum for matrices, two moments for the rest
    PROJECTED = "projected"  # two moments of the gradient projected to a low rank, and the projection


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """One optimizer.

    Args:
        name: id in forms, flags and addresses.
        states: law of its size.
        bytes_per_parameter: of all states together, without scales.
        source: key of ``calc.sources.SOURCES``.
        paged: the states may move to the host when the GPU is full.
        foreach: PyTorch's step over lists of tensors makes a temporary as large as the parameters.
    """

    name: str
    states: States
    bytes_per_parameter: int
    source: str
    paged: bool = False
    foreach: bool = False


_ALL = (
    # Two moments in float32 (Kingma and Ba 2014; Loshchilov and Hutter 2017).
    Optimizer(name="adamw", states=States.DENSE, bytes_per_parameter=8, source="adamw-2017", foreach=True),
    Optimizer(name="adamw-bf16", states=States.DENSE, bytes_per_parameter=4, source="adamw-2017", foreach=True),
    # One momentum buffer in float32.
    Optimizer(name="sgd-momentum", states=States.DENSE, bytes_per_parameter=4, source="sgd-momentum"),
    Optimizer(name="sgd", states=States.DENSE, bytes_per_parameter=0, source="sgd-momentum"),
    # Two moments in 8 bits, block-wise scales (Dettmers et al. 2021, section 2).
    Optimizer(name="adamw-8bit", states=States.BLOCKWISE, bytes_per_parameter=2, source="adam-8bit-2021"),
    Optimizer(name="paged-adamw-8bit", states=States.BLOCKWISE, bytes_per_parameter=2, source="qlora-2023", paged=True),
    # Second moment factored into row and column sums, no momentum (Shazeer and Stern 2018, section 3).
    Optimizer(name="adafactor", states=States.FACTORED, bytes_per_parameter=0, source="adafactor-2018"),
    # "Lion [...] only keeps track of the momentum" (Chen et al. 2023, section 1); float32 as the others.
    Optimizer(name="lion", states=States.DENSE, bytes_per_parameter=4, source="lion-2023"),
    # Momentum of the matrices of the layers; embeddings, head and vectors keep AdamW (Jordan 2024).
    Optimizer(name="muon", states=States.MATRICES, bytes_per_parameter=4, source="muon-2024"),
    # Two moments of a gradient projected to rank 128, and its projection (Zhao et al. 2024, section 4.2).
    Optimizer(name="galore", states=States.PROJECTED, bytes_per_parameter=8, source="galore-2024"),
    Optimizer(name="lion-8bit", states=States.BLOCKWISE, bytes_per_parameter=1, source="lion-2023"),
)

OPTIMIZERS: Mapping[str, Optimizer] = MappingProxyType({one.name: one for one in _ALL})
"""Every optimizer, by id, in the order of the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What one way of training keeps per parameter [B]: a row of the table that explains 16, 12 and 8."""

    name: str
    weight: int
    gradient: int
    master: int
    optimizer: int
    source: str

    @property
    def total(self) -> int:
        """Bytes per parameter.

        >>> RECIPES["mixed-adamw"].total, RECIPES["bf16-adamw"].total
        (16, 8)
        """
        return self.weight + self.gradient + self.master + self.optimizer


def _recipe(name: str, parts: tuple[int, int, int, int], source: str) -> Recipe:
    weight, gradient, master, optimizer = parts
    return Recipe(name=name, weight=weight, gradient=gradient, master=master, optimizer=optimizer, source=source)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            _recipe("float32-adamw", (4, 4, 0, 8), "adamw-2017"),
            _recipe("mixed-adamw", (2, 2, 4, 8), "zero-2019"),
            _recipe("mixed-adamw-float32-gradients", (2, 4, 4, 8), "megatron-2019"),
            # DeepSpeed's bf16 with gradients accumulated in float32 beside the 16-bit ones; BigScience logs 20.02.
            _recipe("mixed-adamw-both-gradients", (2, 6, 4, 8), "bigscience-megatron"),
            _recipe("bf16-adamw", (2, 2, 0, 4), "fms-acceleration"),
            _recipe("mixed-adamw-8bit", (2, 2, 4, 2), "adam-8bit-2021"),
            # The usual «12 bytes» of 8-bit Adam: float32 gradients beside the master copy.
            _recipe("mixed-adamw-8bit-float32-gradients", (2, 4, 4, 2), "adam-8bit-2021"),
            _recipe("bf16-adamw-8bit", (2, 2, 0, 2), "adam-8bit-2021"),
            _recipe("mixed-sgd-momentum", (2, 2, 4, 4), "sgd-momentum"),
            _recipe("bf16-sgd-momentum", (2, 2, 0, 4), "sgd-momentum"),
            _recipe("bf16-sgd", (2, 2, 0, 0), "sgd-momentum"),
            _recipe("mixed-lion", (2, 2, 4, 4), "lion-2023"),
        )
    }
)
"""Bytes per trained parameter of common ways of training, block scales left out (formulas of the page «Entrenar»)."""


def gradients(trained: int, dtype: DType, *, symbol: str = "P") -> Component:
    """One gradient per trained parameter, in the format it is computed in: ``P * B`` (``P_a`` for adapters)."""
    terms = {symbol: trained, "B": dtype.compute_bits // 8}
    return Component(name="gradients", derivation=Formula(f"{symbol} * B", terms), sources=("zero-2019",))


def master_weights(trained: int, *, symbol: str = "P") -> Component:
    """The float32 copy that a 16-bit model is updated in: ``4 * P`` (mixed precision, section 3.1)."""
    return Component(
        name="master_weights", derivation=Formula(f"4 * {symbol}", {symbol: trained}), sources=("mixed-precision-2017",)
    )


def optimizer_states(name: str, shapes: Shapes, *, symbol: str = "P") -> Component:
    """States of an optimizer over the trained tensors.

    * dense: ``8 * P`` (AdamW), ``4 * P`` (one momentum), ``0 * P``;
    * 8 bits: ``2 * P_q + 8 * N_b`` (a byte per state and a float32 scale per block of 256), and ``8 * P_u`` for the
      tensors that stay in 32 bits;
    * factored: ``4 * N_f``, with a row sum and a column sum for every matrix and one number for other elements.

    >>> optimizer_states("adamw", [((4096, 4096), 1)]).bytes == 8 * 4096**2
    True

    Raises:
        InvalidInput: ``unknown_choice``, with the known ids.
    """
    if name not in OPTIMIZERS:
        raise InvalidInput("unknown_choice", place="optimizer", value=name, known=tuple(OPTIMIZERS))
    one = OPTIMIZERS[name]
    formula = _LAWS[one.states](one, tuple(shapes), symbol)
    return Component(name="optimizer", derivation=formula, sources=(one.source,), low=0 if one.paged else -1)


def _dense(one: Optimizer, shapes: Shapes, symbol: str) -> Formula:
    trained = sum(prod(shape) * times for shape, times in shapes)
    return Formula(f"{one.bytes_per_parameter} * {symbol}", {symbol: trained})


def _blockwise(one: Optimizer, shapes: Shapes, _: str) -> Formula:
    quantized = blocks = kept = 0
    for shape, times in shapes:
        elements = prod(shape)
        if elements < MINIMUM_8BIT_ELEMENTS:
            kept += times * elements
        else:
            quantized += times * elements
            blocks += times * -(-elements // BLOCK_8BIT)
    states = one.bytes_per_parameter
    small = f" + {4 * states} * P_u" if kept else ""
    terms = {"P_q": quantized, "N_b": blocks} | ({"P_u": kept} if kept else {})
    return Formula(f"{states} * P_q + {4 * states} * N_b{small}", terms)


def _factored(_: Optimizer, shapes: Shapes, __: str) -> Formula:
    numbers = 0
    for shape, times in shapes:
        leading = prod(shape[:-2])
        numbers += times * (leading * (shape[-2] + shape[-1]) if len(shape) > 1 else prod(shape))
    return Formula("4 * N_f", {"N_f": numbers})


def _matrices(one: Optimizer, shapes: Shapes, _: str) -> Formula:
    """Muon: a momentum for each hidden matrix, AdamW for tables, head and vectors, told apart by their shape."""
    matrices = sum(prod(shape) * times for shape, times in shapes if _hidden(shape))
    rest = sum(prod(shape) * times for shape, times in shapes if not _hidden(shape))
    return Formula(f"{one.bytes_per_parameter} * P_m + 8 * P_u", {"P_m": matrices, "P_u": rest})


def _hidden(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1 and max(shape) < MOST_HIDDEN


def _projected(one: Optimizer, shapes: Shapes, _: str) -> Formula:
    """GaLore: ``8 (m + n) r`` less one side: moments of the projected gradient ``r * max``, projection ``r * min``."""
    projected = sum(GALORE_RANK * max(shape) * times for shape, times in shapes if _hidden(shape))
    projection = sum(GALORE_RANK * min(shape[-2:]) * times for shape, times in shapes if _hidden(shape))
    rest = sum(prod(shape) * times for shape, times in shapes if not _hidden(shape))
    terms = {"N_f": projected, "N_b": projection, "P_u": rest}
    return Formula(f"{one.bytes_per_parameter} * N_f + 4 * N_b + 8 * P_u", terms)


_LAWS = {
    States.DENSE: _dense,
    States.BLOCKWISE: _blockwise,
    States.FACTORED: _factored,
    States.MATRICES: _matrices,
    States.PROJECTED: _projected,
}
