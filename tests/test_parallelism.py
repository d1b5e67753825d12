"""Layouts over several GPUs: what each rank holds, and which layouts cannot be."""

from math import prod

import pytest

from calc.catalog import architecture
from calc.errors import InvalidInput
from calc.inventory import loaded_parameters
from calc.memory import Layout, Workload, estimate_training
from calc.parallelism import check_layout, in_flight, part, stages

LLAMA = architecture("llama-3-8b")
STATES = ("weights", "gradients", "optimizer", "master_weights")


def trained(layout: Layout | None, **changes: object) -> Workload:
    """Llama 3 8B in mixed precision, one sequence of 2,048 tokens, checkpointed."""
    workload = {"context_tokens": 2048, "checkpointing": "full", "runtime_bytes": 0, "layout": layout, **changes}
    return Workload(**workload)  # type: ignore[arg-type]


def test_stages_hold_all_parameters_once() -> None:
    """The layers of four stages are those of the model, and so are its parameters, for an untied head."""
    layout = Layout(pipeline=4)
    parts = [part(LLAMA, layout, stage) for stage in range(4)]
    assert [len(one.layers) for one in parts] == [8, 8, 8, 8]
    assert sum(loaded_parameters(one) for one in parts) == loaded_parameters(LLAMA)


def test_uneven_stages_differ_by_one_layer() -> None:
    """32 layers over 5 stages: 7, 7, 6, 6, 6."""
    assert [len(part(LLAMA, Layout(pipeline=5), stage).layers) for stage in range(5)] == [7, 7, 6, 6, 6]


def test_a_tied_head_is_copied_to_the_last_stage() -> None:
    """GPT-2's token table is on the first stage and, as the head, on the last one too."""
    model = architecture("gpt2")
    parts = [loaded_parameters(part(model, Layout(pipeline=2), stage)) for stage in (0, 1)]
    assert sum(parts) == loaded_parameters(model) + 50257 * 768


def test_tensor_parallelism_divides_matrices_and_not_norms() -> None:
    """Eight parts: an eighth of every matrix, and all of the norms."""
    norms = 65 * 4096
    whole, mine = loaded_parameters(LLAMA), loaded_parameters(part(LLAMA, Layout(tensor=8), 0))
    assert mine == (whole - norms) // 8 + norms


def test_keys_are_repeated_when_there_are_fewer_heads_than_parts() -> None:
    """Llama 3 8B has 8 key heads: of 16 parts each holds one."""
    attention = part(LLAMA, Layout(tensor=16), 0).layers[0].attention
    assert (attention.num_attention_heads, attention.num_key_value_heads) == (2, 1)  # type: ignore[union-attr]


def test_experts_are_shared_out() -> None:
    """Mixtral over 8 ranks: one expert each."""
    model = architecture("mixtral-8x7b")
    mine = part(model, Layout(data=8, expert=8), 0)
    experts = [one for one in mine.layers[0].tensors if one.active is not None]
    assert {one.count for one in experts} == {1}
    assert sum(prod(one.shape) * one.count for one in experts) == 3 * 4096 * 14336


@pytest.mark.parametrize(("stage", "micro_batches", "held"), [(0, 8, 4), (1, 8, 3), (3, 8, 1), (0, 2, 2), (3, 1, 1)])
def test_the_first_stage_holds_the_most_micro_batches(stage: int, micro_batches: int, held: int) -> None:
    """1F1B: stage i of p holds min(p - i, m) (arXiv 2104.04473, section 2.2)."""
    assert in_flight(Layout(pipeline=4), stage, micro_batches) == held


def test_the_stages_looked_at_are_the_first_the_second_and_the_last() -> None:
    """One of them is the fullest."""
    assert stages(Layout(pipeline=8)) == (0, 1, 7)
    assert stages(Layout()) == (0,)


