"""Whether an estimate fits a GPU, and how many GPUs hold it."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc.catalog import gpu, gpus
from calc.estimate import Component, Estimate
from calc.fit import Verdict, fit
from calc.formula import Formula
from calc.gpu import Gpu

CARD = Gpu(id="card", name="Card", kind="consumer", sold_bytes=1000)


def estimate(used: int, *, high: int = 0, runtime: int = 0) -> Estimate:
    """Weights and runtime of these bytes."""
    weights = used - runtime
    parts = (
        Component(
            name="weights", derivation=Formula("P", {"P": weights}), sources=(), high=max(weights, high - runtime)
        ),
        Component(name="runtime", derivation=Formula("O", {"O": runtime}), sources=()),
    )
    return Estimate(components=parts)


@pytest.mark.parametrize(
    ("used", "high", "verdict", "count"),
    [
        (899, 0, Verdict.FITS, 1),
        (900, 0, Verdict.TIGHT, 1),
        (1000, 0, Verdict.TIGHT, 1),
        (1001, 0, Verdict.NO_FIT, 2),
        (500, 1000, Verdict.FITS, 1),
        (500, 1001, Verdict.TIGHT, 1),
        (2001, 0, Verdict.NO_FIT, 3),
        (0, 0, Verdict.FITS, 1),
    ],
)
def test_verdicts_at_their_edges(used: int, high: int, verdict: Verdict, count: int) -> None:
    """Tight from nine tenths on, or when the high end does not fit; no fit from one byte too many."""
    found = fit(estimate(used, high=high), [CARD])[0]
    assert (found.verdict, found.count) == (verdict, count)
    assert found.free == 1000 - used
    assert found.used_fraction == Fraction(used, 1000)


def test_the_runtime_is_paid_on_every_gpu() -> None:
    """2,000 bytes of which 100 are runtime: 1,900 over cards with 900 to spare take three, not two."""
    assert fit(estimate(2000, runtime=100), [CARD])[0].count == 3


def test_a_runtime_that_fills_the_card_fits_on_no_number_of_them() -> None:
    """The count is 0, not a division by zero."""
    found = fit(estimate(2000, runtime=1000), [CARD])[0]
    assert (found.count, found.verdict) == (0, Verdict.NO_FIT)


def test_plain_bytes_can_be_held_against_a_gpu() -> None:
    """The simple calculators have no components."""
    assert fit(112 * 10**9, [gpu("h100-80gb")])[0].count == 2


def test_the_reading_of_the_driver_counts_and_not_the_box() -> None:
    """An H100 reports 81,559 MiB (nvidia-smi), less than the 80 GiB on its box."""
    card = gpu("h100-80gb")
    assert fit(81559 * 2**20, [card])[0].free == 0
    assert fit(81559 * 2**20 + 1, [card])[0].verdict is Verdict.NO_FIT
    assert not fit(1, [card])[0].assumed_capacity


def test_a_gpu_without_a_reading_says_so() -> None:
    """The sold capacity stands in, flagged."""
    assert fit(1, [CARD])[0].assumed_capacity


@settings(deadline=None)
@given(st.integers(1, 10**14), st.integers(0, 2 * 2**30))
def test_the_count_is_the_least_that_holds_the_estimate(used: int, runtime: int) -> None:
    """With that many GPUs the even share fits, with one fewer it does not; GPUs keep their order."""
    total = estimate(used + runtime, runtime=runtime)
    found = fit(total, gpus())
    assert [one.gpu.id for one in found] == [one.id for one in gpus()]
    for one in found:
        room = one.gpu.capacity - runtime
        if not one.gpu.combines:
            assert one.count == (0 if one.verdict is Verdict.NO_FIT else 1)
            continue
        assert one.count * room >= used
        assert one.count == 1 or (one.count - 1) * room < used
        assert (one.count == 1) == (one.verdict is not Verdict.NO_FIT)


@pytest.mark.parametrize("name", ["dgx-spark", "apple-m4-max-128gb"])
def test_integrated_memory_is_not_combined(name: str) -> None:
    """A second chip is a second computer: there is a verdict, and no number of them."""
    found = fit(10**12, [gpu(name)])[0]
    assert (found.verdict, found.count) == (Verdict.NO_FIT, 0)
    assert fit(10**9, [gpu(name)])[0].count == 1
