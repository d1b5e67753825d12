"""Bytes that one layer saves for the backward pass, as an exact polynomial in its shapes.

A law is built by listing what autograd saves, module by module, as ``torch.autograd.graph.saved_tensors_hooks`` shows
it (PyTorch 2.13, Transformers 5.24, key ``saved-tensors-2026``), and adding; nothing is fitted. For Llama with flash
attention in 16 bits the sum is ``16 t h + 4 t a d + 4 t k d + 8 t f + 4 a t + 8 t`` bytes.

Symbols: ``t`` tokens of the micro-batch (``b * s``), ``s`` tokens of a sequence, ``h`` hidden size, ``a`` query heads,
``k`` key-value heads, ``d`` head size, ``v`` value head size where it differs, ``f`` feed-forward width (of one
expert), ``g`` width of the shared experts, ``E`` experts, ``K`` experts per token, ``i`` inner width of a recurrent
layer, ``c`` and ``u`` latent widths of MLA for keys and queries, ``n`` query head size of MLA, ``r`` rank of LoRA.

Checked byte by byte for Llama, Qwen 2, Gemma 2, GPT-2 and Mixtral. Other layers are sums of the same measured parts
(query norms, parallel blocks and shared experts included); ``Law.approximate`` marks those with a part that is only our
reading of the code: latent attention, recurrent layers, and attention over an image or an encoded text.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from calc.architecture import (
    Architecture,
    DenseMLP,
    GroupedQueryAttention,
    Layer,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    Tensor,
    TensorKind,
)
from calc.formula import Formula, Number

Bytes = Counter[str]
"""Bytes per monomial: ``Bytes({"t*h": 16})`` is ``16 * t * h``."""

ZERO_CENTRED = {
    *("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "recurrent_gemma", "t5gemma"),
    *("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"),
}
"""Norms that multiply by ``1 + weight`` in float32, and so save the normalised input in float32 whatever the dtype."""

ATTENTION_SOFT_CAP = {"gemma2"}
"""Eager attention passes the scores through a tanh, whose output is saved."""

HALF_SOFTMAX = {"gpt2"}
"""Eager attention takes the softmax in the activations' dtype; the others take it in float32 and save both."""

ACTIVATION_COPIES = {"gelu_new": 4, "gelu_fast": 4, "quick_gelu": 2, "relu": 0, "relu2": 1}
"""Tensors of the width of the feed-forward that the activation saves itself; the kernels of PyTorch save their input
(1), ReLU its output, which the next matrix saves anyway (0), and the tanh-GELU written in Python four."""

ATTENTION_INPUTS = ("q_proj", "k_proj", "v_proj", "qkv_proj", "query_key_value", "Wqkv", "c_attn", "q_a_proj")
ATTENTION_OUTPUTS = ("o_proj", "out_proj", "dense", "c_proj")
_HIDDEN = ("h", "t")

_ORDER = (
    *("t*h", "t*a*d", "t*k*d", "t*a*n", "t*a*v", "t*k*v", "t*u", "t*c", "t*i", "t*f", "t*g"),
    *("K*t*h", "K*t*f", "a*t*s", "t*s", "t*r", "a*t", "k*t", "K*t", "E*t", "t", "s*p", "s", "h", "E"),
)

