#!/usr/bin/env bash
# Follows a capture in the window while a million heap events a second are made for
# it: memory, frames, and whether anything was lost. Not part of CI. A run of ten minutes
# or more is written into docs/soak.md.
#
#   scripts/soak.sh              10 minutes
#   scripts/soak.sh 2            2 minutes
#   MEMORY_LIMIT=2048 scripts/soak.sh       MB that the trace may use (1024 by itself)
#
# What was read of the file is given back to the disk meanwhile (Linux, some 4 GB needed).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_packages "${window_packages[@]}" "${screen_packages[@]}" python3
need_cargo
cd "$root"

say "Building"
need_release_program
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/highwater-soak.XXXXXX")
trap 'rm -rf "$dir"' EXIT
minutes=${1:-10}
out=()
[ "${minutes%.*}" -ge 10 ] && out=(--out docs/soak.md)
python3 -B scripts/soak.py --program "$program" --instruments "$instruments" --dir "$dir" --minutes "$minutes" --limit "${MEMORY_LIMIT:-1024}" "${out[@]}"
