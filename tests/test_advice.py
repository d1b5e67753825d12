"""What the advisor says fits, does, and nothing less would do."""

from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import catalog
from calc.calculators import CALCULATORS
from calc.decisions import Question
from calc.decisions.advice import Advice, advise, search
from calc.decisions.asker import Asker
from calc.decisions.changes import changes
from calc.decisions.formats import CACHES, GGUF, PRECISIONS
from calc.decisions.steps import LEVELS
from calc.decisions.together import MOST
from calc.dtypes import CACHE_BITS, DTYPES
from calc.engines import ENGINES
from calc.es.advice import COSTS, KINDS, advice_text, cost_texts
from calc.gpu import Gpu
from calc.units import GIB
from tests.advice_sweep import KINDS as ASKED
from tests.advice_sweep import cases, wrong


def card(gib: int, kind: str = "consumer") -> Gpu:
    """A card of so many GiB."""
    return Gpu(id="x", name="X", kind=kind, sold_bytes=gib * GIB)


@pytest.mark.parametrize("name", ASKED)
def test_every_suggestion_fits_and_no_less_would_do(name: str) -> None:
    """Over models and GPUs each suggestion fits as said, needs all its members, and has no smaller step that fits."""
    told = 0
    for question, gpu in cases(name, 151):
        asker = Asker(question.resolved(), gpu.capacity)
        for advice in search(asker, gpu):
            assert wrong(question, gpu.capacity, advice) == "", (question, gpu.id, advice)
            assert advice.saves == (asker.total() or 0) - advice.total
            assert advice_text(advice)
            assert len(cost_texts(advice)) == len(advice.costs)
            told += 1
        assert asker.asked <= MOST
    assert told > 50


@pytest.mark.parametrize("name", ASKED)
def test_the_cheapest_comes_first(name: str) -> None:
    """Suggestions are in order of what they cost, and asking again gives the same."""
    for question, gpu in cases(name, 911):
        found = advise(question, gpu)
        assert [one.level for one in found] == sorted(one.level for one in found)
        assert found == advise(question, gpu)


def test_nothing_is_said_where_it_fits() -> None:
    """A model that fits gets no advice, and with one byte less it does."""
    question = Question("inferencia", {"model": "gpt2"})
    total = question.estimate().total
    assert advise(question, card(1), capacity=total) == ()
    assert advise(question, card(1), capacity=total - 1)


def test_a_pair_where_no_single_change_is_enough() -> None:
    """Llama 3 8B with a long context on 12 GiB takes fewer bits of the weights and something else with vLLM."""
    question = Question("inferencia", {"model": "llama-3-8b", "context": "65536"})
    pairs = [one for one in advise(question, card(12)) if len(one.kinds) == 2]
    assert pairs
    for one in pairs:
        assert set(one.kinds) <= {"precision", "kv_precision", "context"}
        assert one.applied(question).estimate().total <= 12 * GIB


def test_more_than_two_changes_only_where_no_pair_fits() -> None:
    """A set of three or more is told only beside no pair, and without any one of its members it does not fit."""
    question = Question("lora", {"model": "llama-3-8b", "context": "32768", "batch": "4"})
    found = advise(question, card(24))
    assert [len(one.kinds) for one in found if len(one.kinds) > 1] == [4]


def test_the_smallest_context_that_fits_is_the_largest() -> None:
    """The context that is advised fits a GPU, and one token more does not."""
    question = Question("inferencia", {"model": "llama-3-8b", "context": "131072", "engine": "exact"})
    (one,) = (one for one in advise(question, card(24)) if one.kinds == ("context",))
    value = int(one.changes["context"])
    assert question.changed(context=str(value)).estimate().total <= 24 * GIB
    assert question.changed(context=str(value + 1)).estimate().total > 24 * GIB


def test_a_smaller_batch_is_seen_no_less() -> None:
    """A smaller batch comes with so many micro-batches that the optimizer sees at least as many sequences."""
    question = Question(
        "gpu", {"model": "llama-3.2-1b", "workload": "training", "batch": "7", "context": "2048", "accumulation": "3"}
    )
    (one,) = (one for one in advise(question, card(40)) if one.kinds == ("batch",))
    assert 1 <= int(one.changes["batch"]) < 7
    assert int(one.changes["batch"]) * int(one.changes["accumulation"]) >= 21
    assert one.level == 1


