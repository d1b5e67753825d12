"""What the estimator says of a row before anyone looks at what was measured."""

from dataclasses import dataclass

WIDEST = 0.2


@dataclass(frozen=True)
class Prediction:
    """The estimate, its range and the simple law for the same question [B]; ``simple`` is ``None`` where none exists.

    The range is never wider than 20 % either way.
    """

    value: float
    low: float
    high: float
    simple: float | None = None

    def __post_init__(self) -> None:
        """Keep the range within its promise."""
        object.__setattr__(self, "low", max(self.low, self.value * (1 - WIDEST)))
        object.__setattr__(self, "high", min(self.high, self.value * (1 + WIDEST)))