@pytest.mark.parametrize(("zero", "divided"), [(0, ()), (1, STATES[2:]), (2, STATES[1:]), (3, STATES)])
def test_zero_divides_more_with_each_stage(zero: int, divided: tuple[str, ...]) -> None:
    """1 states and master copy, 2 also gradients, 3 also weights (ZeRO, section 3)."""
    alone = estimate_training(LLAMA, trained(None)).timeline[-1]
    spread = estimate_training(LLAMA, trained(Layout(data=8, zero=zero))).timeline[-1]
    sizes = [{one.name: one.bytes for one in moment.components} for moment in (alone, spread)]
    for name in STATES:
        assert sizes[1][name] == (sizes[0][name] // 8 if name in divided else sizes[0][name]), name


def test_fsdp_gathers_the_root_and_the_layers_at_work() -> None:
    """Table and head in 16 bits, and two layers of 218,112,000 parameters in the backward pass."""
    moments = {one.name: one for one in estimate_training(LLAMA, trained(Layout(data=8, zero=3))).timeline}
    gathered = [one.bytes for one in moments["first_backward"].components if one.name == "weights/gathered"]
    root = 2 * 128256 * 4096 + 4096
    assert gathered == [2 * root + 2 * 2 * 218_112_000]


def test_ddp_copies_gradients_into_buckets() -> None:
    """One more copy of the gradients (``gradient_as_bucket_view`` is off by default)."""
    estimate = estimate_training(LLAMA, trained(Layout(data=2)))
    buckets = [one.bytes for one in estimate.timeline[2].components if one.name == "gradients/buckets"]
    assert buckets == [2 * loaded_parameters(LLAMA)]


def test_offloaded_states_leave_the_gpu() -> None:
    """Neither states nor master copy are counted; with everything offloaded, no shard of the weights either."""
    states = estimate_training(LLAMA, trained(Layout(data=2, zero=3, offload="optimizer")))
    everything = estimate_training(LLAMA, trained(Layout(data=2, zero=3, offload="all")))
    assert states.component("optimizer") == states.component("master_weights") == 0
    assert [one.name for one in everything.components if one.name == "weights"] == []
    assert everything.total < states.total


def test_sequence_parallelism_divides_what_tensors_leave_whole() -> None:
    """Fewer activations than tensor parallelism alone."""
    plain = estimate_training(LLAMA, trained(Layout(tensor=8), checkpointing="none"))
    sequence = estimate_training(LLAMA, trained(Layout(tensor=8, sequence=True), checkpointing="none"))
    assert sequence.component("activations") < plain.component("activations") / 2


def test_context_parallelism_divides_the_tokens() -> None:
    """A quarter of the checkpoints with four parts."""
    kept = [
        next(
            one.bytes
            for one in estimate_training(LLAMA, trained(layout)).timeline[0].components
            if one.name == "logits"
        )
        for layout in (None, Layout(context=4))
    ]
    assert kept[0] == 4 * kept[1]


@pytest.mark.parametrize(
    ("model", "degrees", "code", "place"),
    [
        ("llama-3-8b", {"tensor": 3}, "heads_not_divisible", "tensor-parallel"),
        ("llama-3-8b", {"pipeline": 33}, "too_few_layers", "pipeline-parallel"),
        ("llama-3-8b", {"data": 2, "expert": 2}, "no_experts", "expert-parallel"),
        ("mixtral-8x7b", {"data": 16, "expert": 16}, "experts_not_divisible", "expert-parallel"),
    ],
)
def test_a_layout_that_the_model_does_not_allow_is_refused(
    model: str, degrees: dict[str, int], code: str, place: str
) -> None:
    """With the reason, at its field."""
    with pytest.raises(InvalidInput) as refused:
        check_layout(architecture(model), Layout(**degrees))  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.place) == (code, place)


@pytest.mark.parametrize(
    ("degrees", "code"),
    [
        ({"data": 0}, "too_small"),
        ({"zero": 4}, "unknown_choice"),
        ({"sequence": True}, "sequence_without_tensor"),
        ({"offload": "disk"}, "unknown_choice"),
        ({"offload": "all"}, "offload_needs_zero_3"),
        ({"data": 3, "expert": 2}, "expert_over_data"),
    ],
)
def test_degrees_that_no_framework_runs_are_refused(degrees: dict[str, object], code: str) -> None:
    """Before any model is looked at."""
    with pytest.raises(InvalidInput) as refused:
        Layout(**degrees)  # type: ignore[arg-type]
    assert refused.value.code == code


# BigScience, gpt2-meg at 9e64ede (Megatron-LM, V100 32 GB): hidden 6144, 40 layers, 32 heads, vocabulary 50,688, fp16
# with a float32 copy of the gradients, tensor 4, pipeline 4: MiB between steps, on the first and an inner stage.
MEGATRON_MIB = {0: 23215.1, 1: 21633.1}


@pytest.mark.parametrize(("stage", "measured"), MEGATRON_MIB.items())
def test_megatrons_states_between_steps_are_met(stage: int, measured: float) -> None:
    """20 bytes per parameter of the stage's part, within 0.2 %."""
    from calc.hf_config import architecture_from_hf_config  # noqa: PLC0415

    shape = {"n_embd": 6144, "n_layer": 40, "n_head": 32, "n_positions": 1024, "vocab_size": 50688}
    model = architecture_from_hf_config({"model_type": "gpt2", **shape})
    workload = trained(
        Layout(tensor=4, pipeline=4), context_tokens=1024, gradient_precision="both", statistic="allocated"
    )
    last = estimate_training(model, workload, stage=stage).timeline[-1]
    size = sum(one.bytes for one in last.components if one.name in STATES)
    assert size / 2**20 / measured == pytest.approx(1, abs=2e-3)
