"""Reads the shards of a curation with other people's readers and computes its weights and advantages again.

    python tests/python/shards.py DIR

Nothing here knows how fidelake computes: only the columns of the shards, the constants in the manifest, and the
formulas of docs/recipe.md. Prints what was checked; the exit status is 1 with the first thing that differs.
"""

import collections
import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

import datasets
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PLAIN = {pa.string(), pa.float64(), pa.int32(), pa.bool_()}
LISTS = {"call_weights"}
NEVER_NULL = ["reward", "fidelity_weight", "advantage", "advantage_fidelity", "prompt", "messages", "tools"]


def strict(text):
    """JSON as the standard says: no NaN, no Infinity."""

    def refuse(word):
        raise ValueError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


def close(name, got, wanted, tolerance=1e-9):
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    assert got.shape == wanted.shape, name
    assert (np.isnan(got) == np.isnan(wanted)).all(), name
    worst = np.nanmax(np.abs(got - wanted), initial=0.0)
    assert worst <= tolerance, f"{name}: differs by {worst}"


def numbers(rows, name):
    return np.array([np.nan if r[name] is None else r[name] for r in rows], float)


def read(folder, manifest):
    """The rows, the same from three readers."""
    files = [folder / f["path"] for f in manifest["files"]]
    # In the order of the parts of the data set: train, validation, test.
    assert files and sorted(files) == sorted((folder / "data").glob("*.parquet"))
    schemas = [pq.read_schema(f) for f in files]
    for file, schema, said in zip(files, schemas, manifest["files"]):
        assert schema.equals(schemas[0], check_metadata=True), f"{file}: another schema"
        assert {f.type for f in schema if f.name not in LISTS} <= PLAIN, file
        assert pq.ParquetFile(file).metadata.num_rows == said["rows"]
        assert file.stat().st_size == said["bytes"]
    features = json.loads(schemas[0].metadata[b"huggingface"])["info"]["features"]
    assert list(features) == schemas[0].names

    table = pa.concat_tables([pq.read_table(f) for f in files])
    for name in NEVER_NULL:
        assert table[name].null_count == 0, name
    rows = table.to_pylist()
    assert len(rows) == manifest["counts"]["rows"]

    names = [f"'{f}'" for f in files]
    duck = duckdb.sql(f"SELECT * FROM read_parquet([{', '.join(names)}])").to_arrow_table().to_pylist()
    assert duck == rows, "duckdb reads other rows"

    with tempfile.TemporaryDirectory() as cache:
        by_files = datasets.load_dataset(
            "parquet", data_files=[str(f) for f in files], split="train", cache_dir=cache
        )
        assert by_files.features == datasets.Features.from_dict(features)
        assert by_files.to_list() == rows, "datasets reads other rows"
        # As verl does: each file alone, then concatenated.
        alone = [
            datasets.load_dataset("parquet", data_files=[str(f)], split="train", cache_dir=cache) for f in files
        ]
        assert datasets.concatenate_datasets(alone).to_list() == rows
        # As the hub does: the folder, by the head of its README.md.
        by_card = datasets.load_dataset(str(folder), cache_dir=cache)
        parts = [part for part in ("train", "validation", "test") if part in by_card]
        assert len(parts) == len(by_card), by_card.keys()
        for part in parts:
            assert set(by_card[part]["split"]) == {part}
        by_card = datasets.concatenate_datasets([by_card[part] for part in parts])
        assert by_card.to_list() == rows, "README.md names other files"
    return rows


def check_order(rows):
    parts = ["train", "validation", "test"]
    names = ("environment", "group_id", "trajectory_id")
    keys = [(parts.index(r["split"]),) + tuple(r[k] for k in names) + (r["repeat"],) for r in rows]
    # Texts are ordered by their bytes.
    keys = [tuple(k.encode() if isinstance(k, str) else k for k in key) for key in keys]
    assert keys == sorted(keys), "the rows stand in another order"
    assert len({r["run_id"] for r in rows}) == len(rows)


