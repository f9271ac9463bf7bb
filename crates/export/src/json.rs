//! JSON: the answer of `highwater report --json`, with the same names and numbers, written group by group; and the
//! trace's marks, frames, processor samples, committed memory and page faults, if it has any.

use std::cell::RefCell;
use std::io::Write;

use serde::Serialize;

use super::streamed::{Streamed, Take, write};
use super::{ExportError, Exported};
use crate::model::Quality;
use crate::query::{
    ActivityEntries, ChainFrames, CommitEntry, FaultEntries, GpuEntry, Group, MarkEntry, PerFrame, ProcessorEntries,
    ReportFilter, ReportedEntry, commit_entries, each_group, fault_entries,
};
use crate::units::Layer;
use highwater_engine::json::is_zero;

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a, Groups> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a [String]>,
    interval: Seconds,
    groups: Groups,
    quality: Quality,
    doubts: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Option<Vec<MarkEntry>>,
    #[serde(skip_serializing_if = "is_zero")]
    marks_left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Vec<ChainFrames>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<ProcessorEntries>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_memory: Option<Vec<GpuEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Vec<ReportedEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<Vec<CommitEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<FaultEntries>,
}

/// A group, with its numbers per frame.
#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    group: Group,
    #[serde(flatten)]
    per_frame: Option<PerFrame>,
}

/// Listed frames per swap chain and layer, unless the request limits the number of groups.
pub(super) const WORST: usize = 10;

#[derive(Serialize)]
struct Seconds {
    from_s: f64,
    to_s: f64,
}

/// Whether a filter leaves the commit of a process whole.
fn shows_commit(filter: &ReportFilter) -> bool {
    filter.layer.is_none_or(|layer| layer == Layer::Commit) && filter.heap.is_none() && filter.sites.is_all()
}

/// Writes a report as one object.
pub fn json(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    report(exported, None, out)
}

/// Writes a report as lines: the object without its lists, then one for each of their entries.
pub fn ndjson(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    report(exported, Some(&["groups", "marks", "frames", "gpu_memory", "counters", "commit"]), out)
}

fn report(exported: &Exported<'_>, lists: Option<&[&str]>, out: &mut dyn Write) -> Result<(), ExportError> {
    let (trace, interval) = (exported.trace(), exported.interval());
    let interval = Seconds { from_s: trace.clock.seconds(interval.from), to_s: trace.clock.seconds(interval.to) };
    let stopped = RefCell::default();
    let Exported { index, names, request, mask, doubts, files, commit, faults, cancel } = exported;
    let files = files.as_deref();
    let process = request.filter.process.as_deref();
    let worst = (mask, request.top.unwrap_or(WORST));
    let ActivityEntries { marks, frames, processors, gpu_memory, counters, frame_counts } =
        ActivityEntries::of(index, request.interval, process, worst, cancel)?;
    let commit = match *commit && shows_commit(&request.filter) {
        true => commit_entries(&index.choosing(None), names, request.interval.to, process, cancel)?,
        false => None,
    };
    let faults = match *faults {
        true => fault_entries(&index.choosing(None), names, request.interval, process, cancel)?,
        false => None,
    };
    let groups = Streamed::new(&stopped, |take: Take<'_, Entry>| {
        each_group(index, request, mask, names, cancel, |group| {
            let per_frame = frame_counts.per_frame(group.pid, group.process_start_s, &group.numbers);
            take(Entry { group, per_frame })
        })
    });
    let marks_left_out = marks.as_ref().map_or(0, |marks| marks.left_out);
    let marks = marks.map(|marks| marks.list);
    let quality = trace.quality;
    let schema = "highwater.report/1";
    write(
        out,
        &Answer {
            schema,
            files,
            interval,
            groups,
            quality,
            doubts,
            marks,
            marks_left_out,
            frames,
            processors,
            gpu_memory,
            counters,
            commit,
            faults,
        },
        lists,
        &stopped,
    )
}
