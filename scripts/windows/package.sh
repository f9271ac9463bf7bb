# What is given to users: the program, two installers, a zip. Source it after std.sh and wine.sh.

package_packages=(wixl msitools zip python3)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n1)

# release, as it is shipped, or debug, as tests build it.
windows_profile=${windows_profile:-release}

# The program in $program_dir: highwater.exe, highwater.com, highwater-recorder.exe.
build_windows_program() {
    local built=$windows_target_dir/$windows_target/$windows_profile
    program_dir=$windows_target_dir/program-$windows_profile
    if [ "$windows_profile" = debug ]; then
        windows_tests --no-run --workspace --test programs --test recorder
    else
        cargo build --locked --release --features "$release_features" --bins --target "$windows_target" --target-dir "$windows_target_dir"
    fi
    mkdir -p "$program_dir"
    x86_64-w64-mingw32-strip -o "$program_dir/highwater.exe" "$built/highwater.exe"
    x86_64-w64-mingw32-strip -o "$program_dir/highwater.com" "$built/highwater-console.exe"
    x86_64-w64-mingw32-strip -o "$program_dir/highwater-recorder.exe" "$built/highwater-recorder.exe"
    ls -l "$program_dir"
}

# The same unless it is there.
need_windows_program() {
    [ -x "${program_dir:=$windows_target_dir/program-$windows_profile}/highwater-recorder.exe" ] || build_windows_program
}

# cargo test for Windows, with no debug information and nothing kept for a next compile: they would take longer to
# write than the tests to run, and ten times their room. Our own code is not optimised: what is run under Wine is short,
# and compiling it is most of the time.
windows_tests() {
    CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER='timeout 1800 wine' \
        cargo test --locked --features "$release_features" --target "$windows_target" --target-dir "$windows_target_dir" "$@"
}

# Both installers and the zip, in folder $1.
make_packages() {
    need_windows_program
    local out=$1
    need_packages "${package_packages[@]}"
    mkdir -p "$out"
    python3 scripts/licences.py "$windows_target" "$release_features" >"$program_dir/THIRD-PARTY.txt"
    cp LICENSE-MIT LICENSE-APACHE assets/highwater.ico "$program_dir/"
    make_installer "$version" user "$out/highwater-$version-user.msi"
    make_installer "$version" machine "$out/highwater-$version-machine.msi"
    make_zip "$out/highwater-$version-windows-x64.zip"
}

# The checksums of all that is in folder $1.
write_checksums() {
    (cd "$1" && find . -maxdepth 1 \( -name '*.msi' -o -name '*.zip' -o -name '*.deb' \) -printf '%P\n' | LC_ALL=C sort | xargs sha256sum -- >SHA256SUMS)
    cat "$1/SHA256SUMS"
}

# An installer of version $1 for $2 (user or machine). wixl wants the files below the current folder.
make_installer() {
    (cd "$program_dir" && wixl -a x64 -D "Version=$1" -D "Scope=$2" -o "$3" "$root/wix/main.wxs")
    msiinfo suminfo "$3" | grep 'Template: x64;1033' >/dev/null || fail "$3 is no package for 64-bit Windows"
}

# The zip has one folder, and the same bytes each time.
make_zip() {
    local name=highwater-$version files=$program_dir/../zip
    rm -rf "$files" "$1"
    mkdir -p "$files/$name/docs"
    cp "$program_dir"/{highwater.exe,highwater.com,highwater-recorder.exe,THIRD-PARTY.txt,LICENSE-MIT,LICENSE-APACHE} "$files/$name/"
    cp README.md CHANGELOG.md "$files/$name/"
    cp docs/{guide,glossary,cli,fleet,ci-example,own-allocators,findings,agents}.md "$files/$name/docs/"
    cp -r docs/schema "$files/$name/docs/"
    mkdir -p "$files/$name/packaging"
    cp -r packaging/ci "$files/$name/packaging/"
    make_shell_files "$files/$name" run_wine "$(realpath "$program_dir/highwater.com")"
    find "$files" -exec touch -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" {} +
    (cd "$files" && find "$name" -type f | LC_ALL=C sort | zip -q -X -9 "$1" -@)
    rm -rf "$files"
}
