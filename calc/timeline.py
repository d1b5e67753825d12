"""The peak of a run: the largest of its moments, not the sum of everything that is ever in memory.

What one step of training holds, in order (each with weights, optimizer states and master copy):

* ``forward``: activations as they are at its end, and the logits on their way to the loss;
* ``loss``: the start of the backward pass, where logits, log-probabilities and their gradient meet;
* ``first_backward``: the first layer that goes back: all activations are still there, the logits are not;
* ``last_backward``: the last one: almost all gradients are there, almost no activations;
* ``optimizer_step``: all gradients and what the optimizer needs for its arithmetic; no activations.

From the second micro-batch of an accumulation on, all gradients are there from the start: it is the one shown. Between
the first and the last backward, gradients grow and activations shrink layer by layer, so one of the two ends is larger.
"""

from collections.abc import Iterable

from calc.estimate import Component, Phase

__all__ = ["Phase", "peak", "phase"]


def phase(name: str, components: Iterable[Component | None]) -> Phase:
    """A moment, without what is not there."""
    return Phase(name=name, components=tuple(one for one in components if one is not None and one.high > 0))


def peak(phases: Iterable[Phase]) -> Phase:
    """The largest moment; the first of equals.

    Example:
        >>> from calc.formula import Formula
        >>> one = Component(name="weights", derivation=Formula("P", {"P": 5}), sources=())
        >>> peak([phase("forward", [one, None]), phase("optimizer_step", [one, one])]).name
        'optimizer_step'
    """
    return max(phases, key=lambda one: one.total)
