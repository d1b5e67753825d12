"""``python -m calc`` answers in Spanish for people and in JSON for programs, and says in one line what is wrong."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calc.__main__ import main
from calc.calculators import CALCULATORS
from calc.model_file import MAX_CONFIG_BYTES

ROOT = Path(__file__).parent.parent

# config.json of meta-llama/Meta-Llama-3-8B at revision 8cde5ca8380496c9a6cc7ef3a8b46a0372a1d920, its architecture keys
LLAMA_3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line; gives back exit status, standard output and standard error."""

    def _ask(line: str) -> tuple[int, str, str]:
        status = main(line.split())
        streams = capsys.readouterr()
        return status, streams.out, streams.err

    return _ask


@pytest.fixture
def answer(ask: Any) -> Any:
    """Run a command line with ``--json``; gives back what a program reads."""

    def _answer(line: str) -> dict[str, Any]:
        status, out, err = ask(f"{line} --json")
        assert (status, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found

    return _answer


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("entrenar", 112 * 10**9),
        ("entrenar --parameters 7 --bytes-per-parameter 16", 112 * 10**9),
        ("entrenar --parameters 7 --bytes-per-parameter 16 --activations 20", 132 * 10**9),
        ("entrenar --bytes-per-parameter 12", 84 * 10**9),
        ("entrenar --bytes-per-parameter 8", 56 * 10**9),
        ("entrenar --parameters 0,5 --activations=0,25", 8_250_000_000),
        ("acumulacion", 2 * 10**9),
        ("acumulacion --micro-batch 4 --steps 8 --gpus 4 --activation-per-sample 0,5", 2 * 10**9),
    ],
)
def test_the_simple_laws_give_their_fixed_points(answer: Any, line: str, total: int) -> None:
    """The simple calculators give the decimal gigabytes of their formulas, to the byte."""
    found = answer(line)
    assert found["total_bytes"] == found["low_bytes"] == found["high_bytes"] == total
    assert sum(part["bytes"] for part in found["components"]) == total


@pytest.mark.parametrize(("gpus", "batch"), [("1", 32), ("4", 128)])
def test_the_effective_batch_is_a_product(answer: Any, gpus: str, batch: int) -> None:
    """Micro-batch, steps and GPUs multiply into the effective batch."""
    assert answer(f"acumulacion --gpus {gpus}")["effective_batch"] == batch


def test_json_has_the_promised_shape(answer: Any) -> None:
    """Keys and types are those that the design promises to programs."""
    found = answer("gpu --model llama-3-8b --workload inference --precision bfloat16 --batch 1 --context 8192")
    assert list(found) == [
        *("calculator", "inputs", "components", "total_bytes", "low_bytes", "high_bytes", "gpus", "notes"),
        *("timeline", "tables"),
    ]
    assert found["calculator"] == "gpu"
    assert found["inputs"]["context"] == 8192
    for part in found["components"]:
        assert set(part) == {"name", "bytes", "low", "high", "formula", "source"}
        assert part["low"] <= part["bytes"] <= part["high"]
        assert {type(part[key]) for key in ("bytes", "low", "high")} == {int}
    for gpu in found["gpus"]:
        promised = {"name", "id", "usable_bytes", "count", "used_fraction", "verdict"}
        assert set(gpu) == promised | {"layout", "bytes_per_gpu"}
        assert gpu["verdict"] in ("fits", "tight", "no_fit")
    assert all("code" in note for note in found["notes"])


def test_llama_3_8b_has_its_fixed_points(ask: Any, answer: Any) -> None:
    """Weights and KV cache of Llama 3 8B are exact, and the simple formula stands beside them."""
    found = answer("gpu --model llama-3-8b")
    sizes = {part["name"]: part["bytes"] for part in found["components"]}
    assert sizes["weights"] == 2 * 8_030_261_248
    assert sizes["kv_cache"] == 2**30
    assert {"code": "simple_kv_cache", "simple_bytes": 4 * 2**30, "exact_bytes": 2**30} in found["notes"]
    text = ask("gpu --model llama-3-8b")[1].replace("\u00a0", " ").replace("\u202f", " ")
    assert "Parámetros: 8 030 261 248" in text
    assert "daría 4 GiB de caché KV; con las cabezas y capas de este modelo son 1 GiB" in text


def test_lora_counts_its_adapter(answer: Any) -> None:
    """LoRA of rank 16 on all linear layers of Llama 3 8B trains 41,943,040 parameters."""
    assert answer("lora --model llama-3-8b --rank 16 --targets all-linear")["trainable_parameters"] == 41_943_040


