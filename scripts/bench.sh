#!/usr/bin/env bash
# Measures opening, questions, memory and the window's frames on generated traces,
# next to heaptrack_print on as many events, and writes docs/performance.md.
#
#   scripts/bench.sh                      all sizes (12 GB of disk, 24 GB of memory)
#   EVENTS="1000000 16000000" scripts/bench.sh
#   ONLY=views scripts/bench.sh           the section *Views* alone, without heaptrack and the window
#   ONLY=window scripts/bench.sh          the section *The window* alone
#   ONLY=recorded scripts/bench.sh        the section *Recorded programs* alone
#   ONLY=instructions scripts/bench.sh    the section *Instructions* alone
#   ONLY=samples scripts/bench.sh         the section *CPU samples* alone
#   ONLY=workers scripts/bench.sh         the section *Workers* alone
#   BENCH_DIR=/somewhere scripts/bench.sh where the traces are kept
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

only=${ONLY:-}
need_packages "${window_packages[@]}" "${screen_packages[@]}" xdotool heaptrack mawk python3 perl zstd valgrind
need_cargo
cd "$root"

dir=${BENCH_DIR:-$HOME/.cache/highwater/bench}
events=${EVENTS:-1000000 16000000 64000000}
stacks=100000
live=200000
mkdir -p "$dir"

say "Building"
need_release_program

synth() { # FILE, more
    [ -s "$dir/$1" ] || "$instruments" synth "${@:2}" --replace -o "$dir/$1"
}

# What heaptrack records of a program, as text and as a trace with whole stacks or keys.
record() { # NAME, command
    say "Recording $1"
    [ -s "$dir/$1.zst" ] || heaptrack -o "$dir/$1" "${@:2}" >/dev/null
    [ -s "$dir/$1.txt" ] || zstd -dqc "$dir/$1.zst" >"$dir/$1.txt"
    synth "$1-walk.etl" recorded --recording "$dir/$1.txt" --stacks walk
    synth "$1-keys.etl" recorded --recording "$dir/$1.txt" --stacks keys
}

# Whether one of these sections is measured.
wanted() {
    [ -z "$only" ] || [[ " $* " == *" $only "* ]]
}

generated=(heap --distinct-stacks $stacks --live $live)
recording() { # EVENTS: what heaptrack_print reads
    [ -s "$dir/$1.heaptrack" ] || awk -v events="$1" -v stacks=$stacks -v live=$live -f scripts/heaptrack.awk >"$dir/$1.heaptrack"
}
if wanted views window workers; then
    for n in $events; do
        say "Traces of $n heap events"
        synth "$n.etl" "${generated[@]}" --events "$n" --stacks keys
        [ -n "$only" ] || recording "$n"
    done
fi
if [ -z "$only" ]; then
    synth walk-2000000.etl "${generated[@]}" --events 2000000 --stacks walk
    recording 2000000
fi
if wanted recorded; then
    PYTHONMALLOC=malloc record python /usr/bin/python3 scripts/traffic.py
    record perl perl scripts/traffic.pl
fi
if wanted instructions workers; then
    for form in keys walk; do
        for n in 1 3; do
            synth "$form-$n.etl" "${generated[@]}" --events ${n}000000 --stacks $form
        done
    done
fi
if wanted samples; then
    for n in 0 10000 1000000 10000000; do
        synth "samples-$n.etl" "${generated[@]}" --events 1000000 --stacks keys --samples "$n"
    done
fi

say "Measuring"
python3 scripts/bench.py --program "$program" --dir "$dir" --out docs/performance.md ${only:+--only $only} $events
