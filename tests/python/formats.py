"""Loads every format of a curation with the reader of its consumer.

    PYTHONPATH=TRAINERS python tests/python/formats.py DIR

DIR holds all formats, a folder each (docs/recipe.md, `[output] formats`). TRAINERS is the folder of tools/trainers.sh.
The classes RLHFDataset and MultiTurnSFTDataset of verl, LocalDataset of mosaicml-streaming and WebDataset are the real ones
from PyPI; torch, which they use for a base class, is stood in for. What no package of a reasonable size reads is read
as its consumer does: the same calls on the same fields. Exits 1 with the first thing that differs.
"""

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
import webdataset

import trainer_stubs

PARQUET = ["parquet", "verl-rl", "verl-sft", "trl-sft", "trl-grpo", "openrlhf", "skyrl", "prime-rl"]


def shards(folder, format, ending):
    found = sorted((folder / format / "data").glob(f"train-*.{ending}"))
    assert len(found) > 1, f"{format}: the test wants several shards"
    return [str(f) for f in found]


def lines(paths):
    return [json.loads(line) for p in paths for line in pathlib.Path(p).read_text().splitlines()]


def flat(message):
    """A message as the typed columns have it: one text, every key."""
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content)
    calls = message.get("tool_calls")
    return {
        "role": message["role"],
        "content": content,
        "name": message.get("name"),
        "tool_call_id": message.get("tool_call_id"),
        "tool_calls": calls,
    }


class Reference:
    """The plain Parquet rows, with their JSON read."""

    def __init__(self, folder):
        self.rows = pa.concat_tables([pq.read_table(f) for f in shards(folder, "parquet", "parquet")]).to_pylist()
        for row in self.rows:
            for name in ("prompt", "messages", "tools"):
                row[name] = json.loads(row[name])
        self.weights = [row["fidelity_weight"] for row in self.rows]
        self.chats = [[flat(m) for m in row["messages"]] for row in self.rows]
        self.prompts = [[{"role": m["role"], "content": m["content"]} for m in map(flat, row["prompt"])] for row in self.rows]
        assert None not in self.weights and len(set(self.weights)) > 1


def check_parquet(folder, reference, cache):
    """In both ways in which a data set of several files is loaded, and through the card."""
    for format in PARQUET:
        files = shards(folder, format, "parquet")
        schemas = [pq.read_schema(f) for f in files]
        for file, schema in zip(files, schemas):
            assert schema.equals(schemas[0], check_metadata=True), file
            nulls = [f.name for f in schema if pa.types.is_null(f.type) or pa.types.is_large_string(f.type)]
            assert not nulls, (file, nulls)
        together = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=cache)
        features = json.loads(schemas[0].metadata[b"huggingface"])["info"]["features"]
        assert together.features == datasets.Features.from_dict(features), format
        alone = [datasets.load_dataset("parquet", data_files=f, cache_dir=cache)["train"] for f in files]
        rows = together.to_list()
        assert datasets.concatenate_datasets(alone).to_list() == rows, format
        card = datasets.load_dataset(str(folder / format), split="train", cache_dir=cache)
        assert card.to_list() == rows, f"{format}: the card names other files"
        assert together.features["fidelity_weight"] == datasets.Value("float64")
        assert together["fidelity_weight"][:] == reference.weights, format


