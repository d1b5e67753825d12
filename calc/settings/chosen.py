"""The scenario that is to be written down, and which of its inputs have been."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from calc import catalog
from calc.architecture import Architecture
from calc.calculators import CALCULATORS
from calc.calculators.fields import Parsed, parse
from calc.calculators.shared import FILE, architecture_of
from calc.custom import CUSTOM
from calc.settings.settings import Settings

MODELS: Final = frozenset(("gpu", "inferencia", "lora"))
"""Calculators that know models."""

PLACEHOLDER: Final = "MODELO"
"""Stands for a model of one's own."""

OWN: Final = frozenset(
    (
        *(
            "model",
            "config",
            "parameters",
            "hidden-size",
            "layers",
            "kv-heads",
            "head-dim",
            "workload",
            "engine",
            "method",
        ),
        *("gpu", "gpu-memory", "reserve", "unit", "runtime", "prefix-tokens", "packed-experts"),
    )
)
"""Inputs that are not settings of a tool: which model, what is asked, the GPU, how requests look."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The inputs of a calculator, read."""

    calculator: str
    parsed: Parsed

    def word(self, name: str) -> str:
        """The text of a choice, empty where the field does not apply."""
        value = self.parsed.values.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """A whole number, 0 where the field does not apply or is empty."""
        value = self.parsed.values.get(name)
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def decimal(self, name: str) -> str:
        """A number with a decimal point, empty where the field does not apply."""
        value = self.parsed.values.get(name)
        return f"{float(value):g}" if isinstance(value, Fraction) else ""

    def flag(self, name: str) -> bool | None:
        """Yes or no, ``None`` where the field does not apply."""
        value = self.parsed.values.get(name)
        return value if isinstance(value, bool) else None

    def architecture(self) -> Architecture:
        """The model.

        Raises:
            InvalidInput: for a description that describes none.
        """
        return architecture_of(self.parsed)

    @property
    def repository(self) -> str:
        """The model's repository on the Hugging Face hub."""
        name = self.word("model")
        return PLACEHOLDER if name in {FILE, CUSTOM, ""} else catalog.model(name).hub_id

    def settings(self, name: str, version: str, language: str, text: str, said: Iterable[str]) -> Settings:
        """A text, with what it leaves out: every input that applies, is not the default and has not been said."""
        fields = CALCULATORS[self.calculator].fields
        told = OWN | set(said)
        left = (
            field.name
            for field in fields
            if field.name in self.parsed.values
            and field.name not in told
            and self.parsed.text[field.name].strip() != field.default
        )
        return Settings(name=name, version=version, language=language, text=text, left_out=tuple(left))


def chosen(calculator: str, raw: Mapping[str, str]) -> Chosen | None:
    """The scenario; ``None`` where its inputs cannot be used."""
    if calculator not in MODELS:
        return None
    parsed = parse(CALCULATORS[calculator].fields, raw)
    return None if parsed.errors else Chosen(calculator, parsed)
