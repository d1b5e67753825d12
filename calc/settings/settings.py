"""What one tool is told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one tool.

    Args:
        name: of the tool (``vllm``).
        version: of the tool that knows all these settings.
        language: ``shell``, ``python``, ``json`` or ``yaml``.
        text: to be copied as it is.
        left_out: names of the fields whose value, not the default, has no place in the text.
    """

    name: str
    version: str
    language: str
    text: str
    left_out: tuple[str, ...]