def check_verl(folder, reference, cache):
    trainer_stubs.install(
        "verl.utils.tokenizer", "verl.utils.tokenizer.chat_template", "verl.models", "verl.models.transformers",
        "verl.models.transformers.qwen2_vl", "verl.utils.dataset.vision_utils", "verl.utils.dataset.dataset_utils",
        "verl.utils.metric",
    )  # fmt: skip
    root = trainer_stubs.folder_of("verl")
    trainer_stubs.packages(root, "verl", "verl.utils", "verl.utils.dataset")
    import verl.utils.tokenizer.chat_template as template

    template.extract_system_prompt_and_generation = lambda *_, **__: ([], [])
    sys.modules["verl.utils"].hf_tokenizer = None
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = {"cache_dir": cache, "filter_overlong_prompts": False}
    data = RLHFDataset(shards(folder, "verl-rl", "parquet"), tokenizer=None, config=config)
    assert len(data) == len(reference.rows)
    for at, row in enumerate(reference.rows):
        item = data[at]
        assert item["raw_prompt"] == reference.prompts[at]
        assert item["data_source"] == row["environment"] and item["agent_name"] == "tool_agent"
        json.loads(item["reward_model"]["ground_truth"])
        # What a reward function is given, and what the trainer's batch carries.
        assert item["extra_info"]["fidelity_weight"] == row["fidelity_weight"] == item["fidelity_weight"]
        assert item["index"] == item["extra_info"]["index"] == at
        assert item["extra_info"]["call_weights"] == row["call_weights"]

    class WithTools(MultiTurnSFTDataset):
        """As docs/trainers.md has it: the tools are a JSON text."""

        def _read_files_and_process(self):
            super()._read_files_and_process()
            self.tools = [json.loads(tools) for tools in self.tools]

    data = WithTools(shards(folder, "verl-sft", "parquet"), tokenizer=None, config={})
    assert len(data) == len(reference.rows)
    for at, row in enumerate(reference.rows):
        assert data.tools[at] == row["tools"]
        assert data._build_messages(data.dataframe.iloc[at].to_dict()) == reference.chats[at] == data.messages[at]


def check_trl(folder, reference, cache):
    load = lambda format: datasets.load_dataset(
        "parquet", data_files=shards(folder, format, "parquet"), split="train", cache_dir=cache
    )
    for at, example in enumerate(load("trl-sft")):
        # sft_trainer.py: a text is read as JSON.
        tools = example.get("tools")
        tools = json.loads(tools) if isinstance(tools, str) else tools
        assert tools == reference.rows[at]["tools"] and example["messages"] == reference.chats[at]
    inputs = load("trl-grpo").to_list()
    assert [x["prompt"] for x in inputs] == reference.prompts
    # grpo_trainer.py, _calculate_rewards: every other column goes to the reward functions.
    keys = [key for key in inputs[0] if key not in ["prompt", "completion", "completion_ids"]]
    reward_kwargs = {key: [example[key] for example in inputs] for key in keys}
    assert reward_kwargs["fidelity_weight"] == reference.weights
    assert {"ground_truth", "environment", "call_weights"} <= set(keys)


def check_others(folder, reference, cache):
    load = lambda format: datasets.load_dataset(
        "parquet", data_files=shards(folder, format, "parquet"), split="train", cache_dir=cache
    ).to_list()
    for at, row in enumerate(load("openrlhf")):
        # Only input, label and datasource reach the reward function.
        assert row["input"] == reference.prompts[at] and row["datasource"]
        label = json.loads(row["label"])
        assert label["fidelity_weight"] == reference.weights[at]
        json.loads(label["ground_truth"])
    for at, row in enumerate(load("skyrl")):
        prompt, env, spec = row.pop("prompt"), row.pop("env_class"), row.pop("reward_spec")
        # The rest lands in env_extras.
        assert prompt == reference.prompts[at] and env and set(spec) == {"method", "ground_truth"}
        assert row["fidelity_weight"] == row["extra_info"]["fidelity_weight"] == reference.weights[at]
    for at, row in enumerate(load("prime-rl")):
        info = json.loads(row["info"]) if isinstance(row["info"], str) else row["info"]
        assert row["prompt"] == reference.prompts[at] and row["example_id"] == at and isinstance(row["answer"], str)
        assert info["fidelity_weight"] == reference.weights[at]


def check_lines(folder, reference):
    for at, row in enumerate(lines(shards(folder, "nemo-rl", "jsonl"))):
        assert row["loss_multiplier"] == reference.weights[at] and row["messages"] == reference.rows[at]["messages"]
        assert row["tools"] == reference.rows[at]["tools"] and row["idx"] == at and row["task_name"]
    for at, row in enumerate(lines(shards(folder, "nemo-gym", "jsonl"))):
        params = row["responses_create_params"]
        assert params["input"] == reference.prompts[at]
        wanted = [dict(type="function", strict=False, **tool["function"]) for tool in reference.rows[at]["tools"]]
        assert params["tools"] == wanted
        assert row["loss_multiplier"] == row["fidelity_weight"] == reference.weights[at]
    for at, row in enumerate(lines(shards(folder, "slime", "jsonl"))):
        # Dataset of slime: input_key, label_key, metadata_key, tool_key with their defaults.
        assert [{k: m[k] for k in ("role", "content")} for m in row["input"]] == reference.prompts[at]
        assert isinstance(row["label"], str) and row["tools"] == reference.rows[at]["tools"]
        assert row["metadata"]["fidelity_weight"] == reference.weights[at]


