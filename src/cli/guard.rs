//! A guard around commands: their inputs stay as they are, and a panic ends in an error.

use super::failure::Failure;
use crate::load::{Input, reading};
use crate::panics;

/// Runs a command, whose inputs are protected from being overwritten. A panic ends in a one-line error, too.
pub(super) fn guarded(inputs: &[Input], run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    panics::install();
    let read = reading(inputs);
    read.look();
    panics::catch(run).unwrap_or_else(|caught| {
        let files = inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
        let (on, with) = if inputs.is_empty() { (String::new(), "") } else { (format!(" on {files}"), " with the file") };
        Err(Failure::Failed(format!("an internal error stopped the work{on} ({caught}); please report it{with}")))
    })
}
