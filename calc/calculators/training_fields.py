"""Fields of a step of training, and of its layout over several GPUs («Varias GPU»), with what they stand for.

Every default leaves the estimate as it is without the field.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from calc.calculators.fields import ALWAYS, Field, Kind, Parsed
from calc.layout import OFFLOADS, Layout
from calc.logits import LOSSES
from calc.states import GRADIENTS, STEP_KERNELS

MOST_GPUS: Final = 10**5

LAYOUT_FIELD_NAMES: Final = (
    *("data-parallel", "zero", "tensor-parallel", "sequence-parallel"),
    *("pipeline-parallel", "context-parallel", "expert-parallel", "offload"),
)
"""The fields of «Varias GPU», which a page groups under that heading."""

LAYOUT_GROUP: Final = "layout"


def step_fields(shown_when: Mapping[str, tuple[str, ...]] = ALWAYS) -> tuple[Field, ...]:
    """How one optimizer step is computed."""
    return (
        Field(
            name="accumulation",
            kind=Kind.INTEGER,
            default="2",
            unit="steps",
            minimum=1,
            maximum=10**6,
            advanced=True,
            shown_when=shown_when,
        ),
        _choice("gradient-precision", "auto", GRADIENTS, shown_when),
        _choice("compute-precision", "auto", ("auto", "bfloat16"), shown_when),
        _choice("step-kernel", "fused", STEP_KERNELS, shown_when),
        _choice("loss", "standard", tuple(one.name for one in LOSSES.values() if one.offered), shown_when),
    )


def layout_fields(
    shown_when: Mapping[str, tuple[str, ...]] = ALWAYS, names: tuple[str, ...] = LAYOUT_FIELD_NAMES
) -> tuple[Field, ...]:
    """How the model is spread over GPUs; ``names`` are those that the calculator offers."""
    return tuple(_layout_field(name, shown_when) for name in names)


def _layout_field(name: str, shown_when: Mapping[str, tuple[str, ...]]) -> Field:
    if name == "zero":
        field = _choice(name, "0", ("0", "1", "2", "3"), shown_when)
    elif name == "offload":
        field = _choice(name, "none", OFFLOADS, shown_when)
    elif name == "sequence-parallel":
        field = Field(name=name, kind=Kind.FLAG, default="no", shown_when=shown_when)
    else:
        field = Field(
            name=name, kind=Kind.INTEGER, default="1", unit="gpus", minimum=1, maximum=MOST_GPUS, shown_when=shown_when
        )
    return replace(field, advanced=True, group=LAYOUT_GROUP)


def _choice(name: str, default: str, choices: tuple[str, ...], shown_when: Mapping[str, tuple[str, ...]]) -> Field:
    return Field(name=name, kind=Kind.CHOICE, default=default, choices=choices, advanced=True, shown_when=shown_when)


def step_options(parsed: Parsed) -> dict[str, Any]:
    """The fields of ``step_fields`` and the layout, as arguments of a ``Workload``.

    Raises:
        InvalidInput: for degrees that do not go together.
    """
    return {
        "accumulation_steps": parsed.integer("accumulation"),
        "gradient_precision": parsed.word("gradient-precision"),
        "compute_precision": parsed.word("compute-precision"),
        "step_kernel": parsed.word("step-kernel"),
        "loss_kernel": parsed.word("loss"),
        "layout": layout_of(parsed),
    }


def layout_of(parsed: Parsed) -> Layout | None:
    """The layout that the form describes; ``None`` for one GPU."""
    degrees = {
        name: parsed.integer(f"{name}-parallel") if parsed.has(f"{name}-parallel") else 1
        for name in ("data", "tensor", "pipeline", "context", "expert")
    }
    layout = Layout(
        **degrees,
        zero=int(parsed.word("zero")),
        sequence=parsed.flag("sequence-parallel", otherwise=False),
        offload=parsed.word("offload") if parsed.has("offload") else "none",
    )
    return layout if layout != Layout() else None
