#!/usr/bin/env bash
# Lets an engine that has nothing to do with this program read the tables that we write: DuckDB (PyPI, Python)
# answers the questions of scripts/fleet/*.sql about ten generated captures, in which the answers are planted, and
# every total of the tables must equal `highwater report --json`. The engine is a tool of this script
# only: it is installed outside the repository and no part of the program.
#
# Usage: scripts/check-fleet.sh [HIGHWATER]   (default: builds a debug version)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python duckdb duckdb 'duckdb==2.0.1'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$python" scripts/check_fleet.py check "$highwater" "$instruments" "$folder"
