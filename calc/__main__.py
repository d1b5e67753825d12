"""The command line: ``python -m calc CALCULATOR [--flag value …] [--json]``.

The flags are the declared fields of the calculator, under the same names. The answer goes to standard output; what is
wrong with the input is one Spanish line on standard error, with exit status 2.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from calc import es
from calc.calculators import CALCULATORS, InvalidInputs, run, to_json
from calc.errors import CalcError, InvalidInput
from calc.es.report import report, usage, usage_of

MAX_CONFIG_BYTES: Final = 4 * 2**20
"""Largest ``config.json`` that is read; published ones have a few kilobytes."""

TAKES_CONFIG: Final = ("inferencia",)
"""Calculators that read a ``config.json`` in place of a model of the catalogue."""


@dataclass(slots=True)
class Arguments:
    """What the command line asks for."""

    calculator: str
    values: dict[str, str] = field(default_factory=dict)
    json: bool = False
    help: bool = False
    config: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] in ("--help", "-h"):
        print(usage(), file=sys.stdout if given else sys.stderr)
        return 0 if given else 2
    try:
        asked = read_arguments(given)
        if asked.help:
            print(usage_of(asked.calculator, files=asked.calculator in TAKES_CONFIG))
            return 0
        print(answer(asked))
    except InvalidInputs as problem:
        return fail(given[0], problem.errors[0])
    except CalcError as problem:
        return fail(given[0], problem)
    return 0


def fail(calculator: str, error: CalcError) -> int:
    """Say in one line what is wrong and where."""
    where = f"--{error.place}: " if isinstance(error, InvalidInput) and error.place else ""
    name = f"calc {calculator}" if calculator in CALCULATORS else "calc"
    print(f"{name}: {where}{es.error_text(error)}", file=sys.stderr)
    return 2


def read_arguments(given: Sequence[str]) -> Arguments:
    """Flags as text, by name. ``--flag value`` and ``--flag=value`` are both read; the last of several wins.

    Raises:
        InvalidInput: ``unknown_calculator``, ``unknown_flag``, ``unexpected_argument``, ``missing_value``.
    """
    name = given[0]
    if name not in CALCULATORS:
        near = tuple(get_close_matches(name.lower(), CALCULATORS, n=2, cutoff=0.5))
        raise InvalidInput("unknown_calculator", value=name[:40], closest=near, options=tuple(CALCULATORS))
    asked = Arguments(calculator=name)
    rest = iter(given[1:])
    for word in rest:
        flag, equals, value = word.partition("=")
        if word in ("--json", "--help", "-h"):
            asked.json, asked.help = asked.json or word == "--json", asked.help or word != "--json"
            continue
        key = known_flag(asked.calculator, flag)
        if not equals:
            value = next(rest, None) or missing(key)
        if key == "config":
            asked.config = value
        else:
            asked.values[key] = value
    return asked


def missing(key: str) -> str:
    """Refuse a flag without a value."""
    raise InvalidInput("missing_value", place=key)


def known_flag(calculator: str, flag: str) -> str:
    """The field's name behind a flag, never abbreviated."""
    if not flag.startswith("--"):
        raise InvalidInput("unexpected_argument", value=flag[:40])
    names = [one.name for one in CALCULATORS[calculator].fields]
    if calculator in TAKES_CONFIG:
        names.append("config")
    if flag[2:] in names:
        return flag[2:]
    near = tuple(f"--{name}" for name in get_close_matches(flag[2:42], names, n=2, cutoff=0.6))
    raise InvalidInput("unknown_flag", place=flag[2:42], closest=near)


def answer(asked: Arguments) -> str:
    """The result as text or as JSON."""
    result = run(asked.calculator, asked.values)
    return json.dumps(to_json(result), ensure_ascii=False, indent=2) if asked.json else report(result)


if __name__ == "__main__":
    sys.exit(main())
