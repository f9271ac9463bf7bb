//! JSON: the answer of `highwater report --json`, with the same names and numbers, written a group
//! at a time.

use std::cell::RefCell;
use std::io::Write;

use serde::Serialize;

use super::streamed::{Streamed, Take, write};
use super::{ExportError, Exported};
use crate::model::Quality;
use crate::query::{Group, each_group};

/// Field names are those of the machine interface.
#[derive(Serialize)]
struct Answer<Groups> {
    schema: &'static str,
    interval: Seconds,
    groups: Groups,
    quality: Quality,
}

#[derive(Serialize)]
struct Seconds {
    from_s: f64,
    to_s: f64,
}

/// Writes a report.
pub fn json(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let (trace, interval) = (exported.trace(), exported.interval());
    let interval = Seconds { from_s: trace.clock.seconds(interval.from), to_s: trace.clock.seconds(interval.to) };
    let stopped = RefCell::default();
    let Exported { index, names, request, mask, cancel } = exported;
    let groups = Streamed::new(&stopped, |take: Take<'_, Group>| each_group(index, request, mask, names, cancel, take));
    write(out, &Answer { schema: "highwater.report/1", interval, groups, quality: trace.quality }, &stopped)
}
