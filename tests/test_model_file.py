"""Files that belong together become one model, and what does not agree between them is said."""

import json
from typing import Any

import pytest

from calc import catalog
from calc.architecture import Architecture, StoredType
from calc.checkpoint import InvalidFile
from calc.errors import InvalidConfig, InvalidInput, UnsupportedArchitecture
from calc.estimate import Workload
from calc.hf_config import architecture_from_hf_config
from calc.memory import estimate_inference
from calc.model_file import OpenedModel, Piece, assemble
from calc.model_sheet import model_sheet
from calc.parameters import count_parameters, named_tensors
from calc.sheet_json import sheet_json
from calc.tree import Node
from tests.opening import open_bytes
from tests.test_safetensors import written

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "vocab_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
MODEL = architecture_from_hf_config(CONFIG)
TENSORS: dict[str, tuple[str, tuple[int, ...]]] = {
    tensor.name: ("float16", tensor.shape) for tensor in named_tensors(MODEL)
}


def config(**changes: Any) -> Piece:
    """A ``config.json`` of the small model."""
    return open_bytes("config.json", json.dumps({**CONFIG, **changes}).encode())


def opened(*pieces: Piece) -> OpenedModel:
    """The one model that these files make."""
    (model,) = assemble(pieces)
    return model


def notes(model: OpenedModel) -> dict[str, dict[str, Any]]:
    """Notes by code."""
    return {note.code: dict(note.params) for note in model.notes}


def test_a_configuration_and_its_file_agree() -> None:
    """All names and shapes are there: nothing to say but that the head is tied; bytes are those of the file."""
    model = opened(config(), open_bytes("model.safetensors", written(TENSORS)))
    assert notes(model) == {"head_tied": {}}
    assert isinstance(model.architecture, Architecture)
    total = count_parameters(model.architecture).total
    assert model.architecture.stored == (StoredType("F16", total, 2 * total),)


def test_the_bytes_of_the_file_win_over_the_declared_type() -> None:
    """The configuration says 16 bits and the file holds 32: the file is what is loaded."""
    wide = {name: ("float32", shape) for name, (_, shape) in TENSORS.items()}
    model = opened(config(), open_bytes("model.safetensors", written(wide)))
    assert model.architecture is not None
    estimate = estimate_inference(model.architecture, Workload(precision="stored"))
    assert estimate.component("weights") == 4 * count_parameters(model.architecture).total


def test_missing_unexpected_and_misshapen_tensors_are_noticed() -> None:
    """Each with the first name and how many there are."""
    changed = {name: TENSORS[name] for name in list(TENSORS) if "layers.2" not in name}
    changed["model.layers.0.mlp.up_proj.weight"] = ("float16", (23, 16))
    changed["model.layers.0.extra.weight"] = ("float16", (5,))
    found = notes(opened(config(), open_bytes("model.safetensors", written(changed))))
    assert found["tensors_missing"] == {"missing": 9, "first": "model.layers.2.self_attn.q_proj.weight"}
    assert found["tensors_not_loaded"]["count"] == 1
    assert found["tensors_not_loaded"]["stored_bytes"] == 10
    assert found["shape_differs"] == {
        "tensor": "model.layers.0.mlp.up_proj.weight",
        "stored": "23 × 16",
        "declared": "24 × 16",
    }


def test_a_tied_head_that_is_stored_again_is_noticed() -> None:
    """It takes place in the file and none in memory."""
    again = {**TENSORS, "lm_head.weight": ("float16", (20, 16))}
    model = opened(config(), open_bytes("model.safetensors", written(again)))
    assert notes(model) == {"tied_head_stored": {"stored_bytes": 640}}
    assert model.architecture is not None
    assert sum(one.bytes for one in model.architecture.stored) == 2 * count_parameters(model.architecture).total


def test_an_untied_head_that_is_missing_is_noticed() -> None:
    """A head of its own that no file holds is a missing tensor."""
    found = notes(opened(config(tie_word_embeddings=False), open_bytes("model.safetensors", written(TENSORS))))
    assert found["tensors_missing"] == {"missing": 1, "first": "lm_head.weight"}


@pytest.mark.parametrize("frame", ["", "language_model.model.", "model.language_model."])
def test_the_frame_of_the_names_does_not_matter(frame: str) -> None:
    """Names with another prefix are the same names."""
    moved = {frame + name.removeprefix("model."): value for name, value in TENSORS.items()}
    assert notes(opened(config(), open_bytes("model.safetensors", written(moved)))) == {"head_tied": {}}


def test_other_names_are_not_compared() -> None:
    """Where hardly a name agrees nothing is missing: it is said that names were not compared."""
    other = {f"blk.{index}": value for index, value in enumerate(TENSORS.values())}
    found = notes(opened(config(), open_bytes("model.safetensors", written(other))))
    assert set(found) == {"names_not_compared"}


