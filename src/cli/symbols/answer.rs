//! Frames in the answers about addresses, in a PDB or in a trace.

use serde::Serialize;

use crate::format::plain;
use crate::symbols::Frame;

/// One frame of an answer.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) function: &'a str,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
}

/// Converts frames to those of an answer.
pub(super) fn functions<'a>(frames: Option<impl Iterator<Item = Frame<'a>>>) -> Vec<Function<'a>> {
    let function = |Frame { function, file, line }| Function { function, file, line };
    frames.into_iter().flatten().map(function).collect()
}

/// The frames as text, a line each.
pub(super) fn describe_frames(frames: &[Function<'_>]) -> String {
    if frames.is_empty() {
        return "    no name\n".to_owned();
    }
    let line = |Function { function, file, line }: &Function<'_>| match (file, line) {
        (Some(file), Some(line)) => format!("{function}  {file}:{line}"),
        (Some(file), None) => format!("{function}  {file}"),
        _ => (*function).to_owned(),
    };
    frames.iter().map(|frame| format!("    {}\n", plain(&line(frame)))).collect()
}
