"""What training keeps for the whole run on one rank: weights, gradients, optimizer states, master copy; and buffers.

ZeRO (arXiv 1910.02054v3, section 3) divides the optimizer states and the master copy by the data-parallel ranks from
stage 1 on, gradients from stage 2, weights in stage 3; FSDP's full shard is stage 3. What is divided has to be put
together when it is needed: the layer that is computed and the one that is fetched ahead (FSDP, arXiv 2304.11277v2,
section 3.3.2), and around the layers the root unit (token table, final norm and head), which stays whole through the
backward pass; and the gradients of a layer are whole until they are reduced.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from calc.architecture import Architecture, TensorKind
from calc.dtypes import DType, dtype, whole
from calc.errors import InvalidInput
from calc.estimate import Component, Workload
from calc.formula import Formula, Number
from calc.inventory import distinct_layers, loaded_tensors
from calc.layout import Layout
from calc.lora import Adapter, adapter_shapes
from calc.parallelism import expert_parameters
from calc.recipes import OPTIMIZERS, Shapes, optimizer_states
from calc.weights import weight_components

CAST_KINDS = (TensorKind.LINEAR, TensorKind.HEAD)
GRADIENTS = ("auto", "float32", "both")
STEP_KERNELS = ("fused", "foreach")
DEEPSPEED_BUCKET = 5 * 10**8
"""Elements of a reduce bucket (DeepSpeed's ``reduce_bucket_size`` and ``allgather_bucket_size``, default 5e8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What is trained on this rank: the shapes, how many parameters, and the format they are computed in."""

    shapes: Shapes
    parameters: int
    dtype: DType
    divisor: Number  # parts among which ZeRO shares out; fewer for experts that are themselves spread
    symbol: str = "P"  # of their number in formulas: P_a where they are adapters

    @property
    def bytes_each(self) -> int:
        """Bytes of a parameter as it is computed."""
        return self.dtype.compute_bits // 8


def trained_on(
    architecture: Architecture, workload: Workload, found: tuple[Adapter, ...], extra: Shapes = ()
) -> Trained:
    """The trained tensors: all, or the adapters and the modules trained beside them."""
    layout = workload.layout or Layout()
    if workload.lora:
        shapes: Shapes = (*adapter_shapes(found, workload.lora.rank), *extra)
        kind = dtype(workload.lora.precision, place="adapter-precision")
    else:
        shapes = tuple((tensor.shape, times) for tensor, times in loaded_tensors(architecture))
        kind = dtype(workload.precision)
    parameters = sum(prod(shape) * times for shape, times in shapes)
    divisor: Number = layout.shards
    if layout.expert > 1 and not workload.lora:
        experts = expert_parameters(architecture)
        divisor = Fraction(parameters * layout.shards, parameters - experts + experts * layout.expert)
    symbol = "P_a" if workload.lora else "P"
    return Trained(shapes=shapes, parameters=parameters, dtype=kind, divisor=divisor, symbol=symbol)


def weights(architecture: Architecture, workload: Workload) -> list[Component]:
    """The weights of this rank: whole, or its shard."""
    layout = workload.layout or Layout()
    found = weight_components(architecture, dtype(workload.precision))
    if layout.offload == "all":
        return []
    if layout.zero < 3:
        return list(found)
    return [divided(one, layout.shards) for one in found]


def divided(component: Component, parts: Number) -> Component:
    """One of several equal shards of a component.

    >>> whole = Component(name="weights", derivation=Formula("P * q / 8", {"P": 8, "q": 16}), sources=())
    >>> divided(whole, 4).derivation.expression, divided(whole, 4).bytes
    ('(P * q / 8) / n', 4)
    """
    if parts == 1:
        return component
    derivation = Formula(f"({component.derivation.expression}) / n", {**component.derivation.terms, "n": parts})
    size = derivation.bytes
    return replace(
        component,
        derivation=derivation,
        bytes=size,
        low=min(size, int(component.low / parts)),
        high=max(size, int(component.high / parts)),
        sources=tuple(dict.fromkeys((*component.sources, "zero-2019"))),
    )


def held(architecture: Architecture, workload: Workload, trained: Trained) -> list[Component]:
    """Adapters, optimizer states and master copy of this rank."""
    layout = workload.layout or Layout()
    states = []
    if workload.lora:
        terms = {"P_a": trained.parameters, "B": trained.bytes_each}
        adapters = Component(name="adapters", derivation=Formula("P_a * B", terms), sources=("lora-2021", "peft-lora"))
        states.append(divided(adapters, trained.divisor if layout.zero == 3 else 1))
    if layout.offload != "none":
        return states
    parts = trained.divisor if layout.zero else 1
    states.append(divided(optimizer_states(workload.optimizer, trained.shapes, symbol=trained.symbol), parts))
    if workload.mixed_precision and trained.dtype.compute_bits == 16:
        formula = Formula(f"4 * {trained.symbol}", {trained.symbol: trained.parameters})
        states.append(
            divided(Component(name="master_weights", derivation=formula, sources=("mixed-precision-2017",)), parts)
        )
    return states


def gradients(workload: Workload, trained: Trained, parameters: int | None = None) -> Component | None:
    """Gradients of all trained parameters, or of those that the backward pass has reached."""
    layout = workload.layout or Layout()
    size = gradient_bytes(workload, trained)
    count = trained.parameters if parameters is None else parameters
    if not count:
        return None
    derivation = Formula(f"{trained.symbol} * B", {trained.symbol: count, "B": size})
    one = Component(name="gradients", derivation=derivation, sources=("zero-2019",))
    return divided(one, trained.divisor if layout.zero >= 2 else 1)


def gradient_bytes(workload: Workload, trained: Trained) -> int:
    """Bytes of a gradient: as computed, in float32, or both.

    Raises:
        InvalidInput: ``unknown_choice``, with the known precisions.
    """
    if workload.gradient_precision not in GRADIENTS:
        value = workload.gradient_precision
        raise InvalidInput("unknown_choice", place="gradient-precision", value=value, known=GRADIENTS)
    computed = trained.bytes_each
    return {"auto": computed, "float32": 4, "both": 4 + computed}[workload.gradient_precision]


def step_temporaries(workload: Workload, trained: Trained) -> Component | None:
    """What the optimizer's step needs for its arithmetic: PyTorch's ``foreach`` makes a list of temporaries of the size
    of the parameters (``denom`` of AdamW), one more copy of them; a fused step needs none.

    Checked: pure bfloat16, checkpointed, one GPU: 10 bytes per parameter at the peak (fms-acceleration).
    """
    if workload.step_kernel not in STEP_KERNELS:
        raise InvalidInput("unknown_choice", place="step-kernel", value=workload.step_kernel, known=STEP_KERNELS)
    layout = workload.layout or Layout()
    adaptive = OPTIMIZERS[workload.optimizer].foreach
    if workload.step_kernel == "fused" or not adaptive or layout.offload != "none":
        return None
    size = 4 if workload.mixed_precision else trained.bytes_each
    derivation = Formula(f"{trained.symbol} * B", {trained.symbol: trained.parameters, "B": size})
    one = Component(name="optimizer/step", derivation=derivation, sources=("torch-foreach", "fms-acceleration"))
    return divided(one, trained.divisor if layout.zero else 1)


def compute_bytes(workload: Workload) -> int:
    """Bytes of an element as it is computed."""
    return 2 if workload.compute_precision == "bfloat16" else dtype(workload.precision).compute_bits // 8


def cast_weights(architecture: Architecture, workload: Workload) -> Component | None:
    """Autocast keeps a 16-bit copy of float32 weights from their first use in the forward pass to its end."""
    layout = workload.layout or Layout()
    if workload.compute_precision == "auto" or dtype(workload.precision).compute_bits == 16 or layout.zero == 3:
        return None
    count = sum(
        times * prod(tensor.shape) for tensor, times in loaded_tensors(architecture) if tensor.kind in CAST_KINDS
    )
    return Component(name="weights/cast", derivation=Formula("2 * P", {"P": count}), sources=("torch-amp",))


def flattened_gradients(workload: Workload, trained: Trained) -> Component | None:
    """The 16-bit gradients once more, flattened to be reduced, beside a float32 copy of them.

    Megatron-LM of 2021 (``distributed.py``, ``allreduce_params``: ``_flatten_dense_tensors``): 22 bytes per parameter
    at the peak where 20 are there between steps (BigScience's logs).
    """
    if workload.gradient_precision != "both":
        return None
    derivation = Formula(f"{trained.symbol} * B", {trained.symbol: trained.parameters, "B": trained.bytes_each})
    return Component(name="gradients/buckets", derivation=derivation, sources=("bigscience-megatron",), low=0)


def gathered(architecture: Architecture, workload: Workload, *, layers: int) -> Component | None:
    """ZeRO-3 and FSDP: the root unit and the ``layers`` that are whole at a time."""
    layout = workload.layout or Layout()
    if layout.zero < 3 or layout.shards == 1:
        return None
    kind, size = dtype(workload.precision), compute_bytes(workload)
    layer = _widest_layer(architecture)
    root = sum(prod(tensor.shape) * tensor.count for tensor in architecture.tensors)
    bits = whole(kind.bits) if kind.quantized else 8 * size
    terms: dict[str, Number] = {"P_r": root, "B": size, "l": layers, "P_l": layer, "q": bits}
    derivation = Formula("P_r * B + l * P_l * q / 8", terms)
    return Component(name="weights/gathered", derivation=derivation, sources=("fsdp-2023",))


def whole_gradients(architecture: Architecture, workload: Workload, trained: Trained) -> Component | None:
    """Gradients that are whole before they are reduced: a layer's (ZeRO-3), a bucket (ZeRO-1 and 2), or all of them
    (PyTorch's DDP copies gradients into its buckets unless ``gradient_as_bucket_view``)."""
    layout = workload.layout or Layout()
    if layout.shards == 1:
        return None
    size = trained.bytes_each
    if layout.zero == 3:
        count = trained.parameters if workload.lora else _widest_layer(architecture)
        count, source = min(count, trained.parameters), "fsdp-2023"
    elif layout.zero:
        count, source = min(DEEPSPEED_BUCKET, trained.parameters), "zero-2019"
    elif workload.gradient_precision == "auto":
        count, source = trained.parameters, "torch-ddp"
    else:
        return None
    derivation = Formula(f"{trained.symbol} * B", {trained.symbol: count, "B": size})
    return Component(name="gradients/buckets", derivation=derivation, sources=(source,), low=0)


def _widest_layer(architecture: Architecture) -> int:
    return max(
        (sum(tensor.parameters for tensor in layer.tensors) for layer, _ in distinct_layers(architecture)), default=0
    )
