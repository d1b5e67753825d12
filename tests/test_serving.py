"""vLLM's pool of KV cache, what llama.cpp leaves on the host, and the options of each engine."""

from collections.abc import Mapping
from fractions import Fraction
from statistics import median
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from render import partial as render
from serving import serving

from calc.calculators import InvalidInputs, Result, run, to_json
from calc.catalog import architecture, gpus
from calc.decisions import Question, solve
from calc.engines import vllm_batched_tokens
from calc.errors import InvalidInput
from calc.es.numbers import number_text
from calc.es.report import report
from calc.estimate import Serving, Workload
from calc.inference import estimate_inference
from calc.layout import Layout
from calc.lora import lora_parameters
from calc.parallelism import part
from calc.parameters import count_parameters
from calc.serving import SORTING_SAMPLER, OnHost, Pool, Server, left_on_host, vllm_pool
from calc.units import GIB

# Start-up lines of vLLM 0.6 to 0.9: GiB that torch reports, --gpu-memory-utilization, --max-model-len, GPUs, and the
# tokens of the pool (blocks of 16 where the line gives blocks). The trial run had as many tokens as the context where
# chunked prefill was off (0.6 and 0.7 up to 32,768 tokens; at least 2,048), else 2,048, or 8,192 where it was said so.
# Sources, in order: Oracle AI Quick Actions, troubleshooting page; xinyuwei-david/david-share, Phi-4 page; public logs
# with the index ids 55594152188, then vllm-project/vllm#10517, then 60430572081, 3493652842, 13068150713, 6934259882
# and 33122952765. The model of the last was told from its bytes per token.
STARTS = (
    ("llama-3.1-8b", "bfloat16", "22.07", "0.9", 131_072, 2048, 1, 2356 * 16),
    ("phi-4", "gptq-4bit", "79.25", "0.15", 2048, 2048, 1, 715 * 16),
    ("qwen2.5-1.5b", "float16", "14.56", "0.5", 32_768, 32_768, 1, 5519 * 16),
    ("llama-3.1-8b", "bfloat16", "23.58", "0.9", 20_000, 20_000, 1, 1952 * 16),
    ("qwen2.5-1.5b", "bfloat16", "44.39", "0.85", 4096, 4096, 1, 78_115 * 16),
    ("llama-3.2-3b", "q8_0", "7.65", "0.9", 10_000, 10_000, 1, 1395 * 16),
    ("qwen3-8b", "float16", "21.48", "0.93", 65_536, 8192, 4, 422_052),
    ("phi-4", "nf4", "79.15", "0.70", 512, 2048, 1, 14_815 * 16),
    ("qwen2.5-0.5b", "nf4", "47.50", "0.78", 32_768, 2048, 1, 190_100 * 16),
)


def pool_of(start: tuple[str, str, str, str, int, int, int, int]) -> Pool:
    """The pool of one start, without CUDA graphs, which those versions did not count."""
    model, precision, device, share, context, tokens, parallel, _ = start
    mine = architecture(model)
    if parallel > 1:
        mine = part(mine, Layout(tensor=parallel), 0)
    workload = Workload(
        engine="vllm", precision=precision, context_tokens=context, serving=Serving(batched_tokens=tokens)
    )
    server = Server(utilization=Fraction(share), cuda_graphs=False, sampler=SORTING_SAMPLER, hidden=0, gpus=parallel)
    pool = vllm_pool(mine, workload, int(Fraction(device) * GIB), server)
    assert pool is not None
    return pool


def test_tokens_of_published_starts_are_met() -> None:
    """The middle error of the tokens is under 5 %; one start, whose trial run sampled nothing, is a fifth off."""
    errors = [abs(pool_of(start).tokens / start[-1] - 1) for start in STARTS]
    assert median(errors) < 0.05
    assert sorted(errors)[-2] < 0.10


def test_concurrency_of_published_starts_follows_from_the_tokens() -> None:
    """Where vLLM printed 6.44 requests of 65,536 tokens, the estimate says 6.1."""
    found = pool_of(STARTS[6])
    assert abs(found.concurrency / Fraction("6.44") - 1) < Fraction(5, 100)


def pool(model: str, context: int = 8192, gib: int = 24, **server: Fraction | int | bool) -> Pool:
    """The pool of a model in 16 bits."""
    workload = Workload(engine="vllm", context_tokens=context, serving=Serving(batched_tokens=2048))
    found = vllm_pool(architecture(model), workload, gib * GIB, Server(**server))  # type: ignore[arg-type]
    assert found is not None
    return found


