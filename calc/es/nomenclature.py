"""Quantities and symbols in Spanish: each component of an estimate, each letter of a formula."""

from collections.abc import Mapping
from typing import Final

COMPONENTS: Final[Mapping[str, str]] = {
    "weights": "Pesos",
    "weights/scales": "Escalas de la cuantización",
    "weights/unquantized": "Pesos sin cuantizar",
    "weights/head": "Matriz de salida",
    "gradients": "Gradientes",
    "optimizer": "Estados del optimizador",
    "optimizer/scales": "Escalas de los estados",
    "master_weights": "Copia maestra en 32 bits",
    "kv_cache": "Caché KV",
    "kv_cache/state": "Estado recurrente",
    "kv_cache/draft": "Caché KV del modelo borrador",
    "weights/draft": "Pesos del modelo borrador",
    "runtime/graphs": "Grafos de CUDA",
    "runtime/non-torch": "Memoria fuera de PyTorch",
    "activations": "Activaciones",
    "activations/prefill": "Activaciones de la entrada",
    "activations/live": "Capa en el paso hacia atrás",
    "activations/gradients": "Gradientes de las entradas de las capas",
    "activations/dequantized": "Matriz descuantizada",
    "weights/gathered": "Pesos reunidos para calcular",
    "weights/cast": "Copia de los pesos en 16 bits",
    "weights/rotary": "Tablas de posiciones rotatorias",
    "gradients/buckets": "Gradientes enteros por reducir",
    "optimizer/step": "Temporales del paso del optimizador",
    "runtime/workspace": "Espacio de trabajo",
    "runtime/reserve": "Reserva del asignador de memoria",
    "logits": "Logits",
    "adapters": "Adaptadores",
    "adapters/weights": "Pesos de los adaptadores",
    "adapters/gradients": "Gradientes de los adaptadores",
    "adapters/optimizer": "Estados del optimizador de los adaptadores",
    "adapters/master_weights": "Copia maestra de los adaptadores",
    "runtime": "Contexto y bibliotecas",
}
"""Name of each component; a finer part without a name of its own takes that of the whole."""

_WINDOWED: Final[Mapping[str, str]] = {
    "L": "capas con ventana",
    "k": "cabezas de claves y valores en las capas con ventana",
    "d": "tamaño de cabeza en las capas con ventana",
    "v": "tamaño de cabeza de los valores en las capas con ventana",
    "c": "rango latente en las capas con ventana",
    "e": "ancho de la clave con posición rotatoria en las capas con ventana",
    "j": "ancho de la clave del indexador en las capas con ventana",
    "N": "elementos por token de las capas con ventana",
    "N_v": "elementos por token de los valores en las capas con ventana",
}

