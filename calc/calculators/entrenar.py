"""Memory to train by the simple law: parameters times bytes per parameter, plus activations.

Law: M = N · B and V = M + A, with N parameters and B bytes that each of them needs while it is trained: its weight, its
gradient, its float32 master copy and the optimizer's states. GB are decimal here, as in the law's usual statement.
Source: Rajbhandari et al. 2019 (arXiv 1910.02054v3), section 3.1, for the 16 bytes and what they are made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Final

from calc import catalog
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.estimate import Component, Estimate, Note
from calc.fit import fit
from calc.formula import Formula
from calc.units import BILLION, GB


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What one trained parameter needs, in bytes."""

    weights: int
    gradients: int
    master_weights: int
    optimizer: int
    sources: tuple[str, ...]

    @property
    def total(self) -> int:
        """Bytes per parameter.

        >>> RECIPES["16"].total, RECIPES["12"].total, RECIPES["8"].total
        (16, 12, 8)
        """
        return self.weights + self.gradients + self.master_weights + self.optimizer


def _recipe(weights: int, gradients: int, master_weights: int, optimizer: int, *sources: str) -> Recipe:
    return Recipe(
        weights=weights, gradients=gradients, master_weights=master_weights, optimizer=optimizer, sources=sources
    )


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "16": _recipe(2, 2, 4, 8, "zero-2019", "mixed-precision-2017"),
        # The usual «12 bytes» of 8-bit Adam: gradients accumulated in float32 beside the master copy.
        "12": _recipe(2, 4, 4, 2, "adam-8bit-2021", "mixed-precision-2017"),
        "8": _recipe(2, 2, 0, 4, "sgd-momentum"),
        "20": _recipe(2, 6, 4, 8, "bigscience-megatron", "zero-2019"),
        "18": _recipe(2, 4, 4, 8, "bigscience-megatron", "megatron-2019"),
        "16-float32": _recipe(4, 4, 0, 8, "adamw-2017"),
        "12-lion": _recipe(2, 2, 4, 4, "lion-2023", "mixed-precision-2017"),
        "10": _recipe(2, 2, 4, 2, "adam-8bit-2021", "mixed-precision-2017"),
        "8-bfloat16": _recipe(2, 2, 0, 4, "adamw-2017", "bfloat16"),
        "6": _recipe(2, 2, 0, 2, "adam-8bit-2021", "bfloat16"),
        "4": _recipe(2, 2, 0, 0, "sgd-momentum"),
    }
)
"""Recipes by id: the bytes per parameter, and after a hyphen what tells apart those that take the same.

8-bit states are counted without their block scales (one float32 per 256 or 2,048 values, under 1 %).
"""

USUAL = ("16", "12", "8")

FIELDS = (
    Field(
        name="parameters",
        kind=Kind.DECIMAL,
        default="7",
        unit="billion",
        minimum=Fraction(1, 1000),
        maximum=10**6,
    ),
    Field(
        name="bytes-per-parameter",
        kind=Kind.CHOICE,
        default="16",
        unit="bytes",
        choices=tuple(RECIPES),
        finer=tuple(name for name in RECIPES if name not in USUAL),
    ),
    Field(name="activations", kind=Kind.DECIMAL, default="0", unit="GB", minimum=0, maximum=10**6),
    Field(name="gpu", kind=Kind.GPU, default="rtx-4090", advanced=True),
)


def calculate(parsed: Parsed) -> Result:
    """Model states by part, activations, and the GPUs that hold them.

    Example:
        >>> from calc.calculators.fields import parse
        >>> calculate(parse(FIELDS, {"activations": "20"})).estimate.total
        132000000000
    """
    parameters = ceil(parsed.decimal("parameters") * BILLION)
    name = parsed.word("bytes-per-parameter")
    recipe = RECIPES[name]
    activations = ceil(parsed.decimal("activations") * GB)
    estimate = Estimate(components=_components(parameters, recipe, activations))
    notes = [Note(code="runtime_not_counted")]
    if not activations:
        notes.insert(0, Note(code="activations_not_counted"))
    return Result(
        calculator="entrenar",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(estimate, catalog.gpus()),
        notes=tuple(notes),
        figures={
            "parameters": parameters,
            "bytes_per_parameter": recipe.total,
            "model_states_bytes": estimate.total - activations,
            "activations_bytes": activations,
        },
    )


def _components(parameters: int, recipe: Recipe, activations: int) -> tuple[Component, ...]:
    parts = (
        ("weights", recipe.weights),
        ("gradients", recipe.gradients),
        ("optimizer", recipe.optimizer),
        ("master_weights", recipe.master_weights),
    )
    states = [
        Component(name=name, derivation=Formula("P * B", {"P": parameters, "B": size}), sources=recipe.sources)
        for name, size in parts
        if size
    ]
    if activations:
        states.append(Component(name="activations", derivation=Formula("A", {"A": activations}), sources=()))
    return tuple(states)


ENTRENAR = Calculator(name="entrenar", fields=FIELDS, calculate=calculate)
