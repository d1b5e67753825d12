"""Typed getters over an untrusted ``config.json``: every refusal names the exact key.

Three rules decide what an absent key means:

1. The *sizes* of a model (``hidden_size``, ``num_hidden_layers`` …) must be written in a top-level configuration:
   Transformers always saves them there, so their absence is a damaged file. Read them with ``size``.
2. A nested configuration (``text_config``) is saved as a difference from its class, so there the class's
   default is the law for sizes too.
3. Every other key falls back to the class's documented default (``calc.hf_config.defaults``); without one it is
   missing.

An explicit ``null`` is a value of its own: only the ``optional_`` getters take it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from calc.errors import InvalidConfig

MAX_SIZE: Final = 2**31
"""Largest width, vocabulary or context: over a hundred times the largest ever published."""
MAX_LAYERS: Final = 10_000
MAX_EXPERTS: Final = 100_000
_SHOWN: Final = 60
_ABSENT: Final = object()


def shown(value: object) -> str:
    """A short, safe text of a refused value (an int of a million digits has no ``str``).

    >>> shown(-3), shown(10**5000), shown("x" * 100)[:8], shown(None), shown({})
    ('-3', '> 10^4999', "'xxxxxxx", 'null', '{…}')
    """
    if isinstance(value, int) and value.bit_length() > 128:
        exponent = (value.bit_length() - 1) * 30103 // 100_000
        return f"< -10^{exponent}" if value < 0 else f"> 10^{exponent}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float | str):
        text = repr(value[:_SHOWN]) if isinstance(value, str) else repr(value)
        return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"
    return "{…}" if isinstance(value, Mapping) else "[…]"


@dataclass(frozen=True, slots=True)
class Reader:
    """One object of a configuration, with the path that led to it and the defaults of its class.

    Each getter takes one key or several names of the same key (``n_embd``, ``hidden_size``): the first present wins.

    Example:
        >>> Reader({"num_hidden_layers": -1}, path="text_config").size("num_hidden_layers")
        Traceback (most recent call last):
        ...
        calc.errors.InvalidConfig: out_of_range at text_config.num_hidden_layers: {'value': '-1', 'minimum': 1, ...}
    """

    mapping: Mapping[str, object]
    path: str = ""
    defaults: Mapping[str, object] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """The path of a key, from the top of the file."""
        return f"{self.path}.{key}" if self.path else key

    def refuse(self, code: str, key: str, **params: object) -> InvalidConfig:
        """The error to raise about a key."""
        return InvalidConfig(code, place=self.place(key), **params)

    def has(self, *keys: str) -> bool:
        """Whether the file itself holds the key with a value that is not null."""
        return any(self.mapping.get(key) is not None for key in keys)

    def with_defaults(self, defaults: Mapping[str, object]) -> "Reader":
        """The same object read with other class defaults."""
        return replace(self, defaults=defaults)

    def _find(self, keys: tuple[str, ...], *, use_defaults: bool = True) -> tuple[str, object]:
        for key in keys:
            if key in self.mapping:
                return key, self.mapping[key]
        if use_defaults:
            for key in keys:
                if key in self.defaults:
                    return key, self.defaults[key]
        return keys[0], _ABSENT

    def _integer(self, key: str, value: object, minimum: int, maximum: int) -> int:
        if value is _ABSENT:
            raise self.refuse("missing_key", key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse("not_an_integer", key, value=shown(value))
        if not minimum <= value <= maximum:
            raise self.refuse("out_of_range", key, value=shown(value), minimum=minimum, maximum=maximum)
        return value

    def size(self, *keys: str, minimum: int = 1, maximum: int = MAX_SIZE) -> int:
        """A size that a top-level file must hold itself (rules 1 and 2)."""
        key, value = self._find(keys, use_defaults=bool(self.path))
        return self._integer(key, value, minimum, maximum)

    def integer(self, *keys: str, minimum: int = 1, maximum: int = MAX_SIZE) -> int:
        """An integer, or the class's default."""
        return self._integer(*self._find(keys), minimum, maximum)

    def optional_integer(self, *keys: str, minimum: int = 1, maximum: int = MAX_SIZE) -> int | None:
        """An integer, or None where the file says null or neither it nor the class says anything."""
        key, value = self._find(keys)
        return None if value is None or value is _ABSENT else self._integer(key, value, minimum, maximum)

    def layers(self, *keys: str) -> int:
        """Number of layers (``num_hidden_layers`` unless other names are given)."""
        return self.size(*(keys or ("num_hidden_layers",)), maximum=MAX_LAYERS)

    def number(self, *keys: str, maximum: float = float(MAX_SIZE)) -> int | float:
        """A finite number greater than zero (expansion ratios)."""
        key, value = self._find(keys)
        if value is _ABSENT:
            raise self.refuse("missing_key", key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse("not_a_number", key, value=shown(value))
        if not 0 < value <= maximum:
            raise self.refuse("out_of_range", key, value=shown(value), minimum=0, maximum=maximum)
        return value

    def boolean(self, *keys: str) -> bool:
        """true or false; null counts as the class's default."""
        key, value = self._find(keys)
        if value is None:
            value = next((self.defaults[name] for name in keys if name in self.defaults), None)
        if value is _ABSENT:
            raise self.refuse("missing_key", key)
        if not isinstance(value, bool):
            raise self.refuse("not_a_boolean", key, value=shown(value))
        return value

    def optional_text(self, *keys: str, maximum: int = 200) -> str | None:
        """A short text, or None."""
        key, value = self._find(keys)
        if value is None or value is _ABSENT:
            return None
        if not isinstance(value, str) or len(value) > maximum:
            raise self.refuse("not_a_text", key, value=shown(value))
        return value

    def text(self, *keys: str, maximum: int = 200) -> str:
        """A short text."""
        value = self.optional_text(*keys, maximum=maximum)
        if value is None:
            raise self.refuse("missing_key", keys[0])
        return value

    def choice(self, *keys: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        value = self.text(*keys)
        if value not in choices:
            raise self.refuse("not_a_choice", self._find(keys)[0], value=shown(value), choices=", ".join(choices))
        return value

    def _list(self, keys: tuple[str, ...], maximum: int) -> tuple[str, Sequence[object]] | None:
        key, value = self._find(keys)
        if value is None or value is _ABSENT:
            return None
        if not isinstance(value, list | tuple):
            raise self.refuse("not_a_list", key, value=shown(value))
        if len(value) > maximum:
            raise self.refuse("wrong_length", key, length=len(value), maximum=maximum)
        return key, value

    def optional_words(self, *keys: str, choices: Sequence[str], length: int) -> tuple[str, ...] | None:
        """A list of ``length`` words out of ``choices`` (``layer_types``), or None."""
        found = self._list(keys, MAX_LAYERS)
        if found is None:
            return None
        key, values = found
        if len(values) != length:
            raise self.refuse("wrong_length", key, length=len(values), expected=length)
        for index, value in enumerate(values):
            if not isinstance(value, str) or value not in choices:
                raise self.refuse("not_a_choice", f"{key}[{index}]", value=shown(value), choices=", ".join(choices))
        return tuple(str(value) for value in values)

    def optional_integers(
        self, *keys: str, minimum: int = 0, maximum: int = MAX_SIZE, length: int | None = None
    ) -> tuple[int, ...] | None:
        """A list of integers (of exactly ``length`` where given), or None."""
        found = self._list(keys, MAX_LAYERS)
        if found is None:
            return None
        key, values = found
        if length is not None and len(values) != length:
            raise self.refuse("wrong_length", key, length=len(values), expected=length)
        return tuple(self._integer(f"{key}[{index}]", value, minimum, maximum) for index, value in enumerate(values))

    def section(self, key: str, defaults: Mapping[str, object] | None = None) -> "Reader":
        """A nested object; an absent or null one is empty where ``defaults`` are given, else missing."""
        value = self.mapping.get(key)
        if value is None:
            if defaults is None:
                raise self.refuse("missing_key", key)
            value = {}
        if not isinstance(value, Mapping):
            raise self.refuse("not_an_object", key, value=shown(value))
        return Reader(value, self.place(key), defaults or {})

    def require(self, condition: bool, key: str, code: str = "inconsistent", **params: object) -> None:
        """Refuse a key whose value does not fit with the others."""
        if not condition:
            raise self.refuse(code, key, **params)
