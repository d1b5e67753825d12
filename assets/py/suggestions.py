"""What to change so that it fits, as plain data: a sentence, what it saves, what it costs and where it leads."""

from collections.abc import Mapping
from dataclasses import dataclass

from calc import es
from calc.calculators import Result, fragment
from calc.calculators.cards import chosen_gpu
from calc.decisions import SOLVABLE, Question
from calc.decisions.advice import Advice, advise
from calc.es.advice import advice_text, cost_texts

MOST = 10
"""Suggestions shown: the cheapest for the visitor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One suggestion; ``page`` is the calculator that it leads to, if another; no address where no field says it."""

    text: str
    saves: str
    total: str
    costs: str
    page: str
    address: str
    many: bool


def suggestions(result: Result, raw: Mapping[str, str], unit: str) -> tuple[Suggestion, ...]:
    """What makes the answer fit the chosen GPU; nothing where it fits."""
    if result.calculator not in SOLVABLE:
        return ()
    gpu, question = chosen_gpu(result.inputs), Question(result.calculator, raw)
    ladder = next((one.ladder for one in result.fits if one.gpu.id == gpu.id), None)
    return tuple(_suggestion(question, one, unit) for one in advise(question, gpu, ladder=ladder)[:MOST])


def _suggestion(question: Question, advice: Advice, unit: str) -> Suggestion:
    after = advice.applied(question)
    return Suggestion(
        text=advice_text(advice),
        saves=es.bytes_text(max(advice.saves, 0), unit),
        total=es.bytes_text(advice.total, unit),
        costs="; ".join(cost_texts(advice)),
        page=advice.calculator,
        many=advice.gpus > 1,
        address="#" + fragment(after.calculator, after.raw) if advice.applies else "",
    )
