#!/bin/sh
# Makes or reuses the virtual environment that tests and benchmarks take their Python packages from,
# and prints the path of its interpreter on stdout:
#
#     python=$(tools/python-env.sh) && "$python" -c 'import pyarrow'
#
# FIDELAKE_REQUIREMENTS  what to install (default: requirements-dev.txt)
# FIDELAKE_PIP_OPTIONS   further options of pip, such as --no-deps
# FIDELAKE_VENV   where the environment stands (default: $XDG_CACHE_HOME or ~/.cache, fidelake/venv)
# FIDELAKE_PYTHON the interpreter to make it with (default: python3.11, else python3)

set -eu

fail() {
    printf 'python-env: %s\n' "$*" >&2
    exit 1
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
requirements=${FIDELAKE_REQUIREMENTS:-$root/requirements-dev.txt}
if [ -z "${FIDELAKE_VENV:-}" ] && [ -z "${XDG_CACHE_HOME:-}" ] && [ -z "${HOME:-}" ]; then
    fail "none of FIDELAKE_VENV, XDG_CACHE_HOME and HOME is set; set FIDELAKE_VENV to a folder for the environment"
fi
venv=${FIDELAKE_VENV:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/fidelake/venv}
case $venv in
    /*) ;;
    *) venv=$PWD/$venv ;;
esac
python=$venv/bin/python
stamp=$venv/requirements.sha256
log=$venv.log

[ -r "$requirements" ] || fail "cannot read $requirements"
mkdir -p "$(dirname -- "$venv")" || fail "cannot make the folder of $venv; set FIDELAKE_VENV to one that can be written"
# Tests and benchmarks may ask at the same time: the second waits for the first.
exec 9>"$venv.lock" || fail "cannot write beside $venv; set FIDELAKE_VENV to a place that can be written"
if command -v flock >/dev/null 2>&1; then
    flock 9
fi

wanted=$(sha256sum <"$requirements")
# The interpreter is started too: an environment whose base Python was removed is no environment.
if [ -r "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && "$python" -c '' >/dev/null 2>&1; then
    printf '%s\n' "$python"
    exit 0
fi
: >"$log"

# The interpreter to build from, or nothing. Without ensurepip, `python -m venv` leaves no pip behind.
find_base() {
    for candidate in ${FIDELAKE_PYTHON:-python3.11 python3}; do
        if "$candidate" -c 'import sys, venv; from ensurepip import bootstrap; sys.exit(sys.version_info < (3, 11))' >>"$log" 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

if ! "$python" -m pip --version >>"$log" 2>&1; then
    base=$(find_base)
    if [ -z "$base" ] && [ -z "${FIDELAKE_PYTHON:-}" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        {
            DEBIAN_FRONTEND=noninteractive
            export DEBIAN_FRONTEND
            apt-get -q update && apt-get -qy install --no-install-recommends python3 python3-venv
        } >>"$log" 2>&1 || fail "apt-get could not install python3-venv; its output is in $log"
        base=$(find_base)
    fi
    [ -n "$base" ] || fail "no Python 3.11 or newer with venv and ensurepip; install it (Debian, as root: apt-get install python3 python3-venv) or name one in FIDELAKE_PYTHON"
    "$base" -m venv --clear "$venv" >>"$log" 2>&1 || fail "$base could not make $venv; its output is in $log"
fi

# The stamp goes first: an installation that is broken off must not look like the former one.
rm -f "$stamp"
"$python" -m pip install --quiet --disable-pip-version-check --no-input ${FIDELAKE_PIP_OPTIONS:-} -r "$requirements" >>"$log" 2>&1 ||
    fail "pip could not install $requirements; its output is in $log and ends with: $(tail -n 1 "$log")"
printf '%s\n' "$wanted" >"$stamp"
rm -f "$log"
printf '%s\n' "$python"