def test_full_fine_tuning_points_to_an_adapter_of_the_same_model() -> None:
    """Training that does not fit is sent to the calculator of LoRA with its own model, batch and context."""
    question = Question("gpu", {"model": "mistral-7b", "workload": "training", "context": "1024", "runtime": "1,5"})
    (one,) = (one for one in advise(question, card(24)) if one.kinds == ("calculator",))
    other = one.applied(question)
    assert other.calculator == "lora"
    assert {name: other.raw[name] for name in ("model", "context", "runtime")} == {
        "model": "mistral-7b",
        "context": "1024",
        "runtime": "1,5",
    }
    assert other.estimate().total == one.total <= 24 * GIB


def test_a_model_of_ones_own_stays_the_model() -> None:
    """Advice for an architecture that was given is about that architecture, whatever the field says."""
    own = Question("gpu", {"workload": "training", "context": "512"}, catalog.architecture("gpt2-xl"))
    named = Question("gpu", {"workload": "training", "context": "512", "model": "gpt2-xl"})
    found, same = advise(own, card(16)), advise(named, card(16))
    assert [(one.kinds, one.total) for one in found] == [(one.kinds, one.total) for one in same]
    assert all(one.applied(own).estimate().total == one.total for one in found if one.applies)


def test_a_model_without_an_address_is_not_sent_elsewhere() -> None:
    """«Personalizado» has no place in the calculator of LoRA."""
    question = Question("gpu", {"model": "custom", "workload": "training"})
    assert "calculator" not in [change.kind for change in changes(question)]


def test_computers_are_not_added_up() -> None:
    """More GPUs are advised for cards and never for the memory of a computer."""
    question = Question("inferencia", {"model": "llama-3-70b"})
    cards, computer = advise(question, card(48)), advise(question, card(48, "apple"))
    (more,) = (one for one in cards if one.kinds == ("gpus",))
    assert not more.applies
    assert more.gpus >= 3
    assert more.total <= 48 * GIB
    assert tuple(one for one in cards if one is not more) == computer


def test_nothing_is_moved_within_the_same_memory() -> None:
    """Offloading to the computer's memory is advised for cards and not where that memory is the GPU's."""
    question = Question("lora", {"model": "llama-3-70b"})
    kinds = [{kind for one in advise(question, card(24, name)) for kind in one.kinds} for name in ("consumer", "apple")]
    assert ["offload" in found for found in kinds] == [True, False]


@pytest.mark.parametrize("calculator", ["gpu", "lora"])
def test_the_layout_that_is_advised_fits(calculator: str) -> None:
    """Where there are fields for a layout, its texts make each GPU hold what it is said to."""
    question = Question(calculator, {"model": "llama-3-70b", "workload": "training", "context": "512"})
    (one,) = (one for one in advise(question, card(80)) if one.kinds == ("gpus",))
    assert one.gpus > 1
    assert one.costs == ("money",)
    assert one.applied(question).estimate().total == one.total <= 80 * GIB


def test_only_what_applies_is_advised() -> None:
    """No change puts a text into a field that the calculator lacks or that does not apply."""
    for name, (calculator, raw) in ASKED.items():
        question = Question(calculator, {**raw, "model": "llama-3-8b"})
        visible = question.parsed().visible
        for change in changes(question):
            for index in {0, change.size - 1}:
                step = change.step(index)
                if not step.calculator:
                    assert set(step.texts) <= set(visible), (name, change.kind)
                    question.changed(step.texts).parsed()