def test_packed_tensors_count_as_their_matrix() -> None:
    """A GPTQ file misses nothing, and weighs what it holds."""
    packed: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (kind, shape) in TENSORS.items():
        stem = name.removesuffix(".weight")
        if name.endswith("proj.weight"):
            packed |= {f"{stem}.qweight": ("int32", (shape[1] // 8, shape[0])), f"{stem}.qzeros": ("int32", (1, 2))}
            packed |= {f"{stem}.scales": (kind, (1, shape[0])), f"{stem}.g_idx": ("int32", (shape[1],))}
        else:
            packed[name] = (kind, shape)
    method = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    model = opened(config(quantization_config=method), open_bytes("model.safetensors", written(packed)))
    assert notes(model) == {"head_tied": {}}
    assert model.architecture is not None
    assert model.checkpoint is not None
    assert sum(one.bytes for one in model.architecture.stored) == model.checkpoint.bytes


def test_a_part_alone_misses_nothing() -> None:
    """While parts are not opened nothing is missing, and the bytes are those that the configuration declares."""
    index = {"weight_map": dict.fromkeys(TENSORS, "1.safetensors") | {"model.norm.weight": "2.safetensors"}}
    listed = open_bytes("model.safetensors.index.json", json.dumps(index).encode())
    held = {name: value for name, value in TENSORS.items() if name != "model.norm.weight"}
    model = opened(config(), listed, open_bytes("1.safetensors", written(held)))
    assert set(notes(model)) == {"parts_not_opened", "head_tied"}
    assert model.architecture is not None
    assert [one.name for one in model.architecture.stored] == ["BF16"]


def test_a_file_alone_has_its_exact_bytes_and_no_more() -> None:
    """Without its configuration a checkpoint has no cache, and says nothing of active parameters."""
    sheet = model_sheet(opened(open_bytes("model.safetensors", written(TENSORS))))
    total = count_parameters(MODEL).total
    assert (sheet.total, sheet.weights_bytes, sheet.cache, sheet.active) == (total, 2 * total, None, None)


def test_an_unknown_model_keeps_its_bytes() -> None:
    """The refusal stands beside what the files tell."""
    model = opened(config(model_type="lama"), open_bytes("model.safetensors", written(TENSORS)))
    assert isinstance(model.refusal, UnsupportedArchitecture)
    sheet = sheet_json(model_sheet(model))
    assert sheet["weights_bytes"] == 2 * count_parameters(MODEL).total
    refusal = sheet["refusal"]
    assert isinstance(refusal, dict)
    assert refusal["model_type"] == "lama"


def test_a_damaged_configuration_is_refused_by_its_key() -> None:
    """Beside whatever files, a wrong key is named."""
    damaged = config(hidden_size=-1)
    with pytest.raises(InvalidConfig, match="out_of_range at hidden_size"):
        assemble([damaged])


def test_infinity_is_usual_in_a_configuration() -> None:
    """Mamba 2 is published with ``"time_step_limit": [0.0, Infinity]``; an infinite size is refused by its key."""
    text = json.dumps({**CONFIG, "time_step_limit": [0.0, float("inf")], "other": float("nan")})
    text = text[:-1] + ', "long": 0.' + "1" * 60 + "e5}"
    assert opened(open_bytes("config.json", text.encode())).architecture is not None
    damaged = open_bytes("config.json", json.dumps({**CONFIG, "hidden_size": float("inf")}).encode())
    with pytest.raises(InvalidConfig, match="not_an_integer at hidden_size"):
        assemble([damaged])


def test_only_one_configuration_makes_a_model() -> None:
    """Two configurations are two models, and it is not for us to choose."""
    one = config()
    with pytest.raises(InvalidFile, match="several_configs"):
        assemble([one, one])


ADAPTER = {"peft_type": "LORA", "r": 4, "target_modules": ["q_proj", "v_proj"], "base_model_name_or_path": "a/b"}
LORA: dict[str, tuple[str, tuple[int, ...]]] = {
    f"base_model.model.model.layers.{layer}.self_attn.{name}.lora_{side}.weight": ("float32", shape)
    for layer in range(3)
    for name, out in (("q_proj", 16), ("v_proj", 8))
    for side, shape in (("A", (4, 16)), ("B", (out, 4)))
}


def test_an_adapter_is_counted() -> None:
    """Rank, targets, modules, parameters ``r (in + out)`` and bytes."""
    pieces = [
        open_bytes("adapter_config.json", json.dumps(ADAPTER).encode()),
        open_bytes("adapter_model.safetensors", written(LORA)),
    ]
    adapter = opened(*pieces).adapter
    assert adapter is not None
    assert (adapter.rank, adapter.targets, adapter.modules, adapter.base_model) == (4, ("q_proj", "v_proj"), 6, "a/b")
    assert adapter.parameters == 3 * (4 * (16 + 16) + 4 * (16 + 8))
    assert adapter.bytes == 4 * adapter.parameters


def test_an_adapter_without_its_configuration_tells_its_rank() -> None:
    """Rank and targets follow from the tensors; what is saved whole beside them is counted apart."""
    more = {**LORA, "base_model.model.lm_head.weight": ("float16", (20, 16))}
    adapter = opened(open_bytes("adapter_model.safetensors", written(more))).adapter
    assert adapter is not None
    assert (adapter.rank, adapter.targets, adapter.other_bytes) == (4, ("q_proj", "v_proj"), 640)


def test_a_configuration_of_an_adapter_alone_tells_what_it_can() -> None:
    """Rank and targets, no counts."""
    sheet = model_sheet(opened(open_bytes("adapter_config.json", json.dumps(ADAPTER).encode())))
    assert sheet.adapter is not None
    assert (sheet.adapter.rank, sheet.adapter.parameters, sheet.total) == (4, None, None)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("r", 0, "bad_number"),
        ("r", "8", "bad_number"),
        ("r", 10**6, "bad_number"),
        ("peft_type", None, "not_text"),
        ("target_modules", {"a": 1}, "not_text_list"),
        ("target_modules", [1], "not_text_list"),
    ],
)
def test_a_damaged_adapter_is_refused(key: str, value: object, code: str) -> None:
    """A wrong key of an ``adapter_config.json`` names itself."""
    piece = open_bytes("adapter_config.json", json.dumps({**ADAPTER, key: value}).encode())
    with pytest.raises(InvalidFile) as refused:
        assemble([piece])
    assert (refused.value.code, refused.value.place) == (code, key)


def leaves(nodes: tuple[Node, ...]) -> int:
    """Parameters of the leaves of a tree."""
    return sum(leaves(node.children) if node.children else node.parameters for node in nodes)


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3", "qwen3-next-80b-a3b", "gemma-3-12b", "gpt2"])
def test_the_tree_holds_every_parameter(name: str) -> None:
    """Nodes add up to what is stored, at every level; equal layers are one node."""
    model = catalog.architecture(name)
    sheet = model_sheet(OpenedModel(name=name, format="config", files=(), architecture=model))
    assert sum(node.parameters for node in sheet.tree) == sheet.stored
    assert leaves(sheet.tree) == sheet.stored

    def check(node: Node) -> None:
        if node.children:
            assert sum(child.parameters for child in node.children) == node.parameters
        for child in node.children:
            check(child)

    for node in sheet.tree:
        check(node)


def test_the_tree_of_a_file_has_its_bytes() -> None:
    """Each node has the bytes of what it holds; three equal layers are one node that counts for three."""
    sheet = model_sheet(opened(config(), open_bytes("model.safetensors", written(TENSORS))))
    assert sum(node.bytes or 0 for node in sheet.tree) == sheet.weights_bytes
    (model,) = sheet.tree
    layers = next(node for node in model.children if node.name == "layers")
    assert [(node.name, node.count) for node in layers.children] == [("0–2", 3)]


def test_the_largest_layer_is_found() -> None:
    """DeepSeek-V3: the first layer with experts is as large as any."""
    model = OpenedModel(name="x", format="config", files=(), architecture=catalog.architecture("deepseek-v3"))
    sheet = model_sheet(model)
    assert sheet.largest_layer is not None
    assert sheet.largest_layer[0] == 3


def test_a_known_fault_is_avoided() -> None:
    """DeepSeek-V3 caches its latent, 70,272 bytes a token; Qwen3-Next attends in a quarter of its layers only."""
    deepseek, qwen = (
        model_sheet(OpenedModel(name=name, format="config", files=(), architecture=catalog.architecture(name))).cache
        for name in ("deepseek-v3", "qwen3-next-80b-a3b")
    )
    assert deepseek is not None
    assert qwen is not None
    assert deepseek.bytes_per_token == 70_272
    assert qwen.windows == ((None, 12),)
    assert qwen.state_bytes > 0


def test_a_text_that_is_nothing_is_refused() -> None:
    """A file of no known kind is refused by name."""
    with pytest.raises(InvalidFile, match="unknown_format"):
        open_bytes("notes.txt", b"hello, this is a text of no kind")
    with pytest.raises(InvalidInput, match="no_stored_weights"):
        estimate_inference(architecture_from_hf_config({**CONFIG, "torch_dtype": None}), Workload(precision="stored"))
