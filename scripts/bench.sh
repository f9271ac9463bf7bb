#!/usr/bin/env bash
# Measures opening, questions, memory and the window's frames on generated traces,
# next to heaptrack_print on as many events, and writes docs/performance.md.
#
#   scripts/bench.sh                      all sizes (12 GB of disk, 24 GB of memory)
#   EVENTS="1000000 16000000" scripts/bench.sh
#   ONLY=views scripts/bench.sh           the section *Views* alone, without heaptrack and the window
#   ONLY=window scripts/bench.sh          the section *The window* alone
#   BENCH_DIR=/somewhere scripts/bench.sh where the traces are kept
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

only=${ONLY:-}
need_packages "${window_packages[@]}" "${screen_packages[@]}" xdotool heaptrack mawk python3
need_cargo
cd "$root"

dir=${BENCH_DIR:-$HOME/.cache/highwater/bench}
events=${EVENTS:-1000000 16000000 64000000}
stacks=100000
live=200000
mkdir -p "$dir"

say "Building"
cargo build --locked --release
program=${CARGO_TARGET_DIR:-target}/release/highwater

for n in $events; do
    say "Traces of $n heap events"
    [ -s "$dir/$n.etl" ] || "$program" synth heap -o "$dir/$n.etl" --events "$n" --stacks keys --distinct-stacks $stacks --live $live
    [ -n "$only" ] || [ -s "$dir/$n.heaptrack" ] || awk -v events="$n" -v stacks=$stacks -v live=$live -f scripts/heaptrack.awk >"$dir/$n.heaptrack"
done
[ -n "$only" ] || [ -s "$dir/walk.etl" ] || "$program" synth heap -o "$dir/walk.etl" --events 8000000 --stacks walk --distinct-stacks $stacks --live $live

say "Measuring"
python3 scripts/bench.py --program "$program" --dir "$dir" --out docs/performance.md ${only:+--only $only} $events
