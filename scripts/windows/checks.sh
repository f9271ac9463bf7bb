# What must hold of the Windows program. Source it after std.sh, wine.sh and package.sh.

# Not run under Wine, and why.
left_out=(
    "mutations: 20,000 damaged traces, the same code on every system"
    "bounds: what costs too much does so on every system"
    "query_costs: the same"
    "engine: answers to questions, the same code on every system; the unit tests of crates/engine, too"
    "ui: the window's parts without a window, the same code on every system; the part \"window\" looks at the real one"
    "symbol_damage: the same of symbol files"
    "symbol_https: Wine's own TLS gives up before it has seen the certificate"
    "window: drives the window under Xvfb itself; here the part \"window\" looks at it"
)

# Tests that are left out by a part of their names: of the order of events, of what loading forgets, of numbers in answers and of
# what documents show, which are the same on every system and take most of the time.
left_out_tests=(
    stretches:: merge:: copies:: stress::
    budget::a_cut_trace budget::a_part_of_a_trace budget::a_trace_that_forgets budget::memory_stays budget::the_estimate
    cut::real_traces hostile_names::a_part_that_was_cut_out check::numbers:: diff:: cli_functions:: responsible:: frames:: marks::
    documents:: schemas:: reference:: bisect:: lines:: ci_example::
)

