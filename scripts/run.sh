#!/usr/bin/env bash
# Builds highwater and opens the named traces, or the built-in demo. Installs what
# is missing on a fresh Debian machine. Without a display it draws the window
# off-screen and prints the report.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

files=("$@")
need_packages "${window_packages[@]}"
need_cargo
say "Building (the first time takes some minutes)"
cargo build --profile quick --manifest-path "$root/Cargo.toml"
program=${CARGO_TARGET_DIR:-$root/target}/quick/highwater

if has_display; then
    if [ ${#files[@]} -eq 0 ]; then exec "$program" demo; else exec "$program" "${files[@]}"; fi
fi

say "This machine has no display; the window is drawn off-screen"
[ ${#files[@]} -gt 0 ] || files=(demo:)
"$program" report "${files[@]}"
need_packages "${screen_packages[@]}"
picture=${TMPDIR:-/tmp}/highwater.png
rm -f "$picture"
LIBGL_ALWAYS_SOFTWARE=1 timeout 120 xvfb-run -a -s '-screen 0 1440x900x24 +extension GLX' \
    "$program" --size 1440x900 --screenshot "$picture" "${files[@]}" || fail "The window could not be drawn"
[ -s "$picture" ] || fail "The window was drawn, but no picture was saved"
printf '\nA picture of the window: %s\n' "$picture"
