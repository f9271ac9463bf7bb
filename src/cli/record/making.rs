//! Making a trace at its place, and what is said of it.

use std::path::Path;

use crate::capture::{CaptureError, Summary};
use crate::cli::Failure;
use crate::cli::outputs::check_file_out;
use crate::format::{count, rough_bytes, were_lost};
use crate::paths::{self, Existing};

/// Makes a trace at its place. A trace that may replace another file is made under a temporary name first, because a
/// recording can still fail after a long time.
pub(super) fn in_place(
    out: &Path,
    existing: Existing,
    make: impl FnOnce(&Path) -> Result<Summary, CaptureError>,
) -> Result<Summary, Failure> {
    check_file_out(out, existing)?;
    if existing == Existing::Stays {
        return make(out).map_err(failure);
    }
    let spare = paths::spare(out);
    let summary = make(&spare).map_err(failure)?;
    let adopted = paths::adopt(&spare, out);
    adopted.map(|()| summary).map_err(|error| {
        let (out, spare) = (out.display(), spare.display());
        Failure::Failed(format!("{out} could not be replaced ({error}); the trace is {spare}"))
    })
}

/// Describes the result of a recording.
pub(super) fn told(out: &Path, summary: &Summary) -> String {
    let Summary { events, bytes, lost_events, lost_buffers, .. } = summary;
    let mut text = format!("{}: {} events, {}", out.display(), count(*events), rough_bytes(*bytes));
    if lost_events + lost_buffers > 0 {
        text += &format!("; {}", were_lost(*lost_events, *lost_buffers));
    }
    if let Some(reason) = &summary.names_missing {
        text += &format!("; names of installed manifests are missing: {reason}");
    }
    text
}

/// The failure of a recording.
pub(super) fn failure(error: CaptureError) -> Failure {
    match error {
        CaptureError::BadRequest(reason) => Failure::BadArguments(reason),
        other => Failure::Failed(other.to_string()),
    }
}
