"""GPU memory of language models: counted from tensors, shown with its formulas, in bytes.

The public interface. Everything else may change; these names and their keywords do not:

* ``architecture_from_hf_config`` reads a parsed ``config.json``;
* ``count_parameters``, ``kv_cache_bytes`` and ``lora_parameters`` answer one question each;
* ``estimate_inference`` and ``estimate_training`` sum all parts for a ``Workload``;
* ``fit`` holds an estimate against GPUs (``calc.catalog.gpus()`` has those that people use).

Memory is always an ``int`` of bytes. The functions raise ``InvalidConfig``, ``UnsupportedArchitecture`` or
``InvalidInput``, which carry a code, a place and parameters; ``calc.es`` has the Spanish words.

Example:
    >>> import calc
    >>> model = calc.architecture_from_hf_config({
    ...     "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
    ...     "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    ... })
    >>> calc.count_parameters(model).total
    8030261248
    >>> calc.kv_cache_bytes(model, context_tokens=8192) == 2**30
    True
    >>> calc.lora_parameters(model, rank=16, target_modules="all-linear")
    41943040
    >>> estimate = calc.estimate_inference(model, calc.Workload(context_tokens=8192))
    >>> estimate.component("weights")
    16060522496
    >>> card = calc.Gpu(id="mine", name="24 GB", kind="consumer", sold_bytes=24 * 2**30)
    >>> calc.fit(estimate, [card])[0].verdict.value
    'fits'
"""

from calc.architecture import Architecture
from calc.errors import CalcError, InvalidConfig, InvalidInput, UnsupportedArchitecture
from calc.estimate import Component, Estimate, Lora, Note, Workload
from calc.fit import Fit, Verdict, fit
from calc.gpu import Gpu
from calc.hf_config import architecture_from_hf_config
from calc.kv_cache import kv_cache_bytes
from calc.lora import lora_parameters
from calc.memory import estimate_inference, estimate_training
from calc.parameters import ParameterCount, count_parameters

__all__ = [
    "Architecture",
    "CalcError",
    "Component",
    "Estimate",
    "Fit",
    "Gpu",
    "InvalidConfig",
    "InvalidInput",
    "Lora",
    "Note",
    "ParameterCount",
    "UnsupportedArchitecture",
    "Verdict",
    "Workload",
    "architecture_from_hf_config",
    "count_parameters",
    "estimate_inference",
    "estimate_training",
    "fit",
    "kv_cache_bytes",
    "lora_parameters",
]
