"""Write ``calc/catalog/models.json``: count every model again and keep what the count confirms.

    python tools/make_catalog.py                              # the rows there are, and the additions
    python tools/make_catalog.py CONFIGS SOURCES PUBLISHED    # from a folder of real configurations, and the additions

To add a model, write its ``config.json``, where it was read and its published total in ``tools/catalog_extra.json``,
and its public id, name and family in ``tools/catalog_models.csv``; then run the first form.

``CONFIGS`` holds one ``NAME.json`` per model, each a real ``config.json``; ``SOURCES`` is one JSON object by NAME with
``hub_id``, ``source`` and ``verification``; ``PUBLISHED`` is one JSON object by NAME with ``params``, the total that
another counter gives.

A row is left out, and listed, when ``calc`` cannot build its architecture or counts another total than the published.
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE.parent / "calc/catalog/models.json"
sys.path.insert(0, str(HERE.parent))

from calc.errors import CalcError  # noqa: E402
from calc.hf_config import architecture_from_hf_config  # noqa: E402
from calc.parameters import count_parameters  # noqa: E402

RETRIEVED = "2026-12-01"
TRANSFORMERS = "v5.24.0"

SOURCES = {
    "github": "https://github.com/{}",
    "hub": "https://huggingface.co/{}/blob/main/config.json",
    "transformers": f"https://github.com/huggingface/transformers/blob/{TRANSFORMERS}/src/transformers/models/{{}}",
}

# Keys that decide neither parameters nor memory: token ids, dropout, initialisation, rotary angles, routing arithmetic.
DROPPED = re.compile(
    r"""(?x) ^(
    _.* | architectures | transformers_version | .*dropout.* | .*_pdrop | layerdrop | .*token_id | .*token_index
    | .*initializer.* | init_std | .*_init_scale | .*_use_xavier_init | use_cache | use_mambapy | use_mamba_kernels
    | use_associative_scan | rope_.* | .*_rope_theta | rope | rotary.* | partial_rotary_factor
    | .*norm_eps.* | .*norm_epsilon | norm_eps | layernorm_epsilon | output_.* | summary_.* | task_specific_params
    | pretraining_tp | torch_dtype | dtype | time_step_(?!rank).* | .*_multiplier | logits_scaling | logit_scale
    | .*softcapping | query_pre_attn_scalar | .*aux_loss.* | seq_aux | scoring_func | topk_method | topk_group | n_group
    | routed_scaling_factor | norm_topk_prob | id2label | label2id | problem_type | return_dict | chunk_size_.*
    | is_decoder | cache_implementation | num_logits_to_keep | swiglu_limit | ep_size | index_topk
    | .*_softmax_in_fp32 | scale_attn.* | reorder_and_upcast_attn | residual_in_fp32 | rescale_prenorm_residual
    | attention_value_scale | altup_coef_clip | altup_correct_scale | activation_sparsity_pattern | .*_bidirectional.*
    | attn_implementation | runner_.* | move_model_to_device | vision_feature_.* | tokenizer_class | n_special
    | predict_special_tokens | selective_checkpoint_enabled | sequence_parallel_enabled | tokens_per_second
    | mamba_ssm_dtype | mamba_ssm_cache_dtype | classifier_.* | relative_attention_max_distance | scale_decoder_outputs
    | original_max_position_embeddings | initial_context_length | attn_pdrop | mrope_.* | moe_jitter_eps
    | moe_loss_weight | moe_norm_min | clip_qkv | use_clipped_linears | standardize | soft_tokens_.* | ignore_.*
    )$"""
)


def architecture_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that decide parameters and memory, at every depth.

    >>> architecture_keys({"hidden_size": 64, "eos_token_id": 2, "vision_config": {"depth": 3, "dropout": 0.1}})
    {'hidden_size': 64, 'vision_config': {'depth': 3}}
    """
    kept = {key: value for key, value in config.items() if not DROPPED.match(key)}
    return {key: architecture_keys(value) if isinstance(value, dict) else value for key, value in kept.items()}