def check_containers(folder, reference):
    """The containers hold the plain rows, with the JSON as values."""
    paths = shards(folder, "jsonl.zst", "jsonl.zst")
    rows = []
    for path in paths:
        with pa.input_stream(path, compression="zstd") as stream:
            rows += [json.loads(line) for line in stream.read().decode().splitlines()]
    assert rows == reference.rows
    names = ", ".join(f"'{p}'" for p in paths)
    weights = duckdb.sql(f"SELECT fidelity_weight FROM read_json([{names}])").fetchall()
    assert [w for (w,) in weights] == reference.weights

    root = trainer_stubs.folder_of("streaming")
    trainer_stubs.packages(root, "streaming", "streaming.base")
    from streaming.base.local import LocalDataset

    data = LocalDataset(local=str(folder / "mds"), split="train")
    assert len(data.shards) > 1 and data.size == len(reference.rows)
    for shard in data.shards:
        shard.validate(allow_unsafe_types=False)
        assert os.path.getsize(folder / "mds" / "train" / shard.raw_data.basename) == shard.raw_data.bytes
    assert [data[at] for at in range(data.size)] == reference.rows

    tars = shards(folder, "webdataset", "tar")
    samples = list(webdataset.WebDataset(tars, shardshuffle=False).decode())
    assert [s["json"] for s in samples] == reference.rows
    assert [s["__key__"] for s in samples] == [f"train-{at:09}" for at in range(len(samples))]


def check_grpo(reference):
    """A weight on the reward cancels in group normalisation, one on the normalised advantage does not."""

    def grpo(rewards):
        rewards = np.asarray(rewards, float)
        return (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-6)

    rewards = [1, 0, 0, 1, 1, 0, 0, 0]
    plain = grpo(rewards)
    assert np.abs(plain[[0, 1]] - [1.2076, -0.7246]).max() < 1e-4
    assert np.abs(grpo(0.3 * np.array(rewards)) - plain).max() < 1e-4, "on the reward it cancels"
    assert np.abs(0.3 * plain - plain).max() > 0.5

    # The shards' own groups: their advantage carries the weight, and still sums to nothing.
    groups = {}
    for row in reference.rows:
        groups.setdefault((row["environment"], row["group_id"]), []).append(row)
    moved = 0
    for rows in groups.values():
        if rows[0]["group_degenerate"]:
            continue
        w = np.array([r["fidelity_weight"] for r in rows])
        r = np.array([r["reward"] for r in rows])
        kept = np.array([r["advantage_fidelity"] for r in rows])
        base = (w * r).sum() / w.sum()
        std = np.sqrt((w * (r - base) ** 2).sum() / w.sum())
        assert np.abs(kept - w * (r - base) / (std + 1e-6)).max() < 1e-9
        assert abs(kept.sum()) < 1e-9
        # One weight for the whole group on its rewards changes nothing at all.
        assert np.abs(grpo(w.mean() * r) - grpo(r)).max() < 1e-4
        moved += int(np.abs(kept - grpo(r)).max() > 1e-3)
    assert moved > 0, "no group of the shards shows the difference"
    return moved


def check_call_weights(reference):
    """One weight per call, in the order of the messages, never above the row's."""
    lower = 0
    for row in reference.rows:
        calls = [c for m in row["messages"] for c in m.get("tool_calls", [])]
        assert len(calls) == len(row["call_weights"]), row["run_id"]
        assert all(0 <= w <= row["fidelity_weight"] + 1e-12 for w in row["call_weights"])
        lower += sum(w < row["fidelity_weight"] - 1e-9 for w in row["call_weights"])
    assert lower > 0, "no call of the test has a gap of its own"
    return lower


def main(folder):
    reference = Reference(folder)
    with tempfile.TemporaryDirectory() as cache:
        check_parquet(folder, reference, cache)
        check_trl(folder, reference, cache)
        check_others(folder, reference, cache)
        check_lines(folder, reference)
        check_verl(folder, reference, cache)
    check_containers(folder, reference)
    moved = check_grpo(reference)
    lower = check_call_weights(reference)
    print(f"{len(reference.rows)} rows, all formats loaded; {moved} groups with weighted advantages, {lower} calls below their row")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
