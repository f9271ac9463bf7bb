//! Commit by what it is for, in the form of the machine interface.

use std::cmp::Reverse;

use serde::Serialize;

use super::{CommitPart, CommitRequest, ProcessCommit, RangeOwners, commit_parts, has_commit};
use crate::model::{Process, Trace};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, Index};
use crate::units::Ticks;

/// Committed memory of a process at a moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct CommitEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub at_s: f64,
    /// The commit charge that the system sampled last.
    pub total_bytes: Option<u64>,
    /// Bytes of committed ranges: the sum of the parts.
    pub known_bytes: u64,
    pub parts: Vec<CommitPartEntry>,
    /// Views of files and of shared memory, which are in no part; absent if the trace has no event of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapped: Option<MappedEntry>,
}

/// Mapped views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct MappedEntry {
    pub views: u64,
    pub bytes: u64,
}

/// A part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct CommitPartEntry {
    pub part: &'static str,
    pub name: String,
    pub bytes: u64,
}

/// Returns the commit of processes with a name or id at a moment, those with most known bytes first; `None` if the trace has no
/// committed ranges.
pub fn commit_entries(
    index: &Index,
    names: &Names,
    at: Ticks,
    process: Option<&str>,
    cancel: &Cancel,
) -> Result<Option<Vec<CommitEntry>>, Cancelled> {
    let trace = index.trace();
    if !has_commit(trace) {
        return Ok(None);
    }
    let is_meant = |of: &Process| process.is_none_or(|wanted| of.is_called(wanted));
    let of_process: Vec<bool> = trace.processes.iter().map(|process| is_meant(process)).collect();
    let request = CommitRequest { moments: &[at], of_process: &of_process, joins_heaps: false, most: usize::MAX };
    let owners = RangeOwners::of(trace, cancel)?;
    let found = commit_parts(index, names, &owners, &request, cancel)?;
    let mut entries: Vec<CommitEntry> = found.into_iter().map(|found| entry(trace, found, at)).collect();
    // The order of processes with equal numbers is that in the trace.
    entries.sort_by_key(|entry| Reverse(entry.known_bytes));
    Ok(Some(entries))
}

fn entry(trace: &Trace, found: ProcessCommit, at: Ticks) -> CommitEntry {
    let process = trace.process(found.process);
    let part = |CommitPart { kind, name, bytes }: CommitPart| CommitPartEntry { part: kind.name(), name, bytes: bytes[0] };
    CommitEntry {
        process: process.label(),
        pid: process.pid.0,
        process_start_s: process.start.map(|start| trace.clock.seconds(start)),
        at_s: trace.clock.seconds(at),
        total_bytes: found.total[0],
        known_bytes: found.known[0],
        parts: found.parts.into_iter().map(part).collect(),
        mapped: found.mapped.map(|mapped| MappedEntry { views: mapped.count[0], bytes: mapped.bytes[0] }),
    }
}
