"""The nearest known name, for errors that help."""

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """The most similar of the known names, or None when nothing is similar.

    >>> closest("lama", ["llama", "gemma"]), closest("zzz", ["llama"])
    ('llama', None)
    """
    return next(iter(get_close_matches(name[:100], list(known), n=1, cutoff=0.5)), None)
