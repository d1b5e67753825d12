"""The weights of a GGUF type are what llama.cpp would write for the shapes of the model."""

import pytest

from calc import catalog
from calc.dtypes import DTYPES
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
