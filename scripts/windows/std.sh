# The Windows target on a Debian machine, by environment only: nothing of it is
# configured for those who build on Windows. Source it after ../common.sh.
#
# Debian packages Rust's library as source (rust-src), in backports for current
# versions. It is downloaded for exactly the version of the installed compiler, built
# once, and kept outside the repository.

windows_target=x86_64-pc-windows-gnu
windows_dir=${XDG_CACHE_HOME:-$HOME/.cache}/highwater/windows
windows_build_packages=(gcc-mingw-w64-x86-64-win32 xz-utils)

# Lets cargo build for $windows_target. A toolchain that has the target is used as it
# is; else std is built, which takes about a minute, once a compiler.
use_windows_target() {
    need_packages "${windows_build_packages[@]}"
    unset RUSTFLAGS # it would replace the flags of the target
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
    if [ ! -d "$(rustc --print target-libdir --target "$windows_target")" ]; then
        local sysroot=$windows_dir/sysroot version
        version=$(rustc -V)
        if [ "$(cat "$sysroot/version" 2>/dev/null)" != "$version" ]; then
            build_windows_std "$sysroot"
            printf '%s\n' "$version" >"$sysroot/version"
        fi
        export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS="--sysroot=$sysroot"
    fi
    # One target directory a target: nothing that is built for this machine is built again.
    windows_target_dir=${CARGO_TARGET_DIR:-$root/target}/windows
}

build_windows_std() {
    local sysroot=$1 work lib
    say "Building Rust's library for Windows"
    work=$windows_dir/build
    lib=$sysroot/lib/rustlib/$windows_target/lib
    rm -rf "$work" "$sysroot"
    mkdir -p "$work" "$lib"
    fetch_rust_library "$work"
    # The library is built as its own makers do: with its unstable features, its
    # dependencies marked as private, and bitcode for link-time optimisation.
    env -u RUSTFLAGS RUSTC_BOOTSTRAP=1 __CARGO_DEFAULT_LIB_METADATA=winstd CARGO_TARGET_DIR="$work/target" \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS='-Zforce-unstable-if-unmarked -Cembed-bitcode=yes -Cdebuginfo=0' \
        cargo build -q --release --manifest-path "$work/library/sysroot/Cargo.toml" \
        --features panic-unwind,backtrace --target "$windows_target"
    cp "$work/target/$windows_target/release/deps/"*.rlib "$lib/"
    rm -rf "$work"
}

# Puts the library's source, of the compiler's version, into $1/library.
fetch_rust_library() {
    local work=$1 version archive
    version=$(rustc -V | cut -d' ' -f2)
    [ -n "${HIGHWATER_RUST_LIBRARY:-}" ] || ! fetch_from_debian "$work" "$version" || return 0
    archive=${HIGHWATER_RUST_LIBRARY:-$root/../shared/windows/rust-library-$version.tar.xz}
    [ -f "$archive" ] ||
        fail "The source of Rust's library $version is neither in Debian's backports nor at $archive (HIGHWATER_RUST_LIBRARY)"
    tar -xJf "$archive" -C "$work"
}

# With lists of its own, so that the system's package sources stay as they are.
fetch_from_debian() {
    local work=$1 version=$2 mirror package
    command -v apt-get >/dev/null || return 1
    mirror=$(debian_mirror)
    if [ -z "$mirror" ]; then
        as_root apt-get -qq update || return 1
        mirror=$(debian_mirror)
    fi
    [ -n "$mirror" ] || return 1
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s trixie-backports main\n' "$mirror" >"$work/apt/sources.list"
    cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::Lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONF
    [ "$(id -u)" -ne 0 ] || printf 'APT::Sandbox::User "root";\n' >>"$work/apt/apt.conf"
    (
        export APT_CONFIG=$work/apt/apt.conf
        cd "$work"
        apt-get -qq update || exit 1
        package=$(apt-cache madison rust-src | awk -v wanted="$version+" 'index($3, wanted) == 1 { print $3; exit }')
        [ -n "$package" ] || exit 1
        apt-get -qq download "rust-src=$package" || exit 1
        dpkg-deb --fsys-tarfile rust-src_*.deb |
            tar -x --strip-components=4 --wildcards "./usr/src/rustc-$version/library*"
    )
}

# Where apt gets this system's own packages from.
debian_mirror() {
    local VERSION_CODENAME
    # shellcheck source=/dev/null
    VERSION_CODENAME=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" 'Component: main' |
        sort -u | head -n1
}
