"""Quantities and symbols in Spanish: each component of an estimate, each letter of a formula."""

from collections.abc import Mapping
from typing import Final

COMPONENTS: Final[Mapping[str, str]] = {
    "weights": "Pesos",
    "weights/scales": "Escalas de la cuantización",
    "weights/unquantized": "Pesos sin cuantizar",
    "gradients": "Gradientes",
    "optimizer": "Estados del optimizador",
    "optimizer/scales": "Escalas de los estados",
    "master_weights": "Copia maestra en 32 bits",
    "kv_cache": "Caché KV",
    "kv_cache/state": "Estado recurrente",
    "activations": "Activaciones",
    "activations/prefill": "Activaciones de la entrada",
    "logits": "Logits",
    "adapters": "Adaptadores",
    "adapters/weights": "Pesos de los adaptadores",
    "adapters/gradients": "Gradientes de los adaptadores",
    "adapters/optimizer": "Estados del optimizador de los adaptadores",
    "adapters/master_weights": "Copia maestra de los adaptadores",
    "runtime": "Contexto y bibliotecas",
}
"""Name of each component; a finer part without a name of its own takes that of the whole."""

SYMBOLS: Final[Mapping[str, str]] = {
    "A": "memoria de activaciones; en la acumulación, la de una muestra [bytes]",
    "a": "cabezas de consulta; en la acumulación, pasos",
    "B": "bytes por elemento o por parámetro",
    "b": "secuencias o muestras a la vez",
    "c": "rango latente de claves y valores (MLA)",
    "d": "tamaño de cabeza",
    "E": "expertos",
    "f": "ancho de la red intermedia",
    "G": "bytes por gradiente",
    "g": "ancho de los expertos compartidos; en la acumulación, GPU en paralelo",
    "h": "tamaño oculto",
    "i": "ancho interno de la capa recurrente",
    "K": "expertos por token",
    "k": "cabezas de claves y valores",
    "L": "capas",
    "N_s": "escalas de la cuantización",
    "n": "tamaño de cabeza de consulta (MLA)",
    "O": "contexto y bibliotecas de la GPU [bytes]",
    "P": "parámetros",
    "P_q": "parámetros cuantizados",
    "P_u": "parámetros sin cuantizar",
    "q": "bits por valor",
    "q_s": "bits por escala",
    "q_u": "bits por valor sin cuantizar",
    "r": "rango del adaptador",
    "S": "segmentos entre puntos de control",
    "s": "tokens por secuencia",
    "t": "tokens del lote (b · s)",
    "u": "rango latente de consultas (MLA)",
    "V": "vocabulario",
    "v": "tamaño de cabeza de los valores",
    "w": "ventana de atención [tokens]",
}
"""Meaning of each symbol, with its unit where it is not a count."""


def component_name(name: str) -> str:
    """The Spanish name of a component or of a finer part of one.

    >>> component_name("weights/scales"), component_name("activations/anything")
    ('Escalas de la cuantización', 'Activaciones')
    """
    return COMPONENTS.get(name) or COMPONENTS[name.partition("/")[0]]
