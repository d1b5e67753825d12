"""Errors of the estimator: a code, where it happened, and the values that explain it.

The core never writes a sentence. Each error carries a stable ``code`` and ``params``; ``calc.es`` owns the words.
They are split by who must act: ``InvalidInput`` is for whoever filled in a form, ``InvalidConfig`` for whoever
brought a file, ``UnsupportedArchitecture`` for us.
"""

from typing import Any


class CalcError(Exception):
    """Base of every error that a visitor may see.

    Example:
        >>> CalcError("too_small", place="batch", minimum=1).params
        {'minimum': 1}
    """

    def __init__(self, code: str, *, place: str = "", **params: Any) -> None:
        self.code = code
        self.place = place
        self.params = params
        super().__init__(f"{code} at {place or '(top)'}: {params}")


class InvalidInput(CalcError):
    """A field of a form, a flag or a URL key holds what it must not; ``place`` is the field's name."""


class InvalidConfig(CalcError):
    """A configuration lacks a key or holds an absurd value; ``place`` is the key path (``text_config.head_dim``)."""


class UnsupportedArchitecture(CalcError):
    """The model type is unknown. ``params`` has ``model_type`` and ``closest``, the nearest known name or None."""
