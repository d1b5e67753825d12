"""The key-value cache: what each layer keeps per token and per sequence, and how each engine stores it.

A layer keeps, for each token it can still look back at,

* grouped-query attention: ``k`` keys of ``d`` and ``k`` values of ``v`` elements (``v = d`` almost always);
* multi-head latent attention: one latent of ``c`` and one rotated key of ``d`` elements (DeepSeek-V2, arXiv
  2405.04434v5, section 2.1.3), and in sparse variants one indexer key of ``j``.

Recurrent layers keep a state per sequence, whatever the number of tokens. Engines differ in the number of tokens:

* ``exact``: ``s``, or ``min(s, w)`` in a layer with a window; nothing is padded.
* ``transformers`` (5.24, measured): a windowed layer holds ``w - 1`` tokens after the step, since the next one comes
  with its own; Falcon's grouped heads are expanded before they are cached. Up to 4.57 latent attention was cached
  expanded as well; that is not modelled.
* ``vllm`` (V1): blocks of 16 tokens; a window frees the blocks before it, and may straddle one more.
* ``llama.cpp``: cells padded to 256; windowed layers hold the window plus one physical batch (``n_ubatch`` 512), and
  only where the model also has layers without one (``llama_kv_cache_iswa``); recurrent states in float32.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from math import ceil

from calc.architecture import Architecture, Attention, GroupedQueryAttention, Layer
from calc.dtypes import CACHE_BITS, whole
from calc.engines import ENGINES, UBATCH
from calc.errors import InvalidInput
from calc.formula import Formula, Number, symbols
from calc.inventory import distinct_layers

Geometry = tuple[str, int, int, int]
"""What a layer caches per token: ``("grouped", k, d, v)`` or ``("latent", c, d, j)``."""

_FULL = {"vllm": "16 * ceil(s / 16)", "llama.cpp": "256 * ceil(s / 256)"}
"""Tokens held without a window; 16 is vLLM's block (``CacheConfig.block_size``), 256 llama.cpp's padding of cells."""

VLLM_BLOCK = 16
"""Tokens of a block (``CacheConfig.DEFAULT_BLOCK_SIZE``)."""

_WINDOWED = {
    "exact": "min(s, {w})",
    "transformers": "min(s, {w} - 1)",
    "vllm": "16 * min(ceil(s / 16), ceil(({w} - 1) / 16) + 1)",
    "llama.cpp": "256 * min(ceil(s / 256), ceil(({w} + {u}) / 256))",
}
"""Tokens held with a window; ``u`` is llama.cpp's ``n_ubatch``."""

STATIC = "transformers-static"
"""The law of Transformers' static cache: as ``transformers``, with whole windows (``StaticSlidingWindowLayer``)."""

_MOST_WINDOWS = 3
"""Windows that get a term of their own; a model with more different ones is summed into one number."""


def kv_cache_bytes(  # noqa: PLR0913 - one keyword for each choice
    architecture: Architecture,
    *,
    context_tokens: int,
    sequences: int = 1,
    dtype: str = "bfloat16",
    value_dtype: str | None = None,
    engine: str = "exact",
) -> int:
    """Bytes of the cache of ``sequences`` sequences of ``context_tokens`` tokens each, recurrent states included.

    Args:
        architecture: the model.
        context_tokens: tokens of each sequence, prompt and answer together.
        sequences: sequences at a time.
        dtype: format of keys and values, a key of ``calc.dtypes.CACHE_BITS``; states keep their own.
        value_dtype: format of the values where it is another (llama.cpp's ``--cache-type-v``); a latent has none.
        engine: ``exact``, ``transformers``, ``vllm`` or ``llama.cpp``.

    Source: see the top of this module.

    Example:
        >>> from calc.hf_config import architecture_from_hf_config
        >>> llama = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
        ...     "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
        >>> kv_cache_bytes(architecture_from_hf_config(llama), context_tokens=8192) == 2**30
        True

    Raises:
        InvalidInput: ``too_small`` or ``unknown_choice``.
    """
    return kv_cache_formula(
        architecture,
        context_tokens=context_tokens,
        sequences=sequences,
        dtype=dtype,
        value_dtype=value_dtype,
        engine=engine,
    ).bytes


