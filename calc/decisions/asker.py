"""Asks for the memory of many changes to the same inputs, each once."""

from dataclasses import dataclass, field

from calc.calculators import InvalidInputs
from calc.decisions.question import MODEL_FIELDS, Question
from calc.decisions.solve import largest
from calc.decisions.steps import Change, Step


def changed(question: Question, step: Step) -> Question:
    """The question with the texts of a step, in its calculator; the model stays the same."""
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
                self.known[key] = changed(self.question, Step(texts, calculator=calculator)).estimate().total
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
