"""How a model is spread over GPUs: the degrees of parallelism, and which of them cannot be.

``calc.parallelism`` turns a layout into the part of the model that one rank holds.
"""

from dataclasses import dataclass

from calc.errors import InvalidInput

ZERO_STAGES = (0, 1, 2, 3)
OFFLOADS = ("none", "optimizer", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Degrees of parallelism. GPUs in all: ``data * tensor * pipeline * context``.

    Args:
        data: replicas that see different samples (or shards of one model, from ``zero`` 1 on).
        zero: what the replicas share out: 0 nothing (DDP), 1 optimizer states and master copy, 2 also gradients,
            3 also weights (ZeRO, arXiv 1910.02054, section 3; FSDP's full shard is 3).
        tensor: parts of each matrix (Megatron-LM, arXiv 1909.08053, section 3).
        sequence: what tensor parallelism leaves whole (norms, residuals) is split along the sequence
            (arXiv 2205.05198, section 4.2.2).
        pipeline: stages of layers, run one forward, one backward (1F1B, arXiv 2104.04473, section 2.2).
        context: parts of each sequence.
        expert: parts of the experts; they are shared among the data-parallel ranks.
        micro_batches: micro-batches per step and pipeline; ``None`` for the accumulation steps.
        offload: ``optimizer`` (states and master copy on the host) or ``all`` (also the shards of the weights).

    Example:
        >>> Layout(data=2, tensor=4, pipeline=2).gpus
        16
    """

    data: int = 1
    zero: int = 0
    tensor: int = 1
    sequence: bool = False
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    micro_batches: int | None = None
    offload: str = "none"

    def __post_init__(self) -> None:
        """Refuse degrees below one and combinations that no framework runs.

        Raises:
            InvalidInput: ``too_small``, ``unknown_choice``, ``offload_needs_zero_3``, ``sequence_without_tensor``,
                ``expert_over_data``.
        """
        degrees = {"data-parallel": self.data, "tensor-parallel": self.tensor, "pipeline-parallel": self.pipeline}
        more = {"context-parallel": self.context, "expert-parallel": self.expert, "steps": self.micro_batches or 1}
        for place, value in (degrees | more).items():
            if value < 1:
                raise InvalidInput("too_small", place=place, minimum=1)
        if self.zero not in ZERO_STAGES:
            raise InvalidInput("unknown_choice", place="zero", value=str(self.zero), known=("0", "1", "2", "3"))
        if self.offload not in OFFLOADS:
            raise InvalidInput("unknown_choice", place="offload", value=self.offload, known=OFFLOADS)
        if self.offload == "all" and self.zero != 3:
            raise InvalidInput("offload_needs_zero_3", place="offload")
        if self.sequence and self.tensor == 1:
            raise InvalidInput("sequence_without_tensor", place="sequence-parallel")
        if (self.data * self.context * self.tensor) % self.expert:
            raise InvalidInput("expert_over_data", place="expert-parallel", expert=self.expert)

    @property
    def gpus(self) -> int:
        """GPUs of the whole layout."""
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def shards(self) -> int:
        """Ranks among which ZeRO and FSDP share out states: the data-parallel ones, context parts included."""
        return self.data * self.context
