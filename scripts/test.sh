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
need_packages "${window_packages[@]}" "${screen_packages[@]}" xdotool imagemagick python3 python3-venv gcc-mingw-w64-x86-64-win32
need_cargo
cd "$root"

step "Formatting" cargo fmt --all --check
step "Comments" scripts/check-comments.sh
step "Layers of the window" scripts/check-layers.sh
step "Lints" cargo clippy --locked --workspace --all-targets --features "$release_features" -- -D warnings
step "Dependencies" scripts/deny.sh
step "Without the window" cargo check --locked --quiet --no-default-features --lib --bins
# What would be published builds from its own files and its own dependencies alone.
step "The crate that others use" cargo publish --dry-run --quiet --locked --allow-dirty --package highwater-etl
step "Tests" cargo test --locked --workspace --features "$release_features"
[ -n "${1:-}" ] || step "The header and crate for own allocators" scripts/tracker.sh --no-wine
step "Written traces, read by another program" scripts/check-writer.sh
step "Exports, opened by other programs" scripts/check-exports.sh
step "Many captures, asked by another engine" scripts/check-fleet.sh
step "The package for Debian" scripts/deb.sh --test
step "winget's manifest" scripts/winget.sh --check
if [ -n "${1:-}" ]; then
    step "The header and crate for own allocators, and under Wine" scripts/tracker.sh
    scripts/windows.sh --debug
fi
say "All is well ($((SECONDS / 60)) min)"
