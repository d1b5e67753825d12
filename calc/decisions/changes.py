"""The changes that can make an estimate fit: for each kind, its steps from the smallest change to the largest.

A step is texts for some fields, and codes of what it costs. Only kinds whose fields the calculator offers, and that
apply with the inputs as they are, have steps. What a step costs is said as honestly as public measurements allow:

* Formats of weights and caches: ``calc.decisions.formats``.
* 8-bit optimizers keep the results of 32-bit ones (arXiv 2110.02861, abstract); QLoRA those of 16-bit fine-tuning
  (arXiv 2305.14314, abstract); low ranks those of high ones (LoRA, arXiv 2106.09685, section 7.2).
* Full recomputation costs one more forward pass, about a third of the time; selective recomputation with sequence
  parallelism takes more than 90 % off that (arXiv 2205.05198, abstract).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from calc.calculators import CALCULATORS, Field
from calc.calculators.fields import Parsed
from calc.custom import CUSTOM
from calc.decisions.formats import CACHES, GGUF, PRECISIONS, cache_quality, quality
from calc.decisions.question import Question
from calc.decisions.steps import Change, Costs, Step, falling, listed
from calc.dtypes import CACHE_BITS, DTYPES

LEAST_CONTEXT: Final = 512
"""Tokens below which a shorter context is no advice (our choice)."""

GOOD_RANK: Final = 4
"""Rank from which the results of the section above hardly grow."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs as they are: what each field says, and which choices it has."""

    calculator: str
    parsed: Parsed
    fields: Mapping[str, Field]

    @classmethod
    def of(cls, question: Question) -> "Inputs":
        """Those of a question; errors as ``Question.parsed``."""
        fields = {field.name: field for field in CALCULATORS[question.calculator].fields}
        return cls(question.calculator, question.parsed(), fields)

    def shown(self, name: str) -> bool:
        """Whether the calculator has this field and it applies."""
        return name in self.parsed.visible

    def says(self, name: str, *values: str) -> bool:
        """Whether the field applies and holds one of these."""
        return self.shown(name) and self.text(name) in values

    def text(self, name: str) -> str:
        """The value of a field as text; empty where it does not apply. Flags are ``yes`` and ``no``."""
        value = self.parsed.values.get(name, "")
        return ("no", "yes")[value] if isinstance(value, bool) else str(value)

    def offers(self, name: str, value: str) -> bool:
        """Whether the field applies and has this choice."""
        return self.shown(name) and value in self.fields[name].options()

    @property
    def training(self) -> bool:
        """Whether it is about training."""
        return self.calculator == "lora" or self.says("workload", "training")


def changes(question: Question) -> tuple[Change, ...]:
    """Every kind of change that these inputs allow, GPUs apart, in a fixed order.

    >>> [one.kind for one in changes(Question("inferencia", {"concurrency": "2"}))]
    ['precision', 'kv_precision', 'context', 'concurrency', 'engine']

    Raises:
        InvalidInputs: for inputs that cannot be used.
    """
    inputs = Inputs.of(question)
    makers = _TRAINING if inputs.training else _INFERENCE
    return tuple(one for make in makers if (one := make(inputs)).size)


def _precision(inputs: Inputs) -> Change:
    if inputs.calculator == "lora":
        names: tuple[str, ...] = ("bfloat16", "int8")
    elif inputs.training:
        names = ("bfloat16",)
    else:
        names = PRECISIONS[inputs.text("engine") or "exact"]
    wanted = [name for name in names if inputs.offers("precision", name) and _finer(inputs, name)]
    return listed("precision", [Step({"precision": name}, quality(name)) for name in wanted])


def _finer(inputs: Inputs, name: str) -> bool:
    """Whether the weights have more bits than in this format; those of a file are not known beforehand."""
    now = inputs.text("precision")
    return now not in DTYPES or DTYPES[name].bits < DTYPES[now].bits


def _kv_precision(inputs: Inputs) -> Change:
    values = {"kv-value-precision": "auto"} if inputs.shown("kv-value-precision") else {}
    values = {} if inputs.says("kv-value-precision", "auto") else values
    asked = inputs.text("kv-precision")
    bits = CACHE_BITS.get(asked, CACHE_BITS["bfloat16"])
    steps = [
        Step({"kv-precision": name, **values}, cache_quality(name))
        for name in CACHES[inputs.text("engine") or "exact"]
        if inputs.offers("kv-precision", name) and CACHE_BITS[name] < bits
    ]
    return listed("kv_precision", steps)


def _engine(inputs: Inputs) -> Change:
    """llama.cpp has formats between those of the other engines, and below them."""
    now = inputs.text("engine")
    steps = [Step({"engine": "transformers"})] if now == "transformers-legacy" else []
    if now in ("vllm", "transformers", "transformers-legacy"):
        steps += [
            Step({"engine": "llama.cpp", "precision": name}, (*quality(name), "other_engine"))
            for name in GGUF[1:]
            if _finer(inputs, name)
        ]
    return listed("engine", steps)


