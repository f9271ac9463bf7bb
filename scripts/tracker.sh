#!/usr/bin/env bash
# tracker/, what programs include to name their own allocators: compiled by all compilers and standards that it is for,
# its events compared byte by byte under Wine with a stand-in for ETW, and the Rust crate's tests.
#
#   scripts/tracker.sh              everything
#   scripts/tracker.sh --no-wine    without Windows: for this machine only
#   scripts/tracker.sh --write      and writes tracker/tests/story.txt anew, the events that a test of the reader has
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$root/scripts/windows/std.sh"
. "$root/scripts/windows/wine.sh"

case ${1:-} in
    '' | --no-wine | --write) ;;
    *) fail "scripts/tracker.sh [--no-wine | --write]" ;;
esac
need_packages gcc g++ libc6-dev gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32
need_cargo
cd "$root/tracker"

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
target=x86_64-w64-mingw32

# The header alone, in each standard: for this machine, where it does nothing, and for Windows, in its three ways.
compile_header() {
    local prefix standard
    printf '#include "highwater.h"\nvoid used(void);\nvoid used(void) {}\n' | tee "$built/alone.c" >"$built/alone.cpp"
    for prefix in '' "$target-"; do
        for standard in c99 c11 c17; do compile_alone "${prefix}gcc" $standard c; done
        for standard in c++11 c++14 c++17 c++20; do compile_alone "${prefix}g++" $standard cpp; done
    done
    compile_alone $target-gcc c99 c -DHW_TRACKER_OFF
    compile_alone $target-gcc c99 c -DHW_TRACK_LIVE
    compile_alone $target-g++ c++11 cpp -DHW_TRACK_LIVE
    compile_alone $target-g++ c++20 cpp -DHW_TRACK_LIVE
    # As clang-cl reads it, where LLVM is at hand; with Windows' headers of MinGW.
    ! command -v clang >/dev/null || compile_alone clang c99 c --target=$target -DHW_TRACK_LIVE
}

compile_alone() {
    local compiler=$1 standard=$2 language=$3
    shift 3
    "$compiler" "$@" -std="$standard" "${warnings[@]}" -I. -fsyntax-only "$built/alone.$language"
}

# Programs of the tests: for this machine what runs everywhere, for Windows all of them.
build_here() {
    local options=("${warnings[@]}" -O2 -isystem tests/standins -I.)
    gcc -std=c99 "${options[@]}" -c tests/recipes.c -o "$built/recipes-c.o"
    gcc -std=c99 "${options[@]}" -c tests/live.c -o "$built/live.o"
    g++ -std=c++11 "${options[@]}" -c tests/recipes.cpp -o "$built/recipes-cpp.o"
    g++ -o "$built/recipes" "$built"/recipes-c.o "$built"/recipes-cpp.o "$built"/live.o
    g++ -std=c++17 "${options[@]}" -o "$built/game" ../assets/demo/tracker/game.cpp
    "$built/recipes"
    "$built/game" 2 10 0
}

# With _EVNT_SOURCE_ the functions of ETW are not imported: the stand-in has them.
build_for_windows() {
    local options=("${warnings[@]}" -O2 -isystem tests/standins -I. -D_EVNT_SOURCE_) name live
    for name in etw events threads bench recipes live; do
        $target-gcc -std=c99 "${options[@]}" -c tests/$name.c -o "$built/$name.o"
    done
    for name in adaptors recipes; do
        $target-g++ -std=c++17 "${options[@]}" -c tests/$name.cpp -o "$built/$name-cpp.o"
    done
    for name in threads bench; do
        $target-gcc -std=c99 "${options[@]}" -DHW_TRACK_LIVE -c tests/$name.c -o "$built/$name-live.o"
    done
    $target-g++ -static -o "$built/events.exe" "$built"/{events,adaptors-cpp,etw}.o
    $target-g++ -static -o "$built/recipes.exe" "$built"/{recipes,recipes-cpp,live,etw}.o
    for name in threads bench; do
        for live in '' -live; do $target-gcc -static -o "$built/$name$live.exe" "$built/$name$live.o" "$built/etw.o"; done
    done
    # Against ETW itself, as a program is that ships.
    $target-g++ -std=c++17 "${warnings[@]}" -O2 -static -I. -o "$built/game.exe" ../assets/demo/tracker/game.cpp
    $target-objdump -p "$built/game.exe" | grep -A20 -i 'DLL Name: ADVAPI32' | grep EventWrite >/dev/null ||
        fail "The sample does not import EventWrite"
}

run_under_wine() {
    local name
    for name in recipes threads threads-live bench bench-live; do
        run_wine "$built/$name.exe" || fail "$name: $(cat "$scratch/said")"
    done
    run_wine "$built/events.exe" "$built/story.txt" || fail "events: $(cat "$scratch/said")"
    run_wine "$built/game.exe" 2 10 0 || fail "game: $(cat "$scratch/said")"
    if [ "$1" = --write ]; then cp "$built/story.txt" tests/story.txt; fi
    cmp "$built/story.txt" tests/story.txt || fail "Other events than tests/story.txt has; scripts/tracker.sh --write writes it anew"
}

# A workspace of its own: what is built of it stays out of the program's.
crate() {
    local command=$1
    shift
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/tracker cargo "$command" --quiet --manifest-path rust/Cargo.toml "$@"
}

check_crate() {
    crate fmt --check
    local features
    for features in '' live; do
        crate clippy --locked --all-targets --features "$features" -- -D warnings
        crate test --locked --features "$features"
    done
    crate publish --locked --dry-run --allow-dirty
}

check_crate_under_wine() {
    use_windows_target
    local features
    for features in '' live; do
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine \
            crate test --locked --features "$features" --target "$windows_target" --tests --lib
    done
}

step "Tracker: the header" compile_header
step "Tracker: here" build_here
step "Tracker: the crate" check_crate
[ "${1:-}" != --no-wine ] || exit 0
step "Tracker: for Windows" build_for_windows
step "Tracker: Wine" start_wine
trap 'stop_wine; rm -rf "$built"' EXIT # start_wine has its own
step "Tracker: events under Wine" run_under_wine "${1:-}"
step "Tracker: the crate under Wine" check_crate_under_wine
