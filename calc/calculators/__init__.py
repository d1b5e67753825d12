"""The calculators: five declarations of inputs, and five functions from them to an answer.

``run`` is what the command line, the worker in the browser and the build all call, with text as people type it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from calc.architecture import Architecture
from calc.calculators import link
from calc.calculators.acumulacion import ACUMULACION
from calc.calculators.calculator import Calculator
from calc.calculators.entrenar import ENTRENAR
from calc.calculators.fields import Field, Kind, Parsed, Value, parse, visible
from calc.calculators.gpu import VRAM
from calc.calculators.inferencia import INFERENCIA
from calc.calculators.lora import LORA
from calc.calculators.result import Figure, Result, to_json
from calc.errors import InvalidInput

__all__ = [
    "CALCULATORS",
    "Calculator",
    "Field",
    "Figure",
    "InvalidInputs",
    "Kind",
    "Parsed",
    "Result",
    "Value",
    "fragment",
    "from_fragment",
    "parse",
    "run",
    "to_json",
    "visible",
]

CALCULATORS: Final[Mapping[str, Calculator]] = MappingProxyType(
    {one.name: one for one in (VRAM, ENTRENAR, ACUMULACION, INFERENCIA, LORA)}
)
"""Every calculator by name, in the order of the site."""


class InvalidInputs(Exception):
    """Some fields hold what they must not: ``errors`` has one ``InvalidInput`` for each, in the order of the form."""

    def __init__(self, errors: tuple[InvalidInput, ...]) -> None:
        self.errors = errors
        super().__init__("; ".join(str(error) for error in errors))


def run(name: str, raw: Mapping[str, str], architecture: Architecture | None = None) -> Result:
    """Calculate from text. Inputs left out take their defaults; keys that no field has are ignored.

    Args:
        name: of the calculator.
        raw: text of the fields, by name.
        architecture: a model of one's own, for the calculators that know models; ``model`` is then not looked at.

    Raises:
        InvalidInputs: with one error for each field that cannot be used.
        KeyError: for a calculator that does not exist.
        TypeError: for an architecture given to a calculator that knows no models.

    Example:
        >>> result = run("acumulacion", {"activation-per-sample": "0,5", "steps": "8"})
        >>> result.figures["effective_batch"], result.estimate.total
        (32, 2000000000)
        >>> run("acumulacion", {"steps": "ocho"})
        Traceback (most recent call last):
        calc.calculators.InvalidInputs: not_a_number at steps: {}
    """
    calculator = CALCULATORS[name]
    parsed = parse(calculator.fields, raw)
    if parsed.errors:
        raise InvalidInputs(parsed.errors)
    try:
        if architecture is None:
            return calculator.calculate(parsed)
        if calculator.calculate_for is None:
            raise TypeError(name)
        return calculator.calculate_for(parsed, architecture)
    except InvalidInput as error:
        raise InvalidInputs((error,)) from None


def fragment(name: str, raw: Mapping[str, str]) -> str:
    """The URL fragment of these inputs: those that apply and differ from the defaults, keys sorted, without ``#``.

    >>> fragment("acumulacion", {"steps": "16", "gpus": "1", "activation-per-sample": "0,25"})
    'activation-per-sample=0%2C25&steps=16'
    """
    return link.write(CALCULATORS[name].fields, raw)


def from_fragment(name: str, text: str) -> dict[str, str]:
    """The inputs that a URL fragment holds, as typed; what no calculator of ours wrote is ignored.

    >>> from_fragment("acumulacion", "#steps=16&utm_source=x")
    {'steps': '16'}
    """
    return link.read(CALCULATORS[name].fields, text)
