"""The ways to the same effective batch, as plain data."""

from dataclasses import dataclass

from calc import catalog, es
from calc.calculators import Result
from calc.es.labels import MOMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way: its three numbers, what the simple law and the whole model say of its memory, the verdict."""

    micro_batch: str
    steps: str
    gpus: str
    activations: str
    total: str
    moment: str
    verdict: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """All that are shown, of which model and against which GPU; ``left_out`` is empty where all are."""

    model: str
    gpu: str
    batch: str
    rows: tuple[Way, ...]
    left_out: str


def ways(result: Result) -> Ways | None:
    """The comparison of ``result.tables``; ``None`` where the calculator has none."""
    found = result.tables.get("combinations")
    if not found:
        return None
    model = str(result.inputs["model"])
    more = int(result.figures["combinations"]) - len(found)
    return Ways(
        model=catalog.model(model).name if model != "file" else es.CHOICES["model"]["file"],
        gpu=es.gpu_name(str(result.inputs["gpu"])),
        batch=es.number_text(int(result.figures["effective_batch"])),
        rows=tuple(
            Way(
                micro_batch=es.number_text(int(row["micro_batch"])),
                steps=es.number_text(int(row["steps"])),
                gpus=es.number_text(int(row["gpus"])),
                activations=es.bytes_text(int(row["activations_bytes"]), "GB"),
                total=es.bytes_text(int(row["total_bytes"]), "GB"),
                moment=MOMENTS[str(row["moment"])],
                verdict=str(row["verdict"]),
                chosen=bool(row["chosen"]),
            )
            for row in found
        ),
        left_out=es.number_text(more) if more else "",
    )
