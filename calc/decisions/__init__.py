"""From a number to a decision: what fits a GPU, how far each input can go, and what to change if it does not fit.

Everything here asks the calculators with changed inputs; no law of memory is repeated.
"""

from calc.decisions.grid import Grid, grid
from calc.decisions.question import Question
from calc.decisions.solve import SOLVABLE, Solution, solve

__all__ = ["SOLVABLE", "Grid", "Question", "Solution", "grid", "solve"]
