#!/usr/bin/env bash
# Makes what is given to users, in dist/ (or the folder named): the installers and
# the zip for Windows, with their checksums.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$root/scripts/windows/std.sh"
. "$root/scripts/windows/package.sh"

mkdir -p "${1:-$root/dist}"
out=$(cd "${1:-$root/dist}" && pwd)
need_cargo
cd "$root"
step "Rust's library for Windows" use_windows_target
step "The program" build_windows_program
step "Packages" make_packages "$out"
