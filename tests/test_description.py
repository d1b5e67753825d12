"""A model travels as a short text, and the door that reads it back believes nothing."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from calc import catalog
from calc.architecture import StoredType
from calc.calculators import fragment, from_fragment, run
from calc.calculators.fields import MAX_DESCRIPTION
from calc.described import MAX_TEXT, load
from calc.description import dump
from calc.errors import InvalidInput
from calc.hf_config import architecture_from_hf_config

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "architectures.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GOLDEN)
def test_every_model_comes_back_as_it_left(name: str) -> None:
    """All published architectures survive the text, in less than 2,000 characters."""
    model = architecture_from_hf_config(GOLDEN[name]["config"])
    text = dump(name, model)
    assert load(text).architecture == model
    assert load(text).name == name
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("name", "longest"), [("llama-3-8b", 1000), ("deepseek-v3", 2000), ("qwen3-next-80b-a3b", 2500)]
)
def test_the_text_is_short(name: str, longest: int) -> None:
    """The bounds that a link was promised."""
    assert len(dump(name, catalog.architecture(name))) < longest


def test_a_name_of_any_kind_is_data() -> None:
    """Markup comes back as it was; what cannot be printed does not."""
    model = catalog.architecture("gpt2")
    assert load(dump("<b>ñ & co</b>", model)).name == "<b>ñ & co</b>"
    assert load(dump("a\n\u202eb" + "x" * 1000, model)).name.startswith("a")


def packed(document: object) -> str:
    """A text that holds this JSON."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    engine = zlib.compressobj(9, wbits=-15)
    return "1" + base64.urlsafe_b64encode(engine.compress(data) + engine.flush()).decode().rstrip("=")


def document() -> dict[str, Any]:
    """The JSON of a good text."""
    text = dump("x", catalog.architecture("llama-3-8b"))[1:]
    found: dict[str, Any] = json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), -15))
    return found


def refused(text: str) -> str:
    """Where the door says that a text is wrong."""
    with pytest.raises(InvalidInput) as error:
        load(text)
    assert (error.value.code, error.value.place) == ("bad_description", "config")
    return str(error.value.params["where"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "2" + dump("x", catalog.architecture("gpt2"))[1:],
        "1ñ",
        "1****",
        dump("x", catalog.architecture("gpt2"))[:-8],
        dump("x", catalog.architecture("gpt2")) + "AAAA",
        "1" + "A" * MAX_TEXT,
        packed(b" " * (2**20 + 1)),
        packed(b"0" * 10**7),
    ],
)
def test_what_no_page_of_ours_wrote_is_refused(text: str) -> None:
    """Another version, bad base64, cut or longer streams, and bombs that would swell to more than a mebibyte."""
    assert refused(text) == "text"


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff", b'{"n":NaN}', b'{"a":' * 5000, b'{"n":1,"n":2}'])
def test_json_of_another_kind_is_refused(text: bytes) -> None:
    """It must be one object, in UTF-8, without bombs."""
    assert refused(packed(text)) == "json"


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("h", 0, "h"),
        ("h", 2**31 + 1, "h"),
        ("h", True, "h"),
        ("h", 1.5, "h"),
        ("v", -1, "v"),
        ("c", "8192", "c"),
        ("t", None, "t"),
        ("n", "x" * 300, "n"),
        ("n", "a\nb", "n"),
        ("i", 2, "i"),
        ("x", [99], "x[0]"),
        ("x", [-1], "x[0]"),
        ("x", {}, "x"),
        ("x", [0] * 5000, "x"),
        ("b", [["Q4_K", -1, 2]], "b[0][1]"),
        ("b", [["Q4_K", 1]], "b[0]"),
        ("r", [[[0, 10**9]], 1, []], "r[0][0][1]"),
        ("r", [[[0, 5000]], 5000, []], "r"),
        ("r", [[[7, 1]], 1, []], "r[0][0][0]"),
        ("r", [[], 0, []], "r[1]"),
        ("k", [["a", [2**40], 0]], "k[0][1][0]"),
        ("k", [["a", [2**31] * 3, 0]], "k[0]"),
        ("k", [["a", [1] * 9, 0]], "k[0][1]"),
        ("k", [["a", [1], 99]], "k[0][2]"),
        ("k", [["a", [1], 0, 5]], "k[0]"),
        ("k", [["a", [1], 0, 2, 3]], "k[0][4]"),
        ("l", [[None, None, [], None, None, 0]], "l[0]"),
        ("l", [[["r", "mamba", 1, 1, 1], None, [], None, None, 0, None]], "l[0][0]"),
        ("l", [[["g", 1, 1], None, [], None, None, 0, None]], "l[0][0]"),
        ("l", [[["g", 1, 1, 1, 1, 1, 0, 1], None, [], None, None, 0, None]], "l[0][0]"),
        ("l", [[["?", 1], None, [], None, None, 0, None]], "l[0][0]"),
        ("l", [[None, None, [], 0, None, 0, None]], "l[0][3]"),
        ("w", [["t", 1]], "w[0]"),
    ],
)
def test_every_part_is_checked_by_its_path(key: str, value: object, where: str) -> None:
    """A wrong value anywhere names its path."""
    assert refused(packed({**document(), key: value})) == where


@pytest.mark.parametrize("key", list("nthvpicoarxswblk"))
def test_every_key_is_needed(key: str) -> None:
    """A key that is missing is named."""
    found = document()
    del found[key]
    assert refused(packed(found)) == key


def test_a_thousand_million_tensors_are_not_listed() -> None:
    """Few characters cannot ask for much work: layers times tensors are bounded before they are made."""
    found = document()
    layer = [None, None, [0] * 2000, None, None, 0, None]
    assert refused(packed({**found, "l": [layer], "r": [[[0, 10_000]], 1, []]})) == "r"


def test_a_described_model_goes_through_every_calculator() -> None:
    """``model=file`` with a text gives what the catalogue gives, and the link holds it."""
    text = dump("Llama 3 8B", catalog.architecture("llama-3-8b"))
    raw = {"model": "file", "config": text}
    for name in ("gpu", "inferencia", "lora"):
        own, known = run(name, raw), run(name, {"model": "llama-3-8b"})
        assert own.estimate.components == known.estimate.components
        assert from_fragment(name, fragment(name, raw)) == raw


def test_a_described_model_weighs_what_its_file_held() -> None:
    """The stored bytes travel with it, for the precision ``stored``."""
    model = catalog.architecture("gpt-oss-20b")
    assert StoredType("U8", 10_152_345_600, 10_152_345_600) in model.stored
    result = run("inferencia", {"model": "file", "config": dump("x", model), "precision": "stored"})
    assert result.estimate.component("weights") == 13_761_264_768


def test_a_model_that_is_not_described_is_asked_for() -> None:
    """Without a text the field says what to do; a wrong one is refused at the field."""
    for raw, code in (({"model": "file"}, "empty_description"), ({"model": "file", "config": "x"}, "bad_description")):
        with pytest.raises(Exception, match=code):
            run("gpu", raw)
    assert MAX_DESCRIPTION == MAX_TEXT
