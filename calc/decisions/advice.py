"""What to change when an estimate does not fit a GPU: the smallest change of each kind, and the cheapest pairs.

Nothing is supposed: every suggestion was estimated whole, and is the first of its kind's steps that fits. Of a pair
neither member fits alone, and with one of them fixed no smaller step of the other does. Where no pair fits either, one
set of more changes is looked for. Estimates are bounded (``calc.decisions.together.MOST``), and none is made twice.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from calc.calculators import CALCULATORS
from calc.decisions.asker import Asker, changed
from calc.decisions.changes import changes
from calc.decisions.question import Question
from calc.decisions.steps import LEVELS, Costs, Step
from calc.decisions.together import together
from calc.gpu import Gpu
from calc.ladder import REPLICAS, Ladder, Rung
from calc.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One way to make it fit.

    Args:
        kinds: id of the change, or of all that are made together: those of ``calc.decisions.changes`` and ``gpus``.
        changes: text to put into each field.
        saves: what each GPU holds less than before [B].
        total: what it holds then, or the fullest of several [B].
        costs: codes of ``calc.decisions.steps.LEVELS``, of all members.
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
        return changed(question, Step(self.changes, calculator=self.calculator))


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
    shared = () if gpu.combines else ("offload",)  # a computer whose memory is the GPU's own has no other to move to
    every = tuple(change for change in changes(asker.question) if change.kind not in shared)
    firsts = {change.kind: asker.first(change, change.size) for change in every}
    found = [
        _advice(asker, (change.kind,), (change.step(index),))
        for change in every
        if (index := firsts[change.kind]) is not None
    ]
    cheapest = min((one.level for one in found), default=3)
    found += [_advice(asker, kinds, steps) for kinds, steps in together(asker, every, firsts, cheapest)]
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


def _more_gpus(asker: Asker, gpu: Gpu, ladder: Ladder | None) -> Iterator[Advice]:
    """The fewest such GPUs that hold it: with the texts of their layout where the calculator has its fields."""
    question = asker.question
    visible = question.parsed().visible
    if not gpu.combines:
        return
    if "data-parallel" in visible and "tensor-parallel" not in visible:
        yield from _replicas(asker)
        return
    ladder = ladder or _ladder(question)
    rung = ladder(asker.limit) if ladder else None
    if rung is None:
        return
    texts, alone = _texts(rung.layout), _texts(Layout())
    said = {name: text for name, text in texts.items() if name in visible}
    step = Step(said, ("money",))
    if said and all(texts[name] == alone[name] for name in texts if name not in said) and asker.fits(step):
        yield replace(_advice(asker, ("gpus",), (step,)), layout=rung.layout)
    elif "pipeline-parallel" not in visible:
        yield _counted(asker, rung)


def _counted(asker: Asker, rung: Rung) -> Advice:
    """Only the number, where there are no fields for this layout."""
    saves = (asker.total() or 0) - rung.bytes
    return Advice(kinds=("gpus",), changes={}, saves=saves, total=rung.bytes, costs=("money",), layout=rung.layout)


def _ladder(question: Question) -> Ladder | None:
    """The one of the answer; ``None`` where it looks for no layouts."""
    calculator, architecture = CALCULATORS[question.calculator], question.architecture
    assert calculator.calculate_for
    assert architecture
    return calculator.calculate_for(question.parsed(), architecture).fits[0].ladder


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
