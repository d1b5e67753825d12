"""The GPU that an estimate is held against.

``usable_bytes`` is what the driver reports, which is less than what is sold: error correction and firmware take a part.
"""

from dataclasses import dataclass

INTEGRATED = ("integrated", "apple")
"""Kinds whose memory is shared with the processor: a second one is a second computer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One card, or one device of unified memory.

    Args:
        id: lower-case public name with hyphens (``rtx-4090``).
        name: public name.
        kind: ``consumer``, ``professional``, ``data_center``, ``integrated`` or ``apple``.
        sold_bytes: capacity on the box [B].
        usable_bytes: capacity that the driver reports [B]; ``None`` if no reading is known.
        usable_is_reported: True where ``usable_bytes`` is such a reading.
        reserve_bytes: what the visitor keeps free of it: a display, another program, room for surprises [B].
        sources: keys of ``calc.sources.SOURCES``.

    Example:
        >>> Gpu(id="x", name="X", kind="consumer", sold_bytes=24 * 2**30).capacity == 24 * 2**30
        True
    """

    id: str
    name: str
    kind: str
    sold_bytes: int
    usable_bytes: int | None = None
    usable_is_reported: bool = False
    reserve_bytes: int = 0
    sources: tuple[str, ...] = ()

    @property
    def combines(self) -> bool:
        """Whether a model can be spread over several of them: not where the memory is the computer's own."""
        return self.kind not in INTEGRATED

    @property
    def capacity(self) -> int:
        """Bytes to plan with: the driver's reading less the reserve, at least one.

        What is sold stands in where there is no reading (the page must say so).
        """
        return max(self.reported - self.reserve_bytes, 1)

    @property
    def reported(self) -> int:
        """The driver's reading [B], or what is sold where there is none."""
        return self.sold_bytes if self.usable_bytes is None else self.usable_bytes
