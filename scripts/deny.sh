#!/usr/bin/env bash
# Licences, second versions and sources of all dependencies, as deny.toml allows them.
# cargo-deny is built once, outside the repository; where it cannot be had, this says so.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
need_cargo_tool cargo-deny '^0.20' || { say "skipped: cargo-deny cannot be installed here"; exit 0; }
cd "$root"
cargo deny --locked --workspace check --hide-inclusion-graph licenses bans sources
