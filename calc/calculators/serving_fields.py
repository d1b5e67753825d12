"""Fields of an engine's own options («Servir el modelo»), and what they stand for.

Every default is the engine's own; the one that depends on the GPU (``max-batched-tokens``) is left empty.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from calc import catalog
from calc.calculators.cards import chosen_gpu
from calc.calculators.fields import Field, Kind, Parsed
from calc.engines import UBATCH, VLLM_SEQUENCES, vllm_batched_tokens, vllm_is_large
from calc.estimate import Serving
from calc.serving import Server

SERVING_GROUP: Final = "serving"

VLLM: Final[Mapping[str, tuple[str, ...]]] = {"engine": ("vllm",)}
LLAMA_CPP: Final[Mapping[str, tuple[str, ...]]] = {"engine": ("llama.cpp",)}
TRANSFORMERS: Final[Mapping[str, tuple[str, ...]]] = {"engine": ("transformers",)}

NO_DRAFT: Final = "none"
LARGEST_DRAFT: Final = 4 * 10**9
"""Parameters of the largest model that is offered as a draft: it only helps where it is much smaller."""


def _count(name: str, default: str, unit: str, minimum: int, maximum: int) -> Field:
    return Field(
        name=name,
        kind=Kind.INTEGER,
        default=default,
        unit=unit,
        minimum=minimum,
        maximum=maximum,
        optional=not default,
    )


def _flag(name: str, default: str) -> Field:
    return Field(name=name, kind=Kind.FLAG, default=default)


def _drafts() -> Field:
    models = sorted(catalog.models(), key=lambda one: one.parameters)
    small = tuple(one.id for one in models if one.parameters < LARGEST_DRAFT)
    return Field(name="draft-model", kind=Kind.CHOICE, default=NO_DRAFT, choices=(NO_DRAFT, *small))


def serving_fields() -> tuple[Field, ...]:
    """The options of vLLM, llama.cpp and Transformers, each shown with its engine."""
    own = {
        "vllm": (
            Field(
                name="gpu-memory-utilization",
                kind=Kind.DECIMAL,
                default="0.9",
                minimum=Fraction(1, 1000),
                maximum=1,
            ),
            _count("max-batched-tokens", "", "tokens", 1, 10**7),
            _flag("cuda-graphs", "yes"),
            _count("tensor-parallel", "1", "gpus", 1, 1024),
            _count("prefix-tokens", "0", "tokens", 0, 10**8),
            _drafts(),
            _count("lora-adapters", "0", "", 0, 10**4),
            _count("lora-rank", "16", "", 1, 10**4),
        ),
        "llama.cpp": (
            _count("gpu-layers", "", "", 0, 10**4),
            _count("ubatch", str(UBATCH), "tokens", 1, 10**6),
            _flag("experts-on-cpu", "no"),
            _flag("flash-attention", "yes"),
        ),
        "transformers": (Field(name="cache", kind=Kind.CHOICE, default="dynamic", choices=("dynamic", "static")),),
    }
    shown = {"vllm": VLLM, "llama.cpp": LLAMA_CPP, "transformers": TRANSFORMERS}
    return tuple(
        replace(field, advanced=True, group=SERVING_GROUP, shown_when=shown[engine])
        for engine, fields in own.items()
        for field in fields
    )


def serving_options(parsed: Parsed) -> dict[str, Any]:
    """The fields as arguments of a ``Workload``."""
    engine = parsed.word("engine")
    if engine == "vllm":
        return {"serving": _vllm(parsed)}
    if engine == "llama.cpp":
        serving = Serving(
            gpu_layers=parsed.integer("gpu-layers") if parsed.has("gpu-layers") else None,
            ubatch=parsed.integer("ubatch"),
            experts_on_cpu=parsed.flag("experts-on-cpu", otherwise=False),
        )
        flash = parsed.flag("flash-attention", otherwise=True)
        return {"serving": serving, "attention_kernel": "flash" if flash else "eager"}
    if engine == "transformers":
        return {"serving": Serving(static_cache=parsed.word("cache") == "static")}
    return {}


def _vllm(parsed: Parsed) -> Serving:
    draft = parsed.word("draft-model")
    given = parsed.integer("max-batched-tokens") if parsed.has("max-batched-tokens") else None
    return Serving(
        batched_tokens=given or vllm_batched_tokens(chosen_gpu(parsed.values)),
        prefix_tokens=parsed.integer("prefix-tokens"),
        draft=None if draft == NO_DRAFT else catalog.architecture(draft),
        adapters=parsed.integer("lora-adapters"),
        adapter_rank=parsed.integer("lora-rank"),
    )


def server(parsed: Parsed) -> Server:
    """How the vLLM server is started: for one request at a time it is left with its own number of sequences."""
    usual, asked = VLLM_SEQUENCES[vllm_is_large(chosen_gpu(parsed.values))], parsed.integer("concurrency")
    return Server(
        utilization=parsed.decimal("gpu-memory-utilization"),
        sequences=asked if asked > 1 else usual,
        cuda_graphs=parsed.flag("cuda-graphs", otherwise=True),
        gpus=parsed.integer("tensor-parallel"),
    )


def gpus_of(parsed: Parsed) -> int:
    """GPUs that share each layer: 1 but for vLLM."""
    return parsed.integer("tensor-parallel") if parsed.has("tensor-parallel") else 1
