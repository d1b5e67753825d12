"""The words about files: what is wrong with them, where, and what is remarkable in a model that was opened.

A sentence about a file names the file, then the place, then what is wrong. Names come from the file and are data:
whoever shows them on a page escapes them.
"""

from collections.abc import Mapping
from typing import Final

PLACES: Final[Mapping[str, str]] = {
    "header": "cabecera",
    "json": "contenido",
    "data": "datos",
    "magic": "primeros bytes",
    "version": "versión",
    "index": "índice",
    "tensor_count": "número de tensores",
    "metadata_kv_count": "número de metadatos",
}
"""Words for the parts of a file; other places are names and keys of the file itself."""

FILE_ERRORS: Final[Mapping[str, str]] = {
    "bad_alignment": "la alineación debe ser una potencia de dos.",
    "bad_number": "el número no es válido.",
    "bad_offsets": "las posiciones no son dos enteros válidos.",
    "bad_shape": "las dimensiones no son válidas.",
    "file_too_large": "el archivo JSON ocupa más de {maximum_bytes}.",
    "file_too_short": "el archivo tiene {bytes} bytes y no llega a tener cabecera.",
    "header_too_long": "se anuncian {bytes} bytes de cabecera y se leen como mucho {maximum}.",
    "hole": "hay bytes sin dueño antes de la posición {offset}.",
    "impossible_count": "se anuncian {count} elementos, que no caben en una cabecera.",
    "misaligned": "la posición {offset} no es múltiplo de {alignment}.",
    "missing_key": "falta la clave.",
    "missing_part": "falta la parte {number} de {count}.",
    "mixed_parts": "se han mezclado partes de modelos distintos.",
    "not_json": "no es JSON válido (línea {line}, columna {column}).",
    "not_object": "debe ser un objeto JSON.",
    "not_text": "debe ser un texto corto.",
    "not_text_list": "debe ser una lista de textos.",
    "not_text_map": "debe ser una tabla de textos.",
    "not_utf8": "el texto no es UTF-8 (byte {offset}).",
    "overlap": "empieza en la posición {offset}, dentro de otro tensor.",
    "partial_block": "la fila de {row} elementos no es múltiplo del bloque de {block}.",
    "repeated_key": "está repetido.",
    "repeated_part": "hay partes repetidas.",
    "repeated_tensor": "está en dos archivos.",
    "several_configs": "hay {count} archivos de esta clase y solo puede haber uno por modelo.",
    "short_list": "la lista tiene {length} valores y hacen falta {expected}.",
    "size_mismatch": "ocupa {declared} bytes y por sus dimensiones deberían ser {expected}.",
    "text_too_long": "el texto mide {bytes} bytes y el máximo son {maximum}.",
    "too_deep": "hay demasiados niveles anidados.",
    "too_many_files": "son {count} archivos y el máximo son {maximum}.",
    "too_many_tensors": "hay {count} tensores y el máximo son {maximum}.",
    "too_many_values": "hay {count} valores y el máximo son {maximum}.",
    "trailing_bytes": "sobran bytes al final: se esperaban {expected} de datos y hay {bytes}.",
    "truncated": "el archivo está cortado: hacen falta {needed} bytes y hay {bytes}.",
    "unknown_dtype": "el tipo {dtype} no se conoce.",
    "unknown_format": "no es un archivo config.json, safetensors ni GGUF.",
    "unknown_value_type": "el tipo de valor {type} no se conoce.",
    "unsupported_version": "la versión {version} de GGUF no se lee; solo la 2 y la 3.",
    "wrong_layers": "se declaran {declared} capas y el archivo tiene tensores de {found}.",
    "wrong_magic": "no empieza como un archivo GGUF.",
    "wrong_tensor_count": "se declaran {declared} tensores y hay {found}.",
}
"""End of the sentence about a place of a file."""

FILE_NOTES: Final[Mapping[str, str]] = {
    "head_tied": "La matriz de salida es la misma que la tabla de tokens: se cuenta y se guarda una sola vez.",
    "tied_head_stored": "El archivo guarda otra vez la matriz de salida, que es la tabla de tokens: sobran "
    "{stored_bytes}.",
    "tensors_missing": "Faltan {missing} tensores que la configuración pide; el primero es «{first}».",
    "tensors_not_loaded": "El archivo guarda {count} tensores ({stored_bytes}) que el modelo no carga, como «{first}».",
    "tensors_not_in_part": "{missing} tensores no están en el archivo que dice el índice; el primero es «{first}».",
    "parts_not_opened": "Faltan por abrir {missing} de las {of} partes del modelo; la primera es «{first}».",
    "total_size_differs": "El índice declara {declared_bytes} y las partes suman {stored_bytes}.",
    "stored_format_unknown": "La configuración no basta para saber cuántos bytes ocupan los pesos guardados: hacen "
    "falta los archivos.",
    "shape_differs": "«{tensor}» mide {stored} en el archivo y {declared} según la configuración.",
    "names_not_compared": "Los nombres de los tensores no son los que usa Transformers ({common} de {of} coinciden): "
    "no se comparan uno a uno.",
    "prediction_not_loaded": "El archivo guarda además {parameters} parámetros que predicen tokens posteriores y que "
    "no se cargan para generar.",
}
"""Sentences about a model that was opened."""

KNOWN_FROM: Final[Mapping[str, str]] = {
    "file_headers": "contado en la cabecera de los archivos",
    "stored_elements": "números guardados en los archivos: en un formato empaquetado no son parámetros",
    "config_rules": "deducido de la configuración, tensor a tensor",
    "config_format": "deducido del formato que la configuración declara",
    "gguf_keys": "deducido de las claves del GGUF",
    "description": "descrito en la dirección de la página",
    "adapter_config": "leído en adapter_config.json",
}
"""How a figure is known, by code."""

KNOWN_FIGURES: Final[Mapping[str, str]] = {
    "parameters": "Parámetros",
    "weights": "Bytes de los pesos",
    "cache": "Caché KV y estado",
    "adapter": "Adaptador",
}
"""The figures of which ``KNOWN_FROM`` speaks."""

TENSOR_KINDS: Final[Mapping[str, str]] = {
    "linear": "Matrices lineales",
    "embedding": "Tabla de tokens",
    "position": "Posiciones y otras tablas",
    "head": "Matriz de salida",
    "norm": "Normalizaciones",
    "bias": "Sesgos",
    "convolution": "Convoluciones",
    "other": "Otros",
}
"""What tensors are for."""
