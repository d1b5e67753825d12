"""The catalogue: every row has its origin, and every model counts the total that others counted."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from calc import catalog
from calc.errors import InvalidInput
from calc.parameters import count_parameters
from calc.units import GIB, MIB

GOLDEN = json.loads((Path(__file__).parent / "golden" / "parameters.json").read_text(encoding="utf-8"))
IDENTIFIER = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
PRESETS = (
    "gpt2",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "mistral-7b",
    "llama-3-8b",
    "llama-2-13b",
    "mixtral-8x7b",
    "llama-3-70b",
    "llama-3.1-405b",
)
REQUIRED_GPUS = [
    "rtx-3060",
    "rtx-3090",
    "rtx-4060-ti-16gb",
    "rtx-4070-ti-super",
    "rtx-4080",
    "rtx-4090",
    "rtx-5070-ti",
    "rtx-5080",
    "rtx-5090",
    "rtx-6000-ada",
    "rtx-pro-6000",
    "a10",
    "a40",
    "l4",
    "l40s",
    "t4",
    "v100-16gb",
    "v100-32gb",
    "a100-40gb",
    "a100-80gb",
    "h100-80gb",
    "h200",
    "b200",
    "mi300x",
    "mi325x",
]
# nvidia-smi in MiB, as reported by NVIDIA's driver in public logs; see usable_provenance of each row.
READINGS = {
    "t4": 15360,
    "l4": 23034,
    "a10": 23028,
    "l40s": 46068,
    "a100-40gb": 40960,
    "a100-80gb": 81920,
    "h100-80gb": 81559,
    "h200": 143771,
    "b200": 183359,
    "rtx-4090": 24564,
    "rtx-5090": 32607,
}


@pytest.mark.parametrize("entry", catalog.models(), ids=lambda entry: entry.id)
def test_a_model_counts_the_total_that_its_row_and_the_reference_state(entry: catalog.ModelEntry) -> None:
    """A model counts the total that its row and the reference state."""
    total = count_parameters(catalog.architecture(entry.id)).total
    assert total == entry.parameters
    assert total == GOLDEN["totals"].get(entry.id, total)


def test_a_row_is_marked_unverified_exactly_where_no_published_total_is_known_to_match() -> None:
    """A row is marked unverified exactly where no published total is known to match."""
    unverified = {entry.id for entry in catalog.models() if not entry.verified}
    assert "llama-3-8b" not in unverified
    assert {"dbrx", "opt-66b", "kimi-k2"} & {entry.id for entry in catalog.models()} <= unverified
    assert len(unverified) <= len(catalog.models()) // 10


def test_the_presets_come_first_in_the_order_of_the_design() -> None:
    """The presets come first in the order of the design."""
    models = catalog.models()
    assert tuple(entry.id for entry in models[: len(PRESETS)]) == PRESETS
    assert [entry.featured for entry in models if entry.featured] == list(range(1, len(PRESETS) + 1))


def test_the_catalogue_has_the_presets_and_at_least_forty_more_models() -> None:
    """The catalogue has the presets and at least forty more models."""
    assert len(catalog.models()) >= len(PRESETS) + 40


def test_llama_3_8b_has_its_published_number_of_parameters() -> None:
    """Llama 3 8b has its published number of parameters."""
    assert catalog.model("llama-3-8b").parameters == 8_030_261_248


@pytest.mark.parametrize("entry", [*catalog.models(), *catalog.gpus()], ids=lambda entry: entry.id)
def test_an_id_is_lower_case_with_hyphens(entry: catalog.ModelEntry | catalog.GpuEntry) -> None:
    """An id is lower case with hyphens."""
    assert IDENTIFIER.fullmatch(entry.id)


def test_ids_and_names_are_unique() -> None:
    """Ids and names are unique."""
    for rows in (catalog.models(), catalog.gpus()):
        assert len({entry.id for entry in rows}) == len({entry.name for entry in rows}) == len(rows)


@pytest.mark.parametrize("entry", catalog.models(), ids=lambda entry: entry.id)
def test_a_model_says_where_and_when_its_configuration_was_read(entry: catalog.ModelEntry) -> None:
    """A model says where and when its configuration was read."""
    origin = entry.provenance
    assert entry.origin in {"repository", "class_defaults", "memory"}
    assert (entry.origin == "memory") == ("huggingface.co" in origin.url)
    assert origin.url.startswith("https://")
    assert "/" in entry.hub_id
    assert date.fromisoformat(origin.retrieved) <= date(2026, 12, 1)


@pytest.mark.parametrize("entry", catalog.gpus(), ids=lambda entry: entry.id)
def test_a_gpu_says_where_and_when_both_capacities_were_read(entry: catalog.GpuEntry) -> None:
    """A GPU says where and when both capacities were read."""
    origins = [entry.sold_provenance]
    if entry.usable_bytes is not None:
        assert entry.usable_provenance is not None
        origins.append(entry.usable_provenance)
    for origin in origins:
        assert origin.title
        assert origin.url.startswith("https://")
        assert date.fromisoformat(origin.retrieved) <= date(2026, 12, 1)


@pytest.mark.parametrize("entry", catalog.gpus(), ids=lambda entry: entry.id)
def test_a_gpu_never_offers_more_than_was_sold(entry: catalog.GpuEntry) -> None:
    """A GPU never offers more than was sold."""
    assert entry.sold_bytes == entry.sold_gb * GIB
    assert entry.usable_is_reported == (entry.usable_bytes is not None)
    if entry.usable_bytes is not None:
        assert 0.6 * entry.sold_bytes < entry.usable_bytes <= entry.sold_bytes


@pytest.mark.parametrize("entry", catalog.gpus(), ids=lambda entry: entry.id)
def test_a_gpu_belongs_to_a_known_vendor_and_kind(entry: catalog.GpuEntry) -> None:
    """A GPU belongs to a known vendor and kind."""
    assert entry.vendor in {"nvidia", "amd", "apple"}
    assert entry.kind in {"consumer", "professional", "data_center", "apple", "integrated"}
    assert (entry.vendor == "apple") == (entry.kind == "apple")


def test_the_catalogue_has_every_gpu_that_was_asked_for() -> None:
    """The catalogue has every GPU that was asked for."""
    assert {entry.id for entry in catalog.gpus()} >= set(REQUIRED_GPUS)


@pytest.mark.parametrize(("identifier", "mebibytes"), READINGS.items())
def test_usable_memory_is_what_the_driver_reports(identifier: str, mebibytes: int) -> None:
    """Usable memory is what the driver reports."""
    assert catalog.gpu(identifier).usable_bytes == mebibytes * MIB


@pytest.mark.parametrize(
    ("wanted", "closest"), [("llama 3 8b", "llama-3-8b"), ("Qwen3-14B", "qwen3-14b"), ("gemma3-12b", "gemma-3-12b")]
)
def test_an_unknown_model_names_the_one_that_was_probably_meant(wanted: str, closest: str) -> None:
    """An unknown model names the one that was probably meant."""
    with pytest.raises(InvalidInput) as raised:
        catalog.model(wanted)
    assert raised.value.code == "unknown_model"
    assert raised.value.place == "model"
    assert raised.value.params["closest"][0] == closest


def test_an_unknown_gpu_names_the_one_that_was_probably_meant() -> None:
    """An unknown GPU names the one that was probably meant."""
    with pytest.raises(InvalidInput) as raised:
        catalog.gpu("RTX 4090 ")
    assert raised.value.code == "unknown_gpu"
    assert raised.value.params["closest"][0] == "rtx-4090"


def test_an_unknown_id_of_any_length_is_refused_with_a_short_text() -> None:
    """An unknown id of any length is refused with a short text."""
    with pytest.raises(InvalidInput) as raised:
        catalog.model("x" * 100_000)
    assert raised.value.params == {"value": "x" * 80, "closest": ()}


def test_an_architecture_is_built_once() -> None:
    """An architecture is built once."""
    assert catalog.architecture("gpt2") is catalog.architecture("gpt2")


def test_a_row_cannot_be_changed_by_who_reads_it() -> None:
    """A row cannot be changed by who reads it."""
    with pytest.raises(TypeError):
        catalog.model("gpt2").config["n_layer"] = 1  # type: ignore[index]