def check_chats(rows):
    calls = 0
    for row in rows:
        prompt, messages, tools = (strict(row[k]) for k in ("prompt", "messages", "tools"))
        first = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
        assert prompt == messages[:first] or (first == 0 and len(prompt) <= 1)
        made, answered = [], []
        for message in messages:
            for call in message.get("tool_calls", []):
                assert call["type"] == "function" and isinstance(call["function"]["arguments"], str)
                made.append(call["id"])
            if message["role"] == "tool":
                assert message["tool_call_id"] in made, "an answer before its call"
                assert isinstance(message["content"], str)
                answered.append(message["tool_call_id"])
        assert len(set(made)) == len(made), f"{row['run_id']}: ids are not unique"
        assert len(set(answered)) == len(answered)
        calls += len(made)
        for tool in tools:
            assert tool["type"] == "function" and tool["function"]["name"]
            assert isinstance(tool["function"]["parameters"], dict)
    return calls


def check_weights(rows, manifest):
    gate = manifest["gate"]
    f, se, low = (numbers(rows, k) for k in ("fidelity", "fidelity_se", "fidelity_low"))
    measured = [r["profile_source"] == "measured" for r in rows]
    if manifest["arm"] == "sim" and set(gate["factors"]) == {"run_obs", "run_act", "run_rew", "delta_trans"}:
        parts = [numbers(rows, f"fidelity_{k}") for k in ("obs", "act", "rew", "trans")]
        close("fidelity", f[measured], np.prod(parts, axis=0)[measured])
    # Shards do not hold the parts of f beside the decision gap; f is a product with it all the same.
    assert np.all((f[~np.isnan(f)] >= 0) & (f[~np.isnan(f)] <= 1))
    penalty = np.where(np.isnan(se), gate["max_penalty"], np.minimum(gate["kappa"] * se, gate["max_penalty"]))
    close("fidelity_low", low, np.maximum(f - penalty, 0))

    own = [r["profile_source"] not in ("predicted", "unknown") for r in rows]
    own = own if any(own) else [True] * len(rows)
    once = {(r["environment"], r["trajectory_id"]): x for r, x, y in zip(rows, f, own) if y and not np.isnan(x)}
    values = np.array(list(once.values()))
    assert gate["trajectories"] == len(values)
    known = ~np.isnan(f)
    if gate["kind"] == "calibrated":
        check_calibration(rows, gate)
        return check_shares(rows, manifest)
    wanted = np.full(len(rows), {"keep": 1.0, "weight": gate["unknown_weight"], "drop": None}[gate["unknown"]], float)
    if gate["kind"] == "quantile":
        beta, median = np.quantile(values, 0.2), np.quantile(values, 0.5)
        spread = median - beta
        alpha = np.clip(np.log(9) / spread if spread > 0 else np.inf, *gate["alpha_range"])
        close("beta", gate["beta"], beta)
        close("alpha", gate["alpha"], alpha, 1e-7)
        wanted[known] = 1 / (1 + np.exp(-alpha * (low[known] - beta)))
    elif gate["kind"] == "seed":
        wanted[known] = 1 / (1 + np.exp(-10 * (numbers(rows, "fidelity_mean")[known] - 0.7)))
    else:
        wanted[known] = 1
        assert gate["asked"] in ("none", "seed") or len(values) == 0 or np.quantile(values, 0.2) >= gate["no_gate_from"]
    close("gate_weight", numbers(rows, "gate_weight"), wanted, 1e-9)
    check_shares(rows, manifest)


def check_calibration(rows, gate):
    """Of five curves only that of all pairs stands in the manifest: weights lie around it and grow with f_low."""
    curve = lambda x: 1 / (1 + np.exp(-(gate["intercept"] + gate["slope"] * x)))
    low, g = numbers(rows, "fidelity_low"), numbers(rows, "gate_weight")
    known = ~np.isnan(low)
    assert gate["slope"] > 0 and gate["pairs"] >= 300 and gate["broken"] >= 30
    close("gate_weight", g[known], curve(low[known]) / curve(1.0), 0.1)


def check_joint(rows, manifest):
    """The factors of the strata again, from v, g and the pass rates."""
    joint = manifest["joint"]
    v, g, c = (numbers(rows, k) for k in ("feasible", "gate_weight", "difficulty_factor"))
    rate = numbers(rows, "pass_rate")
    known = ~np.isnan(rate)
    assert joint["rows_without_pass_rate"] == int((~known).sum())
    for stratum in joint["strata"]:
        at = known & (rate >= stratum["pass_rate_from"])
        at &= (rate < stratum["pass_rate_to"]) | (stratum["pass_rate_to"] == 1.0)
        if v[at].sum() == 0:
            continue
        share = v[at].sum() / v[known].sum()
        gated = (v * g)[at].sum() / (v * g)[known].sum()
        close("c_b", c[at], np.full(at.sum(), np.clip(share / gated, 0.5, 3)))
        assert stratum["clipped"] == bool(share / gated < 0.5 or share / gated > 3)
        if not any(s["clipped"] for s in joint["strata"]):
            close("share", (v * g * c)[at].sum() / (v * g * c)[known].sum(), share)
    close("scale", joint["scale"], max(1.0, c.max()))
    return v * g * c / joint["scale"]


