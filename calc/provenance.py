"""Where a number comes from: every fact that the estimator uses carries one of these to the page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a number, as the foot of a figure would give it.

    Args:
        title: title of the source as published.
        url: address, pinned to a version where the source has versions; empty when the source has no address.
        retrieved: ISO date on which the source was read.
        note: the place inside the source (``§3.1``, ``eq. 2``) or the exact thing read there; may be empty.

    Example:
        >>> Provenance(title="A study", url="https://example.org/v1", retrieved="2026-12-01").note
        ''
    """

    title: str
    url: str
    retrieved: str
    note: str = ""