MLP_INPUTS = ("gate_proj", "up_proj", "gate_up_proj", "fc1", "c_fc", "dense_h_to_4h", "w1", "w3", "router", "gate")
MLP_OUTPUTS = ("down_proj", "fc2", "c_proj", "dense_4h_to_h", "w2", "wo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How the layer is trained.

    Args:
        element_bytes: of the activations, 2 or 4.
        eager: attention that stores the scores; else flash attention or PyTorch's SDPA.
        adapted: names of the modules that carry an adapter; ``None`` when all weights are trained.
        fused_norm: the norm saves only its input in the activations' dtype (Liger, Apex, Transformer Engine).
        adapter_dropout: each adapter drops part of its input: it saves what is left and a mask of one byte.
        dropout: dropout after attention and feed-forward, and on the attention scores where they are stored.
        half_softmax: eager attention takes the softmax in the activations' dtype (Megatron's fused kernel).
        repeats_keys: keys and values are repeated for every query head before the kernel (Mistral, Mixtral and Qwen 2
            in Transformers before 4.48, with flash attention).
        expert_loop: experts are computed one by one (Transformers before 5); only one is in backward at a time.
        sequence_shards: ranks along the sequence among which tensor parallelism splits norms and residuals.
    """

    element_bytes: int
    eager: bool = False
    adapted: frozenset[str] | None = None
    fused_norm: bool = False
    adapter_dropout: bool = False
    dropout: bool = False
    half_softmax: bool = False
    repeats_keys: bool = False
    expert_loop: bool = False
    sequence_shards: int = 1

    def saves_input_of(self, names: tuple[str, ...]) -> bool:
        """Whether a matrix of these names needs its input: it is trained, or carries an adapter.

        An adapter with dropout keeps its own dropped input instead.
        """
        if self.adapted and self.adapter_dropout:
            return False
        return self.adapted is None or any(_last(module) in names for module in self.adapted)


@dataclass(frozen=True, slots=True)
class Law:
    """A polynomial in bytes, the values of its symbols, and whether it is our approximation."""

    saved: Mapping[str, int]
    terms: Mapping[str, Number]
    approximate: bool = False

    @property
    def expression(self) -> str:
        """The polynomial as a formula's expression.

        >>> Law({"t*h": 16, "t": 8}, {}).expression
        '16*t*h + 8*t'
        """
        return polynomial(self.saved)


def polynomial(saved: Mapping[str, int]) -> str:
    """Write a polynomial: ``16*t*h + 8*t``."""
    ordered = sorted(saved.items(), key=lambda item: _ORDER.index(item[0]) if item[0] in _ORDER else len(_ORDER))
    parts = [monomial if count == 1 else f"{count}*{monomial}" for monomial, count in ordered if count > 0]
    return " + ".join(parts) + "".join(f" - {-count}*{one}" for one, count in ordered if count < 0) or "0"


def value_of(saved: Mapping[str, int], terms: Mapping[str, Number]) -> int:
    """The bytes of a polynomial."""
    return Formula(polynomial(saved), terms).bytes


def layer_law(architecture: Architecture, layer: Layer, regime: Regime) -> Law:
    """What this layer saves without checkpointing.

    Source: saved tensors of PyTorch; the closed forms are those of the measured families.
    """
    terms: dict[str, Number] = {"h": share(architecture.hidden_size, regime.sequence_shards)}
    saved: Bytes = Counter()
    approximate = layer.cross_attention or layer.encoder_attention is not None
    norms = _norms(layer) or ((_HIDDEN,) * (1 if architecture.parallel else 2))
    for width, rows in norms:
        saved += norm_law(architecture, regime, width, rows)
    if isinstance(layer.encoder_attention, GroupedQueryAttention):
        saved += _grouped_query(architecture, layer.encoder_attention, regime, terms)
    if isinstance(layer.attention, GroupedQueryAttention):
        saved += _grouped_query(architecture, layer.attention, regime, terms)
    elif isinstance(layer.attention, MultiHeadLatentAttention):
        saved += _latent(architecture, layer.attention, regime, terms)
        approximate = True
    if regime.adapted:
        saved += Counter({"t*r": regime.element_bytes * _adapters(layer, regime.adapted)})
        saved += _dropped_inputs(architecture, layer, regime, terms)
    if regime.dropout:
        saved += _dropout(architecture, layer, regime)
    if layer.state:
        saved += Counter({"t*h": regime.element_bytes, "t*i": 6 * regime.element_bytes})
        terms["i"] = layer.state.inner_size
        approximate = True
    if isinstance(layer.feed_forward, DenseMLP):
        saved += _dense(layer.feed_forward, regime, terms)
    elif isinstance(layer.feed_forward, MixtureOfExperts):
        saved += _experts(layer.feed_forward, regime, terms)
    if architecture.parallel and len(norms) == 1 and saved["t*h"] > regime.element_bytes:
        saved["t*h"] -= regime.element_bytes  # attention and feed-forward read the same tensor
    return Law(saved, terms, approximate)


def norm_law(architecture: Architecture, regime: Regime, width: str = "h", rows: str = "t") -> Bytes:
    """What one norm saves: its input (float32 inside an RMS norm), the statistics, the normalised value for its gain.

    A frozen gain (LoRA) needs no normalised value. LayerNorm's two statistics are counted in the activations' dtype, as
    measured on a CPU; CUDA keeps them in float32, 4 bytes more per token.
    """
    one = regime.element_bytes
    monomial, frozen = f"t*{width}", regime.adapted is not None
    if architecture.norm == "layer":
        return Counter({monomial: one, rows: 2 * one})
    if regime.fused_norm:
        return Counter({monomial: one, rows: 4})
    if architecture.model_type in ZERO_CENTRED:
        return Counter({monomial: 4 if frozen else 8, rows: 4, width: 4})
    return Counter({monomial: 4 if frozen else 4 + one, rows: 4})


def _norms(layer: Layer) -> tuple[tuple[str, str], ...]:
    """Width and rows of each norm of the layer, as monomials: ``h`` and ``t``, or ``a*d`` and ``a*t`` for queries."""
    gains = [one for one in layer.tensors if one.kind is TensorKind.NORM and not one.name.endswith(".bias")]
    return tuple(_norm_shape(gain, layer) for gain in gains)


def _norm_shape(gain: Tensor, layer: Layer) -> tuple[str, str]:
    name = gain.name.removesuffix(".weight").rsplit(".", 1)[-1]
    if name in ("q_a_layernorm", "kv_a_layernorm"):
        return ("u" if name.startswith("q") else "c"), "t"
    if name.startswith(("q_", "k_", "query_", "key_")) and isinstance(layer.attention, GroupedQueryAttention):
        heads = "a" if name.startswith("q") else "k"
        return f"{heads}*d", (f"{heads}*t" if gain.shape[-1] == layer.attention.head_dim else "t")
    inner = name == "norm" and layer.state is not None
    return ("i", "t") if inner else _HIDDEN


def _grouped_query(
    architecture: Architecture, attention: GroupedQueryAttention, regime: Regime, terms: dict[str, Number]
) -> Bytes:
    """Queries, keys, values and the output after rotation; flash adds a float32 log-sum-exp, eager the scores."""
    one = regime.element_bytes
    keys = attention.num_attention_heads if regime.repeats_keys else attention.num_key_value_heads
    terms |= {"a": attention.num_attention_heads, "k": keys, "d": attention.head_dim}
    wide = attention.v_head_dim not in (None, attention.head_dim)
    if wide:
        terms["v"] = attention.v_head_dim or attention.head_dim
    query, value = "t*a*d", "v" if wide else "d"
    saved: Bytes = Counter({"t*h": one if regime.saves_input_of(ATTENTION_INPUTS) else 0, query: one})
    if not regime.eager:
        return saved + Counter({"t*k*d": one}) + Counter({f"t*k*{value}": one, f"t*a*{value}": one, "a*t": 4})
    saved += Counter({query: one}) + Counter({f"t*a*{value}": one})
    if regime.saves_input_of(ATTENTION_OUTPUTS):
        saved += Counter({f"t*a*{value}": one})
    return saved + Counter({"a*t*s": _score_bytes(architecture, one, half_softmax=regime.half_softmax)})


def _score_bytes(architecture: Architecture, one: int, *, half_softmax: bool = False) -> int:
    """Bytes per attention score: the softmax in float32, its copy in 16 bits, and Gemma 2's tanh."""
    softmax = one if one == 4 or half_softmax or architecture.model_type in HALF_SOFTMAX else 4 + one
    return softmax + (one if architecture.model_type in ATTENTION_SOFT_CAP else 0)


