"""Memory to serve a model: weights, a KV cache for each request, and how the engine goes about it."""

from calc import catalog
from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.calculators.shared import (
    CONFIG,
    GPU,
    KV_VALUE_PRECISION,
    MODEL,
    PRECISION,
    RUNTIME,
    UNIT,
    architecture_of,
    cache_remarks,
    context,
    kv_precision,
    remarks,
    runtime_bytes,
)
from calc.engines import ENGINES, VLLM_SMALLER_PREFILL, prefill_tokens
from calc.estimate import Estimate, Note, Workload
from calc.fit import fit
from calc.ladder import inference_ladder
from calc.memory import estimate_inference
from calc.parameters import count_parameters

FIELDS = (
    MODEL,
    CONFIG,
    PRECISION,
    context("8192"),
    Field(name="concurrency", kind=Kind.INTEGER, default="1", unit="requests", minimum=1, maximum=10**6),
    Field(name="engine", kind=Kind.CHOICE, default="vllm", choices=tuple(ENGINES)),
    kv_precision(),
    KV_VALUE_PRECISION,
    RUNTIME,
    GPU,
    UNIT,
)


def calculate(parsed: Parsed) -> Result:
    """The answer for a model of the catalogue.

    Example:
        >>> from calc.calculators.fields import parse
        >>> result = calculate(parse(FIELDS, {"concurrency": "4"}))
        >>> result.figures["request_bytes"] // 2**30, result.estimate.component("kv_cache") // 2**30
        (1, 4)
    """
    return calculate_for(parsed, architecture_of(parsed))


def calculate_for(parsed: Parsed, architecture: Architecture) -> Result:
    """The answer for any architecture; the field ``model`` is not looked at."""
    workload = _workload(parsed)
    requests, engine = workload.batch, workload.engine
    estimate = estimate_inference(architecture, workload)
    each = estimate.component("kv_cache") // requests
    notes = [Note(code="cache_of_each_request", params={"request_bytes": each, "concurrency": requests})]
    if engine == "vllm":
        notes.append(Note(code="vllm_reserves_the_rest"))
        notes += _chunk(workload)
    count = count_parameters(architecture)
    return Result(
        calculator="inferencia",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(estimate, catalog.gpus(), ladder=inference_ladder(architecture, workload)),
        notes=(*estimate.notes, *notes, *cache_remarks(workload), *remarks(estimate)),
        figures={"parameters": count.total, "active_parameters": count.active, "request_bytes": each},
    )


def estimate_for(parsed: Parsed, architecture: Architecture) -> Estimate:
    """The memory alone."""
    return estimate_inference(architecture, _workload(parsed))


def _workload(parsed: Parsed) -> Workload:
    return Workload(
        precision=parsed.word("precision"),
        kv_precision=parsed.word("kv-precision"),
        kv_value_precision=parsed.word("kv-value-precision"),
        batch=parsed.integer("concurrency"),
        context_tokens=parsed.integer("context"),
        runtime_bytes=runtime_bytes(parsed),
        engine=parsed.word("engine"),
    )


def _chunk(workload: Workload) -> list[Note]:
    """What vLLM's chunk depends on, where the prompts are long enough for it to matter."""
    tokens = prefill_tokens(workload.engine, batch=workload.batch, context_tokens=workload.context_tokens)
    params = {"limit": ENGINES[workload.engine].prefill_tokens or tokens, "smaller": VLLM_SMALLER_PREFILL}
    return [Note(code="vllm_prefill_chunk", params=params)] if tokens > VLLM_SMALLER_PREFILL else []


INFERENCIA = Calculator(
    name="inferencia", fields=FIELDS, calculate=calculate, calculate_for=calculate_for, estimate_for=estimate_for
)
