"""Advice for every model of the catalogue on every GPU: ``python -m tests.advice_sweep [N [KIND …]]`` prints a table.

With ``N`` only every N-th combination is asked for, with ``KIND`` only those of ``KINDS``.
``cases`` and ``wrong`` are what ``tests/test_advice.py`` uses too.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product

from calc import catalog
from calc.calculators import InvalidInputs
from calc.catalog import GpuEntry
from calc.decisions import Question
from calc.decisions.advice import Advice, search
from calc.decisions.asker import Asker
from calc.decisions.changes import changes
from calc.decisions.steps import Change, Step

KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "gpu-inference": ("gpu", {}),
    "gpu-training": ("gpu", {"workload": "training", "context": "4096", "batch": "4"}),
    "inferencia": ("inferencia", {"context": "32768", "concurrency": "4"}),
    "lora": ("lora", {"context": "4096", "batch": "4"}),
}
"""Inputs that are asked for with each model."""


def cases(name: str, step: int) -> Iterator[tuple[Question, GpuEntry]]:
    """Every ``step``-th pair of a model and a GPU, for one of ``KINDS``."""
    calculator, raw = KINDS[name]
    for model, gpu in list(product(catalog.models(), catalog.gpus()))[::step]:
        yield Question(calculator, {**raw, "model": model.id}), gpu


def wrong(question: Question, limit: int, advice: Advice) -> str:
    """What is wrong with a suggestion: that it does not fit, or that less would do; empty if nothing is."""
    if not advice.applies:
        return ""
    total = advice.applied(question).estimate().total
    if total != advice.total or total > limit:
        return f"says {advice.total}, takes {total} of {limit}"
    if advice.kinds == ("gpus",):
        return ""
    asker = Asker(question.resolved(), limit)
    taken = {one.kind: (one, *_taken(one, advice)) for one in changes(question) if one.kind in advice.kinds}
    problems = (_problem(asker, kind, taken) for kind in advice.kinds)
    return next(filter(None, problems), "")


def _problem(asker: Asker, kind: str, taken: dict[str, tuple[Change, int, Step]]) -> str:
    """Whether one member of a suggestion could be left out, be alone, or be less."""
    change, index, own = taken[kind]
    others = [step for other, (_, _, step) in taken.items() if other != kind]
    if asker.fits(*others):
        return f"{kind}: not needed"
    if others and asker.fits(own):
        return f"{kind}: fits alone"
    below = range(max(0, index - 1) if change.falls else 0, index)
    return f"{kind}: less fits" if any(asker.fits(change.step(less), *others) for less in below) else ""


def _taken(change: Change, advice: Advice) -> tuple[int, Step]:
    """The step of a change that a suggestion took."""
    if change.falls:  # along a number every step differs by one
        name = next(iter(change.step(0).texts))
        index = int(change.step(0).texts[name]) - int(advice.changes[name])
        return index, change.step(index)
    for index in range(change.size):
        step = change.step(index)
        if step.calculator == advice.calculator and all(
            advice.changes.get(key) == text for key, text in step.texts.items()
        ):
            return index, step
    raise AssertionError(change.kind)


def main(step: int, *names: str) -> None:
    """Print a line for each kind of inputs."""
    print(f"{'':14} asked   none  wrong  most  mean  ms")
    for name in names or KINDS:
        told: Counter[str] = Counter()
        counts, silent, bad = [], [], Counter[str]()
        start = time.monotonic()
        for question, gpu in cases(name, step):
            try:
                asker = Asker(question.resolved(), gpu.capacity)
                found = search(asker, gpu)
            except InvalidInputs:
                continue
            if not found:
                if (asker.total() or 0) > gpu.capacity:
                    silent.append(f"{question.raw['model']} on {gpu.id}")
                    counts.append(asker.asked)
                continue
            counts.append(asker.asked)
            told[" + ".join(found[0].kinds)] += 1
            bad.update(problem for one in found if (problem := wrong(question, gpu.capacity, one)))
        mean = sum(counts) / max(len(counts), 1)
        each = 1000 * (time.monotonic() - start) / max(len(counts), 1)
        print(
            f"{name:14} {len(counts):5} {len(silent):6} {sum(bad.values()):6} {max(counts):5} {mean:5.0f} {each:4.0f}"
        )
        print("   first:", dict(told.most_common(8)))
        print("   wrong:", dict(bad))
        print("   none: ", "; ".join(silent[:6]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, *sys.argv[2:])
