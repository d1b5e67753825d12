"""What an engine makes of the chosen GPU, as plain data: vLLM's pool of KV cache, or what llama.cpp leaves out."""

from dataclasses import dataclass

import mathml

from calc import es
from calc.calculators import Result
from calc.estimate import Component
from calc.provenance import Provenance
from calc.serving import Pool
from calc.sources import SOURCES

POOL_SOURCES = ("vllm-pool", "vllm-batch")
"""Where the pool and the defaults by GPU were read, beside the sources of its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of what is taken before the pool; ``range`` is empty where it is counted exactly."""

    label: str
    text: str
    range: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A symbol of the formula, what it stands for and its value here."""

    symbol: tuple[mathml.Token, ...]
    meaning: str
    value: tuple[mathml.Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """The pool: the share of the GPU, what is taken of it, what is left and what vLLM prints about that."""

    gpu: str
    budget: str
    parts: tuple[Part, ...]
    left: str
    low: str
    high: str
    tokens: str
    concurrency: str
    context: str
    block: str
    groups: str
    symbolic: tuple[mathml.Token, ...]
    numbers: tuple[mathml.Token, ...]
    terms: tuple[Term, ...]
    sources: tuple[Provenance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """What llama.cpp leaves in the computer's memory."""

    weights: str
    cache: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingView:
    """One of both is there."""

    pool: PoolView | None = None
    host: HostView | None = None


def serving(result: Result, unit: str) -> ServingView | None:
    """What the engine does; ``None`` where there is nothing to say of it."""
    found = result.serving
    if found is None:
        return None
    if isinstance(found, Pool):
        return ServingView(pool=_pool(result, found, unit))
    host = HostView(weights=es.bytes_text(found.weights, unit), cache=es.bytes_text(found.kv_cache, unit))
    return ServingView(host=host)


def _pool(result: Result, pool: Pool, unit: str) -> PoolView:
    formula = pool.derivation
    keys = dict.fromkeys((*(key for part in pool.taken for key in part.sources), *POOL_SOURCES))
    return PoolView(
        gpu=es.gpu_name(str(result.inputs["gpu"])),
        budget=es.bytes_text(int(pool.budget.value), unit),
        parts=tuple(_part(one, unit) for one in pool.taken),
        left=es.bytes_text(pool.kv_bytes, unit),
        low=es.bytes_text(pool.low, unit),
        high=es.bytes_text(pool.high, unit),
        tokens=es.number_text(pool.tokens),
        concurrency=es.number_text(pool.concurrency, 2),
        context=es.number_text(int(str(result.inputs["context"]))),
        block=es.bytes_text(pool.block_bytes, unit),
        groups=es.number_text(pool.groups) if pool.groups > 1 else "",
        symbolic=mathml.symbol_tokens(formula.expression),
        numbers=mathml.tokens(mathml.substituted(formula)),
        terms=tuple(
            Term(
                symbol=mathml.symbol_tokens(name),
                meaning=es.symbol_meaning(name, "serving"),
                value=mathml.number_tokens(value),
            )
            for name, value in formula.terms.items()
        ),
        sources=tuple(SOURCES[key] for key in keys),
    )


def _part(part: Component, unit: str) -> Part:
    ends = "" if part.exact else f"{es.bytes_text(part.low, unit)} – {es.bytes_text(part.high, unit)}"
    return Part(label=es.component_name(part.name), text=es.bytes_text(part.bytes, unit), range=ends)
