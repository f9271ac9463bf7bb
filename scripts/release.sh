#!/usr/bin/env bash
# Makes what is given to users, in dist/ (or the folder named): the installers and
# the zip for Windows, the package for Debian, their checksums, and winget's manifest.
# ADDRESS is where on the web they will be.
#
#   scripts/release.sh [OUT [ADDRESS]]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$root/scripts/windows/std.sh"
. "$root/scripts/windows/wine.sh"
. "$root/scripts/windows/package.sh"
. "$root/scripts/windows/checks.sh"

mkdir -p "${1:-$root/dist}"
out=$(cd "${1:-$root/dist}" && pwd)
need_cargo
cd "$root"
step "Rust's library for Windows" use_windows_target
step "Wine" start_wine
step "The program" build_windows_program
step "The program's file" check_program
step "Windows packages" make_packages "$out"
step "Debian package" scripts/deb.sh "$out"
step "Checksums" write_checksums "$out"
step "winget's manifest" scripts/winget.sh "$version" "${2:-https://releases.invalid}" "$out"
