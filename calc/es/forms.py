"""The words of the forms: labels, hints, choices, units. A hint says in one line what the field does to memory."""

from collections.abc import Mapping
from typing import Final

from calc import catalog
from calc.dtypes import MIXES

CALCULATORS: Final[Mapping[str, str]] = {
    "gpu": "Calculadora de VRAM de GPU",
    "entrenar": "VRAM para entrenar",
    "acumulacion": "Acumulación de gradientes",
    "inferencia": "VRAM para inferencia",
    "lora": "LoRA y QLoRA",
}
"""Name of each calculator."""

SUMMARIES: Final[Mapping[str, str]] = {
    "gpu": "memoria de un modelo, en inferencia o en entrenamiento, y GPU en las que cabe",
    "entrenar": "memoria para entrenar a partir de los bytes por parámetro",
    "acumulacion": "lote efectivo y memoria de activaciones con acumulación de gradientes",
    "inferencia": "memoria para servir un modelo según el motor y las peticiones simultáneas",
    "lora": "parámetros, archivo y memoria de un adaptador LoRA o QLoRA",
}
"""What each calculator is for, in one line."""

FIELD_LABELS: Final[Mapping[str, str]] = {
    "model": "Modelo",
    "config": "Modelo descrito",
    "parameters": "Parámetros",
    "hidden-size": "Tamaño oculto",
    "layers": "Capas",
    "kv-heads": "Cabezas KV",
    "head-dim": "Tamaño de cabeza",
    "workload": "Uso",
    "precision": "Precisión de los pesos",
    "batch": "Tamaño de lote",
    "context": "Longitud de secuencia",
    "optimizer": "Optimizador",
    "mixed-precision": "Precisión mixta",
    "checkpointing": "Puntos de control de activaciones",
    "attention-kernel": "Cálculo de la atención",
    "kv-precision": "Precisión de la caché KV",
    "kv-value-precision": "Precisión de los valores de la caché",
    "runtime": "Contexto y bibliotecas de la GPU",
    "gpu": "GPU",
    "gpu-memory": "Memoria de la GPU",
    "reserve": "Reserva sin usar",
    "unit": "Unidad",
    "bytes-per-parameter": "Bytes por parámetro",
    "activations": "Memoria de activaciones",
    "micro-batch": "Microlote por GPU",
    "steps": "Pasos de acumulación",
    "gpus": "GPU en paralelo de datos",
    "activation-per-sample": "Activaciones por muestra",
    "concurrency": "Peticiones simultáneas",
    "engine": "Motor de inferencia",
    "rank": "Rango",
    "targets": "Matrices adaptadas",
    "method": "Método",
    "accumulation": "Microlotes por paso",
    "gradient-precision": "Precisión de los gradientes",
    "compute-precision": "Precisión de cálculo",
    "step-kernel": "Paso del optimizador",
    "loss": "Cálculo de la pérdida",
    "data-parallel": "Paralelismo de datos",
    "zero": "Reparto de estados (ZeRO o FSDP)",
    "tensor-parallel": "Paralelismo de tensores",
    "sequence-parallel": "Paralelismo de secuencia",
    "pipeline-parallel": "Etapas en cadena",
    "context-parallel": "Paralelismo de contexto",
    "expert-parallel": "Paralelismo de expertos",
    "offload": "Descarga a la memoria del sistema",
    "dora": "DoRA",
    "adapter-dropout": "Dropout del adaptador",
    "trained-modules": "Módulos entrenados enteros",
    "packed-experts": "Expertos apilados",
    "gpu-memory-utilization": "Fracción de la GPU para vLLM",
    "max-batched-tokens": "Tokens por paso",
    "cuda-graphs": "Grafos de CUDA",
    "prefix-tokens": "Prefijo común",
    "draft-model": "Modelo borrador",
    "lora-adapters": "Adaptadores LoRA cargados",
    "lora-rank": "Rango de los adaptadores",
    "gpu-layers": "Capas en la GPU",
    "ubatch": "Lote físico",
    "experts-on-cpu": "Expertos en la memoria del sistema",
    "flash-attention": "FlashAttention",
    "cache": "Reserva de la caché KV",
}

