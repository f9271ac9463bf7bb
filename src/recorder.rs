//! `highwater-recorder.exe`: the part of recording that needs an administrator's rights, and
//! nothing else. The window starts it, Windows asks the user, and it ends with the recording.
//!
//! Whoever can put a library where a program with rights looks for one has these rights.
//! So libraries that are loaded while it runs come from the system's folder only: the first
//! statement says so. Those that it is linked to are looked for before that. Microsoft's linker
//! has them come from there, too (`build.rs`); the GNU linker cannot, so they are of the few
//! that Windows itself has in memory for all programs (KnownDLLs). `scripts/windows/checks.sh`
//! has the list, and no other may come to it.

#![cfg_attr(windows, windows_subsystem = "windows")] // nobody is to see it

use std::process::ExitCode;

#[cfg(windows)]
fn main() -> ExitCode {
    if highwater::platform::load_libraries_of_the_system_only().is_err() {
        return ExitCode::FAILURE;
    }
    std::panic::set_hook(Box::new(highwater::capture::windows::note_panic));
    highwater::capture::windows::serve(std::env::args_os().skip(1))
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "highwater-recorder: {}", highwater::capture::CaptureError::NotWindows);
    ExitCode::FAILURE
}
