"""How many estimates a Python makes in a second. The benchmark runs this file in CPython and in Pyodide."""

import time

from calc.calculators import run


def rate(seconds: float = 1.5) -> float:
    """Return estimates per second of the ``gpu`` calculator over varied inputs, once warm."""
    models = ("llama-3-8b", "llama-3-70b", "mixtral-8x7b", "gpt2")
    for model in models:
        run("gpu", {"model": model})
    made, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        for model in models:
            run(
                "gpu",
                {"model": model, "context": str(1024 + made % 4096), "workload": ("inference", "training")[made % 2]},
            )
            made += 1
    return made / spent