@settings(deadline=None)
@given(
    model=st.sampled_from(("gpt2", "llama-3.2-1b", "llama-3-8b", "gemma-3-12b", "mistral-7b", "deepseek-v3")),
    gib=st.integers(1, 2000),
    share=st.fractions(Fraction(1, 100), 1),
    context=st.integers(1, 200_000),
)
def test_a_pool_never_takes_more_than_its_share(model: str, gib: int, share: Fraction, context: int) -> None:
    """Blocks fit in what is left, tokens are whole blocks, and more of the GPU never gives fewer tokens."""
    one = pool(model, context, gib, utilization=share)
    assert one.blocks * one.block_bytes <= one.kv_bytes < (one.blocks + 1) * one.block_bytes
    assert one.kv_bytes + sum(item.bytes for item in one.taken) <= gib * GIB or not one.kv_bytes
    assert one.tokens % 16 == 0
    assert one.low <= one.kv_bytes <= one.high
    assert pool(model, context, gib + 1, utilization=share).tokens >= one.tokens


def test_a_model_without_windows_has_one_group() -> None:
    """Llama 3 8B: blocks of 2 MiB, tokens are blocks times 16, concurrency is tokens over the context."""
    one = pool("llama-3-8b")
    assert one.block_bytes == 16 * 131_072
    assert (one.groups, one.request_blocks) == (1, 512)
    assert one.tokens == 16 * one.blocks
    assert one.concurrency == Fraction(one.tokens, 8192)


