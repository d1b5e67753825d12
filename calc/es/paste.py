"""Words for what a visitor pastes."""

from collections.abc import Mapping
from typing import Final

KINDS: Final[Mapping[str, str]] = {
    "vllm": "Orden de vLLM",
    "llama-server": "Orden de llama.cpp",
    "axolotl": "Configuración de Axolotl",
    "llama-factory": "Configuración de LLaMA-Factory",
    "deepspeed": "Configuración de DeepSpeed",
}
"""What the text is."""

TOOLS: Final[Mapping[str, str]] = {
    "vllm": "vLLM",
    "llama-server": "llama-server",
    "transformers": "Transformers",
    "peft": "Transformers y PEFT",
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP con Accelerate",
}
"""Tools whose settings are written."""
