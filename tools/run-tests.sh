#!/bin/sh
# Runs Rust tests with `cargo nextest` where it is installed, else with `cargo test`, keeps what they print, and
# notes the counts. Doc tests (`--doc`) always run with `cargo test`: nextest has none.
#
#     tools/run-tests.sh NAME [options of cargo test, such as --workspace --features failpoints]
#
# TEST_LOGS   folder of the notes (default: test-logs in the target folder)

set -eu

name=$1
shift
logs=${TEST_LOGS:-${CARGO_TARGET_DIR:-target}/test-logs}
mkdir -p "$logs"
log=$logs/$name.log
status=0

runner=nextest
case " $* " in
*' --doc '*) runner=test ;;
*) cargo nextest --version >/dev/null 2>&1 || runner=test ;;
esac

if [ "$runner" = nextest ]; then
    # What passing tests say goes to the log only: some say that they were skipped.
    cargo nextest run --color never --no-fail-fast --success-output immediate "$@" >"$log" 2>&1 || status=$?
    count=$(sed -n 's/^ *Summary \[[^]]*\] *//p' "$log" | tail -n 1)
else
    cargo test --no-fail-fast "$@" -- --nocapture >"$log" 2>&1 || status=$?
    count=$(awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
        END { printf "%d tests run: %d passed, %d failed, %d skipped", passed + failed, passed, failed, skipped }' "$log")
fi
if [ "$status" -ne 0 ]; then
    cat "$log"
fi
grep -h '^ *SKIPPED: ' "$log" | sort -u || true
printf '%s: %s\n' "$name" "${count:-no test ran}" | tee "$logs/$name.count"
exit "$status"
