"""Activations against what autograd really saves.

``data/saved_tensors.csv``: bytes saved for backward, measured with ``torch.autograd.graph.saved_tensors_hooks`` on the
CPU kernels of PyTorch 2.13.0 with Transformers 5.24.0 (every storage once, parameters and inputs left out); each row is
one small model: its shape, the bytes of its layers, of the norms, tables and head outside them, and of the loss.
"""

import csv
from pathlib import Path

import pytest

from calc.activations import Training, approximate_layers, training_activations
from calc.architecture import Architecture
from calc.catalog import architecture, models
from calc.errors import InvalidInput
from calc.formula import Formula
from calc.hf_config import architecture_from_hf_config
from calc.layer_laws import Regime, layer_law
from calc.lora import adapters

ROWS = list(csv.DictReader((Path(__file__).parent / "data" / "saved_tensors.csv").read_text().splitlines()))
FORMS = sorted({(row["family"], row["attention"], row["dtype"], row["mode"]) for row in ROWS})
TARGETS: dict[str, str | tuple[str, ...]] = {"lora-qv": ("q_proj", "v_proj"), "lora-all-linear": "all-linear"}


def built(row: dict[str, str]) -> Architecture:
    """The small model of a row, through the door for configurations."""
    number = {name: int(row[name]) for name in "hfakdVL"}
    if row["family"] == "gpt2":
        names = {"n_embd": "h", "n_inner": "f", "n_head": "a", "n_layer": "L", "vocab_size": "V"}
        return architecture_from_hf_config(
            {"model_type": "gpt2", "n_positions": 1024, **{key: number[name] for key, name in names.items()}}
        )
    names = {
        "hidden_size": "h",
        "intermediate_size": "f",
        "num_attention_heads": "a",
        "num_key_value_heads": "k",
        "head_dim": "d",
        "vocab_size": "V",
        "num_hidden_layers": "L",
    }
    experts = {"num_local_experts": int(row["E"]), "num_experts_per_tok": int(row["K"])} if row["E"] else {}
    shape = {key: number[name] for key, name in names.items()}
    return architecture_from_hf_config({"model_type": row["family"], "tie_word_embeddings": False, **shape, **experts})


def training_of(row: dict[str, str], model: Architecture) -> Training:
    """The workload of a row."""
    target = TARGETS.get(row["mode"])
    adapted = frozenset(one.module for one in adapters(model, target)) if target else None
    return Training(
        batch=int(row["b"]),
        context_tokens=int(row["s"]),
        regime=Regime(
            element_bytes=2 if row["dtype"] == "bf16" else 4, eager=row["attention"] == "eager", adapted=adapted
        ),
        checkpointing="full" if row["mode"].startswith("ckpt") else "none",
        rank=int(row["r"] or 0),
    )


def live_layer(model: Architecture, training: Training) -> int:
    """Bytes of the one layer that full checkpointing computes again."""
    law = layer_law(model, model.layers[0], training.regime)
    return Formula(law.expression, {**law.terms, **training.terms}).bytes


@pytest.mark.parametrize("form", FORMS, ids="/".join)
def test_every_measured_byte_is_reproduced(form: tuple[str, ...]) -> None:
    """Layers and what lies outside them save exactly what autograd saved, for every measured shape."""
    rows = [row for row in ROWS if (row["family"], row["attention"], row["dtype"], row["mode"]) == form]
    assert len(rows) == 6
    for row in rows:
        model = built(row)
        training = training_of(row, model)
        live = live_layer(model, training) if training.checkpointing == "full" else 0
        assert training_activations(model, training).bytes - live == int(row["layers"]) + int(row["outside"])


def bf16(context_tokens: int = 2048, **others: object) -> Training:
    """One sequence in bfloat16."""
    regime = Regime(element_bytes=2, eager=bool(others.pop("eager", False)))
    return Training(batch=1, context_tokens=context_tokens, regime=regime, **others)  # type: ignore[arg-type]


def test_llama_in_bf16_is_the_closed_form_of_the_measurements() -> None:
    """The formula shown for Llama 3 8B is 16Th + 4Tq + 4Tkvd + 8Tf + 4bas + 8T per layer."""
    shown = training_activations(architecture("llama-3-8b"), bf16()).derivation.expression
    assert shown == "L * (16*t*h + 4*t*a*d + 4*t*k*d + 8*t*f + 4*a*t + 8*t) + 8*t*h + 4*t + 4*s*p"


def test_llama_3_8b_keeps_about_twelve_gibibytes_at_2048_tokens() -> None:
    """Without checkpointing between 10 GiB (fused norms, the low end) and 14 GiB (published range, with the logits)."""
    component = training_activations(architecture("llama-3-8b"), bf16())
    assert 10.0 < component.low / 2**30 < 10.5
    assert 12.0 < component.bytes / 2**30 < component.high / 2**30 < 14.0


