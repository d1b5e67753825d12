"""Totals against what the Hub counts in published checkpoints, for models that no library counted for us.

``golden/published.json`` says where the numbers come from; ``besides`` counts what a checkpoint stores and nobody loads
as a parameter.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calc.hf_config import architecture_from_hf_config
from calc.parameters import count_parameters

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "published.json").read_text())["models"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_checkpoint_holds_what_the_architecture_says(name: str) -> None:
    """Stored parameters, and what is stored besides, are the elements of the published files."""
    row = PUBLISHED[name]
    stored = count_parameters(architecture_from_hf_config(row["config"])).stored
    assert stored + row.get("besides", 0) == row["published"]
