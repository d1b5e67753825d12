"""The words of the tables for number formats, as ids of ``calc.dtypes``."""

import re
from dataclasses import replace
from fractions import Fraction

from calc.dtypes import DTYPES, DType
from tests.accuracy.rows import Question, Skip

_QUANTIZED = (
    (r"gptq.*int8|gptq.*\b8-?bit", "gptq-8bit"),
    (r"gptq", "gptq-4bit"),
    (r"awq", "awq-4bit"),
    (r"\b(bnb|bitsandbytes)\b.*nf4|nf4", "nf4"),
    (r"\b(bnb|bitsandbytes)\b.*4|4-bit \(bnb", "nf4"),
    (r"\b(bnb|bitsandbytes)\b.*8", "int8"),
)
_PLAIN = ((r"\bbf16|bfloat16", "bfloat16"), (r"\bfp16|\bf16\b|float16|^f16", "float16"), (r"fp32|float32", "float32"))
_GROUP = re.compile(r"\bg(?:roup)?[ =]?(\d+)")


def precision(question: Question) -> str:
    """The format of the weights.

    Raises:
        Skip: for one that is not known, or of which the group is not.
    """
    text = question.lower("precision_or_quant")
    if text in ("int4", "int8"):
        text = f"{question.lower('quant_details') or 'gptq'} {text}"
    for pattern, name in _QUANTIZED:
        if re.search(pattern, text):
            group = _GROUP.search(text)
            if group and group[1] not in ("128", "64"):
                raise Skip("quantization group")
            return "nf4-dq" if name == "nf4" and re.search(r"double quant|dq", text) else name
    for pattern, name in _PLAIN:
        if re.search(pattern, text):
            return name
    raise Skip("precision unknown")


_SIZES = {"small": "_s", "medium": "_m", "large": "_l"}
_LABEL = re.compile(r"(q[2-6]_k)(?:[ _-]+(small|medium|large|s|m|l))?")
MIXED = ("iq4_xs", "iq4_nl", "iq3_s", "iq3_xxs")
"""Labels of files that mix types although they are named like one, and that are not modelled."""


def gguf_type(text: str) -> str | None:
    """The file type or tensor type that a file's label names ("Q4_K - Medium"); ``None`` for another mix of types."""
    spaced = text.strip().lower().replace("gguf ", "")
    if (found := _LABEL.fullmatch(spaced.replace(" - ", "_"))) and found[1] != "q6_k":
        size = _SIZES.get(found[2], f"_{found[2]}") if found[2] else "_m" if found[1] == "q2_k" else ""
        return f"{found[1]}{size}" if size else None
    label = spaced.replace(" ", "")
    if label in ("bf16", "f16", "fp16"):
        return "bfloat16"
    if label in ("f32", "fp32"):
        return "float32"
    return label if label not in MIXED and label in DTYPES and DTYPES[label].family == "gguf" else None


def weight_only(question: Question) -> DType | None:
    """torchao's weight-only formats: values of 8 bits with a scale per row, or of 4 bits with a scale and a zero of 16
    bits each per group (tinygemm); the head is quantized too, and the token table is not counted."""
    text = question.lower("precision_or_quant")
    if re.match(r"(int8wo|int8dq|float8wo|float8dq)", text):
        return replace(DTYPES["int8"], quantizes_embeddings=True)
    found = re.match(r"int4wo[ -]?g?(\d+)?", text)
    if found:
        return replace(DTYPES["int4"], scale_bits=Fraction(32), quantizes_embeddings=True, group=int(found[1] or 128))
    return None
