//! `highwater-dev`: the instruments of the project as a program.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use highwater_dev::command::{CommandLine, run};

fn main() -> ExitCode {
    match run(&CommandLine::parse()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "highwater-dev: {failure}");
            ExitCode::from(if failure.is_refusal() { 2 } else { 1 })
        }
    }
}
