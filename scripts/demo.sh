#!/usr/bin/env bash
# Builds the program of the demo trace from assets/demo: its PDB, compressed and in the
# layout of a symbol store, src/demo/build.rs, which names it, and crates/dev/src/synth/program.rs,
# which tells the trace where its functions and calls lie. Then writes the trace anew.
#
#   scripts/demo.sh            all of it
#   scripts/demo.sh --check    builds, and fails if what is committed differs
#
# The same compiler gives the same bytes anywhere: no path or time of the machine goes
# into them. Another version of LLVM gives another build, with another identity.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_packages clang lld llvm gcab python3
need_cargo
cd "$root"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
home='C:\MemoryTestApp' # where the sources seem to lie

say "MemoryTestApp with $(clang --version | head -n1)"
# In two steps: clang alone would write its command line, and so paths, into the PDB.
for source in assets/demo/*.cpp; do
    name=$(basename "$source" .cpp)
    (cd assets/demo && clang --target=x86_64-pc-windows-msvc -std=c++17 -O2 -g -gcodeview -ffreestanding \
        -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-optimize-sibling-calls -fno-unroll-loops \
        -Wall -Wextra -Werror "-fdebug-compilation-dir=$home" -emit-llvm -c "$name.cpp" -o "$out/$name.bc")
    (cd "$out" && llc -O2 -filetype=obj "$name.bc" -o "$name.obj")
done
# Import libraries from the declarations: "// name.dll" stands above those of a library.
awk -v out="$out/" '
    /^\/\/ [A-Za-z0-9]+\.dll/ { split($2, part, ";"); library = part[1]; file = out library ".def"
                                print "LIBRARY " library "\nEXPORTS" > file }
    /^IMPORT/ && match($0, /[A-Za-z_]+\(/) { print substr($0, RSTART, RLENGTH - 1) > file }' assets/demo/system.h
cd "$out"
for definition in *.def; do llvm-dlltool -m i386:x86-64 -d "$definition" -l "${definition%.dll.def}.lib"; done
lld-link /nologo /Brepro /debug /nodefaultlib /entry:__scrt_common_main_seh /subsystem:console /opt:noref,noicf \
    "/pdbsourcepath:$home" /pdbaltpath:MemoryTestApp.pdb /out:MemoryTestApp.exe ./*.obj ./*.lib

say "Where its functions and calls lie"
key=$(llvm-readobj --coff-debug-directory MemoryTestApp.exe | python3 "$root/scripts/demo_table.py" key)
python3 "$root/scripts/demo_table.py" table MemoryTestApp.exe MemoryTestApp.pdb "$root/assets/demo" >program.rs
python3 "$root/scripts/demo_table.py" pdb MemoryTestApp.exe "$key" >build.rs
rustfmt --edition 2024 --config-path "$root" program.rs build.rs
touch -d '2026-01-01 00:00:00 UTC' MemoryTestApp.pdb
TZ=UTC gcab -c -z MemoryTestApp.pd_ MemoryTestApp.pdb
cd "$root"

store=assets/demo/MemoryTestApp.pdb
if [ "${1:-}" = --check ]; then
    cmp "$out/program.rs" crates/dev/src/synth/program.rs
    cmp "$out/build.rs" src/demo/build.rs
    cmp "$out/MemoryTestApp.pd_" "$store/$key/MemoryTestApp.pd_"
    say "What is committed is this build"
    exit
fi
rm -rf "$store"
mkdir -p "$store/$key"
cp "$out/MemoryTestApp.pd_" "$store/$key/"
cp "$out/program.rs" crates/dev/src/synth/program.rs
cp "$out/build.rs" src/demo/build.rs

say "The trace"
cargo run --locked --package highwater-dev -- synth demo --replace -o assets/demo.etl
ls -l assets/demo.etl "$store/$key"
