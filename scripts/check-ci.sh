#!/usr/bin/env bash
# Lets other programs judge what CI services are given: the YAML of packaging/ci is read, and the SARIF that `check` and
# `diff` write is held against the schema that it names.
#
# Usage: scripts/check-ci.sh [HIGHWATER]   (default: builds a debug version)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python ci 'yaml, jsonschema' 'pyyaml==6.*' 'jsonschema==4.*'
# The crate serde-sarif ships the schema; nothing of it is built.
crate=$(mktemp -d)
trap 'rm -rf "$crate"' EXIT
mkdir "$crate/src"
touch "$crate/src/lib.rs"
printf '[package]\nname = "schema"\nversion = "0.1.0"\n[dependencies]\nserde-sarif = "=0.8.0"\n' >"$crate/Cargo.toml"
manifest=$(cargo metadata --quiet --format-version 1 --manifest-path "$crate/Cargo.toml" |
    "$python" -c 'import json, sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "serde-sarif"))')
"$python" scripts/check_ci.py "$highwater" "${manifest%/*}/src/schema.json"