def _context(inputs: Inputs) -> Change:
    asked = inputs.parsed.integer("context")

    def step(value: int) -> Step:
        return Step({"context": str(value)}, ("shorter_context" if 4 * value >= asked else "much_shorter_context",))

    return falling("context", asked, min(LEAST_CONTEXT, -(-asked // 2)), step)


def _at_once(inputs: Inputs) -> Change:
    name = "concurrency" if inputs.shown("concurrency") else "batch"
    asked = inputs.parsed.integer(name)

    def step(value: int) -> Step:
        return Step({name: str(value)}, ("fewer_at_once" if 4 * value >= asked else "many_fewer_at_once",))

    return falling(name, asked, 1, step)


def _accumulated(inputs: Inputs) -> Change:
    """Fewer sequences at a time, and as many more micro-batches that the optimizer sees no fewer."""
    asked, steps = inputs.parsed.integer("batch"), inputs.parsed.integer("accumulation")
    most = int(inputs.fields["accumulation"].maximum or 1)

    def step(value: int) -> Step:
        return Step({"batch": str(value), "accumulation": str(-(-asked * steps // value))}, ("slower_slight",))

    return falling("batch", asked, max(1, -(-asked * steps // most)), step)


def _rank(inputs: Inputs) -> Change:
    if not inputs.shown("rank"):
        return listed("rank", [])

    def step(value: int) -> Step:
        return Step({"rank": str(value)}, ("quality_slight" if value >= GOOD_RANK else "quality_some",))

    return falling("rank", inputs.parsed.integer("rank"), 1, step)


def _choice(kind: str, name: str, order: tuple[tuple[str, Costs], ...]) -> Callable[[Inputs], Change]:
    """A field with a few choices, of which those after the present one in ``order`` may take less."""

    def make(inputs: Inputs) -> Change:
        now = inputs.text(name)
        names = [value for value, _ in order]
        later = order[names.index(now) + 1 :] if now in names else order
        return listed(kind, [Step({name: value}, costs) for value, costs in later if inputs.offers(name, value)])

    return make


def _calculator(inputs: Inputs) -> Change:
    """From full fine-tuning to LoRA and QLoRA, in the calculator that knows them."""
    if inputs.calculator != "gpu" or inputs.says("model", CUSTOM):
        return listed("calculator", [])
    own = {field.name: field for field in CALCULATORS["lora"].fields}
    kept = {
        name: inputs.parsed.text[name]
        for name in inputs.parsed.visible
        if name in own and inputs.parsed.has(name) and (not own[name].choices or inputs.text(name) in own[name].choices)
    }
    methods: tuple[tuple[str, Costs], ...] = (
        ("lora", ("only_adapters",)),
        ("qlora", ("only_adapters", "quality_slight", "slower_some")),
    )
    helps: tuple[tuple[dict[str, str], Costs], ...] = (
        ({}, ()),
        ({"checkpointing": "full"}, ("slower_some",)),
        ({"checkpointing": "full", "loss": "chunked"}, ("slower_some", "needs_library")),
    )
    steps = [
        Step({**kept, "method": method, **texts}, tuple(dict.fromkeys((*costs, *more))), "lora")
        for method, costs in methods
        for texts, more in helps
        if any(kept.get(name) != text for name, text in texts.items()) or not texts
    ]
    return listed("calculator", steps)


def _zero(inputs: Inputs) -> Change:
    if not inputs.shown("data-parallel") or inputs.parsed.integer("data-parallel") == 1:
        return listed("zero", [])
    order: tuple[tuple[str, Costs], ...] = (("0", ()), ("1", ()), ("2", ()), ("3", ("slower_slight",)))
    return _choice("zero", "zero", order)(inputs)


def _offload(inputs: Inputs) -> Change:
    steps = [
        Step({"offload": "optimizer"}, ("slower_much",)),
        Step({"offload": "all", "zero": "3"}, ("slower_much",)),
    ]
    done = {"none": 0, "optimizer": 1}.get(inputs.text("offload"), 2)
    return listed("offload", steps[done:] if inputs.shown("offload") else [])


_TRAINING: Final = (
    _choice("attention_kernel", "attention-kernel", (("eager", ()), ("flash", ()))),
    _choice("step_kernel", "step-kernel", (("foreach", ()), ("fused", ()))),
    _choice("loss", "loss", (("standard", ()), ("in-place", ("needs_library",)), ("chunked", ("needs_library",)))),
    _choice("compute_precision", "compute-precision", (("auto", ()), ("bfloat16", ("quality_slight",)))),
    _precision,
    _choice(
        "gradient_precision",
        "gradient-precision",
        (("both", ()), ("float32", ("quality_slight",)), ("auto", ("quality_slight",))),
    ),
    _choice(
        "checkpointing",
        "checkpointing",
        (
            ("none", ()),
            ("selective", ("slower_slight",)),
            ("operators", ("slower_slight",)),
            ("full", ("slower_some",)),
            ("sqrt", ("slower_some",)),
        ),
    ),
    _choice(
        "optimizer",
        "optimizer",
        (
            ("adamw", ()),
            ("adamw-8bit", ("quality_slight",)),
            ("lion-8bit", ("tune_again",)),
            ("adafactor", ("tune_again",)),
            ("sgd", ("quality_much", "tune_again")),
        ),
    ),
    _accumulated,
    _choice("mixed_precision", "mixed-precision", (("yes", ()), ("no", ("quality_some",)))),
    _choice("adapter_dropout", "adapter-dropout", (("yes", ()), ("no", ("quality_slight",)))),
    _choice("method", "method", (("lora", ()), ("qlora", ("quality_slight", "slower_some")))),
    _rank,
    _choice(
        "targets",
        "targets",
        (("all-linear", ()), ("attention", ("quality_some",)), ("q-v", ("quality_some",))),
    ),
    _choice(
        "trained_modules",
        "trained-modules",
        (("embedding-head", ()), ("embedding", ()), ("head", ()), ("none", ("quality_some",))),
    ),
    _context,
    _zero,
    _calculator,
    _offload,
)

_INFERENCE: Final = (_precision, _kv_precision, _context, _at_once, _engine)
