#!/usr/bin/env bash
# The main job from beginning to end, on the sample data: import, profile,
# slices, one trajectory side by side, weighted shards. Called by `make demo`.
set -euo pipefail

fidelake=$1
out=${2:-demo}
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"

rm -rf "$out"
mkdir -p "$out"
export FIDELAKE_LAKE=$out/lake

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
if [ -n "${NO_COLOR:-}" ] || [ ! -t 1 ]; then step() { printf '\n$ %s\n' "$*"; }; fi

step fidelake import sample_data/airline_*.jsonl
"$fidelake" import sample_data/airline_*.jsonl

step fidelake profile
"$fidelake" profile

step fidelake slice --by api,outcome --dimension all --min-calls 3
"$fidelake" slice --by api,outcome --dimension all --min-calls 3

step fidelake slice --by api,cause --dimension trans --min-calls 2 --pivot
"$fidelake" slice --by api,cause --dimension trans --min-calls 2 --pivot

step fidelake sql --named sim_ok_real_error
"$fidelake" sql --named sim_ok_real_error

step fidelake show airline/probe/8
"$fidelake" show airline/probe/8

step fidelake curate recipes/airline.toml --out "$out/shards"
"$fidelake" curate recipes/airline.toml --out "$out/shards"

cat <<TEXT

The lake is in $out/lake, the shards are in $out/shards. What to try next, with $fidelake as fidelake:

  export FIDELAKE_LAKE=$out/lake
  fidelake sql                                  # an interactive shell; \\d lists the tables, \\f our functions
  fidelake sql --named gap_by_path              # which fields differ, with examples; fidelake sql --list has more
  fidelake slice --by api --where "cause = 'structural'"
  fidelake --lake my-lake import my-runs.jsonl  # your own files: docs/formats.md says which
TEXT
