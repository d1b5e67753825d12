"""The command line: ``python -m calc CALCULATOR [--flag value …] [--json]``.

The flags are the declared fields of the calculator, under the same names. The answer goes to standard output; what is
wrong with the input is one Spanish line on standard error, with exit status 2.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from calc import es
from calc.architecture import Architecture
from calc.calculators import CALCULATORS, InvalidInputs, Result, run, to_json
from calc.errors import CalcError, InvalidConfig, InvalidInput
from calc.es.report import report, usage, usage_of
from calc.hf_config import architecture_from_hf_config

MAX_CONFIG_BYTES: Final = 4 * 2**20
"""Largest ``config.json`` that is read; published ones have a few kilobytes."""

SHOWN: Final = 60
"""How much of a wrong argument an error repeats."""


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
        print(usage_of(asked.calculator, files=takes_config(asked.calculator)) if asked.help else answer(asked))
    except InvalidInputs as problem:
        return fail(given[0], problem.errors[0])
    except CalcError as problem:
        return fail(given[0], problem)
    return 0


def fail(calculator: str, error: CalcError) -> int:
    """Say in one line what is wrong and where."""
    where = f"--{error.place}: " if isinstance(error, InvalidInput) and error.place else ""
    name = f"calc {calculator}" if calculator in CALCULATORS else "calc"
    line = " ".join(f"{name}: {where}{es.error_text(error)}".splitlines())
    print(line, file=sys.stderr)
    return 2


def read_arguments(given: Sequence[str]) -> Arguments:
    """Flags as text, by name. ``--flag value`` and ``--flag=value`` are both read; the last of several wins.

    Raises:
        InvalidInput: ``unknown_calculator``, ``unknown_flag``, ``unexpected_argument``, ``missing_value``.
    """
    name = given[0]
    if name not in CALCULATORS:
        near = tuple(get_close_matches(name.lower()[:SHOWN], CALCULATORS, n=2, cutoff=0.6))
        raise InvalidInput("unknown_calculator", value=name[:SHOWN], closest=near, options=tuple(CALCULATORS))
    asked = Arguments(calculator=name)
    rest = iter(given[1:])
    for word in rest:
        if word in ("--json", "--help", "-h"):
            asked.json, asked.help = asked.json or word == "--json", asked.help or word != "--json"
            continue
        flag, equals, value = word.partition("=")
        key = known_flag(name, flag)
        text = value if equals else next(rest, None)
        if text is None or (not equals and text.startswith("--")):
            raise InvalidInput("missing_value", place=key)
        if key == "config":
            asked.config = text
        else:
            asked.values[key] = text
    return asked


def takes_config(calculator: str) -> bool:
    """Whether the calculator reads a ``config.json`` in place of a model of the catalogue."""
    return CALCULATORS[calculator].calculate_for is not None


def known_flag(calculator: str, flag: str) -> str:
    """The field's name behind a flag, never abbreviated."""
    if not flag.startswith("--"):
        raise InvalidInput("unexpected_argument", value=flag[:SHOWN])
    names = [one.name for one in CALCULATORS[calculator].fields]
    if takes_config(calculator):
        names.append("config")
    if flag[2:] in names:
        return flag[2:]
    near = tuple(f"--{name}" for name in get_close_matches(flag[2:SHOWN], names, n=2, cutoff=0.6))
    raise InvalidInput("unknown_flag", place=flag[2:SHOWN], closest=near)


def answer(asked: Arguments) -> str:
    """The result as text or as JSON."""
    result = calculate(asked)
    return json.dumps(to_json(result), ensure_ascii=False, indent=2) if asked.json else report(result, asked.values)


def calculate(asked: Arguments) -> Result:
    """The result for a model of the catalogue or for the one in a ``config.json``."""
    if asked.config is None:
        return run(asked.calculator, asked.values)
    result = run(asked.calculator, asked.values, read_config(asked.config))
    rest = {name: value for name, value in result.inputs.items() if name != "model"}
    return replace(result, inputs={"config": Path(asked.config).name, **rest})


def read_config(path: str) -> Architecture:
    """The architecture in a ``config.json``.

    Raises:
        InvalidInput: for a file that cannot be read, is too large or is not JSON.
        InvalidConfig: naming the key that is wrong.
        UnsupportedArchitecture: for a model type that is not known.
    """
    name = path[:SHOWN]
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except (OSError, ValueError):
        raise InvalidInput("unreadable_file", place="config", value=name) from None
    if len(content) > MAX_CONFIG_BYTES:
        raise InvalidInput("file_too_large", place="config", value=name, maximum_bytes=MAX_CONFIG_BYTES)
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidInput("not_json", place="config", value=name) from None
    if not isinstance(config, dict):
        raise InvalidConfig("not_an_object", value=type(config).__name__)
    return architecture_from_hf_config(config)


def speak_utf8() -> None:
    """Write UTF-8 whatever the terminal declares: Spanish and its no-break spaces fit in no older encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")


def program() -> int:
    """The command as a process: UTF-8 out, and silence when whoever reads (``head``) has gone."""
    speak_utf8()
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == "__main__":
    sys.exit(program())