def _latent(
    architecture: Architecture, attention: MultiHeadLatentAttention, regime: Regime, terms: dict[str, Number]
) -> Bytes:
    """Multi-head latent attention as Transformers trains it: keys and values expanded to all heads."""
    one = regime.element_bytes
    terms |= {
        "a": attention.num_attention_heads,
        "n": attention.qk_nope_head_dim + attention.qk_rope_head_dim,
        "v": attention.v_head_dim,
        "c": attention.kv_lora_rank,
        "u": attention.q_lora_rank or 0,
        "d": attention.qk_rope_head_dim,
    }
    saved: Bytes = Counter({"t*h": one, "t*u": one, "t*c": one, "t*a*n": 2 * one, "t*a*v": 2 * one})
    scores = (
        Counter({"a*t*s": _score_bytes(architecture, one, half_softmax=regime.half_softmax)})
        if regime.eager
        else Counter({"a*t": 4})
    )
    return saved + scores


def _dense(mlp: DenseMLP, regime: Regime, terms: dict[str, Number], *, width: str = "f") -> Bytes:
    """Input of the first matrices; inside, what the activation and the gating product save; input of the last."""
    one = regime.element_bytes
    terms[width] = mlp.intermediate_size
    inside = ACTIVATION_COPIES.get(mlp.activation, 1) + (2 if mlp.gated else 0)
    if regime.saves_input_of(MLP_OUTPUTS) or inside == 0:
        inside += 1
    return Counter({"t*h": one if regime.saves_input_of(MLP_INPUTS) else 0, f"t*{width}": inside * one})


