#!/usr/bin/env bash
# Everything that must hold: formatting, lints, dependencies, all tests (among them
# the real window under Xvfb), and the written traces as another program reads them.
# Installs what is missing on a fresh Debian machine.
#
#   scripts/test.sh          for this machine
#   scripts/test.sh --all    and for Windows, under Wine (scripts/windows.sh)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
    '' | --all) ;;
    *) fail "scripts/test.sh [--all]" ;;
esac
need_packages "${window_packages[@]}" "${screen_packages[@]}" xdotool imagemagick python3 python3-venv gcc-mingw-w64-x86-64-win32 xz-utils
need_cargo
cd "$root"

# Builds the tests for Windows beside what is tested here, with what the processors have left: where a crate is compiled
# alone or a test waits, that is half of them.
build_for_windows() {
    windows_log=$(mktemp)
    # A process group of its own, so that all of it ends with this script.
    set -m
    nice -n 19 scripts/windows.sh build >"$windows_log" 2>&1 &
    windows_build=$!
    set +m
    # The group has ended where all went well, and a command that fails in a trap would be this script's exit code.
    trap 'kill -- -$windows_build 2>/dev/null || true; rm -f "$windows_log"' EXIT
    trap 'exit 130' INT TERM
}

end_build_for_windows() {
    local code=0
    wait "$windows_build" || code=$?
    cat "$windows_log"
    return "$code"
}

[ -z "${1:-}" ] || build_for_windows
step "Formatting" cargo fmt --all --check
step "Comments" scripts/check-comments.sh
step "Layers of the window" scripts/check-layers.sh
step "Lints" cargo clippy --locked --workspace --all-targets --features "$release_features" -- -D warnings
step "Dependencies" scripts/deny.sh
step "Without the window" cargo check --locked --quiet --no-default-features --lib --bins
# What would be published builds from its own files and its own dependencies alone.
step "The crate that others use" cargo publish --dry-run --quiet --locked --allow-dirty --package highwater-etl
step "Tests" cargo test --locked --workspace --no-fail-fast --features "$release_features"
[ -n "${1:-}" ] || step "The header and crate for own allocators" scripts/tracker.sh --no-wine
step "Written traces, read by another program" scripts/check-writer.sh
step "Exports, opened by other programs" scripts/check-exports.sh
step "What CI services are given, read by other programs" scripts/check-ci.sh
step "Many captures, asked by another engine" scripts/check-fleet.sh
step "Tools for agents, called by the protocol's own client" scripts/check-mcp.sh
step "The package for Debian" scripts/deb.sh --test
step "winget's manifest" scripts/winget.sh --check
step "Notes of a release" scripts/release-notes.sh --check
if [ -n "${1:-}" ]; then
    step "The header and crate for own allocators, and under Wine" scripts/tracker.sh
    step "The rest of the build for Windows" end_build_for_windows
    scripts/windows.sh --debug
fi
say "All is well ($((SECONDS / 60)) min)"
