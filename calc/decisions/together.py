"""Changes that fit only together: pairs, and where there are none, one set of more.

Of each no member can be left out, and with the others fixed no smaller step of it is enough.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from typing import Final

from calc.decisions.asker import Asker
from calc.decisions.steps import Change, Step

MOST: Final = 120
"""Estimates after which no further pair is tried; those of the ladder of GPUs are apart."""

RESERVE: Final = 55
"""Estimates of those that are kept for the last pair, a set of more changes and more GPUs."""

MOST_PAIRS: Final = 3
"""Pairs that are told at most."""

ALONE: Final = ("calculator", "zero", "engine")
"""Kinds that are not combined with another: they change what it is about, or fields of another kind."""

Joined = tuple[tuple[str, ...], tuple[Step, ...]]
"""Kinds of changes, and the step of each."""


def together(
    asker: Asker, every: tuple[Change, ...], firsts: Mapping[str, int | None], cheapest: int
) -> Iterator[Joined]:
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


def _pairs(asker: Asker, members: list[tuple[Change, int]]) -> Iterator[Joined]:
    for one, other in combinations(members, 2):
        if asker.asked > MOST - RESERVE:
            return
        steps = _pair(asker, one, other)
        if steps:
            yield (one[0].kind, other[0].kind), steps


def _several(asker: Asker, members: list[tuple[Change, int]]) -> Joined:
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
    return tuple(change.kind for change, _ in members if change.kind in kept), steps


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
    right = rest - 1
    while True:
        at = first.step(left)
        least = asker.first(second, right + 1, at)
        if least is None:
            return None
        less = _less(asker, first, left, second.step(least))
        if less is None:
            return at, second.step(least)
        left, right = less, least


def _less(asker: Asker, change: Change, index: int, other: Step) -> int | None:
    """A smaller step with which it fits too; of a number that falls only the next one can be."""
    if change.falls:
        return index - 1 if index and asker.fits(change.step(index - 1), other) else None
    return asker.first(change, index, other)
