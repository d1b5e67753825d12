"""What to change so that it fits, in words: a sentence for each kind of change, and a few words for each cost."""

from collections.abc import Mapping
from typing import Final

from calc.decisions.advice import Advice
from calc.es.forms import CHOICES
from calc.es.labels import METHODS, layout_text
from calc.es.numbers import number_text

KINDS: Final[Mapping[str, str]] = {
    "attention_kernel": "Calcular la atención con {attention-kernel}",
    "step_kernel": "Usar el paso fundido del optimizador",
    "loss": "Calcular la pérdida de otra manera ({loss})",
    "compute_precision": "Calcular en bfloat16 con autocast",
    "precision": "Guardar los pesos en {precision}",
    "gradient_precision": "Guardar los gradientes con menos bits ({gradient-precision})",
    "checkpointing": "Activar puntos de control ({checkpointing})",
    "optimizer": "Cambiar de optimizador ({optimizer})",
    "batch": "Bajar el tamaño de lote a {batch}",
    "accumulation": "Bajar el tamaño de lote a {batch} y acumular {accumulation} microlotes por paso",
    "mixed_precision": "Entrenar sin copia maestra en 32 bits",
    "adapter_dropout": "Quitar el dropout del adaptador",
    "method": "Pasar a {method}",
    "rank": "Bajar el rango a {rank}",
    "targets": "Adaptar menos matrices ({targets})",
    "trained_modules": "Entrenar menos módulos enteros ({trained-modules})",
    "context": "Acortar la secuencia a {context} tokens",
    "concurrency": "Bajar las peticiones simultáneas a {concurrency}",
    "zero": "Repartir más entre las réplicas ({zero})",
    "calculator": "Entrenar solo un adaptador: {method}",
    "calculator_checkpointed": "Entrenar solo un adaptador: {method}, con puntos de control completos",
    "calculator_chunked": "Entrenar solo un adaptador: {method}, con puntos de control y la pérdida por trozos",
    "offload": "Pasar a la memoria del sistema ({offload})",
    "kv_precision": "Guardar la caché KV en {kv-precision}",
    "engine": "Pasar a {engine} con los pesos en {precision}",
    "engine_alone": "Pasar a {engine}",
    "gpus": "Usar {gpus} GPU ({layout})",
}
"""What to do, by kind; the names in braces are fields, and ``gpus`` and ``layout``."""

COSTS: Final[Mapping[str, str]] = {
    "needs_library": "necesita una biblioteca con ese núcleo",
    "quality_slight": "apenas pierde calidad",
    "slower_slight": "algo más lento",
    "quality_some": "pierde algo de calidad",
    "slower_some": "más lento",
    "shorter_context": "secuencias más cortas",
    "fewer_at_once": "menos a la vez",
    "tune_again": "hay que volver a ajustar la tasa de aprendizaje",
    "other_engine": "otro motor",
    "only_adapters": "solo se entrena un adaptador",
    "quality_much": "pierde mucha calidad",
    "slower_much": "mucho más lento",
    "much_shorter_context": "secuencias mucho más cortas",
    "many_fewer_at_once": "muchas menos a la vez",
    "money": "cuesta dinero",
}
"""What it costs, by code of ``calc.decisions.steps.LEVELS``."""


_FILE: Final = "Archivo "
"""Left out of the name of a format of llama.cpp, which says already that it is one."""


def advice_text(advice: Advice) -> str:
    """What to do, in one sentence without its full stop; its parts joined by commas and «y».

    >>> from types import MappingProxyType
    >>> texts = MappingProxyType({"precision": "q4_k_m", "context": "4096"})
    >>> advice_text(Advice(kinds=("precision", "context"), changes=texts, saves=1, total=1, costs=()))
    'Guardar los pesos en GGUF Q4_K_M y acortar la secuencia a 4096 tokens'
    """
    words = {name: value_text(name, text) for name, text in advice.changes.items()}
    if advice.layout:
        words |= {"gpus": number_text(advice.gpus), "layout": layout_text(advice.layout)}
    parts = [KINDS[_kind(kind, advice)].format_map(words) for kind in advice.kinds]
    first, *rest = parts[0], *(part[0].lower() + part[1:] for part in parts[1:])
    return ", ".join((first, *rest[:-1])) + "".join(f" y {last}" for last in rest[-1:])


def cost_texts(advice: Advice) -> tuple[str, ...]:
    """What it costs, a few words for each code.

    >>> from types import MappingProxyType
    >>> cost_texts(Advice(kinds=("loss",), changes=MappingProxyType({}), saves=1, total=1, costs=("slower_some",)))
    ('más lento',)
    """
    return tuple(COSTS[code] for code in advice.costs)


def value_text(field: str, text: str) -> str:
    """The text of a field as people read it: the words of a choice, or a number."""
    if field == "method":
        return METHODS[text]
    if field in CHOICES:
        return CHOICES[field].get(text, text).removeprefix(_FILE)
    return number_text(int(text)) if text.isdecimal() else text


def _kind(kind: str, advice: Advice) -> str:
    """The sentence of a kind: some have a shorter one where they change fewer fields."""
    if kind == "engine" and "precision" not in advice.changes:
        return "engine_alone"
    if kind == "batch" and "accumulation" in advice.changes:
        return "accumulation"
    if kind == "calculator" and advice.changes.get("checkpointing") == "full":
        return "calculator_chunked" if advice.changes.get("loss") == "chunked" else "calculator_checkpointed"
    return kind