def test_windowed_models_are_grouped_as_vllm_groups_them() -> None:
    """Gemma 3 12B, 8 full layers and 40 of a window of 1,024: six groups of 8 layers, of which one needs all blocks."""
    one = pool("gemma-3-12b", context=32_768, gib=80)
    page = 16 * 2 * 8 * 256 * 2
    assert one.block_bytes == 8 * page
    assert one.groups == 6
    assert one.request_blocks == 2048 + 5 * (-(-(1023 + 2048) // 16) + 1)
    assert one.tokens == one.blocks // 6 * 16


def test_a_window_in_all_layers_bounds_a_request() -> None:
    """Mistral 7B v0.1: 4,095 tokens of the window and a chunk, and one more block."""
    one = pool("mistral-7b", context=32_768)
    assert {layer.window for layer in architecture("mistral-7b").layers} == {4096}
    assert (one.groups, one.request_blocks) == (1, -(-(4095 + 2048) // 16) + 1)
    assert pool("mistral-7b", context=1024).request_blocks == 1024 // 16 + 1


@pytest.mark.parametrize("model", ["mamba-2.8b", "qwen3-next-80b-a3b", "t5-small"])
def test_models_that_are_not_covered_say_so(model: str) -> None:
    """Recurrent states and encoders: no pool, and a note."""
    assert vllm_pool(architecture(model), Workload(engine="vllm"), 80 * GIB) is None
    notes = {note.code for note in run("inferencia", {"model": model, "gpu": "h200"}).notes}
    assert "vllm_pool_not_covered" in notes


def test_a_model_that_does_not_fit_leaves_no_pool() -> None:
    """Llama 3 70B on a card of 24 GB: 0 tokens, and the note says that vLLM would not start."""
    result = run("inferencia", {"model": "llama-3-70b"})
    assert isinstance(result.serving, Pool)
    assert (result.serving.kv_bytes, result.serving.tokens) == (0, 0)
    assert not result.serving.concurrency
    assert "vllm_pool_empty" in {note.code for note in result.notes}


def answer(**raw: str) -> Result:
    """The calculator with these inputs, underscores for hyphens."""
    return run("inferencia", {name.replace("_", "-"): value for name, value in raw.items()})


def size(result: Result, name: str) -> int:
    """Bytes of a component."""
    return result.estimate.component(name)


def test_the_chunk_is_that_of_the_chosen_gpu() -> None:
    """A quarter of the activations on a card of 24 GB, or with 2,048 tokens asked for."""
    large, small = answer(gpu="h100-80gb"), answer(gpu="rtx-4090")
    assert size(large, "activations") == 4 * size(small, "activations")
    assert answer(gpu="h100-80gb", max_batched_tokens="2048").estimate == small.estimate
    assert {vllm_batched_tokens(one) for one in gpus() if one.id.startswith("a100")} == {2048}


def test_cuda_graphs_and_the_share_only_change_the_pool() -> None:
    """What the model needs is the same; without graphs more tokens fit, with a smaller share fewer."""
    usual, eager, half = answer(), answer(cuda_graphs="no"), answer(gpu_memory_utilization="0,8")
    assert usual.estimate == eager.estimate == half.estimate
    tokens = [one.serving.tokens for one in (half, usual, eager) if isinstance(one.serving, Pool)]
    assert tokens == sorted(set(tokens))


def test_adapters_take_a_slot_each() -> None:
    """Three adapters of rank 32 on Llama 3 8B: three times its LoRA parameters, two bytes each."""
    model = architecture("llama-3-8b")
    slot = 2 * lora_parameters(model, rank=32, target_modules="all-linear", packed=False)
    assert size(answer(lora_adapters="3", lora_rank="32"), "adapters") == 3 * slot
    assert size(answer(), "adapters") == 0
    (slots,) = [one for one in answer(lora_adapters="1").estimate.components if one.name == "adapters"]
    assert slots.high - slots.low == 2 * 2 * 16 * (128_256 + 4096)


def test_a_draft_model_adds_its_weights_and_its_cache() -> None:
    """Llama 3.2 1B for Llama 3 8B: 16-bit weights and the cache of the same requests."""
    with_draft, alone = answer(draft_model="llama-3.2-1b", concurrency="2"), answer(concurrency="2")
    draft = answer(model="llama-3.2-1b", concurrency="2")
    parts = {one.name: one.bytes for one in with_draft.estimate.components}
    assert parts["weights/draft"] == 2 * count_parameters(architecture("llama-3.2-1b")).total
    assert parts["kv_cache/draft"] == size(draft, "kv_cache")
    assert with_draft.estimate.total == alone.estimate.total + parts["weights/draft"] + parts["kv_cache/draft"]
    assert isinstance(with_draft.serving, Pool)
    assert with_draft.serving.block_bytes == 16 * (131_072 + 32_768)


def test_a_draft_of_another_vocabulary_is_told() -> None:
    """GPT-2 has other tokens than Llama 3."""
    assert "draft_of_another_vocabulary" in {note.code for note in answer(draft_model="gpt2").notes}
    assert "draft_of_another_vocabulary" not in {note.code for note in answer(draft_model="llama-3.2-1b").notes}


@settings(deadline=None)
@given(requests=st.integers(1, 64), prefix=st.integers(0, 8192))
def test_a_shared_beginning_is_held_once(requests: int, prefix: int) -> None:
    """Of its whole blocks, one copy for all requests; what each adds is the rest of its context."""
    result = answer(concurrency=str(requests), prefix_tokens=str(prefix))
    whole = prefix // 16 * 16
    assert size(result, "kv_cache") == (requests * (8192 - whole) + whole) * 131_072
    each = 8192 if requests == 1 else 8192 - whole
    assert result.figures["request_bytes"] == each * 131_072


def test_a_beginning_longer_than_the_context_is_all_of_it() -> None:
    """Asked backwards, the context may be shorter than what is shared: the smallest is still an answer."""
    question = Question("inferencia", {"prefix-tokens": "4000", "concurrency": "8"})
    found = solve(question, "context", gpus()[0])
    assert found.value >= 0
    assert size(answer(context="16", prefix_tokens="4000", concurrency="8"), "kv_cache") == 16 * 131_072


def test_windowed_layers_share_no_beginning() -> None:
    """Gemma 3 keeps the last tokens in its windowed layers: only the full ones share."""
    with_prefix = answer(model="gemma-3-12b", concurrency="4", prefix_tokens="1600")
    without = answer(model="gemma-3-12b", concurrency="4")
    assert size(without, "kv_cache") - size(with_prefix, "kv_cache") == 3 * 1600 * 8 * 2 * 8 * 256 * 2


def test_tensor_parallelism_answers_for_one_gpu() -> None:
    """Half of the matrices and of the cache on each of two; heads that do not divide are refused."""
    one, two = answer(model="llama-3-70b"), answer(model="llama-3-70b", tensor_parallel="2")
    assert size(two, "kv_cache") * 2 == size(one, "kv_cache")
    assert abs(size(two, "weights") * 2 / size(one, "weights") - 1) < 0.001
    assert "one_gpu_of_many" in {note.code for note in two.notes}
    assert {one.parts for one in two.fits} == {2}
    with pytest.raises(InvalidInputs):
        answer(tensor_parallel="7")


def test_llama_cpp_keeps_the_token_table_on_the_host() -> None:
    """Llama 3 8B in 16 bits: 1,002 MiB less than in any other engine; a tied table has its copy on the GPU."""
    ours = answer(engine="llama.cpp")
    table = 2 * 128_256 * 4096
    assert size(ours, "weights") == size(answer(), "weights") - table
    assert ours.serving == OnHost(weights=table, kv_cache=0)
    tied = answer(model="llama-3.2-1b", engine="llama.cpp")
    assert size(tied, "weights") == size(answer(model="llama-3.2-1b"), "weights")
    assert tied.serving == OnHost(weights=2 * 128_256 * 2048, kv_cache=0)
    assert "kept_on_host" in {note.code for note in ours.notes}


@settings(deadline=None)
@given(
    model=st.sampled_from(("llama-3-8b", "gemma-3-12b", "mixtral-8x7b", "falcon-7b", "qwen3-30b-a3b")),
    precision=st.sampled_from(("float16", "q4_0", "q4_k_m", "q8_0")),
    layers=st.integers(0, 70),
    experts=st.booleans(),
)
def test_nothing_is_lost_between_gpu_and_host(model: str, precision: str, layers: int, experts: bool) -> None:
    """Weights of both are those of the file, with a second copy of a tied table; caches are the whole cache."""
    found = architecture(model)
    serving = Serving(gpu_layers=layers, experts_on_cpu=experts)
    workload = Workload(engine="llama.cpp", precision=precision, serving=serving)
    host, mine = left_on_host(found, workload), estimate_inference(found, workload)
    everything = estimate_inference(found, Workload(engine="exact", precision=precision))
    copy = found.tie_word_embeddings and layers > 0
    both = host.weights + mine.component("weights")
    if not copy:
        assert both == everything.component("weights")
    else:
        assert everything.component("weights") < both < 2 * everything.component("weights")
    whole = estimate_inference(found, Workload(engine="llama.cpp", precision=precision))
    assert host.kv_cache + mine.component("kv_cache") == whole.component("kv_cache")


def test_layers_on_the_gpu_begin_with_the_head() -> None:
    """--n-gpu-layers 1 is the head alone, 2 the last layer as well, 33 all of Llama 3 8B, and 0 nothing."""
    sizes = [size(answer(engine="llama.cpp", gpu_layers=str(n)), "weights") for n in (0, 1, 2, 33, 99)]
    layer = 2 * (218_103_808 + 2 * 4096)
    assert sizes[0] == 0
    assert sizes[1] == 2 * (128_256 * 4096 + 4096)
    assert sizes[2] - sizes[1] == layer
    assert sizes[3] == sizes[4] == sizes[1] + 32 * layer
    assert answer(engine="llama.cpp", gpu_layers="33").estimate == answer(engine="llama.cpp").estimate
    half = answer(engine="llama.cpp", gpu_layers="17")
    assert size(half, "kv_cache") * 2 == size(answer(engine="llama.cpp"), "kv_cache")


def test_experts_can_wait_on_the_host() -> None:
    """Mixtral 8x7B: 45.1 of its 46.7 thousand million parameters are experts; the cache does not move."""
    usual, moved = (answer(model="mixtral-8x7b", engine="llama.cpp", experts_on_cpu=one) for one in ("no", "yes"))
    assert size(usual, "weights") - size(moved, "weights") == 2 * 32 * 8 * 3 * 4096 * 14_336
    assert size(usual, "kv_cache") == size(moved, "kv_cache")
    assert size(moved, "activations") > size(usual, "activations")


# llama.cpp's own logs (ggml-org/ci at 37752da, V100, Pythia 2.8B, 2,048 cells, no flash attention); ik_llama.cpp's with
# flash attention (Qwen3 4B, 4,096 x 4,096; GLM-4.5-Air, 512 x 65,536) and without (Llama 3.1 8B, 512 x 1,024) [MiB].
BUFFERS = (
    ("pythia-2.8b", 512, 2048, False, 162.0),
    ("qwen3-4b", 4096, 4096, True, 2454.0),
    ("glm-4.5-air", 512, 65_536, True, 304.0),
    ("llama-3.1-8b", 512, 1024, False, 266.5),
)


@pytest.mark.parametrize(("model", "ubatch", "context", "flash", "measured"), BUFFERS)
def test_compute_buffers_are_those_of_published_logs(
    model: str, ubatch: int, context: int, flash: bool, measured: float
) -> None:
    """Within 7 %, and inside the range."""
    workload = Workload(
        engine="llama.cpp",
        context_tokens=context,
        attention_kernel="flash" if flash else "eager",
        serving=Serving(ubatch=ubatch),
    )
    (buffer,) = [one for one in estimate_inference(architecture(model), workload).components if "act" in one.name]
    assert abs(buffer.bytes / (measured * 2**20) - 1) < 0.07
    assert buffer.low <= measured * 2**20 <= buffer.high


def test_the_buffer_grows_with_the_physical_batch_and_the_scores() -> None:
    """Twice the batch, twice the buffer; without flash attention a long context leads."""
    one, two = (size(answer(engine="llama.cpp", ubatch=text), "activations") for text in ("512", "1024"))
    assert two == 2 * one
    scores = answer(engine="llama.cpp", flash_attention="no", context="32768")
    assert size(scores, "activations") == 4 * 512 * (33 * 32_768 + 2 * 4096 + 2 * 4096)
    short = answer(engine="llama.cpp", context="100")
    assert size(short, "activations") == 4 * 100 * (128_256 + 2 * 4096)


def test_a_static_cache_holds_whole_windows_from_the_beginning() -> None:
    """Transformers: one token more in each windowed layer, and all of the context while the prompt is read."""
    dynamic, static = (answer(model="gemma-3-12b", engine="transformers", cache=one) for one in ("dynamic", "static"))
    assert size(static, "kv_cache") - size(dynamic, "kv_cache") == 40 * 2 * 8 * 256 * 2
    model = architecture("llama-3-8b")
    workload = Workload(engine="transformers", prompt_tokens=1000, serving=Serving(static_cache=True))
    for moment in estimate_inference(model, workload).timeline:
        assert sum(one.bytes for one in moment.components if one.name == "kv_cache") == GIB


@pytest.mark.parametrize(
    ("serving", "place"),
    [
        ({"ubatch": 0}, "ubatch"),
        ({"gpu_layers": -1}, "gpu-layers"),
        ({"adapters": -1}, "lora-adapters"),
        ({"adapter_rank": 0}, "lora-rank"),
        ({"prefix_tokens": -1}, "prefix-tokens"),
        ({"batched_tokens": 0}, "max-batched-tokens"),
    ],
)
def test_the_library_refuses_impossible_options(serving: Mapping[str, int], place: str) -> None:
    """At the name of the field."""
    with pytest.raises(InvalidInput) as refused:
        estimate_inference(architecture("gpt2"), Workload(serving=Serving(**serving)))  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.place) == ("too_small", place)


def test_the_json_says_what_the_server_would_print() -> None:
    """Only ``inferencia`` has the key, with the numbers of its engine."""
    found = to_json(answer())["serving"]
    assert (found["engine"], found["gpu"]) == ("vllm", "rtx-4090")
    assert found["tokens"] == 16 * found["blocks"]
    assert found["max_concurrency"] == pytest.approx(found["tokens"] / 8192, abs=1e-6)
    assert {"weights", "activations", "runtime/graphs", "runtime/non-torch"} == {
        one["name"] for one in found["components"]
    }
    host = to_json(answer(engine="llama.cpp"))["serving"]
    assert host == {"engine": "llama.cpp", "host_weights_bytes": 1_050_673_152, "host_kv_cache_bytes": 0}
    assert to_json(answer(engine="exact"))["serving"] == {"engine": "exact"}
    assert "serving" not in to_json(run("gpu", {}))


def test_the_report_says_what_the_server_would_print() -> None:
    """Tokens and concurrency under the parts that are taken before."""
    text = report(answer())
    assert "Tokens de caché KV" in text
    assert "Concurrencia máxima" in text
    assert "Grafos de CUDA" in text
    assert "Tokens de caché KV" not in report(answer(engine="exact"))


@pytest.mark.parametrize("raw", [{}, {"model": "gemma-3-12b"}, {"lora-adapters": "2", "gpu": "h200"}])
def test_the_page_shows_the_pool_with_its_formula(raw: Mapping[str, str]) -> None:
    """Every part, both numbers, and a meaning for each symbol; groups only where there are several."""
    result = run("inferencia", raw)
    shown = serving(result, "GiB")
    assert shown
    assert shown.pool
    assert isinstance(result.serving, Pool)
    assert len(shown.pool.parts) == len(result.serving.taken)
    assert shown.pool.tokens == number_text(result.serving.tokens)
    assert all(term.meaning for term in shown.pool.terms)
    assert bool(shown.pool.groups) == ("model" in raw)
    html = render("serving", view=SimpleNamespace(serving=shown))
    assert shown.pool.tokens in html
    assert "<math" in html


def test_the_page_shows_what_waits_on_the_host() -> None:
    """Of llama.cpp, and nothing of the other engines."""
    shown = serving(answer(engine="llama.cpp", gpu_layers="17"), "GiB")
    assert shown
    assert shown.host
    html = render("serving", view=SimpleNamespace(serving=shown))
    assert shown.host.weights in html
    assert shown.host.cache in html
    assert serving(answer(engine="exact"), "GiB") is None
    assert not render("serving", view=SimpleNamespace(serving=None)).strip()
