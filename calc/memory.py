"""How much memory a model needs to run or to train: the two entries of the estimator.

Both give the sum of the named components that are in memory at the fullest moment of a run, and every other moment
beside it (``Estimate.timeline``): ``calc.inference`` and ``calc.training``.
"""

from calc.allocator import RESERVED_SHARE, RUNTIME_DEFAULT, RUNTIME_HIGH, RUNTIME_LOW
from calc.estimate import Component, Estimate, Lora, Note, Phase, Workload
from calc.inference import cache_precision, estimate_inference
from calc.layout import Layout
from calc.training import estimate_training

__all__ = [
    "RESERVED_SHARE",
    "RUNTIME_DEFAULT",
    "RUNTIME_HIGH",
    "RUNTIME_LOW",
    "Component",
    "Estimate",
    "Layout",
    "Lora",
    "Note",
    "Phase",
    "Workload",
    "cache_precision",
    "estimate_inference",
    "estimate_training",
]
