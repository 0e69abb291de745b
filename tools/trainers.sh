#!/bin/sh
# Makes or reuses the folder of trainers' packages (requirements-trainers.txt), and prints it on stdout:
#
#     PYTHONPATH=$(tools/trainers.sh) "$(tools/python-env.sh)" tests/python/formats.py DIR
#
# FIDELAKE_TRAINERS  where it stands (default: $XDG_CACHE_HOME or ~/.cache, fidelake/trainers)

set -eu

fail() {
    printf 'trainers: %s\n' "$*" >&2
    exit 1
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
requirements=$root/requirements-trainers.txt
if [ -z "${FIDELAKE_TRAINERS:-}" ] && [ -z "${XDG_CACHE_HOME:-}" ] && [ -z "${HOME:-}" ]; then
    fail "none of FIDELAKE_TRAINERS, XDG_CACHE_HOME and HOME is set; set FIDELAKE_TRAINERS to a folder for the packages"
fi
trainers=${FIDELAKE_TRAINERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/fidelake/trainers}
case $trainers in
    /*) ;;
    *) trainers=$PWD/$trainers ;;
esac
stamp=$trainers/requirements.sha256
log=$trainers.log

python=$("$root/tools/python-env.sh")
mkdir -p "$(dirname -- "$trainers")" || fail "cannot make the folder of $trainers"
exec 9>"$trainers.lock" || fail "cannot write beside $trainers"
if command -v flock >/dev/null 2>&1; then
    flock 9
fi
wanted=$(sha256sum <"$requirements")
if [ -r "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    printf '%s\n' "$trainers"
    exit 0
fi
rm -rf "$trainers"
"$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --target "$trainers" \
    -r "$requirements" >"$log" 2>&1 ||
    fail "pip could not install $requirements; its output is in $log and ends with: $(tail -n 1 "$log")"
printf '%s\n' "$wanted" >"$stamp"
rm -f "$log"
printf '%s\n' "$trainers"
