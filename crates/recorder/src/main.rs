//! `highwater-recorder.exe`: the part of recording that needs administrator rights, and nothing else. The window starts
//! it, Windows asks the user, and it ends with the recording. The work is in `capture::windows::serve`. This package
//! shares no dependency and no feature with the window beyond `capture` and what that needs itself.
//!
//! Whoever can place a library where an elevated program searches for one gains its rights. So libraries that are
//! loaded at run time come only from the system folder: the first statement ensures that. Libraries that the program is
//! linked to are searched before that. Microsoft's linker restricts them to the system folder, too (`build.rs`). The
//! GNU linker cannot, so there they are limited to some that Windows itself keeps in memory for all programs
//! (KnownDLLs). `scripts/windows/checks.sh` has the list; no other library may be added.

#![cfg_attr(windows, windows_subsystem = "windows")] // it has no visible window

use std::process::ExitCode;

#[cfg(windows)]
fn main() -> ExitCode {
    if highwater_files::platform::load_libraries_of_the_system_only().is_err() {
        return ExitCode::FAILURE;
    }
    std::panic::set_hook(Box::new(highwater_capture::windows::note_panic));
    highwater_capture::windows::serve(std::env::args_os().skip(1))
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "highwater-recorder: {}", highwater_capture::CaptureError::NotWindows);
    ExitCode::FAILURE
}
