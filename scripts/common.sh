# Shared by the scripts beside it: what a fresh Debian machine lacks, and a screen
# where there is none. Source it; it runs nothing by itself.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Runs one step of a script and tells how long it took, and how long its processors worked: on a machine that does
# something else as well, only the second can be compared.
step() {
    local name=$1 start=$SECONDS worked
    worked=$(processor_seconds)
    shift
    say "$name"
    "$@"
    printf -- '-- %s: %d s, %d s of processors\n' "$name" $((SECONDS - start)) $(($(processor_seconds) - worked))
}

# Seconds for which processors worked for the programs that this script started and that have ended.
processor_seconds() {
    local stat
    read -r stat <"/proc/$$/stat" 2>/dev/null || stat=") - - - - - - - - - - - - - - 0 0"
    # After the name, which may have blanks, the fields have fixed places: 14 and 15 of them are user and system time of children.
    awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' <<<"$stat"
}

# Runs a command as the user who may install packages.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "No sudo; run this as root: $*"
        sudo "$@"
    fi
}

# Installs those of the named Debian packages that are missing.
need_packages() {
    local missing=() package
    command -v dpkg-query >/dev/null || return 0 # not Debian: the user's own package manager is in charge
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "Installing ${missing[*]}"
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# Rust in the version that Cargo.toml asks for.
need_cargo() {
    local wanted have
    wanted=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' "$root/Cargo.toml")
    [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
    if ! command -v cargo >/dev/null; then
        apt-cache show rustup >/dev/null 2>&1 || fail "Rust $wanted is needed: install rustup (rustup.rs), then run this again"
        need_packages rustup
        rustup toolchain install --profile minimal -c clippy -c rustfmt stable
    fi
    have=$(cargo --version | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -n1)" = "$wanted" ] ||
        fail "Rust $wanted or newer is needed, this is $have: run rustup update"
}

# A program that adds a command to cargo, of this version, with these further words for its
# installation. It is built once, outside the repository.
need_cargo_tool() {
    local name=$1 version=$2 tools=${XDG_CACHE_HOME:-$HOME/.cache}/highwater/tools
    shift 2
    export PATH=$tools/bin:$PATH
    if command -v "$name" >/dev/null; then return 0; fi
    # Without optimisation: it builds in half the time and works in a few seconds all the same.
    say "Building $name (once)"
    CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --debug --root "$tools" --version "$version" "$@" "$name" || return 1
    rm -rf "$tools/build"
}

# What is built in beyond the defaults in releases; tests and lints take the same, so that
# nothing is built twice.
release_features=console

# The program that is looked at: the one that was named ($1), else the debug program that the tests
# build, too. In $highwater; in $instruments the program that writes generated traces.
need_highwater() {
    need_debug_program
    highwater=${1:-$debug_program}
}

# A Python of its own, outside the repository, in which $2 can be imported: the packages behind are tools of
# scripts only, no part of the program. In $python.
need_python() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/highwater/$1 import=$2
    shift 2
    python=$folder/bin/python
    "$python" -c "import $import" 2>/dev/null && return
    need_packages python3 python3-venv
    mkdir -p "${folder%/*}"
    python3 -m venv "$folder"
    "$python" -m pip install --quiet "$@"
}

# The debug program that the tests build, too, and the program that writes generated traces: $debug_program, $instruments.
need_debug_program() {
    need_cargo
    # As tests build them: by themselves they would be built from other features of their dependencies once more.
    cargo test --quiet --locked --no-run --workspace --features "$release_features" --test programs --test instruments \
        --manifest-path "$root/Cargo.toml"
    debug_program=${CARGO_TARGET_DIR:-$root/target}/debug/highwater
    instruments=$debug_program-dev
}

# An optimised program, and the one that writes generated traces: $program, $instruments.
need_release_program() {
    need_cargo
    cargo build --locked --release --package highwater --package highwater-dev --manifest-path "$root/Cargo.toml"
    program=${CARGO_TARGET_DIR:-$root/target}/release/highwater
    instruments=$program-dev
}

# Completions of shells and the manual's pages, as the program itself writes them, in folder $1.
# The other words start the program.
make_shell_files() {
    local folder=$1
    shift
    mkdir -p "$folder/completions"
    "$@" completions bash >"$folder/completions/highwater.bash"
    "$@" completions zsh >"$folder/completions/_highwater"
    "$@" completions fish >"$folder/completions/highwater.fish"
    "$@" completions powershell >"$folder/completions/highwater.ps1"
    (cd "$folder" && "$@" man --replace man)
}

# What the window needs at run time, and to be built. The .deb names the libraries, too (Cargo.toml).
window_packages=(gcc libc6-dev libgl1 libegl1 libgl1-mesa-dri libx11-6 libx11-xcb1 libxkbcommon0 libxkbcommon-x11-0
    libxcursor1 libxi6 libxrandr2)

# A screen without a monitor.
screen_packages=(xvfb xauth)

has_display() { [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]; }
