"""Runs the snippets of docs/trainers.md on the shards of a curation.

    PYTHONPATH=TRAINERS python tests/python/trainer_docs.py DIR

A snippet is a block whose fence names a trainer. Around it stand a trainer's own data set class from PyPI where one of a
reasonable size exists, and otherwise a parent that does what the trainer documents: group normalisation over numbers.
Each snippet must change what it says it changes. Exits 1 with the first that does not.
"""

import os
import pathlib
import re
import sys
import types

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

import json

# Before anything is stood in for: it asks what is installed.
import datasets
import numpy as np
import pyarrow.parquet as pq
import webdataset as real_webdataset

import trainer_stubs

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "trainers.md"
REWARDS = np.array([1.0, 0.0, 0.0, 1.0])
WEIGHTS = [1.0, 0.5, 0.25, 0.0]


def snippets():
    found = re.findall(r"^```python (\S+)\n(.*?)^```", DOCS.read_text(), re.M | re.S)
    assert len(dict(found)) == len(found)
    return dict(found)


def run(text, **names):
    exec(compile(text, str(DOCS), "exec"), names)
    return names


def module(name, **names):
    made = types.ModuleType(name)
    made.__dict__.update(names)
    sys.modules[name] = made
    above, _, own = name.rpartition(".")
    if above:
        if above not in sys.modules:
            module(above)
        setattr(sys.modules[above], own, made)
    return made


def normal(rewards):
    return (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-6)


WANTED = normal(REWARDS) * WEIGHTS


def close(name, got, wanted=WANTED):
    got = np.asarray(got, float)
    assert got.shape == np.shape(wanted) and np.abs(got - wanted).max() < 1e-6, f"{name}: {got}, not {wanted}"


def verl(text, _):
    def compute_advantage(data, *_, **__):
        data.batch["advantages"] = np.repeat(normal(REWARDS)[:, None], 3, axis=1)
        return data

    trainer = module("verl.trainer.ppo.ray_trainer", compute_advantage=compute_advantage)
    run(text)
    batch = types.SimpleNamespace(batch={}, non_tensor_batch={"fidelity_weight": np.array(WEIGHTS, dtype=object)})
    close("verl", trainer.compute_advantage(batch).batch["advantages"][:, 2])


def verl_sft(text, folder):
    class Parent:
        def _read_files_and_process(self):
            table = pq.read_table(sorted((folder / "verl-sft" / "data").glob("*.parquet"))[0])
            self.tools = table["tools"].to_pylist()

    module("verl.utils.dataset.multiturn_sft_dataset", MultiTurnSFTDataset=Parent)
    data = run(text)["FidelakeSFT"]()
    data._read_files_and_process()
    assert all(tool["type"] == "function" for tools in data.tools for tool in tools) and data.tools


def trl(text, folder):
    class Parent:
        def _generate_and_score_completions(self, inputs):
            return {"advantages": normal(REWARDS)}

    module("trl", GRPOTrainer=Parent)
    trainer = run(text)["FidelityGRPOTrainer"]()
    inputs = [{"prompt": [], "fidelity_weight": w} for w in WEIGHTS]
    close("trl", trainer._generate_and_score_completions(inputs)["advantages"])


def trl_sft(text, folder):
    names = run(text, SHARDS=str(folder))
    assert isinstance(names["rows"], datasets.Dataset)
    kept = [w for w in names["rows"]["fidelity_weight"] if w >= 0.5]
    assert 0 < len(kept) == len(names["kept"]) < len(names["rows"])


def openrlhf(text, folder):
    reward = run(text, score=lambda query, truth: len(json.loads(truth)))["reward_func"]
    rows = pq.read_table(sorted((folder / "openrlhf" / "data").glob("*.parquet"))[0]).to_pylist()
    out = reward(["q"] * len(rows), [r["input"] for r in rows], [r["label"] for r in rows])
    close("openrlhf", out["extra_logs"]["fidelity_weight"], [r["fidelity_weight"] for r in rows])
    assert len(out["rewards"]) == len(rows)


def nemo(text, folder):
    parent = lambda datum, *_: {"extra_env_info": json.loads(datum["extra_env_info"]), "loss_multiplier": 1.0}
    module("nemo_rl.data.processors", nemo_gym_data_processor=parent)
    processor = run(text)["fidelity_processor"]
    path = sorted((folder / "nemo-gym" / "data").glob("*.jsonl"))[0]
    for line in path.read_text().splitlines():
        out = processor({"extra_env_info": line, "task_name": "t"}, None, None, None, 0)
        assert out["loss_multiplier"] == json.loads(line)["fidelity_weight"]


def skyrl(text, folder):
    class Parent:
        def compute_advantages_and_returns(self, data):
            data["advantages"] = np.repeat(normal(REWARDS)[:, None], 2, axis=1)
            return data

    class Data(dict):
        metadata = {"uids": ["3", "2", "1", "0"]}

    module("skyrl.train.trainer", RayPPOTrainer=Parent)
    trainer = run(text)["FidelityTrainer"]()
    trainer.fidelity_weights = WEIGHTS[::-1]
    close("skyrl", trainer.compute_advantages_and_returns(Data())["advantages"][:, 0])


def slime(text, folder):
    process = run(text)["post_process_rewards"]
    sample = lambda r, w: types.SimpleNamespace(get_reward_value=lambda _: r, metadata={"fidelity_weight": w})
    samples = [sample(r, w) for r, w in zip(REWARDS, WEIGHTS)]
    raw, rewards = process(types.SimpleNamespace(n_samples_per_prompt=4), samples)
    assert raw == list(REWARDS)
    spread = (REWARDS - REWARDS.mean()) / (REWARDS.std() + 1e-6)
    close("slime", rewards, spread * WEIGHTS)


def prime_rl(text, folder):
    stamp = run(text)["stamp"]
    row = pq.read_table(sorted((folder / "prime-rl" / "data").glob("*.parquet"))[0]).to_pylist()[0]
    sample = types.SimpleNamespace(token_ids=[5, 6, 7])
    stamp([sample], row)
    assert sample.rl_weights == [row["fidelity_weight"]] * 3


def webdataset(text, folder):
    names = run(text, SHARDS=str(folder))
    assert names["webdataset"] is real_webdataset and isinstance(names["rows"], real_webdataset.WebDataset)
    assert names["weights"] and all(isinstance(w, float) for w in names["weights"])


def main(folder):
    found = snippets()
    checks = {
        "webdataset": webdataset, "verl": verl, "verl-sft": verl_sft, "trl": trl, "trl-sft": trl_sft,
        "openrlhf": openrlhf, "nemo": nemo, "skyrl": skyrl, "slime": slime, "prime-rl": prime_rl,
    }  # fmt: skip
    assert set(found) == set(checks), set(found) ^ set(checks)
    trainer_stubs.install()
    for name, check in checks.items():
        check(found[name], folder)
    print(f"{len(checks)} snippets run")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
