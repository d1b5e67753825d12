"""What one row of the catalogue holds.

Capacities on a box are powers of two: a card sold as «24 GB» carries 24 GiB of memory chips. Rows therefore keep the
number on the box, and ``sold_bytes`` multiplies it by 2^30.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calc.gpu import Gpu
from calc.provenance import Provenance
from calc.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEntry(Gpu):
    """A GPU with the origin of each of its two capacities.

    Args:
        vendor: ``nvidia``, ``amd`` or ``apple``.
        sold_provenance: where the capacity on the box was read.
        usable_provenance: where the driver's reading was published; ``None`` where no reading is known.

    Example:
        >>> from calc.catalog import gpu
        >>> gpu("rtx-4090").sold_gb, gpu("rtx-4090").usable_bytes
        (24, 25757220864)
    """

    vendor: str
    sold_provenance: Provenance
    usable_provenance: Provenance | None = None

    @property
    def sold_gb(self) -> int:
        """The number on the box, which counts units of 2^30 bytes."""
        return self.sold_bytes // GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A published model: the architecture keys of its real configuration.

    Args:
        id: lower-case public name with hyphens (``llama-3.1-405b``).
        name: public name.
        hub_id: repository on the Hugging Face hub.
        family: name shared by the models of one line (``Llama 3.1``).
        config: keys of ``config.json`` that decide parameters and memory.
        parameters: total of the parameters that this configuration gives; tied tables counted once.
        verified: whether that total equals one that was published for the model's own weights.
        featured: place among the presets shown first, from 1; ``None`` for the rest.
        origin: ``repository`` for a public copy of the file, ``class_defaults`` for the defaults that Transformers
            takes from this very model, ``memory`` for keys written down without a copy at hand.
        provenance: where the configuration was read; for ``memory``, where it can be compared.

    Example:
        >>> from calc.catalog import model
        >>> model("llama-3-8b").config["num_key_value_heads"]
        8
    """

    id: str
    name: str
    hub_id: str
    family: str
    config: Mapping[str, Any]
    parameters: int
    verified: bool
    featured: int | None
    origin: str
    provenance: Provenance
