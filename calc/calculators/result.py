"""What a calculator answers, and the same as JSON."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from calc.calculators.fields import Value
from calc.estimate import Component, Estimate, Note, Phase
from calc.fit import Fit
from calc.layout import Layout
from calc.serving import OnHost, Pool
from calc.sources import SOURCES

Figure = int | Fraction | str
"""A number beside the estimate: bytes as ``int`` where the name ends in ``_bytes``, shares as ``Fraction``."""

Row = Mapping[str, Figure | bool]
"""One row of a comparison: figures by the name of their column; ``chosen`` marks the one that was asked for."""

Tables = Mapping[str, tuple[Row, ...]]

NO_FIGURES: Mapping[str, Figure] = MappingProxyType({})


class Later(Mapping[str, tuple[Row, ...]]):
    """Tables that are worked out when one is first looked at: an answer must not wait for a comparison.

    >>> Later({"one": lambda: ({"a": 1},)})["one"]
    ({'a': 1},)
    """

    def __init__(self, makers: Mapping[str, Callable[[], tuple[Row, ...]]]) -> None:
        self._makers = makers
        self._made: dict[str, tuple[Row, ...]] = {}

    def __getitem__(self, name: str) -> tuple[Row, ...]:
        """The table of this name."""
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._makers)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._makers)


IN_JSON = ("effective_batch", "trainable_parameters")
"""Figures that programs rely on: each stands at the top level of the JSON of the calculators that have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An estimate with the inputs that it is for and what may be said about it.

    Args:
        calculator: name of the calculator.
        inputs: values of the fields that apply, by name, in the order of the form.
        estimate: the components; its total is the answer.
        fits: every GPU of the catalogue against the estimate; empty where the calculator does not compare.
        notes: remarks of the estimate and of the calculator.
        figures: other numbers of the answer (``parameters``, ``effective_batch``, ``simple_kv_cache_bytes`` …).
        tables: comparisons to show as they are, by name (``recipes``, ``same_batch``): rows of named figures.
        serving: what the engine does with the chosen GPU (vLLM) or leaves in the computer's memory (llama.cpp).
        alternatives: whole estimates to compare with this one, by name (``full``, ``lora``, ``qlora``).
    """

    calculator: str
    inputs: Mapping[str, Value]
    estimate: Estimate
    fits: tuple[Fit, ...] = ()
    notes: tuple[Note, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=lambda: NO_FIGURES)
    alternatives: Mapping[str, Estimate] = field(default_factory=lambda: MappingProxyType({}))
    tables: Tables = field(default_factory=lambda: MappingProxyType({}))
    serving: Pool | OnHost | None = None

    @property
    def timeline(self) -> tuple[Phase, ...]:
        """Every moment of the run with what is in memory then; the answer is the largest of them."""
        return self.estimate.timeline


def to_json(result: Result) -> dict[str, Any]:
    """The result as plain JSON values, with the keys that ``python -m calc … --json`` promises.

    Bytes are integers, ``used_fraction`` is rounded to six decimals, ``formula`` is the expression that was run and
    ``source`` the addresses of its sources (titles where a source has no address).
    """
    return {
        "calculator": result.calculator,
        "inputs": {name: _plain(value) for name, value in result.inputs.items()},
        **{name: int(result.figures[name]) for name in IN_JSON if name in result.figures},
        "components": [_component(part) for part in result.estimate.components],
        "total_bytes": result.estimate.total,
        "low_bytes": result.estimate.low,
        "high_bytes": result.estimate.high,
        "gpus": [_gpu(one) for one in result.fits],
        "notes": [{"code": note.code, **note.params} for note in result.notes],
        "timeline": [_moment(moment) for moment in result.timeline],
        "tables": {name: [_row(row) for row in rows] for name, rows in result.tables.items()},
        **({"serving": _serving(result)} if result.calculator == "inferencia" else {}),
    }


def _serving(result: Result) -> dict[str, Any]:
    """What the engine does with the chosen GPU; only its name where there is nothing to say."""
    found, engine = result.serving, {"engine": str(result.inputs["engine"])}
    if isinstance(found, OnHost):
        return engine | {"host_weights_bytes": found.weights, "host_kv_cache_bytes": found.kv_cache}
    if found is None:
        return engine
    return engine | {
        "gpu": str(result.inputs["gpu"]),
        "kv_cache_bytes": found.kv_bytes,
        "low_bytes": found.low,
        "high_bytes": found.high,
        "formula": found.derivation.expression,
        "block_bytes": found.block_bytes,
        "blocks": found.blocks,
        "tokens": found.tokens,
        "max_concurrency": round(float(found.concurrency), 6),
        "components": [_component(part) for part in found.taken],
    }


def _plain(value: Value) -> int | float | str | None:
    """A value as JSON: flags as the words that the command line takes, decimals and ids made of digits as numbers."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value


def _moment(moment: Phase) -> dict[str, Any]:
    parts = {part.name: part.bytes for part in moment.components}
    return {"moment": moment.name, "total_bytes": moment.total, "components": parts}


def _row(row: Row) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in row.items()}


def _component(part: Component) -> dict[str, Any]:
    sources = [SOURCES[key] for key in part.sources]
    return {
        "name": part.name,
        "bytes": part.bytes,
        "low": part.low,
        "high": part.high,
        "formula": part.derivation.expression,
        "source": "; ".join(source.url or source.title for source in sources),
    }


def _gpu(one: Fit) -> dict[str, Any]:
    return {
        "name": one.gpu.name or one.gpu.id,
        "id": one.gpu.id,
        "usable_bytes": one.gpu.capacity,
        "count": one.count,
        "used_fraction": round(float(one.used_fraction), 6),
        "verdict": one.verdict.value,
        "layout": _layout(one.rung.layout) if one.rung else {},
        "bytes_per_gpu": one.rung.bytes if one.rung else one.used,
    }


def _layout(layout: Layout) -> dict[str, int | bool | str | None]:
    """The degrees that differ from one GPU."""
    return {name: value for name, value in asdict(layout).items() if value != getattr(Layout(), name)}
