"""Parameters against the counts of Transformers 5.24 on the meta device, for real configurations.

``golden/architectures.json`` holds the keys of each configuration that a builder reads, the expected integers and the
source; ``python -m tests.oracle_table --golden`` made it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.architecture import Tensor, TensorKind
from calc.checkpoint import Checkpoint
from calc.compare import compare_with_architecture
from calc.hf_config import architecture_from_hf_config
from calc.parameters import count_parameters, expanded, name_count, named_tensors

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text())


@pytest.mark.parametrize("name", GOLDEN)
def test_a_published_model_counts_as_transformers_counts_it(name: str) -> None:
    """Total, active, token table, norms and tying are the library's, to the unit."""
    row = GOLDEN[name]
    count = count_parameters(architecture_from_hf_config(row["config"]))
    expected = row["expected"]
    assert (count.total, count.active, count.embedding, count.by_kind.get(TensorKind.NORM, 0)) == (
        expected["total"],
        expected["active"],
        expected["embedding"],
        expected["norm"],
    )


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-oss-20b", "opt-350m"])
def test_the_named_tensors_add_up_to_the_total(name: str) -> None:
    """One by one or grouped, the tensors are the same parameters, and no name occurs twice."""
    architecture = architecture_from_hf_config(GOLDEN[name]["config"])
    tensors = list(named_tensors(architecture))
    assert sum(tensor.parameters for tensor in tensors) == count_parameters(architecture).total
    assert len({tensor.name for tensor in tensors}) == len(tensors) == name_count(architecture)


def test_thousands_of_millions_of_names_are_counted_and_not_listed() -> None:
    """A file may declare ten thousand layers of a hundred thousand experts: a checkpoint is not compared with that."""
    sizes = {"hidden_size": 8, "intermediate_size": 8, "vocab_size": 8, "num_attention_heads": 8}
    mixture = {"num_hidden_layers": 10_000, "num_local_experts": 100_000, "num_experts_per_tok": 1}
    architecture = architecture_from_hf_config({"model_type": "mixtral", **sizes, **mixture})
    assert name_count(architecture) == 10_000 * (3 * 100_000 + 7) + 3
    empty = Checkpoint(format="safetensors", tensors=(), metadata={})
    compared, notes = compare_with_architecture(empty, architecture, whole=False)
    assert compared is architecture
    assert [note.code for note in notes] == ["names_not_compared"]


def test_tensors_have_the_names_and_shapes_of_the_checkpoint() -> None:
    """Llama 3 8B: names and shapes of layer 31 as in its ``model.safetensors.index.json``."""
    tensors = {t.name: t.shape for t in named_tensors(architecture_from_hf_config(GOLDEN["llama3-8b"]["config"]))}
    assert len(tensors) == 291
    assert tensors["model.layers.31.self_attn.k_proj.weight"] == (1024, 4096)
    assert tensors["model.layers.31.mlp.down_proj.weight"] == (4096, 14336)
    assert tensors["lm_head.weight"] == (128256, 4096)


def test_experts_are_named_one_by_one_as_they_are_published() -> None:
    """Mixtral 8x7B publishes w1, w2 and w3 of eight experts in each of 32 layers."""
    count = count_parameters(architecture_from_hf_config(GOLDEN["mixtral-8x7b"]["config"]))
    tensor = next(t for t in count.tensors if t.name.endswith("experts.*.w1.weight"))
    assert tensor.name == "model.layers.*.block_sparse_moe.experts.*.w1.weight"
    assert (tensor.shape, tensor.count, tensor.active) == ((14336, 4096), 256, 64)


def test_the_total_of_a_mixture_is_not_its_active_count() -> None:
    """Mixtral 8x7B has 46.7 thousand million parameters, of which a token uses 12.9."""
    count = count_parameters(architecture_from_hf_config(GOLDEN["mixtral-8x7b"]["config"]))
    assert (count.total, count.active) == (46_702_792_704, 12_879_925_248)


def test_a_tied_table_is_counted_once() -> None:
    """Gemma 2B: the head adds nothing."""
    config = GOLDEN["gemma-2b"]["config"]
    tied = count_parameters(architecture_from_hf_config(config))
    untied = count_parameters(architecture_from_hf_config({**config, "tie_word_embeddings": False}))
    assert untied.total - tied.total == tied.embedding == 256_000 * 2048


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        # elements of the published checkpoint, less the router's correction biases, which are buffers
        ("deepseek-v3.2", 685_355_329_792 - 256 * 59),
        ("glm-4.5", 358_337_791_296 - 160 * 90),
        ("glm-4.5-air", 110_468_824_832 - 128 * 46),
        ("glm-5", 753_864_139_008 - 256 * 76),
    ],
)
def test_prediction_layers_are_stored_but_not_loaded(name: str, stored: int) -> None:
    """What the hub counts beyond Transformers is the multi-token-prediction layers, to the unit."""
    count = count_parameters(architecture_from_hf_config(GOLDEN[name]["config"]))
    assert count.total == GOLDEN[name]["expected"]["total"]
    assert count.stored == stored


def test_the_kinds_add_up_to_the_total() -> None:
    """Nothing is left out of the breakdown, and nothing counted twice."""
    for row in GOLDEN.values():
        count = count_parameters(architecture_from_hf_config(row["config"]))
        assert sum(count.by_kind.values()) == count.total


def test_a_stacked_tensor_keeps_its_first_axis() -> None:
    """gpt-oss stores the experts of a layer in one tensor of three dimensions."""
    stacked = Tensor(name="mlp.experts.down_proj", shape=(2880, 2880), count=32, active=4)
    assert [(t.shape, t.count) for t in expanded(stacked)] == [((32, 2880, 2880), 1)]
