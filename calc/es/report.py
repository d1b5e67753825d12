"""A result as plain text for a terminal: the answer, its parts, the GPUs and the remarks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from calc.calculators import CALCULATORS as DECLARED
from calc.calculators import Field, Kind, Result
from calc.decisions import SOLVABLE, Solution
from calc.es.forms import CALCULATORS, FIELD_HINTS, FIELD_LABELS, SUMMARIES, UNITS, gpu_name
from calc.es.labels import MOMENTS, RECIPES, layout_text
from calc.es.messages import VERDICTS, note_text
from calc.es.nomenclature import component_name
from calc.es.numbers import bytes_text, number_text, percent_text
from calc.estimate import Component
from calc.fit import Fit, Verdict
from calc.serving import Pool

MAX_GPUS: Final = 12
"""GPUs in the table of the terminal: the chosen one, those that fit with least to spare, those that come closest."""

_FIGURES: Final[Mapping[str, tuple[str, Callable[[int], str]]]] = {
    "effective_batch": ("Lote efectivo", number_text),
    "parameters": ("Parámetros", number_text),
    "trainable_parameters": ("Parámetros entrenables", number_text),
    "file_bytes": ("Archivo del adaptador", bytes_text),
}


def report(result: Result, given: Iterable[str] = ()) -> str:
    """The whole result in words, with bytes in the unit of the inputs (GB in the simple calculators).

    ``given`` are the names of the options that were typed: those without effect on these inputs are named at the end.
    """
    unit = str(result.inputs.get("unit", "GB" if "unit" not in _names(result.calculator) else "GiB"))
    parts = [
        CALCULATORS[result.calculator],
        "\n".join(figure_lines(result, unit)),
        _components(result, unit),
        _alternatives(result, unit),
        _moments(result, unit),
        _pool(result, unit),
        _recipes(result, unit),
        _ways(result, unit),
        _gpus(result, unit),
        "\n".join(f"· {text}" for text in (*(note_text(note, unit) for note in result.notes), *_unused(result, given))),
    ]
    return "\n\n".join(part for part in parts if part)


def solution_text(solution: Solution) -> str:
    """The largest value that fits, in one sentence.

    >>> found = Solution(field="context", value=8, total=3 * 2**30, room=4 * 2**30, bound="memory", gpu="rtx-4090")
    >>> solution_text(found).replace("\u00a0", " ")
    'Longitud de secuencia: caben hasta 8 en una RTX 4090, y queda 1 GiB.'
    """
    name = gpu_name(solution.gpu)
    label = FIELD_LABELS[solution.field]
    if not solution.value:
        return f"{label}: no cabe ni el valor mínimo en una {name}; faltan {bytes_text(-solution.free)}."
    limit = "" if solution.bound == "memory" else " (el máximo que se admite)"
    return (
        f"{label}: caben hasta {number_text(solution.value)} en una {name}{limit}, y queda {bytes_text(solution.free)}."
    )


def _unused(result: Result, given: Iterable[str]) -> Iterable[str]:
    flags = [f"--{name}" for name in given if name not in result.inputs]
    return [f"Sin efecto con los demás datos: {', '.join(flags)}."] if flags else []


def _names(calculator: str) -> tuple[str, ...]:
    return tuple(field.name for field in DECLARED[calculator].fields)


def figure_lines(result: Result, unit: str) -> Iterable[str]:
    """The total with its range, and the other numbers of the answer, a line each."""
    estimate = result.estimate
    yield f"Total: {bytes_text(estimate.total, unit)}" + (
        f" (entre {bytes_text(estimate.low, unit)} y {bytes_text(estimate.high, unit)})"
        if estimate.low < estimate.high
        else ""
    )
    for name, (label, words) in _FIGURES.items():
        value = result.figures.get(name)
        if isinstance(value, int):
            yield f"{label}: {words(value)}"


def _components(result: Result, unit: str) -> str:
    other = "GB" if unit == "GiB" else "GiB"
    rows = [
        (component_name(part.name), bytes_text(part.bytes, unit), bytes_text(part.bytes, other), _range(part, unit))
        for part in result.estimate.components
    ]
    return table(("Parte", unit, other, "Intervalo"), rows)


def _range(part: Component, unit: str) -> str:
    return "exacto" if part.exact else f"{bytes_text(part.low, unit)} – {bytes_text(part.high, unit)}"


def _alternatives(result: Result, unit: str) -> str:
    rows = [(ALTERNATIVES[name], bytes_text(one.total, unit)) for name, one in result.alternatives.items()]
    return table(("Comparación", "Total"), rows) if rows else ""


ALTERNATIVES: Final = {"full": "Ajuste fino completo", "lora": "LoRA", "qlora": "QLoRA"}
"""Names of the estimates that stand beside the answer."""


def _moments(result: Result, unit: str) -> str:
    """Every moment with its total, where there are several."""
    if len(result.timeline) < 2:
        return ""
    most = max(moment.total for moment in result.timeline)
    rows = [
        (MOMENTS[one.name], bytes_text(one.total, unit), "pico" if one.total == most else "") for one in result.timeline
    ]
    return table(("Momento", "Total", ""), rows)


def _recipes(result: Result, unit: str) -> str:
    rows = [
        (
            RECIPES[str(row["recipe"])] + (" ←" if row["chosen"] else ""),
            number_text(Fraction(row["bytes_per_parameter"]), 2),
            bytes_text(int(row["total_bytes"]), unit),
        )
        for row in result.tables.get("recipes", ())
    ]
    return table(("Receta", "Bytes por parámetro", "Estados"), rows) if rows else ""


def _ways(result: Result, unit: str) -> str:
    rows = [
        (
            number_text(int(row["micro_batch"])),
            number_text(int(row["steps"])),
            number_text(int(row["gpus"])),
            bytes_text(int(row["total_bytes"]), unit),
            VERDICTS[str(row["verdict"])] + (" ←" if row["chosen"] else ""),
        )
        for row in result.tables.get("combinations", ())
    ]
    return table(("Microlote", "Pasos", "GPU", "Memoria de cada GPU", "Veredicto"), rows) if rows else ""


def _pool(result: Result, unit: str) -> str:
    """What a vLLM server takes of the chosen GPU, and the two numbers that it prints when it starts."""
    pool = result.serving
    if not isinstance(pool, Pool):
        return ""
    gpu = gpu_name(str(result.inputs["gpu"]))
    rows = [(f"vLLM en una {gpu}", bytes_text(max(0, int(pool.budget.value)), unit))]
    rows += [(f"− {component_name(part.name)}", bytes_text(part.bytes, unit)) for part in pool.taken]
    rows.append(("= Caché KV", bytes_text(pool.kv_bytes, unit)))
    concurrency = f"{number_text(pool.concurrency, 2)}×"
    rows += [("Tokens de caché KV", number_text(pool.tokens)), ("Concurrencia máxima", concurrency)]
    return table(("Servidor", unit), rows)


def _gpus(result: Result, unit: str) -> str:
    chosen = result.inputs.get("gpu")
    ordered = sorted_fits(result.fits)
    listed = [one for one in ordered if one.gpu.id == chosen] + [one for one in ordered if one.gpu.id != chosen]
    rows = [
        (
            gpu_name(one.gpu.id),
            bytes_text(one.gpu.capacity, unit),
            percent_text(one.used_fraction),
            VERDICTS[one.verdict.value],
            _count(one),
        )
        for one in listed[:MAX_GPUS]
    ]
    return table(("GPU", "Memoria útil", "Uso", "Veredicto", "Hacen falta"), rows) if rows else ""


def _count(one: Fit) -> str:
    words = f" ({layout_text(one.rung.layout)})" if one.rung else ""
    return number_text(one.count) + words if one.count else "–"


def sorted_fits(fits: Iterable[Fit]) -> list[Fit]:
    """Those that fit first, the smallest of them at the top; then those that come closest."""
    rank = {Verdict.FITS: 0, Verdict.TIGHT: 0, Verdict.NO_FIT: 1}
    return sorted(fits, key=lambda one: (rank[one.verdict], _distance(one), one.gpu.name))


def _distance(one: Fit) -> int:
    """How far the GPU's capacity is from what is used [B]."""
    return abs(one.free)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first one to the left and the others to the right.

    >>> print(table(("a", "b"), [("uno", "1"), ("dos", "10")]))
    a     b
    uno   1
    dos  10
    """
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    )


def usage() -> str:
    """Help of the whole command."""
    lines = [f"  {name:<12} {CALCULATORS[name]}: {SUMMARIES[name]}" for name in DECLARED]
    lines.append("  modelo       Ficha de un modelo: parámetros, bytes y caché KV de sus archivos")
    return "\n".join(
        (
            "Uso: python -m calc CALCULADORA [--opción valor …] [--json]",
            "",
            "Calculadoras:",
            *lines,
            "",
            "Las opciones de cada una: python -m calc CALCULADORA --help",
            "Los números admiten coma o punto decimal; --json escribe el resultado para programas.",
        )
    )


def usage_of_sheet() -> str:
    """Help of ``modelo``."""
    return "\n".join(
        (
            "Uso: python -m calc modelo ARCHIVO … [--json]",
            "",
            "Ficha de un modelo: parámetros, bytes por tipo y caché KV, contados en sus archivos.",
            "",
            "  ARCHIVO",
            "      Un config.json, un .safetensors, un .safetensors.index.json, un .gguf, un adapter_config.json o una",
            "      carpeta con ellos. Solo se leen las cabeceras; las demás partes se buscan al lado.",
            "  --json",
            "      Escribe el resultado en JSON.",
            "  --help",
            "      Muestra esta ayuda.",
        )
    )


def usage_of(calculator: str) -> str:
    """Help of one calculator: each option with its default and what it does to memory."""
    lines = [f"Uso: python -m calc {calculator} [--opción valor …] [--json]", "", CALCULATORS[calculator], ""]
    for field in DECLARED[calculator].fields:
        lines += _option(field)
    if calculator in SOLVABLE:
        lines += ["  --solve CAMPO", f"      El mayor valor que cabe en la GPU: {', '.join(SOLVABLE[calculator])}."]
    return "\n".join(
        (*lines, "  --json", "      Escribe el resultado en JSON.", "  --help", "      Muestra esta ayuda.")
    )


def _option(field: Field) -> Iterable[str]:
    unit = f" [{UNITS[field.unit]}]" if field.unit else ""
    default = f" (por omisión: {field.default})" if field.default else " (opcional)"
    yield f"  --{field.name} VALOR"
    if field.kind is Kind.DESCRIPTION:
        yield "      Un archivo propio (config.json o .gguf) en lugar de un modelo del catálogo."
        return
    yield f"      {FIELD_LABELS[field.name]}{unit}{default}. {FIELD_HINTS[field.name]}"
    if field.kind in (Kind.CHOICE, Kind.FLAG):
        yield f"      Valores: {', '.join(field.options())}"
    if field.shown_when:
        conditions = (f"--{name} {' o '.join(values)}" for name, values in field.shown_when.items())
        yield f"      Solo con {' y '.join(conditions)}."
