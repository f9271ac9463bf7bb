#!/usr/bin/env bash
# Asks two engines the same questions (scripts/fleet/*.sql) about the same tables, DuckDB and Spark (PySpark,
# local; needs Java 17), compares their answers and prints them. Both are installed outside the repository.
#
# Usage: scripts/fleet.sh [HIGHWATER [LAKE]]   (default: a debug version, and ten generated captures)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

need_highwater "${1:-}"
need_python duckdb duckdb 'duckdb==2.0.1'
duckdb=$python
need_python pyspark pyspark 'pyspark==4.3.0'
spark=$python

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1
lake=${2:-$folder/lake}
[ -n "${2:-}" ] || "$duckdb" scripts/check_fleet.py make "$highwater" "$instruments" "$folder"
"$duckdb" scripts/fleet.py duckdb "$lake" > "$folder/duckdb.md"
"$spark" scripts/fleet.py spark "$lake" > "$folder/spark.md" 2> "$folder/spark.log" || {
    cat "$folder/spark.log" >&2
    exit 1
}
cat "$folder/spark.md"
diff "$folder/duckdb.md" "$folder/spark.md"
echo "DuckDB and Spark answer alike."