@pytest.mark.parametrize("name", CALCULATORS)
def test_every_calculator_answers_with_its_defaults(ask: Any, name: str) -> None:
    """Without options the defaults are answered, in words that carry units."""
    status, out, err = ask(name)
    assert (status, err) == (0, "")
    assert "Total: " in out
    assert "{" not in out


@pytest.mark.parametrize("name", CALCULATORS)
def test_inputs_can_be_given_again(answer: Any, name: str) -> None:
    """The ``inputs`` of an answer, given as flags, give the same answer."""
    first = answer(name)
    line = " ".join(f"--{key} {value}" for key, value in first["inputs"].items())
    assert answer(f"{name} {line}") == first


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acumulacion --steps ocho", "calc acumulacion: --steps: Debe ser un número escrito con cifras."),
        ("acumulacion --steps -8", "calc acumulacion: --steps: No puede ser negativo."),
        ("acumulacion --steps 0", "calc acumulacion: --steps: Debe ser mayor que cero."),
        ("acumulacion --steps 8,5", "calc acumulacion: --steps: Debe ser un número entero, sin decimales."),
        ("acumulacion --steps=", "calc acumulacion: --steps: Introduce un valor para ver los resultados."),
        ("acumulacion --steps", "calc acumulacion: --steps: Falta el valor."),
        ("acumulacion --steps --gpus 4", "calc acumulacion: --steps: Falta el valor."),
        ("acumulacion --step 8", "calc acumulacion: --step: No existe esta opción. ¿Se buscaba --steps?"),
        ("acumulacion 8", "calc acumulacion: Sobra «8»: los datos se dan con opciones."),
        (
            "entrenar --parameters 1e308",
            "calc entrenar: --parameters: Debe escribirse con todas sus cifras, sin exponente.",
        ),
        ("entrenar --parameters NaN", "calc entrenar: --parameters: Debe ser un número finito."),
        ("entrenar --parameters Infinity", "calc entrenar: --parameters: Debe ser un número finito."),
        ("entrenar --activations -1", "calc entrenar: --activations: No puede ser negativo."),
        (
            "gpu --model llama-3-8",
            "calc gpu: --model: No hay ningún modelo «llama-3-8» en el catálogo. ¿Se buscaba llama-3-8b",
        ),
        (
            "gpu --gpu rtx4090",
            "calc gpu: --gpu: No hay ninguna GPU «rtx4090» en el catálogo. ¿Se buscaba rtx-4090",
        ),
        ("gpu --workload train", "calc gpu: --workload: «train» no es una de las opciones. ¿Se buscaba training?"),
        ("entrena", "calc: No hay ninguna calculadora «entrena». ¿Se buscaba entrenar?"),
        (
            "xyz",
            "calc: No hay ninguna calculadora «xyz». Se admite gpu, entrenar, acumulacion, inferencia, lora o modelo.",
        ),
        ("lora --config nada.json", "calc lora: --config: No se puede leer «nada.json»."),
        ("entrenar --config x", "calc entrenar: --config: No existe esta opción."),
    ],
)
def test_wrong_input_ends_with_two_and_one_line(ask: Any, line: str, message: str) -> None:
    """What is wrong is said in one Spanish line that names the flag, and nothing is printed as an answer."""
    status, out, err = ask(line)
    assert (status, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_markup_and_line_ends_in_a_value_stay_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A hostile value is repeated as text and cannot make a second line."""
    assert main(["gpu", "--gpu", "<b>\nError"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_options_without_effect_are_named(ask: Any) -> None:
    """An option of training given for inference is not silently dropped."""
    assert "Sin efecto con los demás datos: --optimizer." in ask("gpu --optimizer sgd")[1]


@pytest.mark.parametrize("line", ["--help", "-h"])
def test_help_lists_the_calculators(ask: Any, line: str) -> None:
    """Help names every calculator and what it is for."""
    status, out, err = ask(line)
    assert (status, err) == (0, "")
    assert all(f"  {name}" in out for name in CALCULATORS)


def test_without_arguments_help_goes_to_standard_error(ask: Any) -> None:
    """No calculator named is an error, and the help says what to name."""
    status, out, err = ask("")
    assert (status, out) == (2, "")
    assert "Uso: python -m calc" in err


@pytest.mark.parametrize("name", CALCULATORS)
def test_help_of_a_calculator_lists_its_options(ask: Any, name: str) -> None:
    """Each declared field is an option with its explanation."""
    status, out, _ = ask(f"{name} --help")
    assert status == 0
    assert all(f"  --{field.name} VALOR" in out for field in CALCULATORS[name].fields)


@pytest.mark.parametrize("calculator", ["gpu", "inferencia", "lora"])
def test_a_config_file_stands_in_for_a_model(answer: Any, calculator: str, tmp_path: Path) -> None:
    """A ``config.json`` of Llama 3 8B gives what the catalogue's row gives."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA_3_8B), encoding="utf-8")
    own, known = answer(f"{calculator} --config {path}"), answer(f"{calculator} --model llama-3-8b")
    assert own["inputs"]["config"] == "config.json"
    assert own["components"] == known["components"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "config.json: contenido: no es JSON válido (línea 1, columna 2)."),
        ("[" * 100_000, "config.json: contenido: hay demasiados niveles anidados."),
        ("[1, 2]", "config.json: contenido: debe ser un objeto JSON."),
        (json.dumps({**LLAMA_3_8B, "hidden_size": None}), "hidden_size: "),
        (json.dumps({**LLAMA_3_8B, "num_hidden_layers": -3}), "num_hidden_layers: vale -3 y debe estar entre 1 y "),
        (json.dumps({**LLAMA_3_8B, "model_type": "lama"}), "model_type: la arquitectura «lama» todavía no se conoce."),
        (" " * (MAX_CONFIG_BYTES + 1), "config.json: cabecera: el archivo JSON ocupa más de 4 MiB."),
    ],
)
def test_a_bad_config_file_is_refused_with_the_key(ask: Any, content: str, message: str, tmp_path: Path) -> None:
    """A file that is no configuration, or a wrong key in it, is named in one line."""
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    status, out, err = ask(f"inferencia --config {path}")
    assert (status, out) == (2, "")
    assert err.startswith(f"calc inferencia: {message}")
    assert err.count("\n") == 1


