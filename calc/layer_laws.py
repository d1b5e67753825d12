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
    """

    element_bytes: int
    eager: bool = False
    adapted: frozenset[str] | None = None
    fused_norm: bool = False

    def saves_input_of(self, names: tuple[str, ...]) -> bool:
        """Whether a matrix of these names needs its input: it is trained, or carries an adapter."""
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
    terms: dict[str, Number] = {"h": architecture.hidden_size}
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
    terms |= {
        "a": attention.num_attention_heads,
        "k": attention.num_key_value_heads,
        "d": attention.head_dim,
    }
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
    return saved + Counter({"a*t*s": _score_bytes(architecture, one)})


def _score_bytes(architecture: Architecture, one: int) -> int:
    """Bytes per attention score: the softmax in float32, its copy in 16 bits, and Gemma 2's tanh."""
    softmax = one if one == 4 or architecture.model_type in HALF_SOFTMAX else 4 + one
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
    scores = Counter({"a*t*s": _score_bytes(architecture, one)}) if regime.eager else Counter({"a*t": 4})
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
    saved += Counter({"K*t": 40, "E*t": 4, "t": 4, "E": 4})
    if moe.shared_intermediate_size:
        shared = DenseMLP(intermediate_size=moe.shared_intermediate_size, gated=moe.gated, activation=moe.activation)
        saved += Counter({"t*g": _dense(shared, regime, terms, width="g")["t*g"]})
    return saved


def _adapters(layer: Layer, adapted: frozenset[str]) -> int:
    """How many adapters one token passes through in this layer; each saves what comes out of its first matrix."""
    matrices = [one for one in layer.tensors if one.name.removesuffix(".weight") in adapted]
    return sum(one.count if one.active is None else one.active for one in matrices)


def _last(module: str) -> str:
    return module.rsplit(".", 1)[-1]
