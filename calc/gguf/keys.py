"""Typed access to the metadata of a GGUF: every complaint names the full key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from calc.checkpoint import InvalidFile, shown_name
from calc.gguf.families import NO_WINDOWS, WINDOWS

MAX_SIZE: Final = 2**31
_MISSING: Final = -1


@dataclass(frozen=True, slots=True)
class Keys:
    """The metadata of one family.

    >>> Keys({"llama.block_count": 32}, "llama").integer("block_count")
    32
    """

    metadata: Mapping[str, object]
    family: str

    def place(self, name: str) -> str:
        """The full key."""
        return f"{shown_name(self.family)}.{name}"

    def has(self, name: str) -> bool:
        """Whether the file holds the key."""
        return f"{self.family}.{name}" in self.metadata

    def integer(self, name: str, default: int = _MISSING, maximum: int = MAX_SIZE) -> int:
        """One non-negative integer; the default where the key is absent, an error where there is none."""
        value = self.metadata.get(f"{self.family}.{name}", default)
        if isinstance(value, tuple) and value and all(item == value[0] for item in value):
            value = value[0]  # a list of equal values says what a single one says
        return self._checked(value, name, maximum)

    def positive(self, name: str, default: int = _MISSING, maximum: int = MAX_SIZE) -> int:
        """One integer of at least 1."""
        value = self.integer(name, default, maximum)
        if not value:
            raise InvalidFile("bad_number", place=self.place(name))
        return value

    def per_layer(self, name: str, layers: int, default: int = _MISSING) -> list[int]:
        """One integer for every layer, whether the file gives a single number or a list."""
        value = self.metadata.get(f"{self.family}.{name}", default)
        if not isinstance(value, tuple):
            return [self._checked(value, name, MAX_SIZE)] * layers
        if len(value) < layers:
            raise InvalidFile("short_list", place=self.place(name), length=len(value), expected=layers)
        return [self._checked(item, name, MAX_SIZE) for item in value[:layers]]

    def windows(self, layers: int) -> list[int | None]:
        """Tokens that each layer looks back, None for all of them."""
        rule = WINDOWS.get(self.family, NO_WINDOWS)
        window = self.integer("attention.sliding_window", rule.default)
        if not window or (rule.only_depth and rule.only_depth != layers):
            return [None] * layers
        window = rule.fixed or window
        pattern = self.metadata.get(f"{self.family}.attention.sliding_window_pattern")
        if isinstance(pattern, tuple):
            return [window if index < len(pattern) and pattern[index] else None for index in range(layers)]
        period = pattern if isinstance(pattern, int) and not isinstance(pattern, bool) else None
        return [window if rule.slides(index, period) else None for index in range(layers)]

    def _checked(self, value: object, name: str, maximum: int) -> int:
        if value == _MISSING:
            raise InvalidFile("missing_key", place=self.place(name))
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
            raise InvalidFile("bad_number", place=self.place(name))
        return value
