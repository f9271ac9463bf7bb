#!/usr/bin/env bash
# Lets the protocol's own client (PyPI's mcp, Python) talk to `highwater mcp`: with and without a handshake it lists the tools, calls each
# of them, and what it gets must be what the `command` in the answer prints. The client is a tool of this script only: installed
# outside the repository, no part of the program.
#
# Usage: scripts/check-mcp.sh [HIGHWATER]   (default: builds a debug version)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python mcp 'mcp, jsonschema' 'mcp==2.3.0' 'jsonschema==4.*'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp assets/demo.etl "$folder/it's a trace.etl"
PYTHONDONTWRITEBYTECODE=1 "$python" scripts/check_mcp.py "$highwater" "$folder"
