"""The command line: ``python -m calc CALCULATOR [--flag value …] [--json]`` and ``python -m calc modelo FILE…``.

The flags are the declared fields of the calculator, under the same names; ``--config`` takes the path of a file. The
answer goes to standard output; what is wrong with the input is one Spanish line on standard error, with exit status 2.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from calc import es
from calc.architecture import Architecture
from calc.calculators import CALCULATORS, InvalidInputs, Result, run, to_json
from calc.calculators.cards import chosen_gpu
from calc.decisions import SOLVABLE, Question, Solution, solve
from calc.dtypes import STORED
from calc.errors import CalcError, InvalidInput
from calc.es.report import report, solution_text, usage, usage_of, usage_of_sheet
from calc.es.sheet import sheet_text
from calc.inventory import is_quantized
from calc.local_files import open_models
from calc.model_sheet import SHEET, model_sheet
from calc.sheet_json import sheet_json

SHOWN: Final = 60
"""How much of a wrong argument an error repeats."""

SOLVE: Final = "solve"
"""Flag that asks for the largest value of an input."""

SPACES: Final = "\u00a0\u202f"
"""Spaces of Spanish numbers, which Python does not call printable."""


@dataclass(slots=True)
class Arguments:
    """What the command line asks for."""

    calculator: str
    values: dict[str, str] = field(default_factory=dict)
    json: bool = False
    help: bool = False
    config: str | None = None
    solve: str | None = None
    files: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] in ("--help", "-h"):
        print(usage(), file=sys.stdout if given else sys.stderr)
        return 0 if given else 2
    try:
        asked = read_sheet_arguments(given) if given[0] == SHEET else read_arguments(given)
        print(help_of(asked.calculator) if asked.help else answer(asked))
    except InvalidInputs as problem:
        return fail(given[0], problem.errors[0])
    except CalcError as problem:
        return fail(given[0], problem)
    return 0


def fail(calculator: str, error: CalcError) -> int:
    """Say in one line what is wrong and where."""
    flag = isinstance(error, InvalidInput) and error.place and calculator != SHEET
    where = f"--{error.place}: " if flag else ""
    name = f"calc {calculator}" if calculator in (*CALCULATORS, SHEET) else "calc"
    complain(f"{name}: {where}{es.error_text(error)}")
    return 2


def complain(text: str) -> None:
    """Write one line on standard error; what a terminal would obey (an escape, half a character) is written out."""
    line = "".join(one if one.isprintable() or one in SPACES else ascii(one)[1:-1] for one in text)
    print(line, file=sys.stderr)


def read_arguments(given: Sequence[str]) -> Arguments:
    """Flags as text, by name. ``--flag value`` and ``--flag=value`` are both read; the last of several wins.

    Raises:
        InvalidInput: ``unknown_calculator``, ``unknown_flag``, ``unexpected_argument``, ``missing_value``.
    """
    name = given[0]
    if name not in CALCULATORS:
        known = (*CALCULATORS, SHEET)
        near = tuple(get_close_matches(name.lower()[:SHOWN], known, n=2, cutoff=0.6))
        raise InvalidInput("unknown_calculator", value=name[:SHOWN], closest=near, options=known)
    asked = Arguments(calculator=name)
    rest = iter(given[1:])
    for word in rest:
        if word in ("--json", "--help", "-h"):
            asked.json, asked.help = asked.json or word == "--json", asked.help or word != "--json"
            continue
        flag, equals, value = word.partition("=")
        key = SOLVE if flag == f"--{SOLVE}" and name in SOLVABLE else known_flag(name, flag)
        text = value if equals else next(rest, None)
        if text is None or (not equals and text.startswith("--")):
            raise InvalidInput("missing_value", place=key)
        if key == "config":
            asked.config = text
        elif key == SOLVE:
            asked.solve = solvable(name, text)
        else:
            asked.values[key] = text
    return asked


def solvable(calculator: str, text: str) -> str:
    """The input that is asked for.

    Raises:
        InvalidInput: ``unknown_choice``.
    """
    if text not in SOLVABLE[calculator]:
        raise InvalidInput("unknown_choice", place=SOLVE, value=text[:SHOWN], options=SOLVABLE[calculator])
    return text


def read_sheet_arguments(given: Sequence[str]) -> Arguments:
    """The files of ``modelo``, and its two switches; ``--`` ends the switches.

    Raises:
        InvalidInput: ``unknown_flag``, ``no_files``.
    """
    asked = Arguments(calculator=SHEET)
    switches = True
    for word in given[1:]:
        if switches and word == "--":
            switches = False
        elif switches and word in ("--json", "--help", "-h"):
            asked.json, asked.help = asked.json or word == "--json", asked.help or word != "--json"
        elif switches and word.startswith("--"):
            raise InvalidInput("unknown_flag", place=word[2:SHOWN])
        else:
            asked.files.append(word)
    if not asked.files and not asked.help:
        raise InvalidInput("no_files")
    return asked


def help_of(calculator: str) -> str:
    """What the command takes."""
    return usage_of_sheet() if calculator == SHEET else usage_of(calculator)


def takes_config(calculator: str) -> bool:
    """Whether the calculator reads a ``config.json`` in place of a model of the catalogue."""
    return CALCULATORS[calculator].calculate_for is not None


def known_flag(calculator: str, flag: str) -> str:
    """The field's name behind a flag, never abbreviated."""
    if not flag.startswith("--"):
        raise InvalidInput("unexpected_argument", value=flag[:SHOWN])
    names = [one.name for one in CALCULATORS[calculator].fields]
    if flag[2:] in names:
        return flag[2:]
    near = tuple(f"--{name}" for name in get_close_matches(flag[2:SHOWN], names, n=2, cutoff=0.6))
    raise InvalidInput("unknown_flag", place=flag[2:SHOWN], closest=near)


