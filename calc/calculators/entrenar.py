"""Memory to train by the simple law: parameters times bytes per parameter, plus activations.

Law: M = N · B and V = M + A, with N parameters and B bytes that each of them needs while it is trained: its weight, its
gradient, its float32 master copy and the optimizer's states. GB are decimal here, as in the law's usual statement.
Source: Rajbhandari et al. 2019 (arXiv 1910.02054v3), section 3.1, for the 16 bytes and what they are made of.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil, prod
from types import MappingProxyType
from typing import Final

from calc import catalog
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.cards import GPU_FIELDS, gpus_for
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Figure, Later, Result, Row
from calc.calculators.training_fields import layout_fields, layout_of
from calc.estimate import Component, Estimate, Note
from calc.fit import fit
from calc.formula import Formula
from calc.inventory import loaded_tensors
from calc.layout import Layout
from calc.recipes import OPTIMIZERS, Recipe, optimizer_states
from calc.recipes import RECIPES as BY_NAME
from calc.states import divided
from calc.units import BILLION, GB

RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        name: BY_NAME[recipe]
        for name, recipe in (
            ("16", "mixed-adamw"),
            ("12", "mixed-adamw-8bit-float32-gradients"),
            ("8", "bf16-sgd-momentum"),
            ("20", "mixed-adamw-both-gradients"),
            ("18", "mixed-adamw-float32-gradients"),
            ("16-float32", "float32-adamw"),
            ("12-lion", "mixed-lion"),
            ("12-sgd", "mixed-sgd-momentum"),
            ("10", "mixed-adamw-8bit"),
            ("8-bfloat16", "bf16-adamw"),
            ("6", "bf16-adamw-8bit"),
            ("4", "bf16-sgd"),
        )
    }
)
"""Recipes by id: the bytes per parameter, and after a hyphen what tells apart those that take the same.

>>> RECIPES["16"].total, RECIPES["12"].total, RECIPES["8"].total
(16, 12, 8)
"""

USUAL = ("16", "12", "8")
"""The three of the simple calculator."""

REFERENCE: Final = "llama-3-8b"
"""Model of the catalogue whose shapes say what states that depend on shapes take."""

SHAPED: Final = ("adafactor", "muon", "galore")
"""Optimizers whose states are no fixed number of bytes per parameter (``calc.recipes.States``)."""

PAGED: Final = "paged-adamw-8bit"
"""States of 8 bits that move to the host's memory when the GPU is full: the same bytes, not always on the GPU."""

SOURCE_OF_RECIPE: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name: recipe.source for name, recipe in RECIPES.items()},
        **{name: OPTIMIZERS[name].source for name in (PAGED, *SHAPED)},
    }
)
"""Where each row of the table of recipes comes from, as a key of ``calc.sources.SOURCES``."""

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
    *layout_fields(names=("data-parallel", "zero")),
    *(replace(field, advanced=True) for field in GPU_FIELDS),
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
    layout = layout_of(parsed) or Layout()
    estimate = Estimate(components=_components(parameters, recipe, activations, layout))
    notes = [Note(code="runtime_not_counted")]
    if layout.zero and layout.data > 1:
        notes.append(Note(code="states_divided", params={"zero": layout.zero, "gpus": layout.data}))
    if not activations:
        notes.insert(0, Note(code="activations_not_counted"))
    return Result(
        calculator="entrenar",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(estimate, gpus_for(parsed.values), parts=layout.gpus),
        notes=tuple(notes),
        figures={
            "parameters": parameters,
            "bytes_per_parameter": recipe.total,
            "model_states_bytes": estimate.total - activations,
            "activations_bytes": activations,
        },
        tables=Later({"recipes": lambda: _recipes(parameters, name)}),
    )


def _recipes(parameters: int, chosen: str) -> tuple[Row, ...]:
    """Every way of training beside the others: bytes per parameter of each part, and of all for this model.

    States that depend on the shapes are those of ``REFERENCE``, per parameter, and the row says so.
    """
    rows = [_row(name, RECIPES[name], parameters) | {"chosen": name == chosen} for name in RECIPES]
    mixed = RECIPES["16"]
    paged = replace(mixed, optimizer=OPTIMIZERS[PAGED].bytes_per_parameter)
    rows.append(_row(PAGED, paged, parameters) | {"chosen": False})
    for name in SHAPED:
        row = _row(name, replace(mixed, optimizer=0), parameters, states=_states_each(name))
        rows.append(row | {"chosen": False, "reference": REFERENCE})
    return tuple(rows)


def _row(name: str, recipe: Recipe, parameters: int, states: Fraction | None = None) -> dict[str, Figure | bool]:
    optimizer = recipe.optimizer if states is None else states
    each = recipe.total + (states or 0)
    parts: dict[str, Figure | bool] = {"recipe": name, "weight": recipe.weight, "gradient": recipe.gradient}
    parts |= {"master": recipe.master, "optimizer": optimizer, "bytes_per_parameter": each}
    return parts | {"total_bytes": ceil(parameters * each)}


@cache
def _states_each(optimizer: str) -> Fraction:
    """Bytes per parameter of the states of the model of reference."""
    shapes = [(tensor.shape, times) for tensor, times in loaded_tensors(catalog.architecture(REFERENCE))]
    states = optimizer_states(optimizer, shapes)
    return Fraction(states.bytes, sum(prod(shape) * times for shape, times in shapes))


def _components(parameters: int, recipe: Recipe, activations: int, layout: Layout) -> tuple[Component, ...]:
    parts = (
        ("weights", recipe.weight, 3),
        ("gradients", recipe.gradient, 2),
        ("optimizer", recipe.optimizer, 1),
        ("master_weights", recipe.master, 1),
    )
    sources = tuple(dict.fromkeys(("zero-2019", recipe.source)))
    states = [
        divided(
            Component(name=name, derivation=Formula("P * B", {"P": parameters, "B": size}), sources=sources),
            layout.data if layout.zero >= stage else 1,
        )
        for name, size, stage in parts
        if size
    ]
    if activations:
        states.append(Component(name="activations", derivation=Formula("A", {"A": activations}), sources=()))
    return tuple(states)


ENTRENAR = Calculator(name="entrenar", fields=FIELDS, calculate=calculate)
