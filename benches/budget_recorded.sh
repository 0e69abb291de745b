#!/bin/sh
# What a budget would have told about recorded dual executions: docs/budget.md, "Recorded data".
#
#     benches/budget_recorded.sh target/debug/fidelake sample_data/*.jsonl
#     READS=get_user_details,calculate benches/budget_recorded.sh target/debug/fidelake airline_dual.jsonl
#
# READS: tools that change nothing; the others before a call are made again for it.
set -eu
program=$1
shift
lake=$(mktemp -d)
trap 'rm -rf "$lake"' EXIT INT TERM
"$program" --lake "$lake/lake" --quiet import "$@"
"$program" --lake "$lake/lake" --quiet profile
"$program" --lake "$lake/lake" simulate-budget --replays "${REPLAYS:-500}" --budgets "${BUDGETS:-10,20,50}" --least 20 ${READS:+--reads "$READS"}
