"""Steps of a change, from the smallest to the largest, and the codes of what they cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

Costs = tuple[str, ...]

LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "needs_library": 0,
        "quality_slight": 1,
        "slower_slight": 1,
        "quality_some": 2,
        "slower_some": 2,
        "shorter_context": 2,
        "fewer_at_once": 2,
        "tune_again": 2,
        "other_engine": 2,
        "only_adapters": 2,
        "quality_much": 3,
        "slower_much": 3,
        "much_shorter_context": 3,
        "many_fewer_at_once": 3,
        "money": 4,
    }
)
"""Every code of a cost, and how much it matters to a visitor: 0 hardly, 1 little, 2 some, 3 much, 4 it is paid for."""


@dataclass(frozen=True, slots=True)
class Step:
    """Texts to put into fields, what that costs, and the calculator to put them in if it is another one."""

    texts: Mapping[str, str]
    costs: Costs = ()
    calculator: str = ""

    @property
    def level(self) -> int:
        """The worst of its costs."""
        return max((LEVELS[code] for code in self.costs), default=0)


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change: a number of steps, of which step 0 changes least.

    Args:
        kind: id, words for it in ``calc.es.advice``.
        size: how many steps there are.
        step: the step of an index.
        falls: whether memory never grows from a step to the next, as along a number that falls.
    """

    kind: str
    size: int
    step: Callable[[int], Step]
    falls: bool = False

    def upto(self, level: int) -> int:
        """How many of the first steps cost no more than this; costs never fall along the steps."""
        if not self.size or self.step(self.size - 1).level <= level:
            return self.size
        low, high = -1, self.size - 1  # step ``high`` costs more
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.step(middle).level <= level else (low, middle)
        return high


def listed(kind: str, steps: list[Step]) -> Change:
    """A change with the steps of a list; those that cost more than a later one come after it."""
    ordered = sorted(steps, key=lambda one: one.level)
    return Change(kind, len(ordered), ordered.__getitem__)


def falling(kind: str, asked: int, floor: int, step: Callable[[int], Step]) -> Change:
    """A number that falls by one from its asked value down to a floor."""
    return Change(kind, max(0, asked - floor), lambda index: step(asked - 1 - index), falls=True)
