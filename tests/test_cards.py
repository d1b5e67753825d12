"""The GPU that is compared with: of the catalogue or one's own, and what is kept free of it."""

from __future__ import annotations

import pytest

from calc import catalog
from calc.calculators import InvalidInputs, run, to_json
from calc.fit import Verdict

GIB = 2**30


def chosen(calculator: str, raw: dict[str, str]) -> dict[str, object]:
    """Return the row of the JSON for the GPU of one's own."""
    rows: list[dict[str, object]] = to_json(run(calculator, {"gpu": "own-gpu", **raw}))["gpus"]
    return next(row for row in rows if row["id"] == "own-gpu")


@pytest.mark.parametrize("calculator", ["gpu", "entrenar", "inferencia", "lora"])
def test_a_gpu_of_ones_own_stands_beside_those_of_the_catalogue(calculator: str) -> None:
    """It has the memory that was written, to the byte, and is the last of the list."""
    fits = run(calculator, {"gpu": "own-gpu", "gpu-memory": "22,5"}).fits
    assert [one.gpu.id for one in fits] == [*(gpu.id for gpu in catalog.gpus()), "own-gpu"]
    assert fits[-1].gpu.capacity == 22 * GIB + GIB // 2
    assert not fits[-1].assumed_capacity


def test_its_memory_is_asked_for_only_with_it() -> None:
    """Another GPU does not look at the field; with it an empty or a negative one is an error at the field."""
    assert run("gpu", {"gpu": "rtx-4090", "gpu-memory": "x"}).fits
    for text in ("", "-1", "0", "x"):
        with pytest.raises(InvalidInputs) as caught:
            run("gpu", {"gpu": "own-gpu", "gpu-memory": text})
        assert [error.place for error in caught.value.errors] == ["gpu-memory"]


@pytest.mark.parametrize("calculator", ["gpu", "entrenar", "inferencia", "lora"])
def test_the_reserve_is_taken_from_every_gpu_and_not_added_to_the_need(calculator: str) -> None:
    """The total stays; each capacity falls by the reserve."""
    plain, less = run(calculator, {}), run(calculator, {"reserve": "1,5"})
    assert plain.estimate.total == less.estimate.total
    for one, other in zip(plain.fits, less.fits, strict=True):
        assert one.gpu.capacity - other.gpu.capacity == 3 * GIB // 2


def test_the_reserve_can_change_the_verdict() -> None:
    """What fits in 24 GiB does not when 8 of them are kept free, and a reserve larger than the GPU leaves nothing."""
    total = run("gpu", {}).estimate.total
    assert 16 * GIB < total < 20 * GIB
    assert chosen("gpu", {"gpu-memory": "24"})["verdict"] == Verdict.FITS
    assert chosen("gpu", {"gpu-memory": "24", "reserve": "8"})["verdict"] == Verdict.NO_FIT
    nothing = chosen("gpu", {"gpu-memory": "24", "reserve": "30"})
    assert (nothing["verdict"], nothing["usable_bytes"]) == (Verdict.NO_FIT, 1)


def test_the_comparison_of_batches_looks_at_the_same_gpu() -> None:
    """«Acumulación» judges each way by the memory and the reserve that were written."""

    def verdicts(raw: dict[str, str]) -> set[object]:
        return {row["verdict"] for row in run("acumulacion", {"gpu": "own-gpu", **raw}).tables["combinations"]}

    assert verdicts({"gpu-memory": "10000"}) == {"fits"}
    assert verdicts({"gpu-memory": "10000", "reserve": "10000"}) == {"no_fit"}
