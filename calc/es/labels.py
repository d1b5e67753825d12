"""Short words for the picture, and why a component has a range: what the page says beside a number."""

from collections.abc import Mapping
from typing import Final

SHORT_COMPONENTS: Final[Mapping[str, str]] = {
    "weights": "Pesos",
    "gradients": "Gradientes",
    "optimizer": "Optimizador",
    "master_weights": "Copia maestra",
    "kv_cache": "Caché KV",
    "activations": "Activaciones",
    "logits": "Logits",
    "adapters": "Adaptadores",
    "runtime": "Contexto",
}
"""Label of each component, with its finer parts, in the stacked bar: short enough for a narrow screen."""

UNCERTAINTY: Final[Mapping[str, str]] = {
    "weights": "Los formatos de bloque redondean las matrices a bloques enteros.",
    "gradients": "Depende de cuándo libera cada biblioteca los gradientes.",
    "optimizer": "Las escalas y los estados temporales cambian entre versiones.",
    "kv_cache": "Cada motor redondea la caché a bloques o páginas enteras.",
    "activations": "Depende de qué operaciones fusiona cada versión de las bibliotecas.",
    "logits": "Algunas versiones guardan además una copia en 32 bits.",
    "adapters": "Depende de la biblioteca que los carga.",
    "runtime": "El contexto cambia con el controlador, las bibliotecas y la GPU.",
}
"""What makes a component uncertain, for those that come with a range."""

_MONTHS: Final = (
    *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
    *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)


def date_text(iso: str) -> str:
    """An ISO date in words.

    >>> date_text("2026-12-01").replace("\u00a0", " ")
    '1 de diciembre de 2026'
    """
    year, month, day = iso.split("-")
    return f"{int(day)}\u00a0de\u00a0{_MONTHS[int(month) - 1]}\u00a0de\u00a0{year}"
