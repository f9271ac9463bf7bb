#!/usr/bin/env bash
# Asks two engines the same questions (scripts/fleet/*.sql) about the same tables, DuckDB and Spark (PySpark,
# local; needs Java 17), compares their answers and prints them. Both are installed outside the repository.
#
# Usage: scripts/fleet.sh [HIGHWATER [LAKE]]   (default: a debug version, and ten generated captures)
set -euo pipefail
cd "$(dirname "$0")/.."

highwater=${1:-}
if [ -z "$highwater" ]; then
    cargo build --quiet --features parquet
    highwater=${CARGO_TARGET_DIR:-target}/debug/highwater
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/highwater
for engine in duckdb==2.0.1 pyspark==4.3.0; do
    name=${engine%%==*}
    if ! "$cache/$name/bin/python" -c "import $name" 2>/dev/null; then
        mkdir -p "$cache"
        python3 -m venv "$cache/$name"
        "$cache/$name/bin/python" -m pip install --quiet "$engine"
    fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1
lake=${2:-$folder/lake}
[ -n "${2:-}" ] || "$cache/duckdb/bin/python" scripts/check_fleet.py make "$highwater" "$folder"
"$cache/duckdb/bin/python" scripts/fleet.py duckdb "$lake" > "$folder/duckdb.md"
"$cache/pyspark/bin/python" scripts/fleet.py spark "$lake" > "$folder/spark.md" 2> "$folder/spark.log" || {
    cat "$folder/spark.log" >&2
    exit 1
}
cat "$folder/spark.md"
diff "$folder/duckdb.md" "$folder/spark.md"
echo "DuckDB and Spark answer alike."
