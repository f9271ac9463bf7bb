#!/usr/bin/env bash
# The Windows program on a Debian machine: built with the mingw linker, tested and
# looked at under Wine, packed, installed and removed. Installs what is missing.
#
#   scripts/windows.sh            everything
#   scripts/windows.sh tests      only the test suite (also: program, window, installer)
#   scripts/windows.sh build      only builds the tests, without Wine
#   scripts/windows.sh --debug    everything, with the program that the tests build: no second build of all
#                                 dependencies. Sizes, and what the recorder is linked to, are checked of the release's program alone.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$root/scripts/windows/std.sh"
. "$root/scripts/windows/wine.sh"
. "$root/scripts/windows/package.sh"
. "$root/scripts/windows/checks.sh"

[ "${1:-}" != --debug ] || { windows_profile=debug; shift; }
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(tests program window installer)

need_cargo
cd "$root"
step "Windows: Rust's library" use_windows_target
if [ "${parts[*]}" = build ]; then
    step "Windows: test programs" build_tests
    exit
fi
step "Windows: Wine" start_wine
for part in "${parts[@]}"; do
    case $part in
        tests) step "Windows: tests" check_tests ;;
        program)
            step "Windows: the program" build_windows_program
            step "Windows: the program's file" check_program
            ;;
        window) step "Windows: the window" check_window ;;
        installer)
            step "Windows: installers and zip" make_packages "$scratch/packages"
            step "Windows: installing" check_installers
            ;;
        *) fail "No such part: $part" ;;
    esac
done