texts = st.fixed_dictionaries(
    {
        "context": st.sampled_from(("1", "600", "8192", "1000000")),
        "batch": st.sampled_from(("1", "5", "64")),
        "concurrency": st.sampled_from(("1", "9")),
        "rank": st.sampled_from(("1", "2", "64")),
        "precision": st.sampled_from(("float32", "bfloat16", "int8")),
        "engine": st.sampled_from(tuple(ENGINES)),
        "checkpointing": st.sampled_from(("none", "full", "sqrt")),
        "optimizer": st.sampled_from(("adamw", "muon", "sgd")),
        "workload": st.sampled_from(("inference", "training")),
        "kv-precision": st.sampled_from(("auto", "float32", "q4_0")),
    }
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(CALCULATORS.keys() & {"gpu", "inferencia", "lora"})), texts)
def test_steps_cost_more_and_more(calculator: str, raw: dict[str, str]) -> None:
    """Along the steps of a change costs never fall, and ``upto`` counts those within a level."""
    for change in changes(Question(calculator, raw)):
        places = sorted({*range(min(change.size, 50)), change.size // 2, change.size - 1})
        levels = [change.step(place).level for place in places]
        assert levels == sorted(levels), change.kind
        for level in range(5):
            size = change.upto(level)
            assert all((place < size) == (found <= level) for place, found in zip(places, levels, strict=True))


def test_formats_are_known_and_the_best_first() -> None:
    """Every engine has its formats, all of them known, none of weights with more bits than the one before."""
    assert PRECISIONS.keys() == CACHES.keys() == ENGINES.keys()
    for names in (*PRECISIONS.values(), GGUF):
        bits = [DTYPES[name].bits for name in names]
        assert bits == sorted(bits, reverse=True)
    for names in CACHES.values():
        assert [CACHE_BITS[name] for name in names] == sorted((CACHE_BITS[name] for name in names), reverse=True)


def test_every_code_has_words() -> None:
    """Each cost and each kind of change of any calculator has its words in Spanish."""
    assert COSTS.keys() == LEVELS.keys()
    wordy = {change.kind for name, (_, raw) in ASKED.items() for change in changes(Question(ASKED[name][0], raw))}
    assert wordy | {"gpus"} <= KINDS.keys()


def test_parts_are_joined_as_one_sentence() -> None:
    """Three changes are a list with one «y», and numbers are written as Spanish writes them."""
    changed = MappingProxyType({"loss": "in-place", "context": "12288", "rank": "4"})
    advice = Advice(kinds=("loss", "rank", "context"), changes=changed, saves=1, total=1, costs=("needs_library",))
    assert advice_text(advice) == (
        "Calcular la pérdida de otra manera (Núcleo fundido), bajar el rango a 4 "
        "y acortar la secuencia a 12\u202f288 tokens"
    )


layouts = st.sampled_from(
    (
        {},
        {"data-parallel": "4"},
        {"data-parallel": "2", "zero": "2"},
        {"tensor-parallel": "2", "sequence-parallel": "yes"},
        {"pipeline-parallel": "2", "data-parallel": "2", "zero": "1"},
        {"zero": "3", "offload": "all"},
    )
)
steps = st.fixed_dictionaries(
    {
        "attention-kernel": st.sampled_from(("flash", "eager")),
        "gradient-precision": st.sampled_from(("auto", "float32", "both")),
        "step-kernel": st.sampled_from(("fused", "foreach")),
        "trained-modules": st.sampled_from(("none", "embedding-head")),
        "adapter-dropout": st.sampled_from(("yes", "no")),
        "accumulation": st.sampled_from(("1", "4")),
    }
)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(("gpu", "inferencia", "lora")),
    st.sampled_from(("gpt2", "llama-3.2-1b", "gemma-2-9b", "mixtral-8x7b", "falcon-h1-34b")),
    st.tuples(texts, layouts, steps),
    st.integers(1, 99),
)
def test_any_inputs_get_advice_that_holds(
    calculator: str, model: str, raw: tuple[dict[str, str], dict[str, str], dict[str, str]], percent: int
) -> None:
    """Whatever the inputs, with any share of the memory that they need, suggestions fit and have no smaller step."""
    question = Question(calculator, {**raw[0], **raw[1], **raw[2], "model": model})
    limit = question.estimate().total * percent // 100
    asker = Asker(question.resolved(), limit)
    for advice in search(asker, card(1)):
        assert wrong(question, limit, advice) == "", advice
    assert asker.asked <= MOST