SYMBOLS: Final[Mapping[str, str]] = {
    "A": "activaciones que se recalculan [bytes]",
    "A_s": "puntuaciones de atención de una capa, que se recalculan [bytes]",
    "a": "cabezas de consulta",
    "B": "bytes por elemento o por parámetro",
    "b": "secuencias o muestras a la vez",
    "c": "rango latente de claves y valores (MLA)",
    "d": "tamaño de cabeza",
    "e": "ancho de la clave con posición rotatoria (MLA)",
    "E": "expertos",
    "f": "ancho de la red intermedia",
    "g": "ancho de los expertos compartidos",
    "h": "tamaño oculto",
    "i": "ancho interno de la capa recurrente",
    "K": "expertos por token",
    "k": "cabezas de claves y valores",
    "L": "capas",
    "l": "capas reunidas a la vez",
    "M_s": "suma de las partes, cada una en su momento mayor [bytes]",
    "M": "memoria asignada [bytes]",
    "m": "microlotes a la vez; con dropout en los adaptadores, ancho de su entrada",
    "N_b": "bloques de estados de 8 bits, con una escala cada uno; en GaLore, elementos de las proyecciones",
    "N_f": "sumas de filas y columnas que guarda Adafactor; en GaLore, elementos proyectados",
    "N_s": "escalas de la cuantización",
    "N_a": "adaptadores cargados",
    "N_p": "elementos por token de las capas que ven todo el prefijo",
    "n": "partes entre las que se reparte; en MLA, tamaño de cabeza de consulta",
    "O": "contexto y bibliotecas de la GPU [bytes]",
    "P": "parámetros",
    "P_a": "parámetros de los adaptadores",
    "P_d": "parámetros del modelo borrador",
    "P_h": "parámetros de la matriz de salida",
    "P_l": "parámetros de una capa",
    "P_m": "parámetros de una matriz; en Muon, de todas las matrices de las capas",
    "P_r": "parámetros fuera de las capas",
    "p": "ancho de la tabla de posiciones rotatorias",
    "P_q": "parámetros cuantizados; en los estados, los que se guardan en 8 bits",
    "P_u": "parámetros sin cuantizar; en los estados, los que siguen en 32 bits",
    "q": "bits por valor",
    "q_h": "bits por valor de la matriz de salida",
    "q_s": "bits por escala",
    "q_u": "bits por valor sin cuantizar",
    "r": "rango del adaptador",
    "S": "contexto máximo [tokens]",
    "s": "tokens por secuencia",
    "s_p": "tokens del prefijo común, en bloques enteros",
    "t": "tokens del lote (b · s)",
    "u": "rango latente de consultas (MLA); en llama.cpp, tokens del lote físico",
    "V": "vocabulario",
    "v": "tamaño de cabeza de los valores",
    "W_h": "matriz de salida que se copia a la GPU [bytes]",
    "W_l": "mayor matriz de una capa que se copia a la GPU [bytes]",
    "w": "ventana de atención [tokens]",
    "z": "reserva sobre lo asignado, en tanto por ciento",
    "w2": "segunda ventana de atención [tokens]",
    "w3": "tercera ventana de atención [tokens]",
    "j": "ancho de la clave del indexador (MLA dispersa)",
    "N": "elementos por token de todas las capas; con los valores aparte, los de las claves",
    "N_v": "elementos por token de los valores, todas las capas",
    "B_v": "bytes por elemento de los valores",
    "x": "elementos de las convoluciones, todas las capas",
    "y": "elementos del estado recurrente, todas las capas",
    "B_x": "bytes por elemento de las convoluciones",
    "B_y": "bytes por elemento del estado recurrente",
    **{f"L_{group}": f"capas del tipo {group}" for group in range(1, 10)},
    **{f"A_{group}": f"activaciones de una capa del tipo {group} [bytes]" for group in range(1, 10)},
    **{f"{symbol}_{window}": meaning for window in ("w", "w2", "w3") for symbol, meaning in _WINDOWED.items()},
}
"""Meaning of each symbol, with its unit where it is not a count."""

_OWN_SYMBOLS: Final[Mapping[str, Mapping[str, str]]] = {
    "serving": {
        "U": "fracción de la GPU que vLLM puede usar",
        "D": "memoria de la GPU según CUDA [bytes]",
        "W": "pesos y adaptadores [bytes]",
        "A": "activaciones del paso de prueba [bytes]",
        "G": "grafos de CUDA [bytes]; en su propia fórmula, cuántos hay",
        "O": "memoria fuera de PyTorch [bytes]",
        "b": "secuencias del paso de prueba",
        "B": "bytes por elemento; en los grafos, por capa y grafo",
    },
    "entrenar": {"A": "activaciones [bytes]"},
    "acumulacion": {
        "A": "activaciones de una muestra [bytes]",
        "a": "pasos que se acumulan",
        "b": "muestras por microlote",
        "g": "GPU en paralelo",
    },
}
"""What a letter means in the calculators whose law uses it for something else."""


def symbol_meaning(symbol: str, calculator: str) -> str:
    """What a symbol means in the formulas of a calculator.

    >>> symbol_meaning("a", "gpu"), symbol_meaning("a", "acumulacion")
    ('cabezas de consulta', 'pasos que se acumulan')
    """
    return _OWN_SYMBOLS.get(calculator, {}).get(symbol) or SYMBOLS[symbol]


def component_name(name: str) -> str:
    """The Spanish name of a component or of a finer part of one.

    >>> component_name("weights/scales"), component_name("activations/anything"), component_name("weights/q5_0")
    ('Escalas de la cuantización', 'Activaciones', 'Pesos en Q5_0')
    """
    whole, _, part = name.partition("/")
    words = COMPONENTS.get(name) or COMPONENTS[whole]
    return f"{words} en {part.upper()}" if whole == "weights" and part and name not in COMPONENTS else words
