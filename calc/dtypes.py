"""Number formats of weights and caches: exact bits per element, values and scales apart.

A quantized format stores values of a few bits and, for each group of them, a scale (and perhaps a zero point or a
minimum). Both are counted from the tensors' shapes, so a row that is not a whole number of groups still has its scale.

Example:
    >>> DTYPES["gptq-4bit"].bits, float(DTYPES["nf4-dq"].bits)
    (Fraction(133, 32), 4.126953125)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import prod
from types import MappingProxyType

from calc.errors import InvalidInput


class Grouping(StrEnum):
    """Which elements share one scale."""

    NONE = "none"  # there are no scales
    FLAT = "flat"  # runs of ``group`` elements of the flattened tensor (bitsandbytes)
    ROW_PART = "row_part"  # runs of ``group`` elements of a row, the last one may be short (GPTQ, MX, GGUF)
    ROW = "row"  # a whole row (LLM.int8)
    TILE = "tile"  # a square of ``group`` elements (DeepSeek's FP8: 128 x 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class DType:
    """A number format.

    Args:
        name: id in forms, flags and addresses.
        value_bits: bits of one element without its share of the scales.
        scale_bits: bits stored for each group: scale, zero point, minimum.
        group: elements of a group (per row or per tile); 0 where there is none.
        kept_bits: bits of what this format leaves alone: norms and biases, and embedding and head unless
            ``quantizes_embeddings``.
        family: ``plain``, ``bitsandbytes``, ``post_training``, ``microscaling``, ``gguf``, ``gguf_file`` or ``stored``.
        source: key of ``calc.sources.SOURCES``.
    """

    name: str
    value_bits: Fraction
    source: str
    scale_bits: Fraction = Fraction(0)
    group: int = 0
    grouping: Grouping = Grouping.NONE
    quantizes_embeddings: bool = False
    kept_bits: int = 16
    family: str = "plain"

    @property
    def quantized(self) -> bool:
        """Whether some tensors keep another format."""
        return self.family not in ("plain", "stored")

    @property
    def bits(self) -> Fraction:
        """Bits per element with the scales, in a tensor of whole groups; without them where a group is a whole row.

        >>> DTYPES["fp8"].bits - 8 == Fraction(32, 128 * 128)
        True
        """
        elements = {Grouping.FLAT: self.group, Grouping.ROW_PART: self.group, Grouping.TILE: self.group**2}
        share = elements.get(self.grouping, 0)
        return self.value_bits + (self.scale_bits / share if share else 0)

    @property
    def compute_bits(self) -> int:
        """Bits of the format that this one is multiplied in: activations and gradients.

        >>> DTYPES["float32"].compute_bits, DTYPES["nf4"].compute_bits
        (32, 16)
        """
        return 32 if self.value_bits == 32 else 16

    def groups(self, shape: tuple[int, ...]) -> int:
        """How many groups, each with its scale, a tensor of this shape has.

        >>> DTYPES["fp8"].groups((576, 7168)), DTYPES["int8"].groups((14336, 4096))
        (280, 14336)
        """
        rows, columns = prod(shape[:-1]), shape[-1]
        match self.grouping:
            case Grouping.FLAT:
                return -(-rows * columns // self.group)
            case Grouping.ROW_PART:
                return rows * -(-columns // self.group)
            case Grouping.ROW:
                return rows
            case Grouping.TILE if len(shape) == 1:
                return -(-columns // self.group**2)
            case Grouping.TILE:
                return prod(shape[:-2]) * -(-shape[-2] // self.group) * -(-columns // self.group)
        return 0


def _plain(name: str, bits: int, source: str) -> DType:
    return DType(name=name, value_bits=Fraction(bits), source=source, kept_bits=bits)


def _post_training(name: str, scale_bits: int, source: str, bits: int = 4) -> DType:
    """Values of 4 bits; per 128 of a row a 16-bit scale and, where asymmetric, a zero point of as many bits."""
    return DType(
        name=name,
        value_bits=Fraction(bits),
        scale_bits=Fraction(scale_bits),
        group=128,
        grouping=Grouping.ROW_PART,
        source=source,
        family="post_training",
    )


def _gguf(name: str, group: int, block_bytes: int, value_bits: int | Fraction) -> DType:
    """A GGUF tensor type: ``block_bytes`` per block of ``group``; what is not a value is scale, minimum or grid sign.

    llama.cpp quantizes the token table and the head too and keeps one-dimensional tensors in float32.
    """
    values = Fraction(value_bits)
    return DType(
        name=name,
        value_bits=values,
        scale_bits=8 * block_bytes - values * group,
        group=group,
        grouping=Grouping.ROW_PART,
        quantizes_embeddings=True,
        kept_bits=32,
        source="gguf-blocks",
        family="gguf",
    )


_PLAIN = (_plain("float32", 32, "ieee-754"), _plain("bfloat16", 16, "bfloat16"), _plain("float16", 16, "ieee-754"))

_QUANTIZED = (
    # DeepSeek-V3 Technical Report, 3.3.2: weights are scaled per 128 x 128 block, scales in float32.
    DType(
        name="fp8",
        value_bits=Fraction(8),
        scale_bits=Fraction(32),
        group=128,
        grouping=Grouping.TILE,
        source="deepseek-v3-2024",
        family="post_training",
    ),
    # LLM.int8(), section 3: vector-wise quantization, one 16-bit constant per row of the weight.
    DType(
        name="int8",
        value_bits=Fraction(8),
        scale_bits=Fraction(16),
        grouping=Grouping.ROW,
        source="llm-int8-2022",
        family="bitsandbytes",
    ),
    _post_training("int4", 20, "gptq-2022"),
    # QLoRA, section 3: NF4 in blocks of 64, one float32 constant each.
    DType(
        name="nf4",
        value_bits=Fraction(4),
        scale_bits=Fraction(32),
        group=64,
        grouping=Grouping.FLAT,
        source="qlora-2023",
        family="bitsandbytes",
    ),
    # QLoRA, section 3, double quantization: 8-bit constants, and one float32 per 256 of them: 0.127 bits per parameter.
    DType(
        name="nf4-dq",
        value_bits=Fraction(4),
        scale_bits=8 + Fraction(32, 256),
        group=64,
        grouping=Grouping.FLAT,
        source="qlora-2023",
        family="bitsandbytes",
    ),
    _post_training("gptq-4bit", 20, "gptq-2022"),
    _post_training("gptq-8bit", 24, "gptq-2022", bits=8),
    _post_training("awq-4bit", 20, "awq-2023"),
    # OCP MX 1.0, MXFP4: E2M1 values and one 8-bit E8M0 scale per 32.
    DType(
        name="mxfp4",
        value_bits=Fraction(4),
        scale_bits=Fraction(8),
        group=32,
        grouping=Grouping.ROW_PART,
        source="ocp-mx-2023",
        family="microscaling",
    ),
)

# GGML_QUANT_SIZES (name: elements and bytes of a block) of the gguf package 0.19.0.
_GGUF = (
    _gguf("q8_0", 32, 34, 8),
    _gguf("q6_k", 256, 210, 6),
    _gguf("q5_k", 256, 176, 5),
    _gguf("q5_1", 32, 24, 5),
    _gguf("q5_0", 32, 22, 5),
    _gguf("q4_k", 256, 144, 4),
    _gguf("q4_1", 32, 20, 4),
    _gguf("q4_0", 32, 18, 4),
    _gguf("iq4_nl", 32, 18, 4),
    _gguf("iq4_xs", 256, 136, 4),
    _gguf("nvfp4", 64, 36, 4),
    _gguf("q3_k", 256, 110, 3),
    _gguf("iq3_s", 256, 110, 3),
    _gguf("iq3_xxs", 256, 98, 3),
    _gguf("q2_k", 256, 84, 2),
    _gguf("iq2_s", 256, 82, 2),
    _gguf("iq2_xs", 256, 74, 2),
    _gguf("iq2_xxs", 256, 66, 2),
    _gguf("tq2_0", 256, 66, 2),
    _gguf("tq1_0", 256, 54, Fraction(8, 5)),  # five ternary digits in a byte
    _gguf("iq1_m", 256, 56, 1),
    _gguf("iq1_s", 256, 50, 1),
    _gguf("q1_0", 128, 18, 1),
)

MIXES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("q5_k_m", "q5_k_s"), "q5_k"),
        **dict.fromkeys(("q4_k_m", "q4_k_s"), "q4_k"),
        **dict.fromkeys(("q3_k_l", "q3_k_m", "q3_k_s"), "q3_k"),
        **dict.fromkeys(("q2_k_m", "q2_k_s"), "q2_k"),  # llama.cpp prints its Q2_K as "Q2_K - Medium"
    }
)
"""File types of llama.cpp that mix tensor types, by id, with the type of most tensors (``calc.gguf_mixes``)."""

_BY_NAME = {dtype.name: dtype for dtype in (*_PLAIN, *_QUANTIZED, *_GGUF)}
_FILES = tuple(
    replace(_BY_NAME[base], name=name, family="gguf_file", source="gguf-mixes") for name, base in MIXES.items()
)

DTYPES: Mapping[str, DType] = MappingProxyType({**_BY_NAME, **{one.name: one for one in _FILES}})
"""Every precision of weights, by id, in the order of the form; a file type has the bits of most of its tensors."""

STORED = DType(name="stored", value_bits=Fraction(16), source="file-header", family="stored")
"""The weights as a file holds them, whatever the mixture: it tells their bytes; they are multiplied in 16 bits."""

CACHE_BITS: Mapping[str, Fraction] = MappingProxyType(
    {
        **{name: DTYPES[name].bits for name in ("float32", "bfloat16", "float16")},
        "fp8": Fraction(8),  # one scale per tensor
        "int8": Fraction(8),
        **{name: DTYPES[name].bits for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")},
    }
)
"""Bits per element of a KV cache, by id: those that Transformers, vLLM or llama.cpp accept."""


def whole(value: Fraction) -> int | Fraction:
    """The same number as an int where it is one, so that formulas show ``16`` and not ``16/1``.

    >>> whole(Fraction(32, 2)), whole(Fraction(65, 8))
    (16, Fraction(65, 8))
    """
    return value.numerator if value.denominator == 1 else value


def dtype(name: str, *, place: str = "precision") -> DType:
    """The format of this id.

    >>> dtype("bfloat16").bits
    Fraction(16, 1)

    Raises:
        InvalidInput: ``unknown_choice``, with the known ids.
    """
    if name == STORED.name:
        return STORED
    if name not in DTYPES:
        raise InvalidInput("unknown_choice", place=place, value=name, known=tuple(DTYPES))
    return DTYPES[name]
