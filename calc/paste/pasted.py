"""What was recognised in a pasted command or configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calc.calculators import CALCULATORS
from calc.calculators.fields import read, visible
from calc.errors import InvalidInput

SHOWN = 120
"""How much of something that was not understood is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """Inputs that a text stands for.

    Args:
        kind: what the text is: ``vllm``, ``llama-server``, ``axolotl``, ``llama-factory``, ``deepspeed``.
        calculator: the one that the inputs are for.
        inputs: text by field.
        ignored: options that are known and do not change the memory.
        not_understood: everything else, as it was written.
    """

    kind: str
    calculator: str
    inputs: Mapping[str, str]
    ignored: tuple[str, ...]
    not_understood: tuple[str, ...]


@dataclass(slots=True)
class Reader:
    """Gathers inputs; what a field of the calculator does not take is not understood."""

    calculator: str
    inputs: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def put(self, name: str, value: object, said: str) -> None:
        """Put a value into a field, if the field exists and takes it."""
        text = "yes" if value is True else "no" if value is False else str(value)
        found = next((one for one in CALCULATORS[self.calculator].fields if one.name == name), None)
        try:
            if found is None:
                raise InvalidInput("unknown_choice", place=name)
            read(found, text)
        except InvalidInput:
            self.miss(said)
        else:
            self.inputs[name] = text

    def miss(self, said: str) -> None:
        """Note what was not understood."""
        self.unknown.append(said if len(said) <= SHOWN else said[: SHOWN - 1] + "…")

    def pass_over(self, said: str) -> None:
        """Note what has no effect."""
        self.ignored.append(said if len(said) <= SHOWN else said[: SHOWN - 1] + "…")

    def done(self, kind: str) -> Pasted:
        """What was gathered, without the inputs that do not apply beside the others."""
        fields = CALCULATORS[self.calculator].fields
        shown = visible(fields, {one.name: self.inputs.get(one.name, one.default) for one in fields})
        for name in [name for name in self.inputs if name not in shown]:
            self.miss(f"{name}: {self.inputs.pop(name)}")
        return Pasted(
            kind=kind,
            calculator=self.calculator,
            inputs=self.inputs,
            ignored=tuple(self.ignored),
            not_understood=tuple(self.unknown),
        )