def kv_bytes_per_token(architecture: Architecture, *, dtype: str = "bfloat16", engine: str = "transformers") -> int:
    """What all layers together add for one more token of one sequence, while no window is full.

    As Transformers 5.24 caches it unless told otherwise: latent attention as its latent, Falcon's heads expanded.

    >>> from calc.hf_config import architecture_from_hf_config
    >>> small = {"model_type": "mistral", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100,
    ...     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> kv_bytes_per_token(architecture_from_hf_config(small))
    256
    """
    _check(dtype, engine)
    elements = sum(
        layers * _elements(geometry)
        for geometries in _reaches(architecture, engine).values()
        for geometry, layers in geometries.items()
    )
    return ceil(elements * CACHE_BITS[dtype] / 8)


def state_bytes(architecture: Architecture, *, dtype: str = "bfloat16", engine: str = "exact") -> int:
    """Bytes of the recurrent states of one sequence, whatever its length; 0 for a model that has none."""
    _check(dtype, engine)
    terms: dict[str, Number] = {"b": 1}
    expression = _state_term(architecture, dtype, engine, terms)
    return Formula(expression, terms).bytes if expression else 0


def kv_cache_formula(  # noqa: PLR0913 - one keyword for each choice
    architecture: Architecture,
    *,
    context_tokens: int,
    sequences: int = 1,
    dtype: str = "bfloat16",
    value_dtype: str | None = None,
    engine: str = "exact",
    ubatch: int = UBATCH,
    windows: bool | None = None,
) -> Formula:
    """The law whose value is ``kv_cache_bytes``: one term per reach, layers of equal geometry together.

    ``ubatch`` is llama.cpp's physical batch, which its windowed layers hold as well; ``windows`` says whether it
    honours them where the layers given are only some of a model's (``None``: as these tell).

    >>> from calc.hf_config import architecture_from_hf_config
    >>> gemma = {"model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216, "vocab_size": 256000,
    ...     "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4}
    >>> kv_cache_formula(architecture_from_hf_config(gemma), context_tokens=8192).expression
    '(2 * L * k * d * s + 2 * L_w * k * d * min(s, w)) * b * B'
    """
    _check(dtype, engine)
    _check(value_dtype or dtype, engine, place="kv-value-precision")
    for place, value in {"context": context_tokens, "concurrency": sequences}.items():
        if value < 1:
            raise InvalidInput("too_small", place=place, minimum=1)
    terms: dict[str, Number] = {"s": context_tokens, "b": sequences}
    pieces = []
    apart = value_dtype not in (None, dtype)
    reaches = _reaches(architecture, engine, windows)
    parts = list(_token_terms(reaches, engine, terms, _apart_term if apart else _width_term, ubatch=ubatch))
    if parts:
        terms |= {"B": whole(CACHE_BITS[dtype] / 8), "B_v": whole(CACHE_BITS[value_dtype or dtype] / 8)}
        total = " + ".join(parts)
        factor = "b" if apart else "b * B"
        pieces.append(f"({total}) * {factor}" if len(parts) > 1 else f"{total} * {factor}")
    pieces += filter(None, [_state_term(architecture, dtype, engine, terms)])
    expression = " + ".join(pieces) or "0 * s * b"
    used = symbols(expression)
    return Formula(expression, {name: value for name, value in terms.items() if name in used})


def _check(dtype: str, engine: str, *, place: str = "kv-precision") -> None:
    if engine not in (*ENGINES, STATIC):
        raise InvalidInput("unknown_choice", place="engine", value=engine, known=tuple(ENGINES))
    if dtype not in CACHE_BITS:
        raise InvalidInput("unknown_choice", place=place, value=dtype, known=tuple(CACHE_BITS))


