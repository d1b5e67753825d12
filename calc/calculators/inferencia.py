"""Memory to serve a model: weights, a KV cache for each request, and how the engine goes about it."""

from dataclasses import dataclass, replace

from calc.architecture import Architecture
from calc.calculators.calculator import Calculator, inputs
from calc.calculators.cards import GPU_FIELDS, chosen_gpu, gpus_for
from calc.calculators.fields import Field, Kind, Parsed
from calc.calculators.result import Result
from calc.calculators.serving_fields import gpus_of, server, serving_fields, serving_options
from calc.calculators.shared import (
    CONFIG,
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
from calc.engines import ENGINES, VLLM_LARGER_PREFILL, VLLM_SMALLER_PREFILL
from calc.estimate import Estimate, Note, Workload
from calc.fit import fit
from calc.ladder import inference_ladder
from calc.layout import Layout
from calc.memory import estimate_inference
from calc.parallelism import check_layout, part
from calc.parameters import count_parameters
from calc.serving import OnHost, Pool, left_on_host, vllm_pool

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
    *GPU_FIELDS,
    UNIT,
    *serving_fields(),
)


@dataclass(frozen=True, slots=True)
class _Case:
    """What is asked: the part of the model that one GPU holds, and the workload."""

    architecture: Architecture
    workload: Workload
    gpus: int

    @property
    def whole(self) -> bool:
        """Whether the estimate is of a whole model on one GPU, which more of them may share otherwise."""
        serving = self.workload.serving
        return self.gpus == 1 and serving.gpu_layers is None and not serving.experts_on_cpu


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
    case = _case(parsed, architecture)
    estimate = estimate_inference(case.architecture, case.workload)
    each = _each_request(case, estimate)
    count = count_parameters(architecture)
    ladder = inference_ladder(case.architecture, case.workload) if case.whole else None
    serving = _serving(parsed, case)
    return Result(
        calculator="inferencia",
        inputs=inputs(parsed),
        estimate=estimate,
        fits=fit(estimate, gpus_for(parsed.values), parts=case.gpus, ladder=ladder),
        notes=(
            *estimate.notes,
            Note(code="cache_of_each_request", params={"request_bytes": each, "concurrency": case.workload.batch}),
            *_engine_notes(case, serving),
            *cache_remarks(case.workload),
            *remarks(estimate),
        ),
        figures={"parameters": count.total, "active_parameters": count.active, "request_bytes": each},
        serving=serving,
    )


def estimate_for(parsed: Parsed, architecture: Architecture) -> Estimate:
    """The memory alone."""
    case = _case(parsed, architecture)
    return estimate_inference(case.architecture, case.workload)


def _case(parsed: Parsed, architecture: Architecture) -> _Case:
    workload = Workload(
        precision=parsed.word("precision"),
        kv_precision=parsed.word("kv-precision"),
        kv_value_precision=parsed.word("kv-value-precision"),
        batch=parsed.integer("concurrency"),
        context_tokens=parsed.integer("context"),
        runtime_bytes=runtime_bytes(parsed),
        engine=parsed.word("engine"),
        **serving_options(parsed),
    )
    gpus = gpus_of(parsed)
    if gpus == 1:
        return _Case(architecture, workload, 1)
    layout = Layout(tensor=gpus)
    check_layout(architecture, layout)
    return _Case(part(architecture, layout, 0), workload, gpus)


def _each_request(case: _Case, estimate: Estimate) -> int:
    """What one more request adds to the cache [B]: all of it but the beginning that it shares."""
    cache, requests = estimate.component("kv_cache"), case.workload.batch
    shared = case.workload.serving.prefix_tokens
    if not shared or requests == 1:
        return cache // requests
    alone = estimate_inference(case.architecture, replace(case.workload, batch=1))
    return (cache - alone.component("kv_cache")) // (requests - 1)


def _serving(parsed: Parsed, case: _Case) -> Pool | OnHost | None:
    """What the engine does with the chosen GPU, or with the computer's memory."""
    if case.workload.engine == "vllm":
        return vllm_pool(case.architecture, case.workload, chosen_gpu(parsed.values).reported, server(parsed))
    if case.workload.engine == "llama.cpp":
        return left_on_host(case.architecture, case.workload)
    return None


def _engine_notes(case: _Case, serving: Pool | OnHost | None) -> list[Note]:
    if isinstance(serving, OnHost):
        params = {"weights_bytes": serving.weights, "cache_bytes": serving.kv_cache}
        return [Note(code="kept_on_host", params=params)]
    if case.workload.engine != "vllm":
        return []
    notes = [Note(code="vllm_reserves_the_rest"), *_pool_notes(case, serving), *_chunk(case.workload)]
    if case.gpus > 1:
        notes.append(Note(code="one_gpu_of_many", params={"gpus": case.gpus}))
    draft = case.workload.serving.draft
    if draft is not None and draft.vocab_size != case.architecture.vocab_size:
        notes.append(Note(code="draft_of_another_vocabulary"))
    return notes


def _pool_notes(case: _Case, pool: Pool | None) -> list[Note]:
    if pool is None:
        return [Note(code="vllm_pool_not_covered")]
    if not pool.tokens:
        return [Note(code="vllm_pool_empty")]
    context = case.workload.context_tokens
    params = {"kv_bytes": pool.kv_bytes, "tokens": pool.tokens, "requests": int(pool.concurrency), "context": context}
    return [Note(code="vllm_pool", params=params)]


def _chunk(workload: Workload) -> list[Note]:
    """What vLLM's chunk depends on, where the prompts are long enough for it to matter."""
    if workload.batch * workload.context_tokens <= VLLM_SMALLER_PREFILL:
        return []
    limit = workload.serving.batched_tokens or VLLM_LARGER_PREFILL
    params = {"limit": limit, "larger": VLLM_LARGER_PREFILL, "smaller": VLLM_SMALLER_PREFILL}
    return [Note(code="vllm_prefill_chunk", params=params)]


INFERENCIA = Calculator(
    name="inferencia", fields=FIELDS, calculate=calculate, calculate_for=calculate_for, estimate_for=estimate_for
)
