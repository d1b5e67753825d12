"""What to change when an estimate does not fit a GPU: the smallest change of each kind, and the cheapest pairs.

Nothing is supposed: every suggestion was estimated whole, and is the first of its kind's steps that fits. Of a pair
neither member fits alone, and with one of them fixed no smaller step of the other does. The number of estimates is
bounded (``MOST``), and none is asked twice. Where no pair fits either, one set of more changes is looked for.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from types import MappingProxyType
from typing import Final

from calc.calculators import CALCULATORS, InvalidInputs
from calc.decisions.changes import LEVELS, Change, Costs, Step, changes
from calc.decisions.question import MODEL_FIELDS, Question
from calc.decisions.solve import largest
from calc.gpu import Gpu
from calc.ladder import REPLICAS, Ladder, Rung
from calc.layout import Layout

MOST: Final = 120
"""Estimates after which no further pair is tried; those of the ladder of GPUs are apart."""

RESERVE: Final = 55
"""Estimates of those that are kept for the last pair, a set of more changes and more GPUs."""

MOST_PAIRS: Final = 3
"""Pairs that are told at most."""

ALONE: Final = ("calculator", "zero", "engine")
"""Kinds that are not combined with another: they change what it is about, or fields of another kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One way to make it fit.

    Args:
        kinds: id of the change, or of all that are made together: those of ``calc.decisions.changes`` and ``gpus``.
        changes: text to put into each field.
        saves: what each GPU holds less than before [B].
        total: what it holds then, or the fullest of several [B].
        costs: codes of ``LEVELS``, of all members.
        calculator: the calculator to put the texts into, if it is another one.
        layout: how the GPUs share the work, for ``gpus``.
    """

    kinds: tuple[str, ...]
    changes: Mapping[str, str]
    saves: int
    total: int
    costs: Costs
    calculator: str = ""
    layout: Layout | None = None

    @property
    def level(self) -> int:
        """The worst of its costs, 0 to 4."""
        return max((LEVELS[code] for code in self.costs), default=0)

    @property
    def gpus(self) -> int:
        """GPUs that it takes in all, where it changes their number; 1 otherwise."""
        return self.layout.gpus if self.layout else 1

    @property
    def applies(self) -> bool:
        """Whether there are fields to put it into: a calculator without those of a layout only tells the number."""
        return bool(self.changes)

    def applied(self, question: Question) -> Question:
        """The question with this change made."""
        return _changed(question, Step(self.changes, calculator=self.calculator))


def _changed(question: Question, step: Step) -> Question:
    if not step.calculator:
        return question.changed(step.texts)
    kept = {name: text for name, text in step.texts.items() if name not in MODEL_FIELDS}
    own = {name: text for name, text in question.raw.items() if name in MODEL_FIELDS}
    return Question(step.calculator, {**own, **kept}, question.architecture)


@dataclass(slots=True)
class Asker:
    """Asks for totals, each once, and counts them."""

    question: Question
    limit: int
    known: dict[tuple[tuple[str, str], ...], int | None] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """How many estimates were made."""
        return len(self.known)

    def total(self, *steps: Step) -> int | None:
        """Memory with these steps taken [B]; ``None`` where they do not go together."""
        texts: dict[str, str] = {}
        calculator = ""
        for step in steps:
            texts |= step.texts
            calculator = calculator or step.calculator
        key = (("", calculator), *sorted(texts.items()))
        if key not in self.known:
            try:
                self.known[key] = _changed(self.question, Step(texts, calculator=calculator)).estimate().total
            except InvalidInputs:
                self.known[key] = None
        return self.known[key]

    def fits(self, *steps: Step) -> bool:
        """Whether it fits with these steps taken."""
        total = self.total(*steps)
        return total is not None and total <= self.limit

    def first(self, change: Change, size: int, *others: Step) -> int | None:
        """Index of the first of so many steps with which it fits, other steps taken; ``None`` if none does."""
        if not change.falls:
            return next((index for index in range(size) if self.fits(change.step(index), *others)), None)
        if not size or not self.fits(change.step(size - 1), *others):
            return None

        def total(value: int) -> int:  # the larger, the less is changed
            found = self.total(change.step(size - value), *others)
            return self.limit + 1 if found is None else found

        return size - largest(total, 1, size, self.limit)[0]


def advise(
    question: Question, gpu: Gpu, *, capacity: int | None = None, ladder: Ladder | None = None
) -> tuple[Advice, ...]:
    """What makes an estimate fit a GPU, the cheapest for the visitor first; nothing where it fits already.

    Args:
        question: the inputs.
        gpu: the card.
        capacity: memory that it may take [B]; the card's own if not given.
        ladder: the one of the answer (``Fit.ladder``), so that its layouts are not estimated again.

    Example:
        >>> card = Gpu(id="x", name="X", kind="consumer", sold_bytes=12 * 2**30)
        >>> for one in advise(Question("inferencia", {"model": "llama-3-8b"}), card)[:2]:
        ...     print(one.kinds, dict(one.changes), one.costs)
        ('precision',) {'precision': 'fp8'} ('quality_slight',)
        ('engine',) {'engine': 'llama.cpp', 'precision': 'q6_k'} ('quality_slight', 'other_engine')

    Raises:
        InvalidInputs: for inputs that make no estimate.
    """
    asker = Asker(question.resolved(), gpu.capacity if capacity is None else capacity)
    return search(asker, gpu, ladder)


def search(asker: Asker, gpu: Gpu, ladder: Ladder | None = None) -> tuple[Advice, ...]:
    """As ``advise``, with the asker at hand: it tells how many estimates were made."""
    before = asker.question.estimate().total
    if before <= asker.limit:
        return ()
    asker.known[("", ""),] = before
    every = changes(asker.question)
    firsts = {change.kind: asker.first(change, change.size) for change in every}
    found = [
        _advice(asker, (change.kind,), (change.step(index),))
        for change in every
        if (index := firsts[change.kind]) is not None
    ]
    found += _together(asker, every, firsts, min((one.level for one in found), default=3))
    found += _more_gpus(asker, gpu, ladder)
    kinds = [change.kind for change in every]
    return tuple(sorted(found, key=lambda one: _order(one, kinds)))


def _order(advice: Advice, kinds: list[str]) -> tuple[int, int, int, list[int], int]:
    """By what it costs, then by how many things are changed, then in the order of the kinds."""
    costs = sum(LEVELS[code] for code in advice.costs)
    places = [kinds.index(kind) if kind in kinds else len(kinds) for kind in advice.kinds]
    return advice.level, len(advice.kinds), costs, places, advice.saves


def _advice(asker: Asker, kinds: tuple[str, ...], steps: tuple[Step, ...]) -> Advice:
    before, total = asker.total(), asker.total(*steps)
    assert before is not None
    assert total is not None
    return Advice(
        kinds=kinds,
        changes=MappingProxyType({name: text for step in steps for name, text in step.texts.items()}),
        saves=before - total,
        total=total,
        costs=tuple(dict.fromkeys(code for step in steps for code in step.costs)),
        calculator=next((step.calculator for step in steps if step.calculator), ""),
    )


def _together(
    asker: Asker, every: tuple[Change, ...], firsts: Mapping[str, int | None], cheapest: int
) -> Iterator[Advice]:
    """Changes that only together fit and cost no more than the cheapest single one; none where that costs little.

    Pairs; where there are none, one set of more. Cheap ones are tried first, those that cost much only where nothing
    else fits.
    """
    single = any(index is not None for index in firsts.values())
    levels = () if cheapest <= 1 else (1, 2) if single else (1, 2, 3)
    for level in levels:
        members = _members(asker, every, firsts, level)
        if not asker.fits(*(change.step(size - 1) for change, size in members)):
            continue
        found = list(islice(_pairs(asker, members), MOST_PAIRS))
        yield from found
        if found:
            return
        if level > 1 and (not single or cheapest > 2):
            yield _several(asker, members)
            return


def _pairs(asker: Asker, members: list[tuple[Change, int]]) -> Iterator[Advice]:
    for one, other in combinations(members, 2):
        if asker.asked > MOST - RESERVE:
            return
        steps = _pair(asker, one, other)
        if steps:
            yield _advice(asker, (one[0].kind, other[0].kind), steps)


def _several(asker: Asker, members: list[tuple[Change, int]]) -> Advice:
    """Of changes that fit together as large as can be: each left out, or made as small as the others allow.

    The dearest first, so that the cheap ones stay.
    """
    dearest = sorted(members, key=lambda one: -one[0].step(one[1] - 1).level)
    kept = {change.kind: size - 1 for change, size in members}
    before: dict[str, int] = {}
    while kept != before:
        before = dict(kept)
        for change, _ in dearest:
            others = [one.step(kept[one.kind]) for one, _ in members if one is not change and one.kind in kept]
            if change.kind in kept and asker.fits(*others):
                del kept[change.kind]
            elif change.kind in kept:
                kept[change.kind] = _least(asker, change, kept[change.kind], others)
    steps = tuple(change.step(kept[change.kind]) for change, _ in members if change.kind in kept)
    return _advice(asker, tuple(kept), steps)


def _least(asker: Asker, change: Change, index: int, others: list[Step]) -> int:
    """The first step with which it fits, given one with which it does."""
    if change.falls and index and not asker.fits(change.step(index - 1), *others):
        return index
    found = asker.first(change, index + 1, *others)
    return index if found is None else found


def _members(
    asker: Asker, every: tuple[Change, ...], firsts: Mapping[str, int | None], level: int
) -> list[tuple[Change, int]]:
    """Changes that may be made with others, each with the number of its steps.

    Those too small to fit alone, up to the one that alone takes least: dearer ones would not help more.
    """
    found = []
    for change in every:
        alone = firsts[change.kind]
        size = min(change.upto(level), change.size if alone is None else alone)
        if not size or change.kind in ALONE:
            continue
        if not change.falls:
            totals = [asker.total(change.step(index)) for index in range(size)]
            known = [total for total in totals if total is not None]
            size = totals.index(min(known)) + 1 if known else 0
        if size:
            found.append((change, size))
    return found


def _pair(asker: Asker, one: tuple[Change, int], other: tuple[Change, int]) -> tuple[Step, Step] | None:
    """The least of the first with the most of the second, then the least of the second, until neither can be less."""
    (first, most), (second, rest) = one, other
    if not asker.fits(first.step(most - 1), second.step(rest - 1)):
        return None
    left = asker.first(first, most, second.step(rest - 1))
    if left is None:
        return None
    right: int | None = rest - 1
    while right is not None:
        at = first.step(left)
        least = asker.first(second, right + 1, at)
        if least is None:
            return None
        less = _less(asker, first, left, second.step(least))
        if less is None:
            return at, second.step(least)
        left, right = less, least
    return None


def _less(asker: Asker, change: Change, index: int, other: Step) -> int | None:
    """A smaller step with which it fits too; of a number that falls only the next one can be."""
    if change.falls:
        return index - 1 if index and asker.fits(change.step(index - 1), other) else None
    return asker.first(change, index, other)


def _more_gpus(asker: Asker, gpu: Gpu, ladder: Ladder | None) -> Iterator[Advice]:
    """The fewest such GPUs that hold it: with the texts of their layout where the calculator has its fields."""
    question = asker.question
    visible = question.parsed().visible
    if not gpu.combines:
        return
    if "data-parallel" in visible and "tensor-parallel" not in visible:
        yield from _replicas(asker)
        return
    rung = (ladder or _ladder(question))(asker.limit)
    if rung is None:
        return
    if "tensor-parallel" in visible:
        step = Step(_texts(rung.layout), ("money",))
        if asker.fits(step):
            yield replace(_advice(asker, ("gpus",), (step,)), layout=rung.layout)
    else:
        yield _counted(asker, rung)


def _counted(asker: Asker, rung: Rung) -> Advice:
    """Only the number, where there are no fields for a layout."""
    saves = (asker.total() or 0) - rung.bytes
    return Advice(kinds=("gpus",), changes={}, saves=saves, total=rung.bytes, costs=("money",), layout=rung.layout)


def _ladder(question: Question) -> Ladder:
    calculator, architecture = CALCULATORS[question.calculator], question.architecture
    assert calculator.calculate_for
    assert architecture
    ladder = calculator.calculate_for(question.parsed(), architecture).fits[0].ladder
    assert ladder
    return ladder


def _replicas(asker: Asker) -> Iterator[Advice]:
    """The fewest replicas that hold it with all shared out, and then as little shared out as fits."""
    now = asker.question.parsed().integer("data-parallel")
    sizes = [now * more for more in REPLICAS]

    def step(data: int, zero: int) -> Step:
        return Step({"data-parallel": str(data), "zero": str(zero)}, ("money",))

    place = bisect_left(sizes, True, key=lambda data: asker.fits(step(data, 3)))
    if place < len(sizes):
        zero = next(stage for stage in (1, 2, 3) if asker.fits(step(sizes[place], stage)))
        layout = Layout(data=sizes[place], zero=zero)
        yield replace(_advice(asker, ("gpus",), (step(sizes[place], zero),)), layout=layout)


def _texts(layout: Layout) -> dict[str, str]:
    """A layout as the texts of its fields; what is offloaded stays as it is."""
    degrees = {"data": layout.data, "tensor": layout.tensor, "pipeline": layout.pipeline, "context": layout.context}
    texts = {f"{name}-parallel": str(degree) for name, degree in degrees.items()}
    return texts | {
        "expert-parallel": str(layout.expert),
        "sequence-parallel": "yes" if layout.sequence else "no",
        "zero": str(layout.zero),
    }