def honours_windows(architecture: Architecture) -> bool:
    """Whether llama.cpp keeps only the window in windowed layers: where the model has layers without one as well."""
    return None in _reaches(architecture, "exact")


def shared_width(architecture: Architecture, engine: str = "vllm") -> int:
    """Elements per token that requests with the same beginning can share: those of layers that see all of it."""
    full = _reaches(architecture, engine).get(None, Counter())
    return sum(layers * _elements(geometry) for geometry, layers in full.items())


def layer_widths(architecture: Architecture) -> Counter[tuple[int | None, int]] | None:
    """How many layers cache so many elements per token, by how far they look back.

    ``None`` for a model that keeps more than keys and values of its own text: states, an encoder, images.
    """
    for layer, _ in distinct_layers(architecture):
        if layer.state is not None or layer.encoder_attention is not None or layer.cross_attention:
            return None
    found: Counter[tuple[int | None, int]] = Counter()
    for window, geometries in _reaches(architecture, "vllm").items():
        for geometry, layers in geometries.items():
            found[window, _elements(geometry)] += layers
    return found


def _reaches(
    architecture: Architecture, engine: str, windows: bool | None = None
) -> dict[int | None, Counter[Geometry]]:
    """How many layers of each geometry there are, by how far they look back."""
    reaches: dict[int | None, Counter[Geometry]] = {}
    for layer, times in distinct_layers(architecture):
        if layer.attention is not None and _keeps_tokens(layer):
            reaches.setdefault(layer.window, Counter())[_geometry(layer.attention, engine)] += times
        if layer.encoder_attention is not None:  # of an encoded text as long as the context
            reaches.setdefault(None, Counter())[_geometry(layer.encoder_attention, engine)] += times
    if engine == "llama.cpp" and not (None in reaches if windows is None else windows):
        reaches = {None: sum(reaches.values(), Counter())} if reaches else {}
    return reaches


def _keeps_tokens(layer: Layer) -> bool:
    """Not a layer that reads another's cache, nor one whose keys come from an image."""
    shares = isinstance(layer.attention, GroupedQueryAttention) and layer.attention.shares_kv
    return not shares and not layer.cross_attention


def _geometry(attention: Attention, engine: str) -> Geometry:
    if isinstance(attention, GroupedQueryAttention):
        heads = attention.num_key_value_heads
        if engine in ("transformers", STATIC) and attention.cached_heads is not None:
            heads = attention.cached_heads
        return "grouped", heads, attention.head_dim, attention.v_head_dim or attention.head_dim
    return "latent", attention.kv_lora_rank, attention.qk_rope_head_dim, attention.index_head_dim


def _elements(geometry: Geometry) -> int:
    kind, first, second, third = geometry
    return first * (second + third) if kind == "grouped" else first + second + third


def _token_terms(
    reaches: dict[int | None, Counter[Geometry]],
    engine: str,
    terms: dict[str, Number],
    width: Callable[..., str],
    *,
    ubatch: int,
) -> Iterator[str]:
    """One product per reach, the whole context first: elements per token of its layers, times the tokens held."""
    windows = [window for window in reaches if window is not None]
    if len(windows) > _MOST_WINDOWS:
        yield _sum_of(reaches, engine, terms, width, ubatch)
        return
    for window, geometries in sorted(reaches.items(), key=lambda item: item[0] or 0):
        suffix = "" if window is None else f"_{_window_name(windows.index(window))}"
        if window is None:
            tokens = _FULL.get(engine, "s")
        else:
            terms[suffix[1:]] = window
            tokens = _held(engine, window).format(w=suffix[1:], u=ubatch)
        yield f"{width(geometries, suffix, terms)} * {tokens}"


def _window_name(index: int) -> str:
    return "w" if index == 0 else f"w{index + 1}"