@pytest.mark.parametrize("model", ["llama-3-8b", "gpt2", "mixtral-8x7b", "gemma-2-9b", "deepseek-v3", "jamba-v0.1"])
@pytest.mark.parametrize("eager", [False, True])
def test_more_checkpointing_keeps_less(model: str, *, eager: bool) -> None:
    """none >= selective >= sqrt >= full, for uniform models, mixtures and hybrids."""
    sizes = [
        training_activations(architecture(model), bf16(1024, checkpointing=name, eager=eager)).bytes
        for name in ("none", "selective", "sqrt", "full")
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_selective_changes_nothing_under_flash_attention() -> None:
    """Flash attention keeps no scores, so there is nothing for selective checkpointing to drop."""
    model = architecture("llama-3-8b")
    assert (
        training_activations(model, bf16(checkpointing="selective")).bytes == training_activations(model, bf16()).bytes
    )


def test_selective_keeps_the_scores_of_one_layer() -> None:
    """In eager attention it drops 6·a·s² bytes of every layer but one."""
    model = architecture("llama-3-8b")
    full = training_activations(model, bf16(eager=True)).bytes
    selective = training_activations(model, bf16(eager=True, checkpointing="selective")).bytes
    assert full - selective == 31 * 6 * 32 * 2048**2


def test_sqrt_keeps_six_inputs_and_six_layers_of_thirty_two() -> None:
    """ceil(sqrt(32)) = 6 segments of ceil(32 / 6) = 6 layers."""
    model, training = architecture("llama-3-8b"), bf16(checkpointing="sqrt")
    outside = 8 * 2048 * 4096 + 4 * 2048
    expected = 6 * 2 * 2048 * 4096 + 6 * live_layer(model, training) + outside
    assert training_activations(model, training).bytes == expected


def test_full_checkpointing_of_a_mixed_model_recomputes_its_largest_layer() -> None:
    """DeepSeek V3 has dense and sparse layers: 61 inputs of 2·t·h bytes and one layer, the larger of the two."""
    model, training = architecture("deepseek-v3"), bf16(checkpointing="full")
    outside = 8 * 2048 * 7168 + 4 * 2048
    laws = [layer_law(model, layer, training.regime) for layer in (model.layers[0], model.layers[-1])]
    largest = max(Formula(law.expression, {**law.terms, **training.terms}).bytes for law in laws)
    assert training_activations(model, training).bytes == 61 * 2 * 2048 * 7168 + largest + outside


def test_selective_of_a_mixed_model_keeps_the_scores_of_one_layer() -> None:
    """The rule is the same where layers are of several kinds."""
    model = architecture("deepseek-v3")
    full = training_activations(model, bf16(eager=True)).bytes
    selective = training_activations(model, bf16(eager=True, checkpointing="selective")).bytes
    assert full - selective == 60 * 6 * 128 * 2048**2


@pytest.mark.parametrize("model", ["llama-3-8b", "qwen2.5-7b", "gemma-2-9b", "gpt2", "mixtral-8x7b", "qwen3-8b"])
def test_measured_families_are_not_called_approximate(model: str) -> None:
    """Their laws are the ones that were checked, or sums of the same parts."""
    assert approximate_layers(architecture(model), Regime(element_bytes=2)) == 0


@pytest.mark.parametrize("model", ["deepseek-v3", "mamba-2.8b", "jamba-v0.1"])
def test_unmeasured_parts_are_called_approximate(model: str) -> None:
    """Latent attention and recurrent layers are our reading of the code, and widen the range to 0.6-1.6."""
    found = architecture(model)
    assert approximate_layers(found, Regime(element_bytes=2)) > 0
    component = training_activations(found, bf16())
    assert component.low <= 0.6 * component.bytes
    assert component.high >= 1.6 * component.bytes - 1


def test_an_unknown_way_of_checkpointing_is_refused_at_its_field() -> None:
    """The error names the field and the known choices."""
    with pytest.raises(InvalidInput) as refused:
        training_activations(architecture("gpt2"), bf16(checkpointing="some"))
    assert (refused.value.code, refused.value.place) == ("unknown_choice", "checkpointing")


def test_every_model_of_the_catalogue_has_a_law() -> None:
    """No architecture breaks the laws, and more tokens never keep less."""
    for name in (model.id for model in models()):
        model = architecture(name)
        small, large = (training_activations(model, bf16(tokens)).bytes for tokens in (512, 1024))
        assert 0 < small < large, name
