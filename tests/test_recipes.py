"""Training states: bytes per parameter of each recipe, and states counted from shapes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.catalog import architecture
from calc.dtypes import DTYPES
from calc.errors import InvalidInput
from calc.inventory import loaded_parameters, loaded_tensors
from calc.memory import Workload, estimate_training
from calc.recipes import OPTIMIZERS, RECIPES, optimizer_states
from calc.sources import SOURCES

# Weight, gradient, master copy, optimizer, total: bytes per trained parameter (ZeRO, arXiv 1910.02054, section 3.1;
# Megatron-LM's main gradients; PyTorch's states in the parameters' dtype).
TABLE = {
    "float32-adamw": (4, 4, 0, 8, 16),
    "mixed-adamw": (2, 2, 4, 8, 16),
    "mixed-adamw-float32-gradients": (2, 4, 4, 8, 18),
    "mixed-adamw-both-gradients": (2, 6, 4, 8, 20),
    "bf16-adamw": (2, 2, 0, 4, 8),
    "mixed-adamw-8bit": (2, 2, 4, 2, 10),
    "mixed-adamw-8bit-float32-gradients": (2, 4, 4, 2, 12),
    "bf16-adamw-8bit": (2, 2, 0, 2, 6),
    "bf16-sgd": (2, 2, 0, 0, 4),
    "mixed-sgd-momentum": (2, 2, 4, 4, 12),
    "bf16-sgd-momentum": (2, 2, 0, 4, 8),
    "mixed-lion": (2, 2, 4, 4, 12),
}

STATES = ("weights", "gradients", "optimizer", "master_weights")


@pytest.mark.parametrize(("name", "row"), TABLE.items())
def test_recipes_have_the_known_bytes_per_parameter(name: str, row: tuple[int, ...]) -> None:
    """Each part and the total."""
    recipe = RECIPES[name]
    assert (recipe.weight, recipe.gradient, recipe.master, recipe.optimizer, recipe.total) == row


def test_no_recipe_is_left_unchecked() -> None:
    """The table above is the whole table."""
    assert set(RECIPES) == set(TABLE)


@pytest.mark.parametrize(
    ("precision", "optimizer", "mixed", "expected"),
    [
        ("float32", "adamw", True, (4, 4, 8, 0)),
        ("float32", "adamw", False, (4, 4, 8, 0)),
        ("bfloat16", "adamw", True, (2, 2, 8, 4)),
        ("float16", "adamw", True, (2, 2, 8, 4)),
        ("bfloat16", "adamw", False, (2, 2, 8, 0)),
        ("bfloat16", "adamw-bf16", False, (2, 2, 4, 0)),
        ("bfloat16", "sgd-momentum", True, (2, 2, 4, 4)),
        ("bfloat16", "sgd", False, (2, 2, 0, 0)),
        ("bfloat16", "lion", True, (2, 2, 4, 4)),
    ],
)
def test_an_estimate_has_the_bytes_of_its_recipe(
    precision: str, optimizer: str, *, mixed: bool, expected: tuple[int, ...]
) -> None:
    """Weights, gradients, optimizer and master copy of Llama 3 8B are multiples of its 8,030,261,248 parameters."""
    workload = Workload(precision=precision, optimizer=optimizer, mixed_precision=mixed, context_tokens=128)
    estimate = estimate_training(architecture("llama-3-8b"), workload)
    assert tuple(estimate.component(name) for name in STATES) == tuple(8_030_261_248 * size for size in expected)


def test_8_bit_adam_has_a_scale_per_block_of_256() -> None:
    """Two bytes and two scales of four bytes per 256 elements; small tensors keep eight bytes."""
    shapes = [((1024, 1024), 3), ((4095,), 2), ((4096,), 1), ((65, 64), 1)]
    quantized = 3 * 1024**2 + 4096 + 65 * 64
    blocks = 3 * 4096 + 16 + 17
    component = optimizer_states("adamw-8bit", shapes)
    assert component.bytes == 2 * quantized + 8 * blocks + 8 * 2 * 4095


def test_adafactor_keeps_a_row_and_a_column() -> None:
    """Shazeer and Stern 2018, section 3: n + m numbers for an n x m matrix, and a whole second moment for vectors."""
    assert optimizer_states("adafactor", [((4096, 14336), 2), ((4096,), 1)]).bytes == 4 * (2 * (4096 + 14336) + 4096)


def test_adafactor_of_stacked_matrices_factors_each() -> None:
    """Hugging Face's class factors the last two dimensions."""
    assert optimizer_states("adafactor", [((8, 10, 20), 1)]).bytes == 4 * 8 * (10 + 20)


def test_paged_states_may_leave_the_gpu() -> None:
    """The same bytes as AdamW in 8 bits, with a low end of zero."""
    shapes = [((1024, 1024), 1)]
    paged, resident = (optimizer_states(name, shapes) for name in ("paged-adamw-8bit", "adamw-8bit"))
    assert (paged.bytes, paged.low) == (resident.bytes, 0)
    assert resident.low == resident.bytes


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_no_optimizer_keeps_more_than_adamw(name: str) -> None:
    """Over the tensors of a real model."""
    model = architecture("llama-3.2-1b")
    shapes = [(tensor.shape, times) for tensor, times in loaded_tensors(model)]
    assert optimizer_states(name, shapes).bytes <= 8 * loaded_parameters(model)
    assert OPTIMIZERS[name].source in SOURCES


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 3000)), min_size=1, max_size=4))
def test_states_of_several_tensors_add_up(shapes: list[tuple[int, int]]) -> None:
    """No optimizer looks at more than one tensor at a time."""
    for name in OPTIMIZERS:
        whole = optimizer_states(name, [(shape, 1) for shape in shapes]).bytes
        assert whole == sum(optimizer_states(name, [(shape, 1)]).bytes for shape in shapes)


def test_an_unknown_optimizer_is_refused_with_the_known_ones() -> None:
    """The error names the field."""
    with pytest.raises(InvalidInput) as refused:
        optimizer_states("adam2", [])
    assert (refused.value.code, refused.value.place) == ("unknown_choice", "optimizer")
    assert refused.value.params["known"] == tuple(OPTIMIZERS)


def test_gradients_of_quantized_formats_are_in_16_bits() -> None:
    """Gradients have the format that the matrices are multiplied in."""
    assert {DTYPES[name].compute_bits for name in ("nf4", "int8", "fp8", "q4_k")} == {16}
