#!/usr/bin/env bash
# The layers of the window (src/app/mod.rs lists them): each folder uses only those before it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../src/app"

layers=(base state jobs services commands document widgets views workspace panels shell)
for folder in */; do
    [[ " ${layers[*]} " == *" ${folder%/} "* ]] || { echo "src/app/$folder is in no layer" >&2; exit 1; }
done
higher=()
is_broken=0
for ((at = ${#layers[@]} - 1; at >= 0; at--)); do
    layer=${layers[at]}
    files=("$layer")
    [ ! -f "$layer.rs" ] || files+=("$layer.rs")
    for above in "${higher[@]}"; do
        if grep -rnE "(crate::app|^use super)::($above\b|\{[^}]*\b$above\b)" "${files[@]}" | grep -v '^[^:]*:[0-9]*: *//'; then
            echo "src/app/$layer uses src/app/$above, a layer above it" >&2
            is_broken=1
        fi
    done
    higher+=("$layer")
done
exit $is_broken
