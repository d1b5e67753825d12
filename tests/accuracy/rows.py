"""Rows of a table of measurements: the question (what was run) apart from the answer (what was measured)."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MIB, GIB, GB = 2**20, 2**30, 10**9
UNIT_BYTES = {"bytes": 1, "MB": 10**6, "MiB": MIB, "GB": GB, "GiB": GIB}


class Skip(Exception):
    """The row does not describe its run well enough, or says too little about what was measured."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Question:
    """Everything that a row says about the run, as text; nothing about the result."""

    text: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The text of a column, without outer spaces; empty where the table has no such column."""
        return self.text.get(column, "").strip()

    def lower(self, column: str) -> str:
        """The same in lower case."""
        return self[column].lower()

    def integer(self, column: str) -> int | None:
        """The whole number in a column; ``None`` where there is none."""
        found = re.fullmatch(r"\d+", self[column])
        return int(found[0]) if found else None

    def needed(self, column: str) -> int:
        """The whole number in a column.

        Raises:
            Skip: where there is none.
        """
        value = self.integer(column)
        if value is None:
            raise Skip(f"{column} unknown")
        return value

    @cached_property
    def parallelism(self) -> Mapping[str, str]:
        """Words of the column, ``key=value`` or alone: ``{"fsdp": "full_shard", "dp": "2"}``, ``{"ddp": ""}``."""
        words: dict[str, str] = {}
        for part in self.lower("parallelism").replace(";", ",").split(","):
            key, _, value = part.strip().partition("=")
            if key:
                words[key] = value
        return words

    def degree(self, *names: str) -> int:
        """The number after one of these words of the parallelism; 1 where none is given."""
        for name in names:
            if self.parallelism.get(name, "").isdecimal():
                return int(self.parallelism[name])
        return 1

    def version(self, package: str) -> tuple[int, ...] | None:
        """The version of a package as the row states it; ``None`` where it does not."""
        found = re.search(rf"\b{package}\s+v?(\d+(?:\.\d+)*)", self.lower("framework_version"))
        return tuple(int(part) for part in found[1].split(".")) if found else None

    @property
    def date(self) -> tuple[int, int]:
        """Year and month of the source; ``(0, 0)`` where unknown."""
        found = re.match(r"(\d{4})-(\d{2})", self["date"]) or re.search(r"(20\d\d)-(\d\d)", self["framework_version"])
        return (int(found[1]), int(found[2])) if found else (0, 0)


@dataclass(frozen=True)
class Answer:
    """What was measured, and the unit it is in [B]; ``None`` where the unit is not known."""

    value: float
    unit: int | None
    decimals: int = 0

    @property
    def bytes(self) -> float | None:
        """The measured memory [B]."""
        return None if self.unit is None else self.value * self.unit

    @property
    def rounding(self) -> float:
        """Half of the last printed digit [B]."""
        return 0.5 * float(10**-self.decimals) * (self.unit or 0)


ANSWERS = ("measured_value", "value_gib")


def read(path: Path) -> Iterator[tuple[Question, Answer]]:
    """The rows of a file, each in two halves."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            question = Question({name: value or "" for name, value in row.items() if name not in ANSWERS})
            value = row["measured_value"]
            yield question, Answer(float(value), _unit(question), len(value.partition(".")[2]))


def _unit(question: Question) -> int | None:
    """Bytes of the unit: what it was found to be; where that is not known, what such tools print.

    PyTorch's readings divided by ``1024**3`` and nvidia-smi's MiB divided by 1024 are printed as "GB" as a rule (Qwen,
    AutoAWQ, vLLM, SGLang, Unsloth): an unstated GB of theirs is taken as 2**30.
    """
    resolved = question["unit_resolved"] or question["unit"]
    if resolved in UNIT_BYTES:
        return UNIT_BYTES[resolved]
    printed = question["unit"]
    if printed == "GB" and question["metric"] in ("peak_allocated", "peak_reserved", "nvidia_smi", "weights_only"):
        return GIB
    return UNIT_BYTES.get(printed)
