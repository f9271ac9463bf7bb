#!/usr/bin/env bash
# winget's manifest of a release: packaging/winget with the checksums of dist/SHA256SUMS and the
# product codes of the installers there, in dist/winget/. ADDRESS is the folder of the release on
# the web.
#
#   scripts/winget.sh VERSION [ADDRESS [DIST]]
#   scripts/winget.sh --check                   what is committed is well-formed and true
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 1 ] || fail "scripts/winget.sh VERSION [ADDRESS [DIST]], or --check"
need_packages python3 python3-yaml msitools
if [ "$1" = --check ]; then exec python3 "$root/scripts/winget.py" check; fi
dist=${3:-$root/dist}
exec python3 "$root/scripts/winget.py" fill "$1" "$dist" "${2:-https://releases.invalid}" "$dist/winget"