FIELD_HINTS: Final[Mapping[str, str]] = {
    "model": "Fija los pesos, la caché KV y las activaciones: se usan las formas exactas de sus tensores.",
    "config": "El texto de la ficha de un modelo: sus capas, sus tensores y lo que ocupan sus pesos.",
    "parameters": "Los pesos crecen en proporción directa; 7 quiere decir 7 miles de millones.",
    "hidden-size": "La caché KV y las activaciones crecen con este ancho.",
    "layers": "Cada capa guarda su parte de la caché KV y de las activaciones.",
    "kv-heads": "Menos cabezas KV que de consulta encogen la caché; si se deja vacío, hay tantas como de consulta.",
    "head-dim": "La caché KV es proporcional a este tamaño; si se deja vacío, se deduce del tamaño oculto.",
    "workload": "Entrenar añade gradientes, estados del optimizador y activaciones; inferir añade la caché KV.",
    "precision": "Los bits de cada peso: con la mitad de bits, los pesos ocupan la mitad.",
    "batch": "Secuencias a la vez: multiplica la caché KV y las activaciones, no los pesos.",
    "context": "Tokens de cada secuencia, entrada y respuesta juntas: la caché KV crece con ellos.",
    "optimizer": "AdamW guarda dos valores por parámetro; otros guardan menos o ninguno.",
    "mixed-precision": "Añade una copia maestra de los pesos en 32 bits: 4 bytes por parámetro.",
    "checkpointing": "Guarda menos activaciones y las vuelve a calcular: menos memoria, más tiempo.",
    "attention-kernel": "La atención clásica guarda una tabla que crece con el cuadrado de la secuencia.",
    "kv-precision": "Los bits de cada valor guardado: con 8 bits la caché ocupa la mitad que con 16.",
    "kv-value-precision": "llama.cpp puede guardar los valores con menos bits que las claves.",
    "runtime": "Lo que la GPU gasta antes del primer peso; si se deja vacío, se usa el valor medido.",
    "gpu": "La tarjeta con la que se compara el resultado; solo con vLLM decide además los tokens por paso.",
    "gpu-memory": "La que dice el controlador (nvidia-smi), algo menor que la que figura en la caja.",
    "reserve": "Lo que se deja libre en cada GPU: una pantalla (de 0,3 a 1,5 GiB), otro programa, un margen.",
    "unit": "1 GiB son 2³⁰ bytes; 1 GB son 10⁹ bytes, un 7\u00a0% menos.",
    "bytes-per-parameter": "Peso, gradiente, copia maestra y estados del optimizador de cada parámetro.",
    "activations": "Se suma a los estados del modelo; con 0 no se cuenta.",
    "micro-batch": "Muestras que pasan a la vez por cada GPU: la memoria de activaciones es proporcional.",
    "steps": "Microlotes que se suman antes de actualizar los pesos: no cambian la memoria.",
    "gpus": "Cada GPU procesa sus propios microlotes: multiplican el lote efectivo, no la memoria de cada una.",
    "activation-per-sample": "Lo que una muestra deja guardado para el paso hacia atrás.",
    "concurrency": "Cada petición en curso tiene su propia caché KV.",
    "engine": "Cada motor reserva la caché KV y su espacio de trabajo a su manera.",
    "rank": "Los parámetros del adaptador crecen en proporción directa al rango.",
    "targets": "Cada matriz adaptada añade r · (entrada + salida) parámetros.",
    "accumulation": "Desde el segundo microlote, los gradientes siguen en memoria durante el paso hacia delante.",
    "gradient-precision": "En 32 bits ocupan 4 bytes por parámetro; en las dos, 6.",
    "compute-precision": "Con pesos en 32 bits y cálculo en 16, las activaciones ocupan la mitad.",
    "step-kernel": "Por listas, como PyTorch por omisión, crea una copia temporal de los parámetros.",
    "loss": "Por trozos, los logits de todos los tokens no están nunca enteros en memoria.",
    "data-parallel": "Réplicas con muestras distintas: solas no reducen la memoria de cada GPU.",
    "zero": "Divide entre las réplicas los estados (1), también los gradientes (2) y también los pesos (3).",
    "tensor-parallel": "Divide cada matriz y sus activaciones; las cabezas deben repartirse por igual.",
    "sequence-parallel": "Divide también las normas y la corriente residual, que si no quedan enteras.",
    "pipeline-parallel": "Reparte las capas; la primera etapa guarda las activaciones de más microlotes.",
    "context-parallel": "Divide cada secuencia: las activaciones bajan en proporción.",
    "expert-parallel": "Reparte los expertos entre las GPU de datos: cada una guarda solo los suyos.",
    "offload": "Lo que pasa a la memoria del sistema deja de ocupar la GPU.",
    "dora": "Entrena además una magnitud por salida de cada matriz adaptada.",
    "adapter-dropout": "Cada adaptador guarda su propia entrada recortada: más activaciones.",
    "trained-modules": "Sus gradientes y estados ocupan como en el ajuste fino completo.",
    "packed-experts": "Con Transformers 5, PEFT adapta juntos todos los expertos de una capa y cambia la cuenta.",
    "method": "QLoRA guarda el modelo base en 4 bits: los pesos ocupan cerca de la cuarta parte.",
    "gpu-memory-utilization": "Entre 0 y 1: vLLM la reserva al arrancar y llena con caché KV lo que sobra.",
    "max-batched-tokens": "Los que pasan juntos por el modelo: más, más activaciones; si se deja vacío, según la GPU.",
    "cuda-graphs": "Ocupan memoria fuera de los tensores y la quitan de la caché KV; sin ellos, todo va más despacio.",
    "prefix-tokens": "Los tokens iniciales que comparten todas las peticiones: su caché KV se guarda una sola vez.",
    "draft-model": "Un modelo pequeño que propone tokens: suma sus pesos, en 16 bits, y su propia caché KV.",
    "lora-adapters": "vLLM reserva un hueco por adaptador, del rango máximo y en todas las matrices lineales.",
    "lora-rank": "Cada hueco crece en proporción directa al rango máximo, aunque el adaptador sea menor.",
    "gpu-layers": "Las demás quedan en la memoria del sistema, con su caché; la matriz de salida cuenta como una.",
    "ubatch": "Tokens que se calculan juntos: los logits de todos ellos están a la vez en memoria.",
    "experts-on-cpu": "Los expertos dejan de ocupar la GPU; se copian a ella de uno en uno para leer la entrada.",
    "flash-attention": "Sin ella, la tabla de puntuaciones crece con las cabezas y con el contexto.",
    "cache": "Estática: toda la caché se reserva al comienzo; dinámica: crece con cada token.",
}

