"""The exported graph, read by networkx and pyarrow: graph.py FILE.graphml FOLDER."""

import sys

import networkx
import pyarrow.parquet as parquet

graph = networkx.read_graphml(sys.argv[1])
kinds = {kind: [n for n, data in graph.nodes(data=True) if data["kind"] == kind] for kind in ("begin", "end", "call", "state")}
assert [len(kinds[kind]) for kind in ("begin", "end")] == [1, 1], kinds
tables = {name: parquet.read_table(f"{sys.argv[2]}/{name}.parquet").to_pylist() for name in ("nodes", "edges", "states", "fixes")}
assert len(kinds["call"]) == len(tables["nodes"])
assert graph.number_of_edges() == sum(len(tables[name]) for name in ("edges", "states", "fixes"))
calls = {(graph.nodes[n]["api"], graph.nodes[n]["outcome"]): n for n in kinds["call"]}
again = [data for _, to, data in graph.out_edges(calls["find", "timeout"], data=True) if to == calls["find", "ok"]]
assert sorted(data["kind"] for data in again) == ["next", "retried"], again
assert next(data["real_count"] for data in again if data["kind"] == "next") == 4
print(f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
