"""The shape that all calculators share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from calc.architecture import Architecture
from calc.calculators.fields import Field, Parsed, Value
from calc.calculators.result import Result
from calc.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculator:
    """One calculator: what it asks for, and the function from what was read to the answer.

    ``calculate`` may raise ``InvalidInput`` for values that are good alone and not together. ``calculate_for`` is the
    same for an architecture from a file, ``estimate_for`` its estimate alone, for those who ask many times; both are
    ``None`` where the calculator knows no models.
    """

    name: str
    fields: tuple[Field, ...]
    calculate: Callable[[Parsed], Result]
    calculate_for: Callable[[Parsed, Architecture], Result] | None = None
    estimate_for: Callable[[Parsed, Architecture], Estimate] | None = None


def inputs(parsed: Parsed) -> Mapping[str, Value]:
    """The values to repeat beside the answer: those of the fields that apply and hold something."""
    return {name: value for name, value in parsed.values.items() if value is not None}
