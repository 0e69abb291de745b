"""Does an exact tree distance rank answers better than the path comparison?

Usage: tree_distance.py FIDELAKE FILE...      (beside requirements-dev.txt it needs scipy)

FILE holds runs of both arms in the native form (plain or .zst). JEDI (Huetter, Augsten, Kirsch,
Carey, Li 2022) is the cost of the cheapest edits between two JSON trees, objects unordered; here
with unit costs, halved into [0,1] as 2 d / (|A| + |B| + d), for trees of up to 400 nodes. JSON
inside of strings is unpacked for it, as the path comparison does by itself. Two questions, each
the share of comparisons answered right, ties half:

* own: is the answer of the same call in the other arm nearer than that of another call (of the
  same API where it was called again, else of any)?
* order: of edits planted in one answer (equal; other key order or a null more; a field renamed
  or added; a wrong value), is the lighter one nearer?
"""

from __future__ import annotations

import ast
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy
import pyarrow
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

CAP = 400


class Node:
    """One node: kind, label, children, size of the subtree, number within its tree."""

    __slots__ = ("kind", "label", "children", "size", "number")

    def __init__(self, kind, label, children):
        self.kind, self.label, self.children = kind, label, children
        self.size = 1 + sum(child.size for child in children)
        self.number = 0

    def enumerate(self, start=0):
        self.number = start
        start += 1
        for child in self.children:
            start = child.enumerate(start)
        return start


def parsed(text):
    if not isinstance(text, str):
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            pass
    return text


def unpacked(value, depth=4):
    if isinstance(value, dict):
        return {key: unpacked(item, depth) for key, item in value.items()}
    if isinstance(value, list):
        return [unpacked(item, depth) for item in value]
    if isinstance(value, str) and depth and value.strip()[:1] in ("{", "["):
        inner = parsed(value)
        return value if isinstance(inner, str) else unpacked(inner, depth - 1)
    return value


def tree(value):
    if isinstance(value, dict):
        return Node("object", None, [Node("key", key, [tree(item)]) for key, item in value.items()])
    if isinstance(value, list):
        return Node("array", None, [tree(item) for item in value])
    return Node("value", json.dumps(value), [])


def jedi(a: Node, b: Node) -> float:
    a.enumerate()
    b.enumerate()
    known: dict[tuple[int, int], float] = {}

    def trees(x, y):
        key = (x.number, y.number)
        if key not in known:
            relabel = 0 if (x.kind, x.label) == (y.kind, y.label) else 1 if x.kind == y.kind else 2
            best = forests(x, y) + relabel
            # One of them stands inside a child of the other.
            for child in y.children:
                if y.size - child.size + abs(x.size - child.size) < best:
                    best = min(best, y.size - child.size + trees(x, child))
            for child in x.children:
                if x.size - child.size + abs(y.size - child.size) < best:
                    best = min(best, x.size - child.size + trees(child, y))
            known[key] = best
        return known[key]

    def forests(x, y):
        left, right = x.children, y.children
        if not left or not right:
            return sum(node.size for node in left + right)
        n, m = len(left), len(right)
        if x.kind == y.kind == "array":
            cost = numpy.zeros((n + 1, m + 1))
            cost[1:, 0] = numpy.cumsum([node.size for node in left])
            cost[0, 1:] = numpy.cumsum([node.size for node in right])
            for i, first in enumerate(left, 1):
                for j, second in enumerate(right, 1):
                    cost[i, j] = min(
                        cost[i - 1, j] + first.size, cost[i, j - 1] + second.size, cost[i - 1, j - 1] + trees(first, second)
                    )
            return cost[-1, -1]
        cost = numpy.zeros((n + m, n + m))
        cost[:n, m:] = cost[n:, :m] = 1e9
        for i, first in enumerate(left):
            cost[i, m + i] = first.size
            for j, second in enumerate(right):
                cost[i, j] = trees(first, second)
        for j, second in enumerate(right):
            cost[n + j, j] = second.size
        rows, columns = linear_sum_assignment(cost)
        return cost[rows, columns].sum()

    distance = trees(a, b)
    return 2 * distance / (a.size + b.size + distance)


def text_of(content):
    return content if isinstance(content, str) else json.dumps(content)


def pairs_of(path: str):
    """(API, arguments, answer in sim, answer in real) of the calls that both arms have."""
    with pyarrow.input_stream(path, compression="detect") as stream:
        lines = stream.read().splitlines()
    arms = {"sim": {}, "real": {}}
    for line in lines:
        run = json.loads(line)
        if run.get("repeat", 0) == 0:
            for call in run["calls"]:
                if call.get("result"):
                    arguments = call.get("arguments", call.get("arguments_raw"))
                    arms[run["arm"]][run["trajectory_id"], call["turn"], call.get("index", 0)] = (
                        call["name"], json.dumps(arguments, sort_keys=True), text_of(call["result"].get("content")),
                    )
    both = [place for place in arms["sim"] if place in arms["real"]]
    return [(*arms["sim"][place][:3], arms["real"][place][2]) for place in both]