def _held(engine: str, window: int) -> str:
    whole_window = engine == STATIC or (engine == "transformers" and window == 1)
    return _WINDOWED["exact" if whole_window else engine]


def _width_term(geometries: Counter[Geometry], suffix: str, terms: dict[str, Number]) -> str:
    """Elements per token of all the layers of one reach; a geometry shared with another reach shares its symbols."""
    if len(geometries) > 1:
        terms[f"N{suffix}"] = sum(layers * _elements(geometry) for geometry, layers in geometries.items())
        return f"N{suffix}"
    ((kind, first, second, third), layers) = next(iter(geometries.items()))
    terms[f"L{suffix}"] = layers
    if kind == "latent":
        c, e = _bind("c", first, suffix, terms), _bind("e", second, suffix, terms)
        indexer = f" + {_bind('j', third, suffix, terms)}" if third else ""
        return f"L{suffix} * ({c} + {e}{indexer})"
    k, d = _bind("k", first, suffix, terms), _bind("d", second, suffix, terms)
    if second == third:
        return f"2 * L{suffix} * {k} * {d}"
    return f"L{suffix} * {k} * ({d} + {_bind('v', third, suffix, terms)})"


def _apart_term(geometries: Counter[Geometry], suffix: str, terms: dict[str, Number]) -> str:
    """Bytes per token of all the layers of one reach, keys and values in formats of their own."""
    values = sum(layers * _values(geometry) for geometry, layers in geometries.items())
    whole_width = sum(layers * _elements(geometry) for geometry, layers in geometries.items())
    terms |= {f"N{suffix}": whole_width - values, f"N_v{suffix}": values}
    return f"(N{suffix} * B + N_v{suffix} * B_v)"


def _values(geometry: Geometry) -> int:
    """Elements of the values; a latent is keys and values in one, in the format of the keys."""
    kind, heads, _, width = geometry
    return heads * width if kind == "grouped" else 0


def _bind(symbol: str, value: int, suffix: str, terms: dict[str, Number]) -> str:
    name = symbol if terms.get(symbol, value) == value else f"{symbol}{suffix}"
    terms[name] = value
    return name


def _sum_of(
    reaches: dict[int | None, Counter[Geometry]],
    engine: str,
    terms: dict[str, Number],
    width: Callable[..., str],
    ubatch: int,
) -> str:
    """Elements of all the layers for this context, as one number, or as one of keys and one of values."""
    total: Number = 0
    values: Number = 0
    for window, geometries in reaches.items():
        tokens = _FULL.get(engine, "s") if window is None else _held(engine, window).format(w=window, u=ubatch)
        held = Formula(tokens, {"s": terms["s"]}).value
        total += held * sum(layers * _elements(geometry) for geometry, layers in geometries.items())
        values += held * sum(layers * _values(geometry) for geometry, layers in geometries.items())
    if width is _width_term:
        terms["N"] = total
        return "N"
    terms |= {"N": total - values, "N_v": values}
    return "(N * B + N_v * B_v)"


def _state_term(architecture: Architecture, dtype: str, engine: str, terms: dict[str, Number]) -> str:
    """``(x * B_x + y * B_y) * b`` with the elements of all layers, or nothing."""
    states = [(layer.state, times) for layer, times in distinct_layers(architecture) if layer.state is not None]
    if not states:
        return ""
    model_bytes = 4 if dtype == "float32" or engine == "llama.cpp" else 2
    sizes = {model_bytes if engine == "llama.cpp" else state.state_bytes or model_bytes for state, _ in states}
    size = max(sizes)
    terms |= {
        "x": sum(state.convolution_elements * times for state, times in states),
        "B_x": model_bytes,
        "y": sum(state.state_elements * times for state, times in states),
        "B_y": size,
    }
    if len(sizes) > 1:
        terms["y"] = sum(state.state_elements * times * (state.state_bytes or model_bytes) for state, times in states)
        terms["B_y"] = 1
    return "(x * B_x + y * B_y) * b"
