"""Compare every published configuration with what the model libraries counted, and print a table.

    python -m tests.oracle_table            # the table, from ../shared/data
    python -m tests.oracle_table --golden   # also copy the facts that tests need into tests/golden/architectures.json

Nothing in the test suite needs ``../shared``: the golden file carries the keys that a builder reads of each
configuration, the expected integers, and where the configuration comes from.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calc.architecture import Architecture, TensorKind
from calc.errors import CalcError
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_bytes_per_token, kv_cache_bytes, state_bytes
from calc.parameters import count_parameters

DATA = Path(__file__).parents[2] / "shared" / "data"
GOLDEN = Path(__file__).parent / "golden" / "architectures.json"


class Watched(dict[str, Any]):
    """A mapping that remembers which of its keys were looked at, nested objects included."""

    def __init__(self, content: dict[str, Any]) -> None:
        super().__init__({key: Watched(value) if isinstance(value, dict) else value for key, value in content.items()})
        self.seen: set[str] = set()

    def __contains__(self, key: object) -> bool:
        self.seen.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As ``dict.get``, remembered."""
        self.seen.add(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.seen.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        """As ``dict.keys``: whoever copies the whole mapping has seen all of it."""
        self.seen.update(super().keys())
        return super().keys()

    def used(self) -> dict[str, Any]:
        """The part that was looked at."""
        return {
            key: value.used() if isinstance(value, Watched) else value
            for key, value in sorted(super().items())
            if key in self.seen
        }


def computed(architecture: Architecture, contexts: Iterator[int] | list[int]) -> dict[str, Any]:
    """Our integers, under the names of the golden file."""
    count = count_parameters(architecture)
    return {
        "total": count.total,
        "active": count.active,
        "embedding": count.embedding,
        "norm": count.by_kind.get(TensorKind.NORM, 0),
        "tied": architecture.tie_word_embeddings,
        "kv_bytes_per_token": kv_bytes_per_token(architecture),
        "state_bytes": state_bytes(architecture),
        "kv": {
            str(context): kv_cache_bytes(architecture, context_tokens=context, engine="transformers")
            for context in contexts
        },
    }


def load(name: str) -> Any:
    """A JSON file of the reference data."""
    return json.loads((DATA / name).read_text())


def expected(counts: dict[str, Any], caches: dict[str, Any] | None, active: int | None) -> dict[str, Any]:
    """The libraries' integers, under the same names; a fact that was not measured is absent."""
    facts = {
        "total": counts["total_params_tied_once"],
        "active": counts["total_params_tied_once"] if active is None else active,
        "embedding": counts["input_embedding_params"],
        "norm": counts["norm_params"],
        "tied": counts["lm_head_tied"],
    }
    if caches:
        facts |= {
            "kv_bytes_per_token": caches["growing_bytes_per_token_per_sequence"],
            "state_bytes": caches["constant_state_bytes_per_sequence"],
            "kv": caches["test_vectors_total_bytes_b1"],
        }
    return facts


def rows() -> Iterator[tuple[str, dict[str, Any] | str, dict[str, Any], dict[str, Any]]]:
    """Name, our integers (or the error), theirs, and the part of the configuration that was read."""
    counts, caches = load("oracle_params.json")["models"], load("oracle_kv.json")["models"]
    summary = load("oracle_summary.json")
    for path in sorted((DATA / "configs").glob("*.json")):
        name = path.stem
        facts = expected(counts[name], caches.get(name), summary[name]["active_params"])
        config = Watched(json.loads(path.read_text()))
        try:
            architecture = architecture_from_hf_config(config)
            ours: dict[str, Any] | str = computed(architecture, [int(context) for context in facts.get("kv", {})])
        except CalcError as error:
            ours = str(error)
        yield name, ours, facts, config.used()


def source_of(row: dict[str, str]) -> str:
    """Where a configuration comes from, in words that stand alone."""
    if row["source_kind"] == "from memory":
        return f"{row['hub_id']}, from memory; {row['verification'].partition(' (')[0]}"
    return row["source"]


def main(arguments: list[str]) -> None:
    """Print the table; with ``--golden`` write the golden file from the rows that agree."""
    sources = load("configs_sources.json")
    golden: dict[str, Any] = {}
    agreeing = 0
    for name, ours, facts, config in rows():
        wrong = (
            ours
            if isinstance(ours, str)
            else {key: (ours[key], facts[key]) for key in facts if ours[key] != facts[key]}
        )
        agreeing += not wrong
        total = "" if isinstance(ours, str) else f"{ours['total']:>16,} {ours['kv_bytes_per_token']:>10,}"
        print(f"{name:<28}{total}  {wrong or 'equal'}")
        if not wrong:
            golden[name] = {"config": config, "expected": facts, "source": source_of(sources[name])}
    print(f"{agreeing} equal")
    if "--golden" in arguments:
        lines = (f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in golden.items())
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
