"""The tables that stand beside an answer, as plain data: the recipes of training, and the ways to fine-tune."""

from dataclasses import dataclass
from fractions import Fraction

from comparison import smallest_fit

from calc import catalog, es
from calc.calculators import Result
from calc.calculators.entrenar import SOURCE_OF_RECIPE, USUAL
from calc.calculators.result import Row as Figures
from calc.es.labels import METHODS, RECIPES, SHORT_COMPONENTS
from calc.estimate import Estimate
from calc.fit import fit
from calc.provenance import Provenance
from calc.sources import SOURCES

GROUPS = (
    ("weights", "adapters"),
    ("gradients",),
    ("optimizer", "master_weights"),
    ("activations",),
    ("logits",),
    ("runtime",),
)
"""Columns of the table of methods: the components that each adds up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeRow:
    """One way of training: bytes per parameter of each part, and of all for this model."""

    label: str
    parts: tuple[str, ...]
    each: str
    total: str
    source: Provenance
    usual: bool
    chosen: bool
    reference: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow:
    """One way of fine-tuning: what each part takes on a GPU, and the smallest GPU that holds it."""

    label: str
    cells: tuple[str, ...]
    total: str
    trained: str
    gpu: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """The table: heads of its columns and its rows."""

    heads: tuple[str, ...]
    rows: tuple[MethodRow, ...]


def recipe_rows(result: Result, unit: str) -> tuple[RecipeRow, ...]:
    """The recipes of ``result.tables``, in their order; none where the calculator has none."""
    return tuple(_recipe(row, unit) for row in result.tables.get("recipes", ()))


def _recipe(row: Figures, unit: str) -> RecipeRow:
    name = str(row["recipe"])
    parts = (_each(_number(row[part])) for part in ("weight", "gradient", "master", "optimizer"))
    return RecipeRow(
        label=RECIPES[name],
        parts=tuple(parts),
        each=_each(_number(row["bytes_per_parameter"])),
        total=es.bytes_text(int(_number(row["total_bytes"])), unit),
        source=SOURCES[SOURCE_OF_RECIPE[name]],
        usual=name in USUAL,
        chosen=bool(row["chosen"]),
        reference="reference" in row,
    )


def _each(value: int | Fraction) -> str:
    """Bytes per parameter, with the decimals that a small number needs.

    >>> _each(8), _each(Fraction(452, 100)), _each(Fraction(2, 1000))
    ('8', '4,52', '0,002')
    """
    return es.number_text(value, 3 if value < Fraction(1, 10) else 2)


def _number(value: object) -> int | Fraction:
    return value if isinstance(value, int | Fraction) else 0


def methods(result: Result, unit: str) -> Methods | None:
    """The ways of fine-tuning of ``result.alternatives``, part by part; ``None`` where there are none."""
    if not result.alternatives:
        return None
    asked = result.inputs.get("method")
    trained = {"full": result.figures["parameters"]}
    other = result.figures["trainable_parameters"]
    return Methods(
        heads=tuple(SHORT_COMPONENTS[group[0]] for group in GROUPS),
        rows=tuple(
            MethodRow(
                label=METHODS[name],
                cells=tuple(_sum(estimate, group, unit) for group in GROUPS),
                total=es.bytes_text(estimate.total, unit),
                trained=es.number_text(int(trained.get(name, other))),
                gpu=_smallest(estimate),
                chosen=name == asked,
            )
            for name, estimate in result.alternatives.items()
        ),
    )


def _sum(estimate: Estimate, group: tuple[str, ...], unit: str) -> str:
    return es.bytes_text(sum(estimate.component(name) for name in group), unit)


def _smallest(estimate: Estimate) -> str:
    """The GPU with least memory that holds it with room to spare; empty if none does alone."""
    found = smallest_fit(fit(estimate, catalog.gpus()))
    return found.gpu.name if found else ""
