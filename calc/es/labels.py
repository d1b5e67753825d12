"""Short words for the picture, and why a component has a range: what the page says beside a number."""

from collections.abc import Mapping
from typing import Final

from calc.layout import Layout

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

MOMENTS: Final[Mapping[str, str]] = {
    "forward": "Fin del paso adelante",
    "loss": "Pérdida",
    "first_backward": "Comienzo del paso atrás",
    "last_backward": "Fin del paso atrás",
    "optimizer_step": "Optimizador",
    "prefill": "Lectura de la entrada",
    "prompt_logits": "Logits de la entrada",
    "first_token": "Primer token",
    "decode": "Generación",
}
"""Short name of each moment, over its bar and at the head of its column."""

RECIPES: Final[Mapping[str, str]] = {
    "16": "Adam o AdamW, precisión mixta",
    "12": "Adam de 8 bits, gradientes en 32",
    "8": "SGD con momento, sin copia maestra",
    "20": "Adam, gradientes en 16 y en 32 bits (DeepSpeed)",
    "18": "Adam, gradientes en 32 bits (Megatron)",
    "16-float32": "Adam, todo en 32 bits; también el AMP de Hugging Face",
    "12-lion": "Lion, precisión mixta",
    "12-sgd": "SGD con momento, precisión mixta",
    "10": "Adam de 8 bits, gradientes en 16",
    "8-bfloat16": "Adam, todo en 16 bits",
    "6": "Adam de 8 bits, sin copia maestra",
    "4": "SGD sin momento",
    "paged-adamw-8bit": "Adam de 8 bits paginado",
    "adafactor": "Adafactor, precisión mixta",
    "muon": "Muon, precisión mixta",
    "galore": "GaLore de rango 128, precisión mixta",
}
"""Name of each row of the table of recipes."""

METHODS: Final[Mapping[str, str]] = {"full": "Ajuste fino completo", "lora": "LoRA", "qlora": "QLoRA"}
"""Ways to fine-tune a model."""

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


def layout_text(layout: Layout) -> str:
    """How a model is spread, in a few words; with their numbers where two ways are combined.

    >>> layout_text(Layout(data=4, zero=3)), layout_text(Layout(tensor=8, data=2, zero=1)), layout_text(Layout())
    ('FSDP', 'tensores 8 × ZeRO 1 entre 2', '')
    """
    shared = "FSDP" if layout.zero == 3 else f"ZeRO {layout.zero}" if layout.zero else "réplicas"
    ways = [
        ("tensores", "tensores {}", layout.tensor),
        ("etapas", "etapas {}", layout.pipeline),
        ("contexto", "contexto {}", layout.context),
        (shared, shared + " entre {}", layout.data),
    ]
    used = [(alone, together, degree) for alone, together, degree in ways if degree > 1]
    if len(used) == 1:
        return used[0][0]
    return " × ".join(together.format(degree) for _, together, degree in used)


def date_text(iso: str) -> str:
    """An ISO date in words.

    >>> date_text("2026-12-01").replace("\u00a0", " ")
    '1 de diciembre de 2026'
    """
    year, month, day = iso.split("-")
    return f"{int(day)}\u00a0de\u00a0{_MONTHS[int(month) - 1]}\u00a0de\u00a0{year}"
