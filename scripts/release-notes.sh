#!/usr/bin/env bash
# The notes of a release, in OUT/NOTES.md: what CHANGELOG.md says of the version, and how to check a download.
# Fails if the tag is not the version of Cargo.toml, or CHANGELOG.md has no such version.
#
#   scripts/release-notes.sh TAG [OUT]
#   scripts/release-notes.sh --check     what a release will need is there: parts of CHANGELOG.md, scripts of the workflow
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# What CHANGELOG.md says below the heading $1.
changes() {
    awk -v heading="## $1" '$0 == heading { found = 1; next } found && /^## / { exit } found' CHANGELOG.md
}

# The notes of version $1 from the changes on stdin.
notes() {
    sed -e '/./,$!d'
    cat <<END

### Check a download

The builds are not signed: Windows shows *Windows protected your PC*. Compare the checksum with \`SHA256SUMS\`
(\`Get-FileHash highwater-$1-user.msi\`, or \`sha256sum --check --ignore-missing SHA256SUMS\`), then choose *More info*
and *Run anyway*.
END
}

check() {
    [ -n "$(changes Unreleased)$(changes "$version")" ] || fail "CHANGELOG.md has no part for the next release"
    [ -z "$(changes 0.0.0-none)" ] || fail "A version that is not there has notes"
    [ "$(changes Unreleased | notes "$version" | head -n1)" ] || fail "The notes begin with an empty line"
    if ("$0" v0.0.0-none "$(mktemp -d)") 2>/dev/null; then fail "A wrong tag is taken"; fi
    local script
    while read -r script; do
        [ -x "$script" ] || fail "release.yml runs $script, which is no script"
    done < <(grep -o 'run: scripts/[a-z-]*\.sh' .github/workflows/release.yml | cut -d' ' -f2)
    say "A release has notes, and its workflow has scripts"
}

[ $# -ge 1 ] || fail "scripts/release-notes.sh TAG [OUT], or --check"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
if [ "$1" = --check ]; then
    check
    exit
fi
[ "$1" = "v$version" ] || fail "The tag $1 is not that of version $version (Cargo.toml): v$version"
[ -n "$(changes "$version")" ] || fail "CHANGELOG.md has no heading \"## $version\": rename \"## Unreleased\""
out=${2:-$root/dist}
mkdir -p "$out"
changes "$version" | notes "$version" >"$out/NOTES.md"
