#!/usr/bin/env bash
# Licences, second versions and sources of all dependencies, as deny.toml allows them.
# cargo-deny is built once, outside the repository; where it cannot be had, this says so.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
tools=${XDG_CACHE_HOME:-$HOME/.cache}/highwater/tools
export PATH=$tools/bin:$PATH
if ! command -v cargo-deny >/dev/null; then
    # Without optimisation: it builds in half the time and checks in a few seconds all the same.
    say "Building cargo-deny (once)"
    CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --debug --root "$tools" --version '^0.20' cargo-deny ||
        { say "skipped: cargo-deny cannot be installed here"; exit 0; }
    rm -rf "$tools/build"
fi
cd "$root"
cargo deny --locked check --hide-inclusion-graph licenses bans sources
