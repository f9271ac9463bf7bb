#!/usr/bin/env bash
# The package for Debian and its relatives, by cargo-deb (Cargo.toml: package.metadata.deb).
#
#   scripts/deb.sh OUT                 the release's, into folder OUT
#   scripts/deb.sh --test [HIGHWATER]  one of the debug program (or this one), which costs no build:
#                                      packed, installed, tried and removed again
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -eq 1 ] || [ "${1:-} $#" = "--test 2" ] || fail "scripts/deb.sh OUT, or --test [HIGHWATER]"
built=${CARGO_TARGET_DIR:-$root/target}
need_cargo
cd "$root"
# Without its C library for xz: the command does as well, and it builds in half a minute.
need_packages gcc libc6-dev binutils xz-utils python3 desktop-file-utils
if ! need_cargo_tool cargo-deb '^3.8' --no-default-features; then
    [ "$1" = --test ] || fail "cargo-deb is needed and cannot be installed here"
    say "skipped: cargo-deb cannot be installed here"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packs program $1, stripped, into file $2. cargo-deb looks for all that is built in a target
# directory, which is made up for it.
make_deb() {
    local program=$work/release/highwater parts=$work/release/deb host
    host=$(rustc -vV | sed -n 's/^host: //p')
    mkdir -p "$parts"
    strip -o "$program" "$1"
    make_shell_files "$parts" "$program"
    gzip -9 -n "$parts"/man/*.1
    python3 scripts/licences.py "$host" "$release_features" >"$parts/THIRD-PARTY.txt"
    write_icon "$parts/highwater.png"
    CARGO_TARGET_DIR=$work cargo deb --quiet --locked --no-build --no-strip "${@:3}" --output "$2" >/dev/null
    rm -r "$work/release"
}

# The largest picture of the Windows icon, which is kept as PNG: the last of the file.
write_icon() {
    python3 - assets/highwater.ico "$1" <<'PYTHON'
import struct, sys
icon = open(sys.argv[1], "rb").read()
(count,) = struct.unpack_from("<H", icon, 4)
size, offset = struct.unpack_from("<II", icon, 6 + 16 * (count - 1) + 8)
open(sys.argv[2], "wb").write(icon[offset:offset + size])
PYTHON
}

# What an installation could leave.
footprint() {
    find /usr /etc /opt /var/lib/dpkg/info -xdev -iname '*highwater*' -not -path "$root/*" 2>/dev/null | LC_ALL=C sort
    dpkg-query -W -f='${Package} ${Status}\n' highwater 2>/dev/null || true
    grep -h highwater /usr/share/applications/mimeinfo.cache /usr/share/mime/globs2 2>/dev/null || true
}

# What must be in the package, wherever it is unpacked.
check_contents() {
    local files=$1 page command
    desktop-file-validate "$files/usr/share/applications/highwater.desktop"
    file_starts_with "$files/usr/share/icons/hicolor/256x256/apps/highwater.png" $'\x89PNG'
    for command in '' -report -symbols-lookup; do
        page=$files/usr/share/man/man1/highwater$command.1.gz
        gzip -cd "$page" | grep "^.TH highwater$command 1" >/dev/null || fail "No manual page highwater$command(1)"
    done
    bash -c '. "$1" && complete -p highwater' bash "$files/usr/share/bash-completion/completions/highwater" >/dev/null ||
        fail "bash knows no completions of highwater"
    grep '^#compdef highwater' "$files/usr/share/zsh/vendor-completions/_highwater" >/dev/null || fail "No completions for zsh"
    grep '^complete -c highwater' "$files/usr/share/fish/vendor_completions.d/highwater.fish" >/dev/null || fail "No completions for fish"
    grep 'clap' "$files/usr/share/doc/highwater/THIRD-PARTY.txt" >/dev/null || fail "The licences of others are not in the package"
    [ -s "$files/usr/share/doc/highwater/copyright" ] || fail "The package says nothing of its own licence"
}

file_starts_with() { [ "$(head -c ${#2} "$1" | LC_ALL=C tr -d '\0')" = "$2" ] || fail "$1 is something else"; }

# The installed program, as anybody starts it.
check_installed() {
    local version program=/usr/bin/highwater
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
    [ "$(cd / && "$program" --version)" = "highwater $version" ] || fail "The installed program does not start"
    (cd / && "$program" info demo: --json) | python3 -c 'import json, sys; assert json.load(sys.stdin)["schema"] == "highwater.info/1"'
    (cd / && "$program" report demo:) | grep MemoryTestApp.exe >/dev/null || fail "The installed program has no numbers"
    # The desktop knows how to open traces.
    grep -h 'application/x-etl=.*highwater.desktop' /usr/share/applications/mimeinfo.cache >/dev/null || fail "No program opens .etl"
    grep -h 'application/x-highwater=.*highwater.desktop' /usr/share/applications/mimeinfo.cache >/dev/null || fail "No program opens .highwater"
    if [ -e /usr/share/mime/globs2 ]; then
        grep 'application/x-etl:\*\.etl$' /usr/share/mime/globs2 >/dev/null || fail "Nobody knows what .etl is"
    fi
}

remove_deb() {
    as_root dpkg --purge highwater >/dev/null 2>&1 || true
    rm -rf "$work"
}

test_deb() {
    local package=$work/highwater.deb program=$1
    command -v dpkg >/dev/null || { say "skipped: no Debian"; return; }
    if dpkg-query -W highwater >/dev/null 2>&1 || [ -e /usr/bin/highwater ]; then
        say "skipped: highwater is installed on this machine, and stays as it is"
        return
    fi
    if [ -z "$program" ]; then
        need_debug_program
        program=$debug_program
    fi
    make_deb "$program" "$package" --fast
    dpkg-deb --extract "$package" "$work/files"
    check_contents "$work/files"
    rm -r "$work/files"

    footprint >"$work/before"
    trap remove_deb EXIT
    need_packages "${window_packages[@]}"
    as_root dpkg --install "$package" >"$work/log" 2>&1 || { cat "$work/log"; fail "The package cannot be installed"; }
    check_installed
    as_root dpkg --purge highwater >"$work/log" 2>&1 || { cat "$work/log"; fail "The package cannot be removed"; }
    footprint | diff "$work/before" - || fail "The package leaves something behind"
    echo "The package installs, runs, and goes without a trace"
}

if [ "$1" = --test ]; then
    test_deb "${2:-}"
else
    mkdir -p "$1"
    out=$(cd "$1" && pwd)
    need_packages "${window_packages[@]}"
    cargo build --locked --release --features "$release_features"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
    make_deb "$built/release/highwater" "$out/highwater_${version}-1_$(dpkg --print-architecture).deb"
fi