def answer(asked: Arguments) -> str:
    """The result as text or as JSON."""
    if asked.calculator == SHEET:
        return sheets(asked)
    solution = solution_of(asked) if asked.solve else None
    if solution and solution.value:
        asked.values[solution.field] = str(solution.value)
    result = calculate(asked)
    if asked.json:
        return as_json(to_json(result) | ({"solution": solution.as_json()} if solution else {}))
    return "\n\n".join([*([solution_text(solution)] if solution else []), report(result, asked.values)])


def solution_of(asked: Arguments) -> Solution:
    """The largest value of the input that is asked for with which one GPU holds the answer."""
    values, architecture = with_file(asked)
    question = Question(asked.calculator, values, architecture)
    return solve(question, str(asked.solve), chosen_gpu(question.changed({str(asked.solve): "1"}).parsed().values))


def as_json(value: dict[str, Any]) -> str:
    """JSON as it is printed."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def sheets(asked: Arguments) -> str:
    """What the files tell: one object for one model, a list of them under ``models`` for several."""
    found = [model_sheet(model) for model in open_models(asked.files)]
    if not asked.json:
        return "\n\n\n".join(sheet_text(sheet) for sheet in found)
    listed = [sheet_json(sheet) for sheet in found]
    return as_json(listed[0] if len(listed) == 1 else {"calculator": SHEET, "models": listed})


def calculate(asked: Arguments) -> Result:
    """The result for a model of the catalogue or for the one in a file.

    The weights of a file that holds them quantized are taken as they are stored unless ``--precision`` says otherwise.
    """
    values, architecture = with_file(asked)
    result = run(asked.calculator, values, architecture)
    if asked.config is None:
        return result
    rest = {name: value for name, value in result.inputs.items() if name not in ("model", "config")}
    return replace(result, inputs={"config": Path(asked.config).name, **rest})


def with_file(asked: Arguments) -> tuple[dict[str, str], Architecture | None]:
    """The texts of the fields, and the model of the file if there is one."""
    values = dict(asked.values)
    if asked.config is None:
        return values, None
    architecture = read_architecture(asked.config)
    precision = next((one for one in CALCULATORS[asked.calculator].fields if one.name == "precision"), None)
    if is_quantized(architecture) and precision is not None and STORED.name in precision.choices:
        values.setdefault("precision", STORED.name)
    return values, architecture


def read_architecture(path: str) -> Architecture:
    """The architecture in a ``config.json`` or a GGUF, or in a checkpoint that lies beside its configuration.

    Raises:
        InvalidInput: for a file that cannot be read or that tells no architecture.
        InvalidFile: for a damaged file; ``InvalidConfig`` names the key of a configuration.
        UnsupportedArchitecture: for a model type that is not known.
    """
    try:
        models = open_models([path])
    except InvalidInput as error:
        raise InvalidInput(error.code, place="config", **error.params) from None
    if len(models) != 1:
        raise InvalidInput("several_models", place="config", count=len(models))
    if models[0].refusal is not None:
        raise models[0].refusal
    if models[0].architecture is None:
        raise InvalidInput("no_architecture", place="config", value=path[:SHOWN])
    return models[0].architecture


def speak_utf8() -> None:
    """Write UTF-8 whatever the terminal declares: Spanish and its no-break spaces fit in no older encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def program() -> int:
    """The command as a process: UTF-8 out, silence when whoever reads (``head``) has gone, one line when nobody can."""
    speak_utf8()
    if sys.stdout is None or sys.stderr is None:
        return 1
    try:
        status = main()
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):
            return 0
        complain("calc: No se puede escribir el resultado.")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(program())
