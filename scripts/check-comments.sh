#!/usr/bin/env bash
# Fails if a doc comment begins with "What", "The same" or "See the module": its first line is to be a noun phrase or an
# imperative that is understood without what stands before it (CONTRIBUTING.md).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

found=$(find src crates -name '*.rs' -print0 | xargs -0 awk '
    FNR == 1 { before = "" }
    {
        kind = match($0, /^[ \t]*\/\/[\/!]/) ? substr($0, RSTART + RLENGTH - 1, 1) : ""
        if (kind != "" && kind != before && $0 ~ /^[ \t]*\/\/[\/!] ?(What|The same|See the module)([^A-Za-z]|$)/)
            print FILENAME ":" FNR ": " $0
        before = kind
    }')
[ -z "$found" ] || fail "These comments do not stand on their own:
$found"