def _experts(moe: MixtureOfExperts, regime: Regime, terms: dict[str, Number]) -> Bytes:
    """Grouped experts of Transformers 5: router, permutation indices, gathered inputs, outputs; and the shared ones."""
    one = regime.element_bytes
    terms |= {"E": moe.num_experts, "K": moe.num_experts_per_tok}
    inner = DenseMLP(intermediate_size=moe.moe_intermediate_size, gated=moe.gated, activation=moe.activation)
    each = _dense(inner, regime, terms)
    gathered = one + (one if regime.saves_input_of(MLP_INPUTS) else 0)
    saved: Bytes = Counter({"t*h": each["t*h"], "K*t*h": gathered, "K*t*f": each["t*f"]})
    if regime.expert_loop:
        saved += Counter({"K*t*h": one, "K*t": 32, "E*t": 4, "t": 4})
    else:
        saved += Counter({"K*t": 40, "E*t": 4, "t": 4, "E": 4})
    if moe.shared_intermediate_size:
        shared = DenseMLP(intermediate_size=moe.shared_intermediate_size, gated=moe.gated, activation=moe.activation)
        saved += Counter({"t*g": _dense(shared, regime, terms, width="g")["t*g"]})
    return saved


def _dropped_inputs(architecture: Architecture, layer: Layer, regime: Regime, terms: dict[str, Number]) -> Bytes:
    """What adapters with dropout keep: of each, its dropped input and a mask of a byte per element (PyTorch on CUDA).

    PEFT's ``Linear.forward``: ``lora_B(lora_A(dropout(x)))``; every adapter drops on its own.
    """
    if not regime.adapter_dropout or not regime.adapted:
        return Counter()
    each = regime.element_bytes + 1
    widths: Bytes = Counter()
    for one in layer.tensors:
        if one.name.removesuffix(".weight") in regime.adapted:
            times = one.count if one.active is None else one.active
            widths[_width_of(one, architecture, layer)] += each * times
    terms |= (
        {"m": max((one.shape[-1] for one in layer.tensors if len(one.shape) > 1), default=0)} if widths["t*m"] else {}
    )
    return +widths


