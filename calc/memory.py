"""How much memory a model needs to run or to train: the two entries of the estimator, and the types they speak in."""

from calc.estimate import Component, Estimate, Lora, Note, Workload

__all__ = ["Component", "Estimate", "Lora", "Note", "Workload"]
