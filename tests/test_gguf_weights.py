"""The weights of a GGUF type are what llama.cpp would write for the shapes of the model."""

import pytest

from calc import catalog
from calc.dtypes import DTYPES, MIXES
from calc.gguf_mixes import more_bits
from calc.weights import FALLBACK, count_weights, fallback, weight_components

MB = 10**6


def layer_megabytes(model: str, precision: str) -> float:
    """The matrices of the layers, without head, norms and biases."""
    parts = weight_components(catalog.architecture(model), DTYPES[precision])
    return sum(part.bytes for part in parts if part.name not in ("weights/head", "weights/unquantized")) / MB


@pytest.mark.parametrize(
    ("model", "precision", "expected"),
    # Recomputed from the shapes by an independent script with the rule of llama.cpp's llama_tensor_get_type.
    [
        ("qwen2.5-0.5b", "q2_k", 176.8),
        ("qwen2.5-0.5b", "q4_k", 232.9),
        ("smollm2-360m", "q2_k", 158.5),
    ],
)
def test_rows_that_are_not_whole_blocks_fall_back_to_another_type(model: str, precision: str, expected: float) -> None:
    """A model whose rows are not multiples of 256 takes the bytes of the types that llama.cpp falls back to."""
    assert layer_megabytes(model, precision) == pytest.approx(expected, rel=0.001)


def test_a_model_of_whole_blocks_keeps_the_type_asked_for() -> None:
    """Llama 3 8B has no row that is not a multiple of 256."""
    count = count_weights(catalog.architecture("llama-3-8b"), DTYPES["q4_k"])
    assert not count.fallen


@pytest.mark.parametrize("name", [name for name, one in DTYPES.items() if one.group == 256 and one.family == "gguf"])
def test_every_type_in_blocks_of_256_has_a_type_to_fall_back_to(name: str) -> None:
    """None of them is left to be stored in 16 bits where rows are whole blocks of 32."""
    other = fallback(DTYPES[name], (64, 288))
    assert other.name == FALLBACK[name]
    assert other.group == 32


def test_rows_that_no_block_divides_stay_in_16_bits() -> None:
    """A row of 100 is not a whole number of blocks of 32 either."""
    assert fallback(DTYPES["q6_k"], (64, 100)).name == "float16"
    assert fallback(DTYPES["q4_0"], (64, 100)).name == "float16"


# llama.cpp, tools/quantize/quantize.cpp at 42ea59bcf104, QUANT_OPTIONS: sizes of Llama 3 8B [GiB], of the whole file.
LLAMA_3_8B_GIB = {
    "q3_k_s": 3.41,
    "q3_k_m": 3.74,
    "q3_k_l": 4.03,
    "q4_0": 4.34,
    "q4_k_s": 4.37,
    "q4_k_m": 4.58,
    "q5_0": 5.21,
    "q5_k_s": 5.21,
    "q5_k_m": 5.33,
    "q6_k": 6.14,
    "q2_k_m": 2.96,
}
TOKENIZER_BYTES = 7_836_224
"""Header and vocabulary of Llama 3: 4,920,734,272 bytes of Q4_K_M (a file that many tools list) less its tensors."""


@pytest.mark.parametrize(("file_type", "published"), LLAMA_3_8B_GIB.items())
def test_file_types_have_the_sizes_that_llama_cpp_prints(file_type: str, published: float) -> None:
    """Within the rounding of two decimals, header and vocabulary included."""
    size = sum(part.bytes for part in weight_components(catalog.architecture("llama-3-8b"), DTYPES[file_type]))
    assert (size + TOKENIZER_BYTES) / 2**30 == pytest.approx(published, abs=0.0105)


def test_a_q4_k_m_file_is_exact_to_the_byte() -> None:
    """Tensors of Llama 3 8B in Q4_K_M: half of the value and down matrices in Q6_K, and the head."""
    parts = {part.name: part.bytes for part in weight_components(catalog.architecture("llama-3-8b"), DTYPES["q4_k_m"])}
    raised = 16 * (1024 * 4096 + 4096 * 14336) + 128256 * 4096
    assert parts["weights/q6_k"] == raised * 210 // 256
    assert parts["weights/unquantized"] == 4 * 65 * 4096
    assert sum(parts.values()) == 4_912_898_048 == 4_920_734_272 - TOKENIZER_BYTES


def test_a_model_of_eight_experts_keeps_keys_and_values_in_8_bits() -> None:
    """Mixtral's attention in Q4_K_M: keys and values Q8_0, outputs Q5_K; its router stays in float32."""
    parts = {
        part.name: part.bytes for part in weight_components(catalog.architecture("mixtral-8x7b"), DTYPES["q4_k_m"])
    }
    assert parts["weights/q8_0"] == 2 * 32 * 1024 * 4096 * 34 // 32
    assert parts["weights/q5_k"] == 32 * 4096 * 4096 * 176 // 256
    assert parts["weights/unquantized"] == 4 * (65 * 4096 + 32 * 8 * 4096)


def test_half_of_32_layers_get_more_bits() -> None:
    """The first and last eighth, and every third of the rest."""
    assert sum(more_bits(index, 32) for index in range(32)) == 16


@pytest.mark.parametrize("file_type", MIXES)
def test_a_file_type_is_at_least_as_large_as_its_main_type(file_type: str) -> None:
    """It raises some tensors and lowers none, in every model of the catalogue."""
    for model in ("llama-3-8b", "gpt2", "qwen2.5-0.5b", "gemma-3-12b", "deepseek-v3"):
        both = (weight_components(catalog.architecture(model), DTYPES[one]) for one in (file_type, MIXES[file_type]))
        mixed, plain = (sum(part.bytes for part in parts) for parts in both)
        assert mixed >= plain


def test_falcon_keeps_its_head_in_eight_bits() -> None:
    """``llama_tensor_get_type``: Falcon's output matrix, which is its token table, is Q8_0 whatever the file type."""
    falcon = catalog.architecture("falcon-40b")
    parts = {part.name: part.bytes for part in weight_components(falcon, DTYPES["q4_0"])}
    assert parts["weights/head"] == 65_024 * 8192 * 34 // 32
