"""Every switch of every class: small configurations, counted and run by Transformers itself.

``golden/variants.json``: each configuration was built by ``transformers`` 5.24.0 with torch 2.14.1 on a CPU, its
parameters added (tied ones once), and, where a text of a few tokens runs through it, its cache weighed in bfloat16 at
8 and 9 tokens (2 and 3 for decoders without a state): the difference is what a token adds, the rest the state.
``cache_12`` is the cache at 12 tokens where a window (of 4 or 8) makes it smaller than that.
Made on 2026-12-01; sizes are invented, so that a law that only fits published models shows.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.errors import InvalidConfig
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, state_bytes
from calc.parameters import count_parameters

VARIANTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "variants.json").read_text())


@pytest.mark.parametrize("row", VARIANTS, ids=lambda row: row["config"]["model_type"])
def test_an_invented_model_is_what_transformers_makes_of_it(row: dict[str, Any]) -> None:
    """Parameters, bytes per token and state are the library's, whatever the switches say."""
    architecture = architecture_from_hf_config(row["config"])
    assert count_parameters(architecture).total == row["total"]
    if "kv_bytes_per_token" in row:
        assert kv_bytes_per_token(architecture) == row["kv_bytes_per_token"]
        assert state_bytes(architecture) == row["state_bytes"]
    if "cache_12" in row:
        assert kv_cache_bytes(architecture, context_tokens=12, engine="transformers") == row["cache_12"]


def test_the_variants_cover_the_families() -> None:
    """More than a hundred model types, over 600 configurations."""
    assert len({row["config"]["model_type"] for row in VARIANTS}) > 100
    assert len(VARIANTS) > 600


def test_olmoe_runs_with_one_head_size_only() -> None:
    """Its query norm is as wide as the hidden size, so a ``head_dim`` of another width is a model that cannot run."""
    config = next(row["config"] for row in VARIANTS if row["config"]["model_type"] == "olmoe")
    with pytest.raises(InvalidConfig) as caught:
        architecture_from_hf_config({**config, "head_dim": 24})
    assert (caught.value.code, caught.value.place) == ("inconsistent", "head_dim")
