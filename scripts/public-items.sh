#!/usr/bin/env bash
# Lists what each crate gives to others: its public types, functions and constants, as rustdoc knows them.
#
#   scripts/public-items.sh           the number of each crate
#   scripts/public-items.sh engine    the items of one crate
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
cd "$root"
RUSTDOCFLAGS="-Arustdoc::private_intra_doc_links -Arustdoc::broken_intra_doc_links" cargo doc --locked --quiet --workspace --no-deps --features "$release_features"
items() { sed 's/<li><a/\n&/g' "$1" | sed -n 's/^<li><a href="[^"]*">\([^<]*\)<.*/\1/p'; }
for page in "${CARGO_TARGET_DIR:-target}"/doc/highwater*/all.html; do
    name=$(basename "$(dirname "$page")")
    if [ -z "${1:-}" ]; then
        printf '%5d  %s\n' "$(items "$page" | wc -l)" "$name"
    elif [ "$name" = "highwater_$1" ]; then
        items "$page"
    fi
done