def _width_of(matrix: Tensor, architecture: Architecture, layer: Layer) -> str:
    """The input of a matrix as a monomial: as wide as the model, the heads or the feed-forward."""
    name, width = _last(matrix.name.removesuffix(".weight")), matrix.shape[-1]
    if width == architecture.hidden_size and name not in ATTENTION_OUTPUTS:
        return "t*h"
    attention = layer.attention
    if isinstance(attention, GroupedQueryAttention) and width == attention.num_attention_heads * attention.head_dim:
        return "t*a*d"
    if isinstance(layer.feed_forward, DenseMLP) and width == layer.feed_forward.intermediate_size:
        return "t*f"
    return "t*h" if width == architecture.hidden_size else "t*m"


def _dropout(architecture: Architecture, layer: Layer, regime: Regime) -> Bytes:
    """Masks of one byte per element after attention and feed-forward; on stored scores a mask and what is left.

    Korthikanti et al. 2022, section 4.1: ``s b h`` for each mask, ``a s s b`` for the mask of the scores and twice that
    for the dropped scores.
    """
    saved: Bytes = Counter({"t*h": 2 if layer.attention and layer.feed_forward else 1})
    if regime.eager and layer.attention:
        saved["a*t*s"] += 1 + regime.element_bytes
    return saved


def share(value: int, parts: int) -> Number:
    """One part of a number, a whole one where it divides.

    >>> share(12, 4), share(7, 2)
    (3, Fraction(7, 2))
    """
    part = Fraction(value, parts)
    return part.numerator if part.denominator == 1 else part


def in_backward(law: Law, regime: Regime) -> Law:
    """What a layer holds at the fullest moment of its own backward pass.

    That moment is the gating product of the feed-forward. The input of the last matrix has been given back;
    pre-activation, activation and the other factor are still saved, and beside them are the gradient of the product and
    those of its two factors: six tensors of the width (three without a gate: pre-activation, gradient, gradient of the
    input). One gradient of the residual is there too. Measured on a GPU: 65 copies of ``t h`` in Llama 3 8B with LoRA
    and its dropout, 61 in Mistral 7B fully trained (fms-acceleration); this gives 65 and 61.
    """
    saved = Counter(law.saved)
    for monomial in ("t*f", "t*g") if regime.expert_loop else ("t*f", "K*t*f", "t*g"):
        if saved[monomial]:
            gated = saved[monomial] > 2 * regime.element_bytes
            saved[monomial] = max(saved[monomial], (6 if gated else 3) * regime.element_bytes)
    saved["t*h"] += regime.element_bytes
    return Law(saved, law.terms, law.approximate)


def operator_bytes(law: Law, regime: Regime) -> Bytes:
    """What checkpointing by operator keeps of a layer: its input, the attention's output and every second product.

    torchtitan ``activation_checkpoint.py``: ``mm`` in the save list, and the even ones computed again; of the seven
    products of a gated layer the first, third, fifth and seventh stay: queries, values, gate and the layer's output.
    Adapters are left out. Llama 3 8B, 8,192 tokens: 15.5 copies of ``t h`` in bytes a layer.
    """
    one = regime.element_bytes
    kept: Bytes = Counter({"t*h": 2 * one})
    for monomial, copies in (("t*a*d", 2), ("t*k*d", 1), ("t*a*n", 1), ("t*a*v", 1), ("t*i", 2)):
        if law.saved.get(monomial):
            kept[monomial] = copies * one
    for monomial in ("t*f", "K*t*f", "t*g"):
        if law.saved.get(monomial):
            kept[monomial] = one
    if law.saved.get("a*t"):
        kept["a*t"] = 4
    return kept


def _adapters(layer: Layer, adapted: frozenset[str]) -> int:
    """How many adapters one token passes through in this layer; each saves what comes out of its first matrix."""
    matrices = [one for one in layer.tensors if one.name.removesuffix(".weight") in adapted]
    return sum(one.count if one.active is None else one.active for one in matrices)


def _last(module: str) -> str:
    return module.rsplit(".", 1)[-1]