def source_of(fact: Mapping[str, str]) -> tuple[list[str], str]:
    """Where a configuration was read: the kind of source with its place, and the item inside the file.

    >>> source_of({"hub_id": "a/b", "source": "owner/repo@0123abc:path/presets.py['x']"})
    (['github', 'owner/repo/blob/0123abc/path/presets.py'], 'x')
    """
    source = fact["source"]
    if match := re.match(r"transformers \S+ (\w+?)(_text)? config class defaults", source):
        return ["transformers", f"{match[1]}/configuration_{match[1]}.py"], ""
    if match := re.match(r"([\w.-]+/[\w.-]+)@(\w+)(?::([^\[\s]+))?\s*(.*)", source):
        place = f"blob/{match[2]}/{match[3]}" if match[3] else f"tree/{match[2]}"
        return ["github", f"{match[1]}/{place}"], match[4].strip("()[]'\" ")
    return ["hub", fact["hub_id"]], ""


def read(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def from_folder(configs: Path, sources: Path, published: Path) -> Iterator[dict[str, Any]]:
    """Every configuration of a folder, with what is known of its origin."""
    totals = read(published)
    for name, fact in read(sources).items():
        known = {
            "name": name,
            "config": read(configs / f"{name}.json"),
            "published": totals.get(name, {}).get("params"),
        }
        yield fact | known


def from_catalog(listed: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Every row that the catalogue has, as the facts it was made from."""
    names = {line["id"]: name for name, line in listed.items()}
    for one in read(TARGET)["models"]:
        yield {**one, "name": names[one["id"]], "published": one["parameters"], "row": one}


def additions() -> Iterator[dict[str, Any]]:
    """The models of our own list."""
    for name, fact in read(HERE / "catalog_extra.json").items():
        yield {**fact, "name": name}


def row(listed: Mapping[str, str], fact: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the catalogue.

    Raises:
        CalcError: the architecture cannot be built, or its count differs from the published total.
    """
    kept = architecture_keys(fact["config"])
    total = count_parameters(architecture_from_hf_config(kept)).total
    if fact["published"] not in (None, total):
        raise CalcError("differs_from_published", place=fact["name"], counted=total, published=fact["published"])
    result = {"id": listed["id"], "name": listed["name"], "family": listed["family"], "hub_id": fact["hub_id"]}
    if "row" in fact:
        return {**fact["row"], **result}
    source, note = source_of(fact)
    result |= {"parameters": total, "source": source, "note": note, "config": kept}
    if listed["featured"]:
        result["featured"] = int(listed["featured"])
    if not fact["verification"].startswith("verified"):
        result["verified"] = False
    return result


def write(rows: list[dict[str, Any]]) -> None:
    """One row a line, so that a change of one model is a change of one line."""
    rows.sort(key=lambda one: (one.get("featured", 99), one["family"].lower(), one["parameters"], one["id"]))
    lines = ",\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in rows)
    head = f'"retrieved":"{RETRIEVED}",\n"sources":{json.dumps(SOURCES)}'
    TARGET.write_text(f'{{\n{head},\n"models":[\n{lines}\n]\n}}\n', encoding="utf-8")


def main(paths: list[Path]) -> int:
    """Write the catalogue; print what was left out."""
    with (HERE / "catalog_models.csv").open(newline="", encoding="utf-8") as file:
        listed = {line["file"]: line for line in csv.DictReader(file)}
    rows: dict[str, dict[str, Any]] = {}
    left_out = []
    for fact in (*(from_folder(*paths) if paths else from_catalog(listed)), *additions()):
        name = fact["name"]
        if name not in listed:
            left_out.append(f"{name}: not listed in catalog_models.csv")
            continue
        try:
            rows[name] = row(listed[name], fact)
        except CalcError as error:
            left_out.append(f"{name}: {error}")
    write(list(rows.values()))
    sys.stdout.write("".join(f"left out: {line}\n" for line in left_out) + f"{len(rows)} models\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="CONFIGS SOURCES PUBLISHED")
    given = parser.parse_args().paths
    sys.exit(main(given) if len(given) in (0, 3) else parser.error("give the three paths or none"))
