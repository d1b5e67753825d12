"""What engines make of a GPU: vLLM's pool of KV cache, and what llama.cpp leaves in the computer's memory.

vLLM V1 takes a share of the GPU, ``--gpu-memory-utilization`` of what CUDA reports, and fills with KV cache what is
left of it by weights, the peak of a trial run, CUDA graphs and memory outside PyTorch (``determine_available_memory``,
vllm/v1/worker/gpu_worker.py). The trial run is as large as a step can be: ``--max-num-batched-tokens`` through the
layers, and a sampler for ``--max-num-seqs`` sequences. What is left is cut in blocks of 16 tokens, and it prints

* ``GPU KV cache size: N tokens`` and
* ``Maximum concurrency for s tokens per request: x``, how many requests as long as the context fit at a time

(``_report_kv_cache_config`` and ``get_max_concurrency_for_kv_cache_config``, vllm/v1/core/kv_cache_utils.py).

Not covered, and ``None`` here: models with recurrent states, whose blocks vLLM makes larger until a state fits, those
with an encoder or with attention to images, and windowed models whose layers differ in width without being multiples.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from calc.activations import widest_mlp
from calc.architecture import Architecture, TensorKind
from calc.dtypes import CACHE_BITS, dtype
from calc.engines import VLLM_LARGER_PREFILL, VLLM_SEQUENCES
from calc.estimate import Component, Workload, ranged
from calc.formula import Formula, Number
from calc.inference import beside_the_model, cache_precision, kv_cache
from calc.kv_cache import VLLM_BLOCK, honours_windows, layer_widths
from calc.offload import held_by_llama_cpp, part_held
from calc.units import MIB
from calc.weights import weight_components

CUDA_HIDDEN = 486 * MIB
"""What CUDA reports less than ``nvidia-smi``: the middle of 17 cards (253 to 818 MiB), from readings of both
(``torch.cuda.mem_get_info`` in logs, and the driver's; L4 22,693 of 23,034 MiB, H100 81,121 of 81,559)."""

NON_TORCH = (20 * MIB, 100 * MIB, 640 * MIB)
"""Memory outside PyTorch's allocator after the trial run, on one GPU: 0.02 to 0.62 GiB in start-up lines of vLLM 0.6 to
0.9 (cuBLAS, kernels, attention workspaces; the context was there before and is not counted)."""

NON_TORCH_SHARED = (200 * MIB, 1024 * MIB, 5700 * MIB)
"""The same on each of several, with NCCL's buffers: 0.2 (four cards without NVLink) to 5.7 GiB (eight H200s)."""

GRAPHS = 86
"""CUDA graphs: 51 sizes up to 512 tokens, in pieces, and 35 of whole decoding steps up to 256 sequences
(``VllmConfig._set_cudagraph_sizes``, ``CUDAGraphMode.FULL_AND_PIECEWISE``)."""

GRAPH_LAYER = 160 * 1024
"""Bytes that the driver keeps for one layer of one graph: 182 KB (Qwen2.5 1.5B, 35 graphs, 0.17 GiB) and 153 KB (OPT
125M, 35 graphs, 0.06 GiB) in two start-up lines."""

FUSED_SAMPLER = 10
"""Bytes per sequence and entry of the vocabulary: logits in 16 and in 32 bits, and probabilities; FlashInfer's kernels
sort nothing, and the trial run filters nothing."""

SORTING_SAMPLER = 38
"""The same where PyTorch sorts the logits for top-k and top-p (vLLM 0.6 to 0.9, and without FlashInfer): logits in 16
and in 32 bits, sorted values and their places (4 + 8), and in ``segmented_sort_pairs_by_full_sort`` two lists of places
(8 + 8) and one of keys (4). Start-up lines of six models show 38 to 41."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What vLLM reserves for KV cache on one GPU.

    Args:
        budget: the share of the GPU that it may use, ``U * D``.
        taken: what is there before the pool, as components with their ranges.
        derivation: the bytes that are left, with their numbers; below zero where vLLM would not start.
        low: the pool if all that is taken is at its high end [B].
        high: the same at the low ends [B].
        block_bytes: one block of 16 tokens in all the layers that keep it together [B].
        blocks: whole blocks in the pool.
        groups: how many times the layers are divided so that each group has its own blocks (hybrid models).
        tokens: what ``GPU KV cache size`` prints.
        request_blocks: blocks that a request as long as the context takes.
    """

    budget: Formula
    taken: tuple[Component, ...]
    derivation: Formula
    low: int
    high: int
    block_bytes: int
    blocks: int
    groups: int
    tokens: int
    request_blocks: int

    @property
    def kv_bytes(self) -> int:
        """Bytes for KV cache; 0 where nothing is left [B]."""
        return max(0, int(self.derivation.value))

    @property
    def concurrency(self) -> Fraction:
        """What ``Maximum concurrency`` prints, exactly."""
        return Fraction(self.blocks, self.request_blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How the server is started.

    Args:
        utilization: ``--gpu-memory-utilization``, above 0 and up to 1.
        sequences: ``--max-num-seqs``.
        cuda_graphs: not ``--enforce-eager``; counted in the trial run since vLLM 0.21.
        sampler: bytes per sequence and entry of the vocabulary while a token is chosen.
        hidden: what CUDA reports less than the capacity that is given [B].
        gpus: GPUs that share each layer (``--tensor-parallel-size``).
    """

    utilization: Fraction = Fraction(9, 10)
    sequences: int = VLLM_SEQUENCES[0]
    cuda_graphs: bool = True
    sampler: int = FUSED_SAMPLER
    hidden: int = CUDA_HIDDEN
    gpus: int = 1


def vllm_pool(
    architecture: Architecture, workload: Workload, gpu_capacity: int, server: Server | None = None
) -> Pool | None:
    """The pool of a server on one GPU; ``None`` for models that are not covered.

    Args:
        architecture: the model, or the part of it that one of several GPUs holds (``calc.parallelism.part``).
        workload: precisions, context (``--max-model-len``) and options of vLLM (``Workload.serving``).
        gpu_capacity: what the driver reports [B].
        server: how it is started.

    Source: vLLM, vllm/v1/worker/gpu_worker.py and vllm/v1/core/kv_cache_utils.py at 001cabc.

    Example:
        >>> from calc.catalog import architecture
        >>> pool = vllm_pool(architecture("llama-3.1-8b"), Workload(engine="vllm", context_tokens=8192), 24 * 2**30)
        >>> pool.tokens % 16, pool.tokens > 8192, pool.concurrency == Fraction(pool.tokens, 8192)
        (0, True, True)
    """
    server = server or Server()
    layout = _layout(architecture, workload)
    if layout is None:
        return None
    taken = _taken(architecture, workload, server)
    device = max(0, gpu_capacity - server.hidden)
    budget = Formula("U * D", {"U": server.utilization, "D": device})
    symbols = ("W", "A", "G", "O")
    parts = {symbol: sum(one.bytes for one in taken if _symbol(one) == symbol) for symbol in symbols}
    used = [symbol for symbol in symbols if parts[symbol]]
    terms: dict[str, Number] = {**budget.terms, **{symbol: parts[symbol] for symbol in used}}
    derivation = Formula(" - ".join(("U * D", *used)), terms)
    left = max(0, int(derivation.value))
    blocks = left // layout.block_bytes
    spare = sum(one.high - one.bytes for one in taken), sum(one.bytes - one.low for one in taken)
    return Pool(
        budget=budget,
        taken=taken,
        derivation=derivation,
        low=max(0, left - spare[0]),
        high=left + spare[1],
        block_bytes=layout.block_bytes,
        blocks=blocks,
        groups=layout.groups,
        tokens=blocks // layout.groups * VLLM_BLOCK,
        request_blocks=layout.request_blocks,
    )


def _symbol(part: Component) -> str:
    if part.name == "runtime/graphs":
        return "G"
    return {"activations": "A", "runtime": "O"}.get(part.name.partition("/")[0], "W")


def _taken(architecture: Architecture, workload: Workload, server: Server) -> tuple[Component, ...]:
    """Weights and what is loaded beside them, the peak of the trial run, graphs and what PyTorch does not see."""
    precision = dtype(workload.precision)
    size = precision.compute_bits // 8
    low, usual, high = NON_TORCH if server.gpus == 1 else NON_TORCH_SHARED
    parts = [
        *weight_components(architecture, precision),
        *beside_the_model(architecture, workload, size),
        _trial(architecture, workload, server, size),
        ranged("runtime/non-torch", "O", {"O": usual}, ("vllm-worker",), low=low, high=high),
    ]
    if server.cuda_graphs:
        terms = {"L": len(architecture.layers), "G": GRAPHS, "B": GRAPH_LAYER}
        graphs = Formula("L * G * B", terms).bytes
        parts.append(ranged("runtime/graphs", "L * G * B", terms, ("vllm-worker",), low=graphs // 2, high=2 * graphs))
    return tuple(parts)


def _trial(architecture: Architecture, workload: Workload, server: Server, size: int) -> Component:
    """The larger of the layers' transients and the sampler's."""
    tokens = workload.serving.batched_tokens or VLLM_LARGER_PREFILL
    terms: dict[str, Number] = {"B": size, "t": tokens, "h": architecture.hidden_size, "f": widest_mlp(architecture)}
    terms |= {"b": min(server.sequences, tokens), "V": architecture.vocab_size}
    expression = f"max(B * t * (3 * h + 3 * f), {server.sampler} * b * V)"
    value = Formula(expression, terms).bytes
    return ranged("activations", expression, terms, ("vllm-worker",), low=value * 4 // 5, high=value * 3 // 2)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How vLLM arranges the blocks: bytes of one, groups of layers, and blocks of a request of the whole context."""

    block_bytes: int
    groups: int
    request_blocks: int


@dataclass(frozen=True, slots=True)
class OnHost:
    """What llama.cpp leaves in the computer's memory: weights and KV cache [B]."""

    weights: int
    kv_cache: int


def left_on_host(architecture: Architecture, workload: Workload) -> OnHost:
    """What the GPU does not hold; the token table is always part of it, also where the GPU has a copy as its head.

    >>> from calc.catalog import architecture
    >>> left_on_host(architecture("llama-3-8b"), Workload(engine="llama.cpp"))
    OnHost(weights=1050673152, kv_cache=0)
    """
    serving, kind = workload.serving, dtype(workload.precision)
    held = held_by_llama_cpp(architecture, serving.gpu_layers, experts_on_cpu=serving.experts_on_cpu)
    weights = _sum(weight_components(architecture, kind)) - _sum(weight_components(architecture, kind, held))
    if architecture.tie_word_embeddings and held.head:
        tables = tuple(one for one in architecture.tensors if one.kind is TensorKind.EMBEDDING)
        table = replace(architecture, layers=(), tensors=tables, towers=(), shared=())
        weights += 0 if architecture.stored else _sum(weight_components(table, kind))
    windows = honours_windows(architecture)
    whole, mine = (
        kv_cache(one, workload, workload.context_tokens, windows=windows)
        for one in (architecture, part_held(architecture, held))
    )
    caches = [0 if one is None else one.bytes for one in (whole, mine)]
    return OnHost(weights=weights, kv_cache=caches[0] - caches[1])


def _sum(parts: Iterable[Component]) -> int:
    return sum(one.bytes for one in parts)


def _layout(architecture: Architecture, workload: Workload) -> _Layout | None:
    """``get_kv_cache_groups``: one group where all layers look back as far, else groups of as many layers each."""
    draft = workload.serving.draft
    models = [architecture] if draft is None else [architecture, draft]
    bits = CACHE_BITS[cache_precision(workload)]
    layers: Counter[tuple[int | None, int]] = Counter()
    for model in models:
        widths = layer_widths(model)
        if widths is None:
            return None
        for (window, width), times in widths.items():
            layers[window, ceil(VLLM_BLOCK * width * bits / 8)] += times
    if not layers:
        return None
    if len({window for window, _ in layers}) == 1:
        window = next(iter(layers))[0]
        block = sum(page * times for (_, page), times in layers.items())
        return _Layout(block, 1, _request_blocks(window, VLLM_BLOCK, workload))
    page = max(page for _, page in layers)
    if any(page % other for _, other in layers):
        return None
    fewest, most = min(layers.values()), max(layers.values())
    size = most if most < Fraction(3, 2) * fewest else fewest
    groups = {key: -(-times // size) for key, times in layers.items()}
    needed = sum(
        times * _request_blocks(window, VLLM_BLOCK * page // own, workload) for (window, own), times in groups.items()
    )
    return _Layout(page * size, sum(groups.values()), needed)


def _request_blocks(window: int | None, block: int, workload: Workload) -> int:
    """``FullAttentionSpec`` and ``SlidingWindowSpec.max_memory_usage_bytes``, in blocks."""
    context = workload.context_tokens
    if window is None:
        return -(-context // block)
    held = min(window - 1 + (workload.serving.batched_tokens or VLLM_LARGER_PREFILL), context)
    return -(-held // block) + 1
