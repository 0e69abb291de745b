#!/bin/sh
# Makes or reuses the real environments that the tests call, and prints the folder that they stand in on stdout:
#
#     servers=$(tools/servers.sh) && ls "$servers/npm/node_modules/.bin" "$servers/mcp2/bin"
#
#     npm    MCP servers from npm (tools/servers/package-lock.json)
#     mcp2   MCP servers from PyPI on version 2 of the Python SDK (tools/servers/requirements.txt)
#     mcp1   those that need version 1 (tools/servers/requirements-mcp1.txt)
#     tau2   what adapters/tau2_domain.py needs
#     bfcl   what adapters/bfcl_classes.py needs
#
# FIDELAKE_SERVERS  where they stand (default: $XDG_CACHE_HOME or ~/.cache, fidelake/servers)
# FIDELAKE_PYTHON   the interpreter to make the virtual environments with (see tools/python-env.sh)

set -eu

fail() {
    printf 'servers: %s\n' "$*" >&2
    exit 1
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if [ -z "${FIDELAKE_SERVERS:-}" ] && [ -z "${XDG_CACHE_HOME:-}" ] && [ -z "${HOME:-}" ]; then
    fail "none of FIDELAKE_SERVERS, XDG_CACHE_HOME and HOME is set; set FIDELAKE_SERVERS to a folder for the servers"
fi
servers=${FIDELAKE_SERVERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/fidelake/servers}
case $servers in
    /*) ;;
    *) servers=$PWD/$servers ;;
esac
mkdir -p "$servers/npm" || fail "cannot make $servers; set FIDELAKE_SERVERS to a folder that can be written"
log=$servers/npm.log

venv() {
    FIDELAKE_VENV=$servers/$1 FIDELAKE_REQUIREMENTS=$root/$2 FIDELAKE_PIP_OPTIONS=$3 \
        "$root/tools/python-env.sh" >/dev/null
}

npm_servers() {
    exec 9>"$servers/npm.lock" || fail "cannot write in $servers"
    if command -v flock >/dev/null 2>&1; then
        flock 9
    fi
    stamp=$servers/npm/lock.sha256
    wanted=$(cat "$root/tools/servers/package.json" "$root/tools/servers/package-lock.json" | sha256sum)
    if [ -r "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && node -e '' >/dev/null 2>&1; then
        return
    fi
    : >"$log"
    if ! command -v npm >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        {
            DEBIAN_FRONTEND=noninteractive
            export DEBIAN_FRONTEND
            apt-get -q update && apt-get -qy install --no-install-recommends nodejs npm
        } >>"$log" 2>&1 || fail "apt-get could not install nodejs and npm; its output is in $log"
    fi
    command -v npm >/dev/null 2>&1 ||
        fail "no npm; install Node.js 18 or newer with npm (Debian, as root: apt-get install nodejs npm)"
    # The stamp goes first: an installation that is broken off must not look like the former one.
    rm -f "$stamp"
    cp "$root/tools/servers/package.json" "$root/tools/servers/package-lock.json" "$servers/npm/"
    (cd "$servers/npm" && npm ci --ignore-scripts --no-audit --no-fund) >>"$log" 2>&1 ||
        fail "npm could not install the servers; its output is in $log and ends with: $(tail -n 1 "$log")"
    printf '%s\n' "$wanted" >"$stamp"
    rm -f "$log"
}

npm_servers
venv mcp2 tools/servers/requirements.txt ''
venv mcp1 tools/servers/requirements-mcp1.txt ''
venv tau2 adapters/requirements-tau2.txt --no-deps
venv bfcl adapters/requirements-bfcl.txt --no-deps
printf '%s\n' "$servers"
