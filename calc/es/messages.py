"""The sentences for errors, notes and verdicts: each code of the core has its words here and only here.

Sentences are templates. ``{name}`` is a parameter in words: bytes with their unit where the name ends in ``_bytes``
(``{name_gib}`` and ``{name_gb}`` fix the unit), numbers in Spanish style, ids by their names. A parameter is only
ever text: nothing in it is looked up again.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from calc.checkpoint import InvalidFile
from calc.errors import CalcError, InvalidConfig, UnsupportedArchitecture
from calc.es.files import FILE_ERRORS, FILE_NOTES, PLACES
from calc.es.forms import CHOICES
from calc.es.nomenclature import component_name
from calc.es.numbers import bytes_text, number_text
from calc.estimate import Note

ERRORS: Final[Mapping[str, str]] = {
    "empty": "Introduce un valor para ver los resultados.",
    "too_long": "El texto es demasiado largo: el máximo son {maximum} caracteres.",
    "not_a_number": "Debe ser un número escrito con cifras.",
    "not_an_integer": "Debe ser un número entero, sin decimales.",
    "not_finite": "Debe ser un número finito.",
    "exponent": "Debe escribirse con todas sus cifras, sin exponente.",
    "too_many_digits": "Tiene demasiadas cifras: el máximo son {maximum}.",
    "negative": "No puede ser negativo.",
    "zero": "Debe ser mayor que cero.",
    "too_small": "El mínimo es {minimum}.",
    "too_large": "El máximo es {maximum}.",
    "not_a_flag": "Debe ser «yes» o «no».",
    "heads_not_divisible": "Las {heads} cabezas no se reparten por igual entre las partes pedidas.",
    "width_not_divisible": "El ancho {width} de la red intermedia no se reparte por igual entre las partes pedidas.",
    "too_few_layers": "Hay más etapas que capas: el modelo tiene {layers}.",
    "experts_not_divisible": "Los {experts} expertos no se reparten por igual entre las partes pedidas.",
    "no_experts": "El modelo no tiene expertos que repartir.",
    "expert_over_data": "Los expertos se reparten entre las GPU de datos, y su número no es múltiplo de {expert}.",
    "sequence_without_tensor": "El paralelismo de secuencia acompaña al de tensores, que aquí es 1.",
    "offload_needs_zero_3": "Solo con ZeRO 3 pueden esperar los pesos en la memoria del sistema.",
    "unknown_module": "El modelo no tiene matrices llamadas «{value}».",
    "no_linear_modules": "El modelo no tiene matrices de ese tipo ({value}).",
    "unknown_choice": "«{value}» no es una de las opciones.",
    "unknown_model": "No hay ningún modelo «{value}» en el catálogo.",
    "unknown_gpu": "No hay ninguna GPU «{value}» en el catálogo.",
    "unknown_calculator": "No hay ninguna calculadora «{value}».",
    "unknown_flag": "No existe esta opción.",
    "unexpected_argument": "Sobra «{value}»: los datos se dan con opciones.",
    "missing_value": "Falta el valor.",
    "unreadable_file": "No se puede leer «{value}».",
    "no_files": "Falta el archivo.",
    "no_model_files": "En «{value}» no hay archivos de un modelo.",
    "no_architecture": "«{value}» no dice qué arquitectura tiene: hace falta su config.json.",
    "several_models": "Hay {count} modelos y se espera uno.",
    "empty_description": "Abre un archivo en la ficha de un modelo: desde allí llega descrito a esta calculadora.",
    "no_stored_weights": "Solo se sabe cómo están guardados los pesos de un archivo propio.",
    "too_many_scenarios": "La comparación admite {maximum} escenarios: hay que quitar uno para añadir otro.",
    "nothing_recognised": "No se reconoce: se espera una orden, una configuración o un registro de los citados.",
    "unbalanced_quotes": "Falta cerrar unas comillas en la orden.",
    "yaml_alias": "La configuración usa referencias de YAML (& y *), que aquí no se leen.",
    "nested_too_deep": "La configuración tiene demasiados niveles.",
    "list_too_long": "La lista de la comparación es demasiado larga y no se ha leído.",
    "unknown_scenario": "La comparación traía algo que no se entiende («{value}») y se ha dejado fuera.",
    "wrong_scenario": "La comparación traía un escenario que no se puede calcular («{value}») y se ha dejado fuera.",
    "bad_description": "El texto no describe un modelo válido ({where}).",
}
"""Sentence of each error of an input, a flag or a file as such."""

CONFIG_ERRORS: Final[Mapping[str, str]] = {
    "missing_key": "falta la clave.",
    "not_an_object": "debe ser un objeto y es {value}.",
    "not_a_list": "debe ser una lista y es {value}.",
    "not_a_text": "debe ser un texto corto y es {value}.",
    "not_a_number": "debe ser un número y es {value}.",
    "not_a_boolean": "debe ser true o false y es {value}.",
    "not_an_integer": "debe ser un entero y es {value}.",
    "not_a_choice": "{value} no es ninguno de los valores conocidos ({choices}).",
    "out_of_range": "vale {value} y debe estar entre {minimum} y {maximum}.",
    "wrong_length": "la lista tiene {length} elementos, que no son los que corresponden.",
    "inconsistent": "no concuerda con las demás claves.",
    "not_a_divisor": "vale {value} y no divide a {of}.",
    "unknown_architecture": "la arquitectura «{model_type}» todavía no se conoce.",
}
"""End of the sentence about a key of a ``config.json``; it begins with the path of the key."""

NOTES: Final[Mapping[str, str]] = {
    "activations_not_counted": "No se cuentan las activaciones: dependen del lote, de la secuencia y del modelo.",
    "runtime_not_counted": "No se cuenta lo que gastan el contexto y las bibliotecas de cada GPU, cerca de 1\u00a0GiB.",
    "steps_add_no_activations": "Con acumulación, las activaciones se liberan tras cada microlote: {steps} pasos "
    "ocupan lo mismo que uno. Sin ella, el mismo lote pediría {without_bytes}.",
    "gradients_stay_allocated": "Desde el segundo paso, los gradientes siguen en memoria durante el paso hacia "
    "delante: el pico puede subir una vez por su tamaño, pero no crece con los pasos.",
    "each_gpu_holds_its_own": "La cifra es la de una GPU: cada una de las {gpus} guarda sus propias activaciones.",
    "simple_kv_cache": "La fórmula simple, 2·b·s·h·L·bytes, daría {simple_bytes} de caché KV; con las cabezas y capas "
    "de este modelo son {exact_bytes}.",
    "simple_kv_cache_agrees": "La fórmula simple, 2·b·s·h·L·bytes, da aquí la misma caché KV: cada cabeza tiene sus "
    "propias claves y valores.",
    "simple_inference": "La regla de los pesos por 1,2 daría {simple_bytes} en total: no mira el contexto ni el lote.",
    "simple_training": "La regla de 16 bytes por parámetro y s·b·h·L·(34 + 5·a·s/h) de activaciones daría "
    "{simple_bytes}: supone un GPT con atención clásica.",
    "both_units": "{total_bytes_gib} son {total_bytes_gb}: los mismos bytes en otra unidad.",
    "largest_component": "Parte mayor: {component}, el {percent}\u00a0% del total.",
    "context_over_limit": "El modelo declara un máximo de {limit} tokens y se piden {context}: la cuenta vale, pero "
    "puede que el modelo no responda bien.",
    "quantized_training": "Entrenar todos los pesos en {precision} no es habitual: lo usual es "
    "dejarlos fijos y entrenar adaptadores (QLoRA).",
    "custom_assumptions": "De un modelo personalizado solo se conocen los datos dados. Se supone lo demás: red "
    "intermedia de ancho {intermediate_size} con puerta y sin sesgos.",
    "logits_not_counted": "No se cuentan los logits: no se conoce el vocabulario.",
    "peak_moment": "El momento de más memoria es {moment}: las partes son las que hay entonces, no la suma de todas "
    "las que aparecen en algún momento.",
    "one_gpu_of_many": "La cifra es la de la GPU más cargada de las {gpus} del reparto.",
    "fullest_stage": "La etapa más cargada es la {stage} de {stages}, con las activaciones de {micro_batches} "
    "microlotes a la vez.",
    "states_divided": "ZeRO {zero} reparte entre {gpus} GPU lo que cada una no necesita entero; no se cuentan las "
    "piezas que se reúnen para calcular.",
    "approximate_activations": "En {layers} de {of} capas las activaciones son una aproximación nuestra, sin medida "
    "publicada: por eso su intervalo es ancho.",
    "tower_activations_not_counted": "De la torre de visión o del codificador se cuentan los pesos, no las "
    "activaciones.",
    "optimizer_states_float32": "Los estados del optimizador se cuentan en 32 bits. Con todo en 16 bits, PyTorch los "
    "guarda en 16: es la opción AdamW en bfloat16.",
    "cache_of_each_request": "Cada petición añade {request_bytes} de caché KV con este contexto; se cuentan "
    "{concurrency}.",
    "cache_not_quantized": "Los pesos en {precision} no encogen la caché KV, que sigue en {kv_precision}: "
    "tiene su propia precisión.",
    "vllm_reserves_the_rest": "vLLM reserva desde el arranque la fracción de la GPU que se le indica y llena con caché "
    "KV lo que sobra: el monitor de la GPU muestra esa reserva, no lo que aquí se calcula.",
    "vllm_prefill_chunk": "vLLM procesa las entradas por tramos: aquí, de hasta {limit} tokens. Si no se le dice otra "
    "cosa, son {larger} en las GPU de 70\u00a0GiB o más, salvo las A100, y {smaller} en las demás, con menos "
    "activaciones (EngineArgs.get_batch_defaults).",
    "vllm_pool": "En la GPU elegida, vLLM reservaría {kv_bytes} para la caché KV: {tokens} tokens, y a la vez "
    "{requests} peticiones completas de {context} tokens.",
    "vllm_pool_empty": "En la GPU elegida, con la fracción indicada, vLLM no arrancaría: no queda memoria para la "
    "caché KV.",
    "vllm_pool_not_covered": "No se calcula cuántos tokens reservaría vLLM: con estados recurrentes, imágenes o "
    "ventanas de anchos distintos agranda los bloques a su manera.",
    "draft_of_another_vocabulary": "El modelo borrador tiene otro vocabulario: sus tokens no sirven de propuesta tal "
    "cual.",
    "kept_on_host": "En la memoria del sistema, fuera de la cuenta, quedan {weights_bytes} de pesos (siempre la tabla "
    "de tokens) y {cache_bytes} de caché KV.",
    "lora_packed_experts": "Los expertos se cuentan como los adapta PEFT 0.21 con Transformers 5, que los guarda "
    "apilados. Con Transformers 4.57, una matriz por experto, el número es otro.",
    "lora_separate_experts": "Se cuenta un adaptador por cada matriz de cada experto, como con Transformers 4.57. "
    "Transformers 5 los guarda apilados y PEFT 0.21 los adapta de otro modo: el número cambia.",
    "lora_stacked_experts": "Los expertos de este modelo están apilados en un solo tensor y no se adaptan: no son "
    "módulos lineales.",
    "qlora_base": "El modelo base se guarda en NF4 con doble cuantización, como en el artículo de QLoRA.",
    **FILE_NOTES,
    "compared_with_full": "El ajuste fino de todos los pesos, con el mismo lote y la misma secuencia, pediría "
    "{full_bytes}.",
}
"""Sentence of each note."""

VERDICTS: Final[Mapping[str, str]] = {"fits": "Cabe", "tight": "Cabe justo", "no_fit": "No cabe"}


def error_text(error: CalcError) -> str:
    """The sentence for an error, whole and with a capital; the page or the command line says at which field.

    Example:
        >>> from calc.errors import InvalidInput
        >>> error_text(InvalidInput("too_large", place="batch", maximum=100_000)).replace("\u202f", " ")
        'El máximo es 100 000.'
        >>> error_text(InvalidConfig("missing_key", place="text_config.hidden_size"))
        'text_config.hidden_size: falta la clave.'
    """
    words = {name: _words(name, value, "GiB") for name, value in error.params.items()}
    if words.get("value") in CHOICES.get(error.place, {}):
        words["value"] = CHOICES[error.place][words["value"]]
    if isinstance(error, InvalidConfig | UnsupportedArchitecture):
        return f"{error.place or 'config.json'}: {CONFIG_ERRORS[error.code].format_map(words)}{_closest(error)}"
    if isinstance(error, InvalidFile):
        file = f"{error.params['file']}: " if "file" in error.params else ""
        return f"{file}{PLACES.get(error.place, error.place)}: {FILE_ERRORS[error.code].format_map(words)}"
    return ERRORS[error.code].format_map(words) + _closest(error)


def _closest(error: CalcError) -> str:
    near = error.params.get("closest") or ()
    names = (near,) if isinstance(near, str) else tuple(near)
    if names:
        return f" ¿Se buscaba {_alternatives(names)}?"
    known = error.params.get("options") or error.params.get("known") or ()
    return f" Se admite {_alternatives(tuple(known))}." if 0 < len(known) <= 12 else ""


def _alternatives(names: tuple[str, ...]) -> str:
    return " o ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def note_text(note: Note, unit: str = "GiB") -> str:
    """The sentence for a note, with bytes in this unit.

    Example:
        >>> one = Note(code="simple_kv_cache", params={"simple_bytes": 4 * 2**30, "exact_bytes": 2**30})
        >>> note_text(one).replace("\u00a0", " ").partition("daría ")[2]
        '4 GiB de caché KV; con las cabezas y capas de este modelo son 1 GiB.'
    """
    words: dict[str, str] = {}
    for name, value in note.params.items():
        words[name] = _words(name, value, unit)
        if name.endswith("_bytes") and isinstance(value, int):
            words |= {f"{name}_gib": bytes_text(value, "GiB"), f"{name}_gb": bytes_text(value, "GB")}
    return NOTES[note.code].format_map(words)


def _words(name: str, value: Any, unit: str) -> str:
    if name == "component":
        text = component_name(str(value))
        return text[0].lower() + text[1:]
    if isinstance(value, bool):
        return "sí" if value else "no"
    if isinstance(value, int | Fraction):
        return bytes_text(int(value), unit) if name.endswith("_bytes") else number_text(value, 9)
    return CHOICES.get(name.replace("_", "-"), {}).get(value, str(value)) if isinstance(value, str) else str(value)
