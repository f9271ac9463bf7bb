//! Folded stacks, as scripts for flame graphs read them: one line per stack, with the process and then the frames
//! from the outermost on, joined by `;`, a space and the number. Source of the format: Brendan Gregg's description of
//! stackcollapse.
//!
//! Stacks whose number is 0 are left out; if all are, that is an error. *Impacting* is signed; scripts that accept no negative
//! numbers need another value.

use std::io::Write;

use super::stacks::{self, no_frames, weight};
use super::{ExportError, Exported, Value};
use highwater_engine::format::plain;

/// Writes folded stacks.
pub fn folded(exported: &Exported<'_>, value: Value, out: &mut dyn Write) -> Result<(), ExportError> {
    exported.only_layer(value)?;
    let mut is_empty = true;
    stacks::each(exported, value, |stack| {
        let weight = weight(&stack.numbers, value);
        if weight == 0 {
            return Ok(());
        }
        is_empty = false;
        write!(out, "{}", part(&stack.process_name))?;
        if stack.frames.is_empty() {
            write!(out, ";{}", no_frames(&stack))?;
        }
        for frame in &stack.frames {
            write!(out, ";{}", part(&frame.name().to_string()))?;
        }
        Ok(writeln!(out, " {weight}")?)
    })?;
    if is_empty { Err(ExportError::NoValue(value.name())) } else { Ok(()) }
}

/// A name without the separator, so that it stays one frame.
pub(super) fn part(name: &str) -> String {
    plain(name).replace(';', ":")
}
