# Windows programs on a Debian machine: Wine with a screen, a prefix of its own for
# each run, and nothing left behind. Source it after std.sh; start_wine begins.
#
# Every call of a program has a time limit: a call that Wine has not implemented
# starts its debugger, which waits for ever.

wine_packages=(wine wine64 "${screen_packages[@]}" "${window_packages[@]}" x11-utils xdotool imagemagick fonts-dejavu-core)

# The overrides: no offers to download, no entries in this machine's own menus.
# A screen, then a fresh prefix: a Wine server that was started without a screen has none later.
start_wine() {
    need_packages "${wine_packages[@]}" "${windows_build_packages[@]}"
    mkdir -p "$windows_dir"
    scratch=$(mktemp -d "$windows_dir/run.XXXXXX")
    trap stop_wine EXIT
    trap 'exit 130' INT TERM
    Xvfb -displayfd 3 -screen 0 1280x800x24 +extension GLX 3>"$scratch/display" 2>/dev/null &
    xvfb=$!
    wait_for 20 test -s "$scratch/display" || fail "Xvfb does not start"
    DISPLAY=:$(cat "$scratch/display")
    unset WAYLAND_DISPLAY
    export DISPLAY LIBGL_ALWAYS_SOFTWARE=1
    export WINEPREFIX=$scratch/prefix WINEARCH=win64 WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
    timeout 300 wine wineboot -i >/dev/null 2>&1 || fail "Wine cannot make its prefix"
    timeout 120 wineserver -w
    drive_c=$WINEPREFIX/drive_c
    add_process_prng
}

stop_wine() {
    timeout 30 wineserver -k 2>/dev/null || true
    [ -z "${xvfb:-}" ] || kill "$xvfb" 2>/dev/null || true
    rm -rf "$scratch" || true # Wine may still write, and this would be the exit code
}

# Rust's library wants ProcessPrng, which Wine 8 lacks. Never shipped.
add_process_prng() {
    cat >"$scratch/prng.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    while (size > 0) {
        ULONG part = size > 0x10000 ? 0x10000 : (ULONG)size;
        if (!SystemFunction036(data, part)) return FALSE;
        data += part;
        size -= part;
    }
    return TRUE;
}
C
    x86_64-w64-mingw32-gcc -shared -O1 -o "$drive_c/windows/system32/bcryptprimitives.dll" "$scratch/prng.c" -ladvapi32
}

# A Windows program, its output as bytes. One that fails for a fault of Wine's has one more try; what it said
# stands in $scratch/said, for whoever wonders about an answer.
run_wine() {
    local out code=0
    out=$(mktemp "$scratch/out.XXXXXX")
    timeout 120 wine "$@" >"$out" 2>"$out.said" || code=$?
    if [ "$code" -ne 0 ] && is_wines_fault "$out.said"; then
        code=0
        timeout 120 wine "$@" >"$out" 2>"$out.said" || code=$?
    fi
    cat "$out"
    mv "$out.said" "$scratch/said"
    rm "$out"
    return "$code"
}

# Wine loses a connection to its server now and then, or cannot start a process for an internal error
# (1359), and says so; tests print that error in another form than programs do.
is_wines_fault() { grep -E 'wine client error|code: 1359, .*Internal error|os error 1359' "$@"; } >&2

# Tries a command until it succeeds, so many seconds long.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

# Waits for a window with this title (a regular expression).
wait_for_window() { wait_for 60 xdotool search --onlyvisible --name "$1"; }

# Ends the program, and waits until its window is gone.
end_program() {
    timeout 30 wine taskkill /IM highwater.exe /F >/dev/null 2>&1 || true
    wait_for 20 no_window highwater || fail "The window does not close"
}
no_window() { ! xdotool search --onlyvisible --name "$1"; }

# A picture of the screen, which must show something.
take_picture() {
    import -window root -strip -define png:compression-level=9 "$1"
    local colours bytes
    colours=$(identify -format %k "$1")
    bytes=$(stat -c %s "$1")
    [ "$colours" -gt 50 ] || fail "$1 is blank: $colours colours"
    [ "$bytes" -le $((300 << 10)) ] || fail "$1 is too large: $bytes bytes"
    echo "$1: $colours colours, $bytes bytes"
}
