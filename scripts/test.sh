#!/usr/bin/env bash
# Everything that must hold: formatting, lints, all tests (among them the real
# window under Xvfb), and the written traces as another program reads them.
# Installs what is missing on a fresh Debian machine.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_packages "${window_packages[@]}" "${screen_packages[@]}" xdotool imagemagick python3 python3-venv
need_cargo
cd "$root"

step() {
    local name=$1 start=$SECONDS
    shift
    say "$name"
    "$@"
    printf -- '-- %s: %d s\n' "$name" $((SECONDS - start))
}

step "Formatting" cargo fmt --all --check
step "Lints" cargo clippy --locked --all-targets -- -D warnings
step "Without the window" cargo check --locked --quiet --no-default-features --lib --bins
step "Tests" cargo test --locked
step "Written traces, read by another program" scripts/check-writer.sh
say "All is well"
