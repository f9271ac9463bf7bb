#!/usr/bin/env bash
# Measures how fast names come from large PDBs, which it makes with LLVM.
#
#   scripts/symbol-bench.sh               36 MB and 100 MB
#   BENCH_DIR=/somewhere scripts/symbol-bench.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_packages "${window_packages[@]}" llvm python3
need_cargo
cd "$root"

dir=${BENCH_DIR:-$HOME/.cache/highwater/bench}/symbols
lld=$(find "$(rustc --print sysroot)" -name rust-lld -type f | head -n1)
[ -n "$lld" ] || fail "rust-lld is missing: it comes with rustup's toolchains"

pdbs=
for functions in 56000 165000; do
    pdb=$dir/bench$functions.pdb
    if [ ! -s "$pdb" ]; then
        say "A PDB of $functions functions"
        rm -rf "$dir/$functions" && python3 scripts/make_pdb.py "$dir/$functions" "$functions" 20
        for source in "$dir/$functions"/*.ll; do llc -filetype=obj "$source" -o "${source%.ll}.obj"; done
        "$lld" -flavor link /entry:start /subsystem:console /nodefaultlib /debug \
            "/out:${pdb%.pdb}.exe" "/pdb:$pdb" "$dir/$functions"/*.obj
        rm -rf "${dir:?}/$functions"
    fi
    pdbs=$pdbs:$pdb
done

say "Measuring"
BENCH_PDBS=$pdbs cargo bench --locked --bench symbols
