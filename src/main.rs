//! The program: the command line of the library, and the window if it is built in.

use std::process::ExitCode;

use highwater::load::Input;

fn main() -> ExitCode {
    highwater::cli::run(std::env::args_os(), open_window)
}

/// Opens the window; returns when it is closed.
fn open_window(_inputs: Vec<Input>) -> Result<(), String> {
    Err("built without the window; use highwater info or highwater report".to_owned())
}
