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


def matrix_ms() -> float:
    """Milliseconds of a budget of 40 by 40 cells, all of them new: the worst of three questions."""
    from calc.decisions import Question, grid  # noqa: PLC0415

    times = []
    for step, name in enumerate(("llama-3-8b", "gemma-3-12b", "deepseek-v3"), 1):
        question = Question("inferencia", {"model": name}).resolved()
        start = time.perf_counter()
        grid(question, "context", [1024 * step * row for row in range(1, 41)], "concurrency", range(1, 41))
        times.append(time.perf_counter() - start)
    return 1000 * max(times)


def models_ms() -> float:
    """Milliseconds to hold every model of the catalogue against a GPU, when none of them has been asked for yet."""
    from calc import catalog  # noqa: PLC0415
    from calc.decisions import Question  # noqa: PLC0415
    from calc.decisions.choices import fitting_models  # noqa: PLC0415

    start = time.perf_counter()
    fitting_models(Question("inferencia", {}), catalog.gpu("rtx-4090"))
    return 1000 * (time.perf_counter() - start)
