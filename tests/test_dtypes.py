"""Number formats: exact bits, and scales counted from shapes."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.architecture import TensorKind
from calc.catalog import architecture
from calc.dtypes import CACHE_BITS, DTYPES, MIXES, dtype
from calc.errors import InvalidInput
from calc.inventory import loaded_parameters
from calc.sources import SOURCES
from calc.weights import count_weights, weight_components

# Bits per weight of published formats: QLoRA (section 3), GPTQ and AWQ with groups of 128, DeepSeek-V3 (3.3.2), MX 1.0.
PUBLISHED = {
    "float32": 32.0,
    "bfloat16": 16.0,
    "float16": 16.0,
    "nf4": 4.5,
    "nf4-dq": 4.127,
    "gptq-4bit": 4.156,
    "gptq-8bit": 8.188,
    "awq-4bit": 4.156,
    "int4": 4.156,
    "mxfp4": 4.25,
    "fp8": 8.002,
}

# Elements and bytes of a block: GGML_QUANT_SIZES of the gguf package 0.19.0.
GGUF = {
    "q8_0": (32, 34),
    "q6_k": (256, 210),
    "q5_k": (256, 176),
    "q5_1": (32, 24),
    "q5_0": (32, 22),
    "q4_k": (256, 144),
    "q4_1": (32, 20),
    "q4_0": (32, 18),
    "iq4_nl": (32, 18),
    "iq4_xs": (256, 136),
    "nvfp4": (64, 36),
    "q3_k": (256, 110),
    "iq3_s": (256, 110),
    "iq3_xxs": (256, 98),
    "q2_k": (256, 84),
    "iq2_s": (256, 82),
    "iq2_xs": (256, 74),
    "iq2_xxs": (256, 66),
    "tq2_0": (256, 66),
    "tq1_0": (256, 54),
    "iq1_m": (256, 56),
    "iq1_s": (256, 50),
    "q1_0": (128, 18),
}

# Model buffer of the GPU in MiB / 1024, all 33 layers of Pythia 2.8B offloaded, the token table left on the host
# (ggml-org/ci logs, llama.cpp on a V100); vLLM's "model weights take" for kaitchup/Phi-4-AutoRound-GPTQ-4bit.
PYTHIA_GIB = {"q8_0": 2.6217, "q6_k": 2.0250, "q5_1": 1.8602, "q5_0": 1.7137, "q4_1": 1.5672, "q4_0": 1.4207}
PYTHIA_GIB |= {"q2_k_m": 0.9706, "q3_k_m": 1.3231, "q4_k_m": 1.5947, "q5_k_m": 1.8434}  # fused query, key and value
PHI_4_GPTQ_GIB = 8.5107


@pytest.mark.parametrize(("name", "bits"), PUBLISHED.items())
def test_bits_are_the_published_ones(name: str, bits: float) -> None:
    """To three decimals, scales included."""
    assert round(float(DTYPES[name].bits), 3) == bits


@pytest.mark.parametrize(("name", "block"), GGUF.items())
def test_gguf_blocks_are_exact(name: str, block: tuple[int, int]) -> None:
    """Bits per weight are the block's bytes over its elements."""
    elements, size = block
    assert DTYPES[name].bits == Fraction(8 * size, elements)
    assert DTYPES[name].group == elements


def test_no_format_is_left_unchecked() -> None:
    """Each format of the table is in one of the two published lists, but int8, whose scale is per row, and mixes."""
    assert set(DTYPES) == {*PUBLISHED, *GGUF, *MIXES, "int8"}


def test_every_format_names_a_known_source() -> None:
    """The page can print where each comes from."""
    assert {one.source for one in DTYPES.values()} <= set(SOURCES)


def test_int8_has_one_scale_per_row() -> None:
    """LLM.int8() of a matrix of 14336 rows: 14336 scales of 16 bits."""
    assert DTYPES["int8"].groups((14336, 4096)) == 14336
    assert DTYPES["int8"].scale_bits == 16


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from(sorted(DTYPES)))
def test_scales_cover_every_element(rows: int, columns: int, name: str) -> None:
    """There is a scale for a started group, and never more than one per element."""
    one = DTYPES[name]
    groups = one.groups((rows, columns))
    if one.group:
        elements = one.group**2 if name == "fp8" else one.group
        assert groups * elements >= rows * columns
    assert 0 <= groups <= rows * columns


@pytest.mark.parametrize(("name", "measured"), PYTHIA_GIB.items())
def test_gguf_weights_equal_llama_cpp_buffers(name: str, measured: float) -> None:
    """Pythia 2.8B without its token table: within 0.01 % of what llama.cpp put on the GPU (ratios 0.99998-1.00002)."""
    model = architecture("pythia-2.8b")
    table = sum(one.parameters for one in model.tensors if one.kind is TensorKind.EMBEDDING)
    size = sum(part.bytes for part in weight_components(model, DTYPES[name])) - table * DTYPES[name].bits / 8
    assert float(size) / 2**30 / measured == pytest.approx(1, abs=1e-4)


def test_gptq_weights_equal_a_vllm_log() -> None:
    """Phi-4 in 4 bits with groups of 128, embedding and head in 16: ratio 0.99997."""
    size = sum(part.bytes for part in weight_components(architecture("phi-4"), DTYPES["gptq-4bit"]))
    assert size / 2**30 / PHI_4_GPTQ_GIB == pytest.approx(1, abs=1e-4)


def test_gpt_oss_in_mxfp4_is_its_checkpoint() -> None:
    """gpt-oss-20b quantizes experts only; its safetensors hold 13.76 GB (openai/gpt-oss-20b, model card files)."""
    size = sum(part.bytes for part in weight_components(architecture("gpt-oss-20b"), DTYPES["mxfp4"]))
    assert round(size / 10**9, 2) == 13.76


@pytest.mark.parametrize("model", ["llama-3-8b", "gpt2", "mixtral-8x7b", "gemma-2-9b", "mamba-2.8b", "deepseek-v3"])
@pytest.mark.parametrize("name", ["bfloat16", "int8", "nf4", "fp8", "mxfp4", "q4_k", "q8_0"])
def test_every_parameter_is_counted_once(model: str, name: str) -> None:
    """Quantized, head and kept parameters add up to the model's."""
    found = architecture(model)
    count = count_weights(found, DTYPES[name])
    assert count.quantized + count.head + count.kept + sum(count.fallen.values()) == loaded_parameters(found)


def test_embeddings_head_and_norms_stay_in_16_bits() -> None:
    """Llama 3 8B in NF4: 1,050,939,392 parameters (two tables and 65 norms) are not quantized."""
    count = count_weights(architecture("llama-3-8b"), DTYPES["nf4"])
    assert count.kept == 2 * 128256 * 4096 + 65 * 4096


def test_an_unknown_precision_is_refused_with_the_known_ones() -> None:
    """The error names the field."""
    with pytest.raises(InvalidInput) as refused:
        dtype("int3")
    assert (refused.value.code, refused.value.place) == ("unknown_choice", "precision")
    assert refused.value.params["known"] == tuple(DTYPES)


def test_cache_formats_are_weight_formats_or_eight_bits() -> None:
    """A cache in q8_0 takes 8.5 bits per element, as weights do; fp8 and int8 take 8."""
    assert CACHE_BITS["q8_0"] == Fraction(17, 2)
    assert CACHE_BITS["fp8"] == CACHE_BITS["int8"] == 8
