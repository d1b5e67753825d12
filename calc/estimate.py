"""What an estimate is: a sum of named components, each with its formula, its source and its range.

``calc.memory`` builds them; the calculators, the command line and the page only read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from calc.formula import Formula, Number

NOTHING: Mapping[str, int | str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One named part of the memory.

    Args:
        name: ``weights``, ``gradients``, ``optimizer``, ``master_weights``, ``kv_cache``, ``activations``, ``logits``,
            ``adapters`` or ``runtime``, finer after a slash (``weights/scales``).
        bytes: the estimate [B]; always ``derivation.bytes``.
        low: nine measurements out of ten should be at or above this [B]; equal to ``bytes`` where the count is exact.
        high: and at or below this [B].
        derivation: the formula that was run, with its numbers.
        sources: keys of ``calc.sources.SOURCES``.

    Example:
        >>> Component(name="weights", derivation=Formula("P * q / 8", {"P": 8, "q": 16}), sources=()).bytes
        16
    """

    name: str
    derivation: Formula
    sources: tuple[str, ...]
    bytes: int = -1
    low: int = -1
    high: int = -1

    def __post_init__(self) -> None:
        """Fill what was left out from the derivation: an exact component states no range of its own."""
        size = self.derivation.bytes if self.bytes < 0 else self.bytes
        object.__setattr__(self, "bytes", size)
        object.__setattr__(self, "low", size if self.low < 0 else self.low)
        object.__setattr__(self, "high", size if self.high < 0 else self.high)

    @property
    def exact(self) -> bool:
        """Whether the component is counted, not estimated."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something the reader must know about the estimate: a code and its values; the words are in ``calc.es``."""

    code: str
    params: Mapping[str, int | str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Components in a stable order, and notes.

    Example:
        >>> eight = Formula("P * q / 8", {"P": 4, "q": 16})
        >>> estimate = Estimate(components=(Component(name="weights", derivation=eight, sources=()),))
        >>> estimate.total, estimate.component("weights"), estimate.component("kv_cache")
        (8, 8, 0)
    """

    components: tuple[Component, ...]
    notes: tuple[Note, ...] = ()

    @property
    def total(self) -> int:
        """Sum of the components [B]."""
        return sum(component.bytes for component in self.components)

    @property
    def low(self) -> int:
        """Sum of the low ends [B]."""
        return sum(component.low for component in self.components)

    @property
    def high(self) -> int:
        """Sum of the high ends [B]."""
        return sum(component.high for component in self.components)

    def component(self, name: str) -> int:
        """Bytes of the component of this name and of its finer parts; 0 if there is none [B]."""
        return sum(part.bytes for part in self.components if part.name == name or part.name.startswith(f"{name}/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters on a frozen base (Hu et al. 2021).

    Args:
        rank: ``r``.
        target_modules: ``all-linear``, ``attention``, ``q-v``, or module names (``("q_proj", "v_proj")``).
        precision: data type of the adapters' weights and gradients; the base keeps ``Workload.precision``
            (a 4-bit one makes it QLoRA).
    """

    rank: int = 16
    target_modules: str | tuple[str, ...] = "all-linear"
    precision: str = "bfloat16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is done with the model. Names are those of the form's fields, with underscores.

    Args:
        precision: id of ``calc.dtypes.DTYPES`` for the weights.
        kv_precision: id for the KV cache; ``auto`` is 16 bits, or 32 with float32 weights.
        batch: sequences at a time (micro-batch in training, concurrent requests in inference).
        context_tokens: tokens per sequence, prompt and answer together.
        optimizer: id of ``calc.recipes.OPTIMIZERS``.
        mixed_precision: 16-bit training keeps a float32 master copy.
        checkpointing: ``none``, ``selective``, ``full`` or ``sqrt`` (``calc.activations``).
        attention_kernel: ``flash`` (scores never stored; PyTorch's SDPA too) or ``eager``.
        runtime_bytes: context and libraries of the device [B]; ``None`` for the documented default.
        engine: id of ``calc.engines.ENGINES``.
        lora: adapters, or ``None`` for full training.
    """

    precision: str = "bfloat16"
    kv_precision: str = "auto"
    batch: int = 1
    context_tokens: int = 8192
    optimizer: str = "adamw"
    mixed_precision: bool = True
    checkpointing: str = "none"
    attention_kernel: str = "flash"
    runtime_bytes: int | None = None
    engine: str = "exact"
    lora: Lora | None = None


def ranged(  # noqa: PLR0913 - the parts of a component
    name: str, expression: str, terms: Mapping[str, Number], sources: tuple[str, ...], *, low: int, high: int
) -> Component:
    """A component with a range of its own, widened if need be so that it contains the value.

    >>> ranged("runtime", "O", {"O": 900}, (), low=508, high=1428).high
    1428
    """
    derivation = Formula(expression, terms)
    size = derivation.bytes
    return Component(
        name=name, bytes=size, derivation=derivation, sources=sources, low=min(low, size), high=max(high, size)
    )
