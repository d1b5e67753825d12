"""The inputs of a calculator as the settings of the tools that do the work: commands, arguments, configuration files.

Each text is for the version that it names; what a tool has no word for is listed, not dropped.
"""

from collections.abc import Mapping

from calc.settings.chosen import chosen
from calc.settings.serving import llama_server, transformers, vllm
from calc.settings.settings import Settings
from calc.settings.training import deepspeed, fsdp, trainer

__all__ = ["Settings", "settings_for"]

INFERENCE = {
    "exact": (vllm, llama_server, transformers),
    "vllm": (vllm,),
    "llama.cpp": (llama_server,),
    "transformers": (transformers,),
    "transformers-legacy": (transformers,),
}
"""Tools by engine; ``exact`` is no engine in particular."""


def settings_for(calculator: str, raw: Mapping[str, str]) -> tuple[Settings, ...]:
    """The settings that match a scenario; none for inputs that cannot be used or a calculator that knows no models.

    Args:
        calculator: its name.
        raw: text of the fields, by name; those left out take their defaults.

    Example:
        >>> [one.name for one in settings_for("inferencia", {"engine": "vllm"})]
        ['vllm']
        >>> settings_for("inferencia", {"gpu-memory-utilization": "0,8"})[0].text.split()[3:7]
        ['--dtype', 'bfloat16', '--max-model-len', '8192']
    """
    found = chosen(calculator, raw)
    if found is None:
        return ()
    if calculator == "lora" or found.word("workload") == "training":
        makers = [trainer]
        if found.number("zero") or found.word("offload") not in {"", "none"}:
            makers.append(deepspeed)
        if found.number("zero") == 3:
            makers.append(fsdp)
        return tuple(make(found) for make in makers)
    return tuple(make(found) for make in INFERENCE[found.word("engine") or "exact"])