def test_the_module_runs_as_a_program() -> None:
    """``python -m calc`` is a program with an exit status, a standard output and a standard error."""
    command = [sys.executable, "-m", "calc", "acumulacion", "--activation-per-sample", "0,5"]
    good = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, check=True)
    assert json.loads(good.stdout)["effective_batch"] == 32
    bad = subprocess.run([*command, "--steps", "x"], cwd=ROOT, capture_output=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert "Debe ser un número" in bad.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([b"--model", b"\xff\xfe"], "\\udcff\\udcfe"),
        ([b"--model", b"\x1b[31mred"], "\\x1b[31mred"),
        ([b"--config", b"no\xff.json"], "udcff.json"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(arguments: list[bytes], words: str) -> None:
    """Escapes and half characters of an argument come back as text, in one line, with exit status 2."""
    command = [sys.executable.encode(), b"-m", b"calc", b"gpu", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout, said.count("\n")) == (2, b"", 1)
    assert words in said
    assert said.strip().replace("\u202f", " ").replace("\u00a0", " ").isprintable()


def test_a_full_disk_is_one_line() -> None:
    """An answer that cannot be written is said in one line, and the exit status is not 0."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "calc", "gpu"], cwd=ROOT, stdout=full, stderr=-1, check=False)
    assert done.returncode == 1
    assert done.stderr.decode() == "calc: No se puede escribir el resultado.\n"


def test_minus_zero_is_zero(answer: Any) -> None:
    """«-0» is no negative number."""
    assert answer("gpu --runtime -0")["total_bytes"] == answer("gpu --runtime 0")["total_bytes"]


def test_the_largest_value_of_an_input_is_solved_for_a_gpu(answer: Any) -> None:
    """``--solve`` answers with a value that fits, the estimate for it, and what is left."""
    found = answer("inferencia --model llama-3-8b --solve context --gpu rtx-4090")
    solution = found["solution"]
    assert solution["field"] == "context"
    assert found["inputs"]["context"] == solution["value"] > 8192
    assert found["total_bytes"] == solution["total_bytes"] <= solution["usable_bytes"]
    more = answer(f"inferencia --model llama-3-8b --gpu rtx-4090 --context {solution['value'] + 1}")
    assert more["total_bytes"] > solution["usable_bytes"]
    assert answer("gpu --model llama-3-70b --solve batch --gpu rtx-4090")["solution"]["value"] == 0