class Paths:
    """`json_gap` of the program, over many pairs at once."""

    def __init__(self, program: str, folder: str):
        self.program, self.lake, self.query = program, f"{folder}/lake", f"{folder}/query.sql"
        source = pathlib.Path(folder, "one.jsonl")
        source.write_text('{"fidelake": 1, "trajectory_id": "t", "environment": "e", "arm": "sim"}\n')
        self.run("import", str(source))

    def run(self, *arguments: str) -> str:
        command = [self.program, "--quiet", "--lake", self.lake, "--format", "json", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def gaps(self, pairs):
        quoted = lambda text: "'" + text.replace("'", "''") + "'"
        found = []
        for start in range(0, len(pairs), 400):
            rows = ", ".join(f"({n}, {quoted(a)}, {quoted(b)})" for n, (a, b) in enumerate(pairs[start : start + 400]))
            pathlib.Path(self.query).write_text(f"SELECT json_gap(a, b) AS gap FROM (VALUES {rows}) AS t(n, a, b) ORDER BY n")
            found += [row["gap"] for row in json.loads(self.run("sql", "--file", self.query))]
        return found


def planted(value, tier: int, chance: random.Random):
    """The value with one edit of this tier, or None where there is nothing to edit."""
    value = json.loads(json.dumps(value))
    objects, leaves = [], []

    def walk(node):
        if isinstance(node, dict) and node:
            objects.append(node)
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(item, (dict, list)):
                walk(item)
            else:
                leaves.append((node, key))

    walk(value)
    if not objects or not leaves:
        return None
    chosen = chance.choice(objects)
    if tier == 1 and chance.random() < 0.5:
        items = list(chosen.items())
        chance.shuffle(items)
        chosen.clear()
        chosen.update(items)
    elif tier == 1:
        chosen["note_"] = None
    elif tier == 2 and chance.random() < 0.5:
        key = chance.choice(list(chosen))
        chosen[f"{key}_name"] = chosen.pop(key)
    elif tier == 2:
        chosen["extra_"] = "abc"
    elif tier == 3:
        node, key = chance.choice(leaves)
        old = node[key]
        number = isinstance(old, (int, float)) and not isinstance(old, bool)
        node[key] = old + 17 if number else (not old) if isinstance(old, bool) else "another value"
    return value


def right(nearer, farther):
    return 1.0 if nearer < farther else 0.5 if nearer == farther else 0.0


def own(items, paths: Paths, chance: random.Random):
    by_api = collections.defaultdict(list)
    for at, item in enumerate(items):
        by_api[item[0]].append(at)
    chosen = []
    for at, (api, arguments, *_) in enumerate(items):
        others = [j for j in by_api[api] if items[j][1] != arguments] or [j for j, item in enumerate(items) if item[0] != api]
        chosen += [(at, j) for j in chance.sample(others, min(4, len(others)))]
    pairs = [(i, i) for i, _ in chosen] + [(j, i) for i, j in chosen]
    gaps = paths.gaps([(items[sim][2], items[real][3]) for sim, real in pairs])
    start = time.perf_counter()
    edits = [jedi(items[sim][4], items[real][5]) for sim, real in pairs]
    spent = (time.perf_counter() - start) / len(pairs)
    half = len(chosen)
    score = lambda values: numpy.mean([right(values[k], values[half + k]) for k in range(half)])
    rank = spearmanr(gaps[:half], edits[:half])[0]
    print(f"  own    {half:5} comparisons: paths {score(gaps):.3f}, tree {score(edits):.3f}; rank correlation {rank:.3f}; {spent * 1e3:.1f} ms a tree pair")


def order(items, paths: Paths, chance: random.Random):
    groups, pairs, edits = [], [], []
    for *_, real, _, real_tree in items:
        group = []
        for tier in range(4):
            other = planted(unpacked(parsed(real)), tier, chance)
            if other is not None:
                group.append((tier, len(pairs)))
                pairs.append((json.dumps(unpacked(parsed(real))), json.dumps(other)))
                edits.append(jedi(real_tree, tree(other)))
        groups.append(group)
    gaps = paths.gaps(pairs)
    compared = [(a, b) for group in groups for s, a in group for t, b in group if s < t and (s, t) != (0, 1)]
    score = lambda values: numpy.mean([right(values[a], values[b]) for a, b in compared])
    print(f"  order  {len(compared):5} comparisons: paths {score(gaps):.3f}, tree {score(edits):.3f}")


def main() -> None:
    program, *files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        paths = Paths(program, folder)
        for file in files:
            chance, items, pairs = random.Random(1), [], pairs_of(file)
            for api, arguments, sim, real in pairs:
                values = [unpacked(parsed(text)) for text in (sim, real)]
                if all(isinstance(value, (dict, list)) for value in values):
                    first, second = map(tree, values)
                    if max(first.size, second.size) <= CAP:
                        items.append((api, arguments, sim, real, first, second))
            print(f"{pathlib.Path(file).name}: {len(pairs)} pairs, {len(items)} of them JSON on both sides and small enough")
            own(items, paths, chance)
            order(items, paths, chance)


if __name__ == "__main__":
    main()
