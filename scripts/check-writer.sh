#!/usr/bin/env bash
# Lets an unrelated reader judge the traces that we write: dissect.etl (PyPI, Python)
# counts the events of generated traces of every kind and must agree with
# `highwater info --json`. The reader is a tool of this script only: it is installed
# outside the repository and no part of the program.
#
# Usage: scripts/check-writer.sh [HIGHWATER]   (default: builds a debug version)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python dissect dissect.etl 'dissect.etl==3.14'

traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT

"$instruments" synth demo -o "$traces/demo.etl"
for scenario in heap commit trackers; do
    for stacks in walk keys none; do
        for processors in 1 4; do
            for compressed in '' --compressed --compressed=lznt1 --compressed=huffman; do
                "$instruments" synth "$scenario" -o "$traces/$scenario-$stacks-$processors$compressed.etl" \
                    --events 4000 --stacks "$stacks" --processors "$processors" $compressed
            done
        done
    done
done
# Every other header, and 32-bit programs.
for stacks in walk keys; do
    "$instruments" synth heap -o "$traces/heap-$stacks-mixed.etl" --events 4000 --stacks "$stacks" --wow64 --mixed-headers
    "$instruments" synth commit -o "$traces/commit-$stacks-mixed.etl" --events 4000 --stacks "$stacks" --mixed-headers
    "$instruments" synth trackers -o "$traces/trackers-$stacks-32.etl" --events 4000 --stacks "$stacks" --wow64
done

# A recording: lanes that were never ended, made one trace.
mkdir "$traces/lanes"
"$instruments" synth commit -o "$traces/lanes/kernel.etl" --events 4000
"$instruments" synth heap -o "$traces/lanes/heap.etl" --events 4000
"$instruments" synth trackers -o "$traces/lanes/user.etl" --events 4000 --compressed
"$highwater" record --recover "$traces/lanes" -o "$traces/recording.etl" > /dev/null

# Parts of traces, also with other names, and of files that belong together.
cut() {
    "$highwater" cut --quiet "$@"
}
cut demo: --from 10 --to 20 -o "$traces/cut-demo.etl"
cut demo: --from 10 --to 20 --anonymise -o "$traces/cut-demo-anonymous.etl"
for trace in "$traces"/{heap,commit,trackers}-{walk,keys}-4{,--compressed,--compressed=huffman}.etl "$traces"/*-{mixed,32}.etl; do
    name=$(basename "$trace" .etl)
    cut "$trace" --from 0.001 --to 0.01 -o "$traces/cut-$name.etl"
    cut "$trace" --from 0.001 --to 0.01 --anonymise -o "$traces/cut-$name-anonymous.etl"
done
cut "$traces"/{commit-walk-1,heap-keys-4,trackers-walk-1--compressed}.etl --from 0.001 --to 0.01 -o "$traces/cut-three.etl"

"$python" scripts/check_writer.py "$highwater" "$traces"/*.etl
