"""How many GPUs, and in which layout: what is said to fit is estimated, and fewer would not do."""

from dataclasses import replace

import pytest

from calc import catalog
from calc.calculators import run
from calc.estimate import Lora, Workload
from calc.inference import estimate_inference
from calc.ladder import REPLICAS, inference_ladder, training_ladder
from calc.layout import Layout
from calc.parallelism import part
from calc.training import estimate_training
from calc.units import GIB

ROOMS = [12 * GIB, 24 * GIB, 48 * GIB, 80 * GIB, 141 * GIB]
MODELS = ["llama-3-8b", "llama-3-70b", "mixtral-8x7b", "gemma-3-12b", "qwen3-30b-a3b"]
BYTES = 32
"""What rounding each component up to a byte may add."""

RUNS = {
    "full": Workload(context_tokens=4096, checkpointing="full"),
    "plain": Workload(context_tokens=2048),
    "lora": Workload(context_tokens=4096, lora=Lora(), checkpointing="full"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("run_name", RUNS)
def test_the_layout_found_for_training_fits_and_fewer_replicas_do_not(model: str, run_name: str) -> None:
    """Each rung is the estimate of its own layout, and the next smaller number of replicas is too few."""
    architecture, workload = catalog.architecture(model), RUNS[run_name]
    ladder = training_ladder(architecture, workload)
    for room in ROOMS:
        rung = ladder(room)
        if rung is None:
            continue
        chosen = replace(workload, layout=rung.layout)
        assert rung.bytes == pytest.approx(estimate_training(architecture, chosen).total, abs=BYTES)
        assert rung.bytes <= room
        fewer = [size for size in REPLICAS if size < rung.layout.data]
        if rung.layout.zero == 3 and fewer:
            smaller = Layout(data=fewer[-1], zero=3, tensor=rung.layout.tensor, sequence=rung.layout.sequence)
            assert estimate_training(architecture, replace(workload, layout=smaller)).total > room


@pytest.mark.parametrize("model", MODELS)
def test_more_replicas_never_need_more_each(model: str) -> None:
    """With ZeRO memory falls, or stays, as replicas are added: the search by halves is sound."""
    architecture = catalog.architecture(model)
    for zero in (1, 2, 3):
        totals = [
            estimate_training(architecture, Workload(context_tokens=2048, layout=Layout(data=data, zero=zero))).total
            for data in REPLICAS
        ]
        assert totals == sorted(totals, reverse=True)


def test_a_layout_that_was_chosen_is_replicated_and_not_changed() -> None:
    """Eight tensor parts and ZeRO 1 stay so, only replicas are added; plain replicas get their states shared out."""
    architecture = catalog.architecture("llama-3-70b")
    base = Layout(tensor=8, sequence=True, data=2, zero=1)
    rung = training_ladder(architecture, Workload(context_tokens=2048, layout=base))(80 * GIB)
    assert rung is not None
    assert (rung.layout.tensor, rung.layout.zero, rung.layout.data % 2) == (8, 1, 0)
    assert rung.layout.data > 2
    small = catalog.architecture("llama-3-8b")
    plain = training_ladder(small, Workload(context_tokens=2048, layout=Layout(data=4)))(80 * GIB)
    assert plain is not None
    assert plain.layout.zero > 0
    assert plain.layout.data % 4 == 0


@pytest.mark.parametrize(
    ("model", "context", "room"),
    [
        ("llama-3-8b", 8192, 80),
        ("llama-3-8b", 2048, 24),
        ("gemma-3-12b", 4096, 80),
        ("mixtral-8x7b", 2048, 141),
        ("llama-3-70b", 4096, 141),
    ],
)
def test_no_layout_of_the_same_kinds_does_with_fewer_gpus(model: str, context: int, room: int) -> None:
    """All layouts of fewer GPUs, tried one by one, do not fit: ZeRO, tensors, and both."""
    architecture, workload = catalog.architecture(model), Workload(context_tokens=context)
    rung = training_ladder(architecture, workload)(room * GIB)
    assert rung is not None
    for tensor in (1, 2, 4, 8):
        for data in (1, *REPLICAS):
            if tensor * data >= rung.layout.gpus:
                break
            layout = Layout(data=data, tensor=tensor, sequence=tensor > 1, zero=3 if data > 1 else 0)
            assert estimate_training(architecture, replace(workload, layout=layout)).total > room * GIB, layout


def test_a_model_too_large_for_nodes_side_by_side_is_put_in_stages() -> None:
    """Llama 3.1 405B without checkpointing on cards of 80 GB: eight tensor parts in stages of nodes."""
    architecture, workload = catalog.architecture("llama-3.1-405b"), Workload(context_tokens=8192)
    rung = training_ladder(architecture, workload)(79 * GIB)
    assert rung is not None
    assert rung.layout.pipeline > 1
    assert rung.bytes == estimate_training(architecture, replace(workload, layout=rung.layout)).total <= 79 * GIB


def test_of_as_many_gpus_the_simpler_layout_is_taken() -> None:
    """Four cards of 80 GB hold Llama 3 8B with tensors alone, and with tensors and FSDP: the first is enough."""
    rung = training_ladder(catalog.architecture("llama-3-8b"), Workload(context_tokens=8192))(79 * GIB)
    assert rung is not None
    assert rung.layout == Layout(tensor=4, sequence=True)


def test_weights_that_wait_on_the_host_are_always_shared_out() -> None:
    """With everything offloaded only ZeRO 3 is looked at, and the answer comes."""
    asked = {"workload": "training", "model": "llama-3-70b", "zero": "3", "offload": "all"}
    found = {one.gpu.id: one for one in run("gpu", asked).fits}["h100-80gb"]
    assert found.rung is not None
    assert found.rung.layout.zero == 3
    assert found.rung.layout.offload == "all"


def test_what_was_chosen_for_one_gpu_stays_chosen() -> None:
    """With the optimizer's states on the host, fewer GPUs are needed, and the layout found keeps them there."""
    architecture = catalog.architecture("llama-3-8b")
    base = Layout(offload="optimizer")
    with_offload = training_ladder(architecture, Workload(context_tokens=2048, layout=base))(40 * GIB)
    without = training_ladder(architecture, Workload(context_tokens=2048))(40 * GIB)
    assert with_offload is not None
    assert without is not None
    assert with_offload.layout.offload == "optimizer"
    assert with_offload.layout.gpus < without.layout.gpus


@pytest.mark.parametrize("model", [*MODELS, "llama-3.1-405b", "deepseek-v3", "falcon-7b"])
def test_the_layout_found_for_inference_fits_on_every_stage(model: str) -> None:
    """All stages of the layout hold their part, also those that were not looked at."""
    architecture, workload = catalog.architecture(model), Workload(context_tokens=8192)
    ladder = inference_ladder(architecture, workload)
    for room in ROOMS:
        rung = ladder(room)
        if rung is None:
            continue
        stages = range(rung.layout.pipeline)
        each = [estimate_inference(part(architecture, rung.layout, stage), workload).total for stage in stages]
        assert max(each) <= room
        assert rung.bytes <= room


def test_fewer_gpus_of_the_same_kind_of_layout_do_not_hold_the_model() -> None:
    """Llama 3 70B in 16 bits: two cards of 80 GB with tensor parallelism, and one is too few."""
    architecture = catalog.architecture("llama-3-70b")
    ladder = inference_ladder(architecture, Workload())
    rung = ladder(80 * GIB)
    assert rung is not None
    assert rung.layout == Layout(tensor=2)
    assert estimate_inference(architecture, Workload()).total > 80 * GIB


def test_every_calculator_of_models_says_how_many_and_in_which_layout() -> None:
    """The fits of a result carry the count of a layout that was estimated."""
    for name, raw in (
        ("gpu", {"model": "llama-3-70b"}),
        ("gpu", {"workload": "training"}),
        ("inferencia", {"model": "llama-3-70b"}),
        ("lora", {"model": "llama-3-70b"}),
    ):
        found = {one.gpu.id: one for one in run(name, raw).fits}["h100-80gb"]
        assert found.rung is not None
        assert found.count == found.rung.layout.gpus > 1
        assert found.rung.bytes <= found.gpu.capacity
