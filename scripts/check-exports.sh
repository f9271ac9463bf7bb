#!/usr/bin/env bash
# Lets other programs judge what `highwater export` writes: pprof's protobuf (Python's library, and Go's own
# tool), speedscope's schema, CSV, folded stacks and the Firefox Profiler's tables are read, and what they sum up
# to must be what the report says. The readers are tools of this script only: installed outside the
# repository, no part of the program.
#
# Usage: scripts/check-exports.sh [HIGHWATER]   (default: builds a debug version)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python exports 'google.protobuf, jsonschema' 'protobuf==7.36.2' 'jsonschema==4.*'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/highwater

# speedscope ships the schema of its format in its package.
speedscope=speedscope-1.25.0
schema=$cache/$speedscope/package/dist/release/file-format-schema.json
if [ ! -f "$schema" ]; then
    command -v npm >/dev/null || need_packages npm
    mkdir -p "$cache/$speedscope"
    (cd "$cache/$speedscope" && npm pack --silent "speedscope@${speedscope#*-}" >/dev/null && tar -xzf "$speedscope.tgz")
fi

command -v go >/dev/null || need_packages golang-go || echo "Go cannot be installed: go tool pprof is left out"

traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT
"$instruments" synth heap -o "$traces/heap.etl" --events 3000 --stacks none
"$instruments" synth trackers -o "$traces/trackers.etl" --events 3000 --stacks walk
"$python" scripts/check_exports.py "$highwater" "$schema" demo: "$traces"/*.etl