# The test programs for Windows, as arguments for cargo.
choose_tests() {
    local file name
    test_programs=(--workspace --exclude highwater-engine --lib)
    for file in tests/*.rs tests/*/main.rs crates/*/tests/*.rs; do
        name=${file##*tests/}
        name=${name%.rs}
        name=${name%/main}
        printf '%s\n' "${left_out[@]}" | grep "^$name:" >/dev/null || test_programs+=(--test "$name")
    done
}

build_tests() {
    choose_tests
    windows_tests --no-run "${test_programs[@]}"
}

check_tests() {
    choose_tests
    printf 'Left out: %s\n' "${left_out[@]}" "property tests: one case each, the same code on every system"
    local log=$scratch/tests.log again
    echo "Left out by name: ${left_out_tests[*]}"
    run_tests "${test_programs[@]}" |& tee "$log" && return
    # Those that failed in a run in which Wine did have one more try.
    is_wines_fault "$log" || fail "Tests failed"
    # Cargo names them as `-p highwater --test programs`.
    mapfile -t again < <(grep -oP '^    `(-p \S+ )?\K--[^`]+' "$log" | sort -u | tr ' ' '\n')
    echo "Once more, since Wine failed: ${again[*]}"
    run_tests --workspace "${again[@]}"
}

# Property tests run once, to show that they can.
run_tests() { PROPTEST_CASES=1 windows_tests --no-fail-fast "$@" -- "${left_out_tests[@]/#/--skip=}"; }

# The files themselves: size, subsystems, imports, resources.
check_program() {
    local exe=$program_dir/highwater.exe com=$program_dir/highwater.com file words
    is_at_most "$exe" 35
    subsystem_is "$exe" 'Windows GUI'
    subsystem_is "$com" 'Windows CUI'
    for file in "$exe" "$com" "$program_dir/highwater-recorder.exe"; do
        ! x86_64-w64-mingw32-objdump -p "$file" | grep -iE 'DLL Name: (lib|mingw)' || fail "$file needs a library that Windows does not have"
        grep -q PerMonitorV2 "$file" || fail "$file has no manifest"
        grep -aq "$(printf 'P\0r\0o\0d\0u\0c\0t\0V\0e\0r\0s\0i\0o\0n' | tr '\0' '.')" "$file" || fail "$file has no version"
    done
    # Started through the console program: output, exit codes, and the same answers as here.
    words=$(run_wine "$com" --version | tr -d '\r') || true
    [ "$words" = "highwater $version" ] || fail "highwater.com hands on \"$words\"; it said: $(cat "$scratch/said")"
    local code=0
    run_wine "$com" report no-such-file.etl || code=$?
    [ "$code" -eq 1 ] || fail "highwater.com hands on no exit code ($code)"
    # Wine starts sessions and refuses their events: nothing is recorded, and that is said.
    code=0
    run_wine "$com" record --name nobody.exe -o nobody.etl || code=$?
    [ "$code" -eq 1 ] && [ ! -e nobody.etl ] && [ ! -e nobody.recording ] || fail "A refused recording does not end well ($code)"
    need_debug_program
    for words in "info --json" "report --json --by process,heap,stack,type,thread"; do
        # shellcheck disable=SC2086
        cmp <("$debug_program" $words assets/demo.etl) <(run_wine "$com" $words assets/demo.etl) || fail "highwater $words says something else on Windows"
    done
    check_recorder
    echo "Size, subsystems, imports, manifest, exit codes and answers are right"
}

# What the program that runs with an administrator's rights may be linked to. The loader looks for
# these before anything of ours runs, in the program's folder first, but for the libraries that
# Windows has in memory for all (KnownDLLs, with what those need themselves) and for the names
# that stand for parts of them (api-ms-win-…). Checked of the release's program: without optimisation those stand in it,
# too, that only the window's side of crates/capture calls.
recorder_libraries=(
    advapi32 kernel32 msvcrt ntdll user32 api-ms-win-core-synch-l1-2-0
    bcryptprimitives # of Rust's library: what combase, which is among them, needs itself
)

check_recorder() {
    local exe=$program_dir/highwater-recorder.exe library code
    is_at_most "$exe" 1.2 # 934,912 bytes when this was written
    subsystem_is "$exe" 'Windows GUI'
    [ "$windows_profile" = debug ] || for library in $(x86_64-w64-mingw32-objdump -p "$exe" | sed -n 's/.*DLL Name: \(.*\)\.dll$/\1/Ip' | tr '[:upper:]' '[:lower:]'); do
        [[ " ${recorder_libraries[*]} " == *" $library "* ]] || fail "highwater-recorder.exe is linked to $library.dll"
    done
    # Words that no window says end it at once, with libraries of the system only asked for first.
    code=0
    WINEDEBUG=+relay timeout 120 wine "$exe" --clean-up 2>"$scratch/recorder.relay" || code=$?
    [ "$code" -eq 2 ] || fail "highwater-recorder.exe obeys anybody ($code)"
    grep -q 'Call KERNEL32.SetDefaultDllDirectories(00000800)' "$scratch/recorder.relay" ||
        fail "highwater-recorder.exe loads libraries from where it stands"
    rm "$scratch/recorder.relay"
}

# Whether a file that is shipped has at most so many million bytes.
is_at_most() {
    [ "$windows_profile" = debug ] || [ "$(stat -c %s "$1")" -le "$(awk "BEGIN { print $2 * 1000000 }")" ] || fail "$1 is larger than $2 MB"
}

subsystem_is() {
    x86_64-w64-mingw32-objdump -p "$1" | grep "Subsystem.*$2" >/dev/null || fail "$1 is not of the subsystem $2"
}

# The window with the demo, and with a trace whose path is hard.
check_window() {
    need_windows_program
    export HIGHWATER_SETTINGS_DIR="$scratch/settings" HIGHWATER_UI_DUMP="$scratch/ui.txt"
    mkdir -p "$HIGHWATER_SETTINGS_DIR"
    show_window '^Demo trace' demo --theme dark --size 1264x744
    take_picture screenshots/windows.png
    end_program

    local trace="$drive_c/Spur größer als 漢字/my trace é.etl"
    mkdir -p "$(dirname "$trace")"
    cp assets/demo.etl "$trace"
    show_window '^my trace é.etl' --size 1264x744 "$trace"
    take_picture "$scratch/path.png"
    end_program
    unset HIGHWATER_SETTINGS_DIR HIGHWATER_UI_DUMP
}

# Starts the program with these words and waits until the demo's numbers are there.
show_window() {
    local title=$1 start
    shift
    rm -f "$HIGHWATER_UI_DUMP"
    start=$(date +%s%N)
    timeout 180 wine "$program_dir/highwater.exe" "$@" >/dev/null 2>&1 &
    disown
    wait_for_window highwater || fail "No window"
    echo "A window after $((($(date +%s%N) - start) / 1000000)) ms (Wine, software OpenGL)"
    wait_for_window "$title" || fail "No window with the title $title"
    wait_for 60 grep -q '19.50 MB' "$HIGHWATER_UI_DUMP" || fail "The window shows no numbers"
    sleep 2
}

# Each package alone: installed, used, upgraded, removed.
check_installers() {
    check_zip "$scratch/packages/highwater-$version-windows-x64.zip"
    write_checksums "$scratch/packages"
    scripts/winget.sh "$version" https://releases.invalid "$scratch/packages"
    check_installer user HKCU 'users/'"$(id -un)"'/AppData/Local/Programs/highwater'
    check_installer machine HKLM 'Program Files/highwater'
}

# What the zip has beyond the program, as the program wrote it under Wine.
check_zip() {
    local files=$scratch/zip folder=$scratch/zip/highwater-$version file
    python3 -m zipfile -e "$1" "$files"
    cmp "$folder/highwater.exe" "$program_dir/highwater.exe" || fail "The zip holds another program"
    for file in completions/{highwater.bash,_highwater,highwater.fish,highwater.ps1} man/highwater{,-report,-record}.1; do
        grep -E 'record|report' "$folder/$file" >/dev/null || fail "The zip has no $file, or it says nothing of commands"
        ! grep "$(printf '\r')" "$folder/$file" >/dev/null || fail "$file has ends of lines that other systems do not know"
    done
    rm -r "$files"
}

check_installer() {
    local scope=$1 hive=$2 folder=$drive_c/$3 before=$scratch/$1-before.txt type
    local later=${version%.*}.$((${version##*.} + 1)) old=$drive_c/old.msi new=$drive_c/new.msi classes="$2\\Software\\Classes"
    make_installer "$version" "$scope" "$old"
    make_installer "$later" "$scope" "$new"
    # A type that belongs to another program, as .etl does to WPA where that is installed.
    run_wine reg add "$classes\\.etl" /ve /d WPA.etl /f >/dev/null
    footprint >"$before"

    run_wine msiexec /i 'C:\old.msi' /qn
    cmp "$folder/highwater.exe" "$program_dir/highwater.exe" || fail "$scope: the program was not installed"
    cmp "$folder/highwater.com" "$program_dir/highwater.com" || fail "$scope: highwater.com was not installed"
    cmp "$folder/highwater-recorder.exe" "$program_dir/highwater-recorder.exe" || fail "$scope: the recorder was not installed"
    find "$drive_c" -name highwater.lnk | grep . >/dev/null || fail "$scope: no shortcut in the Start menu"
    registry "$classes\\.etl" | grep WPA.etl >/dev/null || fail "$scope: .etl was taken from its owner"
    for type in .etl .diagsession; do
        registry "$classes\\$type\\OpenWithProgids" | grep highwater.trace >/dev/null || fail "$scope: $type cannot be opened with highwater"
    done

    registry "$classes\\.highwater" | grep highwater.investigation >/dev/null || fail "$scope: .highwater cannot be opened with highwater"
    registry "$classes\\highwater.investigation\\shell\\open\\command" | grep highwater.exe >/dev/null || fail "$scope: investigations have no program"

    # The user makes it the default; a double click then opens the window on that file.
    run_wine reg add "$classes\\.etl" /ve /d highwater.trace /f >/dev/null
    if [ "$hive" = HKCU ]; then borrow_for_machine "$classes"; fi
    local trace="$scratch/double click é.etl"
    cp assets/demo.etl "$trace"
    timeout 180 wine start /unix "$trace" >/dev/null 2>&1 &
    disown
    wait_for_window '^double click é.etl' || fail "$scope: the file type does not start the program"
    wait_for 20 has_kept || fail "$scope: nobody remembers what was opened"
    end_program
    if [ "$hive" = HKCU ]; then return_to_user; fi

    run_wine msiexec /i 'C:\new.msi' /qn
    [ "$(installed | grep -c 'DisplayName.*highwater')" -eq 1 ] || fail "$scope: an upgrade does not leave one entry"
    installed | grep "DisplayVersion.*$later" >/dev/null || fail "$scope: the entry is not that of the newer version"
    registry "$classes\\.etl" | grep highwater.trace >/dev/null || fail "$scope: an upgrade loses the user's choice"

    run_wine msiexec /x 'C:\new.msi' /qn
    local kept
    kept=$(find "$drive_c/users" -name recent.toml)
    [ -n "$kept" ] || fail "$scope: what the user has kept is gone"
    rm -r "${kept%/highwater/*}/highwater"
    run_wine reg add "$classes\\.etl" /ve /d WPA.etl /f >/dev/null
    footprint | diff "$before" - || fail "$scope: removal leaves something"
    run_wine reg delete "$classes\\.etl" /f >/dev/null
    echo "$scope: installed, opened by its file type, upgraded to one entry, removed without a trace"
}

# Whether the program has written down what was open.
has_kept() { find "$drive_c/users" -name recent.toml | grep . >/dev/null; }

# What the system lists as installed programs (Wine lists all of them for the machine).
installed() {
    local hive
    for hive in HKCU HKLM; do
        registry "$hive\\Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall" /s || true
    done
}

# Wine 8 looks up types of files in the machine's classes only, Windows in the user's
# as well: for the double click the user's command stands in both.
borrow_for_machine() {
    local command
    command=$(registry "$1\\highwater.trace\\shell\\open\\command" /ve | sed -n 's/.*REG_SZ *//p')
    run_wine reg add 'HKLM\Software\Classes\.etl' /ve /d highwater.trace /f >/dev/null
    run_wine reg add 'HKLM\Software\Classes\highwater.trace\shell\open\command' /ve /d "$command" /f >/dev/null
}

return_to_user() {
    run_wine reg delete 'HKLM\Software\Classes\.etl' /f >/dev/null
    run_wine reg delete 'HKLM\Software\Classes\highwater.trace' /f >/dev/null
}

registry() { run_wine reg query "$@" | tr -d '\r'; }

# Whatever an installation could leave: files, and lines of the registry that speak of it.
footprint() {
    local hive
    find "$drive_c" -iname '*highwater*' | LC_ALL=C sort
    for hive in HKCU HKLM; do
        registry "$hive\\Software" /s | grep -i highwater || true
    done
}
