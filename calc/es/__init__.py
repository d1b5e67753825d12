"""Everything that people read, in Spanish, and the way numbers are written. The only place with sentences in ``calc``.

Impersonal and neutral across countries; «miles de millones» for 10^9, «caché KV», «tamaño de lote», «ajuste fino».
"""

from calc.es.files import FILE_ERRORS, FILE_NOTES, KNOWN_FIGURES, KNOWN_FROM, PLACES, TENSOR_KINDS
from calc.es.forms import (
    CALCULATORS,
    CHOICE_HINTS,
    CHOICES,
    FIELD_HINTS,
    FIELD_LABELS,
    GPU_KINDS,
    GROUPS,
    SUMMARIES,
    UNITS,
    gpu_name,
)
from calc.es.messages import CONFIG_ERRORS, ERRORS, NOTES, VERDICTS, error_text, note_text
from calc.es.nomenclature import COMPONENTS, SYMBOLS, component_name, symbol_meaning
from calc.es.numbers import NARROW, SPACE, bytes_text, count_text, measure, number_text, percent_text
from calc.es.paste import TOOLS

__all__ = [
    "CALCULATORS",
    "CHOICES",
    "CHOICE_HINTS",
    "COMPONENTS",
    "CONFIG_ERRORS",
    "ERRORS",
    "FIELD_HINTS",
    "FIELD_LABELS",
    "FILE_ERRORS",
    "FILE_NOTES",
    "GPU_KINDS",
    "GROUPS",
    "KNOWN_FIGURES",
    "KNOWN_FROM",
    "NARROW",
    "NOTES",
    "PLACES",
    "SPACE",
    "SUMMARIES",
    "SYMBOLS",
    "TENSOR_KINDS",
    "TOOLS",
    "UNITS",
    "VERDICTS",
    "bytes_text",
    "component_name",
    "count_text",
    "error_text",
    "gpu_name",
    "measure",
    "note_text",
    "number_text",
    "percent_text",
    "symbol_meaning",
]
