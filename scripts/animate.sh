#!/usr/bin/env bash
# The animated picture of the README, screenshots/walk.gif: pictures of the real window, which the test `window` takes
# (tests/window), one after the other. Run it when they have changed, and look at it.
#
#   scripts/animate.sh [OUT.gif]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root/screenshots"

# The findings, one click to the leak, the selected step, its stack, the spikes, the functions that made them.
pictures=(findings leak step zoomed spikes flame)
most=1500000

need_packages imagemagick
out=${1:-$root/screenshots/walk.gif}
# Hundredths of a second each. Without dithering flat colours stay flat, and a picture is small.
convert -delay 300 "${pictures[@]/%/.png}" -loop 0 -dither None -colors 200 -layers OptimizePlus "$out"
frames=$(identify "$out" | wc -l)
[ "$frames" -eq ${#pictures[@]} ] || fail "$out has $frames pictures, not ${#pictures[@]}"
size=$(stat -c %s "$out")
[ "$size" -le $most ] || fail "$out has $size bytes; $most are enough for a README"
say "$out: $frames pictures, $size bytes"
