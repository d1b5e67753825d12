"""Words for what is read in a pasted log, and for what is put beside an estimate."""

from collections.abc import Mapping
from typing import Final

KINDS: Final[Mapping[str, str]] = {
    "vllm": "Registro de vLLM",
    "llama.cpp": "Registro de llama.cpp",
    "pytorch-oom": "Error de memoria de PyTorch",
    "nvidia-smi": "Salida de nvidia-smi",
    "rocm-smi": "Salida de rocm-smi",
}
"""What the text is."""

READINGS: Final[Mapping[str, str]] = {
    "weights": "Pesos",
    "file_weights": "Pesos según el archivo",
    "weights_and_non_torch": "Pesos y memoria ajena a PyTorch",
    "kv_cache": "Caché KV",
    "kv_cache_total": "Caché KV en total",
    "recurrent_state": "Estado recurrente",
    "compute_buffer": "Memoria de cálculo",
    "output_buffer": "Memoria de salida",
    "input_buffer": "Memoria de entrada",
    "gpu_buffers": "Pesos y caché en la GPU",
    "host_buffers": "Pesos en la memoria del sistema",
    "projected": "Memoria prevista por llama.cpp",
    "unaccounted": "Memoria sin atribuir",
    "kv_pool": "Reserva para la caché KV",
    "kv_missing": "Memoria que falta para la caché KV",
    "kv_needed": "Caché KV de una petición",
    "cuda_graphs": "Grafos de CUDA",
    "cuda_graphs_estimated": "Grafos de CUDA, previstos",
    "activation_peak": "Pico de activaciones",
    "non_torch": "Memoria ajena a PyTorch",
    "budget": "Memoria que vLLM puede usar",
    "device_used": "Memoria usada en la GPU",
    "device_total": "Memoria de la GPU",
    "device_free": "Memoria libre en la GPU",
    "driver_reserved": "Reserva del controlador",
    "process_used": "Memoria del proceso",
    "requested": "Memoria pedida",
    "allocated": "Memoria asignada por PyTorch",
    "reserved": "Memoria reservada por PyTorch",
    "reserved_unallocated": "Memoria reservada sin asignar",
    "private_pools": "Memoria de los grafos de CUDA",
    "allowed": "Máximo permitido al proceso",
    "other_allocations": "Otras asignaciones",
}
"""Name of each reading."""

SETTINGS: Final[Mapping[str, str]] = {
    "engine": "Motor",
    "version": "Versión",
    "model": "Modelo",
    "file": "Archivo",
    "file-type": "Tipo de archivo",
    "gpu": "GPU",
    "precision": "Precisión de los pesos",
    "quantization": "Cuantización",
    "kv-precision": "Precisión de la caché KV",
    "kv-value-precision": "Precisión de los valores de la caché",
    "context": "Contexto",
    "concurrency": "Peticiones a la vez",
    "batch-tokens": "Tokens por tramo",
    "ubatch": "Tokens del lote físico",
    "gpu-layers": "Capas en la GPU",
    "flash-attention": "Flash Attention",
    "tensor-parallel": "Partes del paralelismo de tensores",
    "pipeline-parallel": "Etapas",
    "utilization": "Fracción de la GPU",
    "kv-tokens": "Tokens que caben en la caché KV",
    "kv-blocks": "Bloques de la caché KV",
    "max-concurrency": "Peticiones completas que caben",
    "max-concurrency-context": "Contexto de esas peticiones",
    "failure": "Fallo",
}
"""Name of each input that a log tells."""

FAILURES: Final[Mapping[str, str]] = {
    "no_memory_for_cache": "No queda memoria para la caché KV.",
    "context_over_cache": "La caché KV no alcanza para una petición del contexto máximo.",
    "over_budget": "La GPU tiene libre menos de lo que se pide reservar.",
    "out_of_memory": "Se agotó la memoria de la GPU.",
}
"""What went wrong, where the log says it."""

COMPARISONS: Final[Mapping[str, str]] = {
    "weights": "Pesos",
    "kv_cache": "Caché KV",
    "recurrent_state": "Estado recurrente",
    "kv_request": "Caché KV de una petición",
    "kv_token": "Caché KV de un token",
    "compute_buffer": "Memoria de cálculo, junto a activaciones y logits",
    "activation_peak": "Pico de activaciones, junto a activaciones y logits",
    "projected": "Memoria prevista por llama.cpp, junto al total sin contexto",
    "allocated": "Memoria asignada, junto al total sin contexto",
    "allocated_and_requested": "Memoria asignada y pedida, junto al total sin contexto",
    "device_used": "Memoria usada en la GPU, junto al total",
}
"""Name of each comparison: what was measured, and beside what it is put if the names differ."""

NOTES: Final[Mapping[str, str]] = {
    "": "",
    "all_devices": "Es la suma de todos los dispositivos, con la memoria del sistema.",
    "all_gpus": "Es la suma de las GPU entre las que se reparte el modelo.",
    "file_size": "Es el tamaño que declara el archivo: el registro no dice dónde se cargó.",
    "buffers_repeat_weights": "Lo cargado suma más que el archivo, porque hay pesos en dos sitios: se compara el "
    "archivo.",
    "largest_device": "Es la GPU que más usa: cada una tiene la suya.",
    "profile_run": "vLLM la mide con una ejecución de prueba, con el lote más grande que admite.",
    "one_request": "La reserva de vLLM no es la caché de esta carga: se compara lo que ocupa una petición del contexto "
    "máximo del registro.",
    "one_token": "La reserva de vLLM no es la caché de esta carga: se compara lo que ocupa un token.",
    "other_processes": "Cuenta todo lo que hay en la GPU, también lo de otros programas.",
    "partly_on_cpu": "Parte de las capas está en la memoria del sistema y la estimación las pone todas en la GPU.",
    "without_context": "No incluye el contexto de la GPU.",
    "until_failure": "Es lo asignado al fallar, antes de llegar al pico.",
    "at_least": "Es lo mínimo que hacía falta: el pico puede ser mayor.",
}
"""What keeps the measured and the estimated from being quite the same."""

NO_RUNTIME: Final[Mapping[str, str]] = {
    "no_figure": "El registro no dice cuánta memoria de la GPU está en uso.",
    "engine_reserves": "vLLM llena la GPU hasta la fracción indicada: lo que sobra no es el contexto.",
    "several_gpus": "El modelo está repartido entre varias GPU y la estimación es de una.",
    "partly_on_cpu": "Parte del modelo está en la memoria del sistema.",
    "until_failure": "El error no dice cuánto había reservado PyTorch ni cuánto tenía el proceso.",
    "estimate_above": "El resto de la estimación ya supera lo medido.",
}
"""Why the context of the GPU cannot be told from the log."""
