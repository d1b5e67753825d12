"""A set of inputs that can be asked again with some of them changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from calc.architecture import Architecture
from calc.calculators import CALCULATORS, InvalidInputs, parse
from calc.calculators.fields import Parsed
from calc.calculators.shared import CUSTOM_FIELDS, architecture_of
from calc.errors import InvalidInput
from calc.estimate import Estimate

MODEL_FIELDS = frozenset(("model", "config", *(field.name for field in CUSTOM_FIELDS)))
"""Fields that decide which model it is about."""


@dataclass(frozen=True, slots=True)
class Question:
    """One calculator and the text of its fields, with the model that they name already built.

    Args:
        calculator: ``gpu``, ``inferencia`` or ``lora``: those that know models.
        raw: text of the fields, by name; those left out take their defaults.
        architecture: a model of one's own instead of the one that ``raw`` names.

    Example:
        >>> asked = Question("gpu", {"context": "4096"})
        >>> asked.estimate().total < asked.changed(context="8192").estimate().total
        True
    """

    calculator: str
    raw: Mapping[str, str]
    architecture: Architecture | None = None

    def changed(self, values: Mapping[str, str] | None = None, /, **named: str) -> "Question":
        """The same with other texts in some fields; a name with hyphens goes in ``values``."""
        new = {**(values or {}), **named}
        keeps = self.architecture is not None and not MODEL_FIELDS & new.keys()
        return replace(self, raw={**self.raw, **new}, architecture=self.architecture if keeps else None)

    def resolved(self) -> "Question":
        """The same with its model built, so that asking again does not build it again."""
        return self if self.architecture else replace(self, architecture=_architecture(self.parsed()))

    def parsed(self) -> Parsed:
        """The fields as values.

        Raises:
            InvalidInputs: with one error for each field that cannot be used.
        """
        parsed = parse(CALCULATORS[self.calculator].fields, self.raw)
        if parsed.errors:
            raise InvalidInputs(parsed.errors)
        return parsed

    def estimate(self) -> Estimate:
        """The memory that these inputs need, on one GPU.

        Raises:
            InvalidInputs: as ``parsed``, or for values that are good alone and not together.
            TypeError: for a calculator that knows no models.
        """
        estimate_for = CALCULATORS[self.calculator].estimate_for
        if estimate_for is None:
            raise TypeError(self.calculator)
        parsed = self.parsed()
        try:
            return estimate_for(parsed, self.architecture or _architecture(parsed))
        except InvalidInput as error:
            raise InvalidInputs((error,)) from None


def _architecture(parsed: Parsed) -> Architecture:
    try:
        return architecture_of(parsed)
    except InvalidInput as error:
        raise InvalidInputs((error,)) from None