_YES_NO: Final = {"yes": "Sí", "no": "No"}

_GGUF: Final = {
    name: f"GGUF {name.upper()}"
    for name in (
        *("q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "iq4_nl", "iq4_xs", "nvfp4"),
        *("q3_k", "iq3_s", "iq3_xxs", "q2_k", "iq2_s", "iq2_xs", "iq2_xxs", "tq2_0", "tq1_0", "iq1_m", "iq1_s", "q1_0"),
    )
}

_CACHE = {
    "float32": "float32 (32 bits)",
    "bfloat16": "bfloat16 (16 bits)",
    "float16": "float16 (16 bits)",
    "fp8": "fp8 (8 bits)",
    "int8": "int8 (8 bits)",
    **{name: _GGUF[name] for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")},
}

CHOICES: Final[Mapping[str, Mapping[str, str]]] = {
    "model": {"custom": "Personalizado", "file": "Archivo propio"},
    "gpu": {"own-gpu": "Otra GPU (indicar su memoria)"},
    "workload": {"inference": "Inferencia", "training": "Entrenamiento"},
    "precision": {
        "float32": "float32 (32 bits)",
        "bfloat16": "bfloat16 (16 bits)",
        "float16": "float16 (16 bits)",
        "fp8": "fp8 (8 bits)",
        "int8": "int8 (8 bits)",
        "int4": "int4 (4 bits, grupos de 128)",
        "nf4": "NF4 de bitsandbytes",
        "nf4-dq": "NF4 con doble cuantización",
        "gptq-4bit": "GPTQ de 4 bits",
        "gptq-8bit": "GPTQ de 8 bits",
        "awq-4bit": "AWQ de 4 bits",
        "mxfp4": "MXFP4",
        **_GGUF,
        **{name: f"Archivo GGUF {name.upper()}" for name in MIXES},
        "q2_k_m": "Archivo GGUF Q2_K",
        "stored": "Como está en el archivo",
    },
    "kv-precision": {"auto": "Automática (16 bits)", **_CACHE},
    "kv-value-precision": {"auto": "La de las claves", **_CACHE},
    "optimizer": {
        "adamw": "Adam o AdamW (8 bytes por parámetro)",
        "adamw-bf16": "AdamW en bfloat16 (4 bytes por parámetro)",
        "sgd-momentum": "SGD con momento (4 bytes por parámetro)",
        "sgd": "SGD sin momento (0 bytes por parámetro)",
        "adamw-8bit": "AdamW de 8 bits (2 bytes por parámetro)",
        "paged-adamw-8bit": "AdamW de 8 bits paginado (2 bytes por parámetro)",
        "adafactor": "Adafactor (una suma por fila y por columna)",
        "lion": "Lion (4 bytes por parámetro)",
        "muon": "Muon (4 bytes por parámetro de las capas)",
        "galore": "GaLore de rango 128 (estados proyectados)",
        "lion-8bit": "Lion de 8 bits (1 byte por parámetro)",
    },
    "mixed-precision": _YES_NO,
    "checkpointing": {
        "none": "Ninguno: se guarda todo",
        "selective": "Selectivo: solo la atención se recalcula",
        "operators": "Por operación: se guarda una de cada dos matrices",
        "full": "Completo: una entrada por capa",
        "sqrt": "Uno de cada √L capas",
    },
    "attention-kernel": {"flash": "FlashAttention o SDPA", "eager": "Clásica, con la tabla en memoria"},
    "unit": {"GiB": "GiB", "GB": "GB"},
    "bytes-per-parameter": {
        "16": "16: Adam, precisión mixta",
        "12": "12: Adam de 8 bits",
        "8": "8: SGD con momento",
        "20": "20: Adam, precisión mixta y gradientes también en 32 bits",
        "18": "18: Adam, gradientes en 32 bits (Megatron)",
        "16-float32": "16: Adam, todo en 32 bits",
        "12-lion": "12: Lion, precisión mixta",
        "12-sgd": "12: SGD con momento, precisión mixta",
        "10": "10: Adam de 8 bits, gradientes en 16 bits",
        "8-bfloat16": "8: Adam, todo en 16 bits",
        "6": "6: Adam de 8 bits sin copia maestra",
        "4": "4: SGD sin momento",
    },
    "engine": {
        "exact": "Solo lo imprescindible",
        "transformers": "Transformers",
        "transformers-legacy": "Transformers anterior a 4.45",
        "vllm": "vLLM",
        "llama.cpp": "llama.cpp",
    },
    "targets": {
        "all-linear": "Todas las lineales",
        "attention": "Solo la atención",
        "q-v": "Solo Q y V",
    },
    "method": {"lora": "LoRA", "qlora": "QLoRA"},
    "cuda-graphs": _YES_NO,
    "draft-model": {"none": "Ninguno", **{model.id: model.name for model in catalog.models()}},
    "experts-on-cpu": _YES_NO,
    "flash-attention": _YES_NO,
    "cache": {"dynamic": "Dinámica", "static": "Estática"},
    "gradient-precision": {"auto": "La del cálculo", "float32": "En 32 bits", "both": "En 16 y en 32 bits"},
    "compute-precision": {"auto": "La de los pesos", "bfloat16": "bfloat16 (autocast o FSDP)"},
    "step-kernel": {"fused": "Fundido", "foreach": "Por listas de tensores"},
    "loss": {"standard": "Entropía cruzada de PyTorch", "in-place": "Núcleo fundido", "chunked": "Por trozos (Liger)"},
    "zero": {"0": "0: nada", "1": "1: estados", "2": "2: y gradientes", "3": "3: y pesos (FSDP)"},
    "sequence-parallel": _YES_NO,
    "offload": {"none": "Ninguna", "optimizer": "Estados del optimizador", "all": "Estados y pesos"},
    "dora": _YES_NO,
    "adapter-dropout": _YES_NO,
    "packed-experts": _YES_NO,
    "trained-modules": {
        "none": "Ninguno",
        "embedding": "Tabla de tokens",
        "head": "Matriz de salida",
        "embedding-head": "Tabla de tokens y matriz de salida",
    },
    "moment": {
        "forward": "el final del paso hacia delante",
        "loss": "la pérdida",
        "first_backward": "el comienzo del paso hacia atrás",
        "last_backward": "el final del paso hacia atrás",
        "optimizer_step": "el paso del optimizador",
        "prefill": "la lectura de la entrada",
        "prompt_logits": "los logits de la entrada",
        "first_token": "el primer token generado",
        "decode": "la generación",
    },
}
"""Words of each choice, by field."""

CHOICE_HINTS: Final[Mapping[str, Mapping[str, str]]] = {
    "bytes-per-parameter": {
        "16": "2 del peso, 2 del gradiente, 4 de la copia maestra y 8 de los dos momentos de Adam.",
        "12": "2 del peso, 4 del gradiente en 32 bits, 4 de la copia maestra y 2 de los momentos en 8 bits.",
        "8": "2 del peso, 2 del gradiente y 4 del momento; sin copia maestra.",
        "20": "2 del peso, 2 y 4 del gradiente en 16 y en 32 bits, 4 de la copia maestra y 8 de los momentos.",
        "18": "2 del peso, 4 del gradiente en 32 bits, 4 de la copia maestra y 8 de los momentos.",
        "16-float32": "4 del peso, 4 del gradiente y 8 de los momentos; sin copia maestra.",
        "12-lion": "2 del peso, 2 del gradiente, 4 de la copia maestra y 4 del único momento de Lion.",
        "12-sgd": "2 del peso, 2 del gradiente, 4 de la copia maestra y 4 del momento.",
        "10": "2 del peso, 2 del gradiente, 4 de la copia maestra y 2 de los momentos en 8 bits.",
        "8-bfloat16": "2 del peso, 2 del gradiente y 4 de los dos momentos en 16 bits; sin copia maestra.",
        "6": "2 del peso, 2 del gradiente y 2 de los momentos en 8 bits; sin copia maestra.",
        "4": "2 del peso y 2 del gradiente; sin estados ni copia maestra.",
    },
}
"""What a choice is made of, where its label cannot say it."""

GROUPS: Final[Mapping[str, str]] = {
    "featured": "Los más consultados",
    "finer": "Otros formatos",
    "more": "Más opciones",
    "layout": "Varias GPU",
    "serving": "Servir el modelo",
    "comparison": "Comparar con un modelo",
}
"""Headings of groups of choices and of fields."""

GPU_KINDS: Final[Mapping[str, str]] = {
    "consumer": "De consumo",
    "professional": "Profesionales",
    "data_center": "De centro de datos",
    "apple": "Apple",
    "amd": "AMD",
    "integrated": "De memoria unificada",
}
"""Kinds of GPU, as headings and filters."""

UNITS: Final[Mapping[str, str]] = {
    "GiB": "GiB",
    "GB": "GB",
    "billion": "miles de millones",
    "bytes": "bytes",
    "tokens": "tokens",
    "sequences": "secuencias",
    "requests": "peticiones",
    "samples": "muestras",
    "steps": "pasos",
    "gpus": "GPU",
}
"""Words beside an input."""

OWN_GPU_NAME: Final = "GPU propia"
"""How a GPU that the visitor describes is called."""


def gpu_name(gpu: str) -> str:
    """The public name of a GPU by its id.

    >>> gpu_name("rtx-4090"), gpu_name("own-gpu")
    ('RTX 4090', 'GPU propia')
    """
    return OWN_GPU_NAME if gpu == "own-gpu" else catalog.gpu(gpu).name