def check_shares(rows, manifest):
    w = numbers(rows, "fidelity_weight")
    close("fidelity_weight", w, check_joint(rows, manifest) if manifest["joint"] else numbers(rows, "gate_weight"))
    close("weight_moved", manifest["weight_moved"], np.abs(w / w.sum() - 1 / len(w)).sum() / 2)
    by_source = collections.defaultdict(float)
    for row, x in zip(rows, w):
        by_source[row["profile_source"]] += x / w.sum()
    for source, share in manifest["weight_by_profile_source"].items():
        close(source, share, by_source[source])


def check_advantages(rows, manifest):
    mixed = "mix_policies=true" in manifest["recipe"].replace(" ", "")
    groups = collections.defaultdict(list)
    for at, row in enumerate(rows):
        groups[row["split"], row["environment"], row["group_id"], None if mixed else row["policy"]].append(at)
    eps = manifest["advantage_epsilon"]
    w, r = numbers(rows, "fidelity_weight"), numbers(rows, "reward")
    wanted = {k: np.zeros(len(rows)) for k in ("advantage", "advantage_centered", "advantage_fidelity_seed", "advantage_fidelity")}
    group_mean, group_std, effective, degenerate = (np.zeros(len(rows)) for _ in range(4))
    for at in groups.values():
        x, v = r[at], w[at]
        mean, std = x.mean(), x.std(ddof=1) if len(at) > 1 else 0.0
        size = v.sum() ** 2 / (v**2).sum() if (v**2).sum() > 0 else 0.0
        group_mean[at], group_std[at], effective[at] = mean, std, size
        degenerate[at] = len(at) < 2 or np.ptp(x) <= 1e-12 or size < 2 - 1e-9
        if degenerate[at[0]]:
            continue
        base = (v * x).sum() / v.sum()
        deviation = np.sqrt((v * (x - base) ** 2).sum() / v.sum())
        wanted["advantage"][at] = (x - mean) / (std + eps)
        wanted["advantage_centered"][at] = x - mean
        wanted["advantage_fidelity_seed"][at] = v * (x - mean) / (std + eps)
        wanted["advantage_fidelity"][at] = v * (x - base) / (deviation + eps)
        assert abs(wanted["advantage_fidelity"][at].sum()) < 1e-6
    for name, values in wanted.items():
        close(name, numbers(rows, name), values)
    close("group_mean", numbers(rows, "group_mean"), group_mean)
    close("group_std", numbers(rows, "group_std"), group_std)
    close("group_effective_size", numbers(rows, "group_effective_size"), effective)
    close("group_degenerate", numbers(rows, "group_degenerate"), degenerate)
    sizes = {at: len(members) for members in groups.values() for at in members}
    assert all(row["group_size"] == sizes[at] for at, row in enumerate(rows))

    counts = manifest["counts"]
    assert counts["groups"] == len(groups) and counts["degenerate_rows"] == int(degenerate.sum())
    alive = degenerate == 0
    if alive.any():
        close("weight_scale", manifest["weight_scale"], 1 / w[alive].mean())
    else:
        assert manifest["weight_scale"] is None
    excess = {e: max(0.0, x["mean"]) for e, x in manifest["reward_excess"].items()}
    if manifest["arm"] == "sim":
        corrected = [row["reward"] - excess.get(row["environment"], np.nan) for row in rows]
        close("reward_corrected", numbers(rows, "reward_corrected"), corrected)
    return len(groups)


def main(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["recipe_blake3"]) == 64.
    rows = read(folder, manifest)
    check_order(rows)
    calls = check_chats(rows)
    check_weights(rows, manifest)
    groups = check_advantages(rows, manifest)
    print(f"{len(rows)} rows, {groups} groups, {calls} calls, {len(manifest['files'])} shards: all as computed again")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
