//! Page faults, and committed memory with its touched part, as text.

use super::SHOWN;
use crate::cli::text::{self, Align, Table};
use crate::format;
use crate::query::{CallerTouches, CommitTouches, FaultEntries, FaultEntry};

/// The page faults by process, the touched part of commit, and the callers that touched most pages first.
pub(super) fn describe(entries: &FaultEntries) -> String {
    let mut text = processes(&entries.processes);
    if entries.unknown > 0 {
        text += &format!("{} of threads whose process is not known\n", format::plural(entries.unknown, "fault"));
    }
    if let Some(commit) = entries.commit.as_deref().filter(|commit| !commit.is_empty()) {
        text += "\nCommitted in the trace and still at the end, by responsible caller\n";
        text += &committed(commit);
    }
    if !entries.first_touches.is_empty() {
        text += "\nFirst touches of committed memory, by responsible caller\n";
        text += &touches(&entries.first_touches);
    }
    text
}

fn processes(entries: &[FaultEntry]) -> String {
    let has_commit = entries.iter().any(|entry| entry.committed_bytes.is_some());
    let numbers = ["Hard", "Read", "Waited", "Demand-zero", "Copy-on-write", "Transition"];
    let of_commit = has_commit.then_some(["Committed", "Touched"]).into_iter().flatten();
    let right = numbers.into_iter().chain(of_commit).map(|name| (name, Align::Right));
    let mut table = Table::new(right.chain([("Process", Align::Left)]));
    let lives = entries.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    for (entry, process) in entries.iter().zip(text::process_names(lives)).take(SHOWN) {
        let mut cells = vec![
            format::count(entry.hard),
            format::bytes(entry.hard_bytes),
            text::seconds(entry.hard_wait_s),
            format::count(entry.demand_zero),
            format::count(entry.copy_on_write),
            format::count(entry.transition),
        ];
        if has_commit {
            cells.extend([entry.committed_bytes, entry.touched_bytes].map(|of| of.map(format::bytes).unwrap_or_default()));
        }
        cells.push(process);
        table.line(cells, Vec::new());
    }
    table.text() + &text::more(entries.len().saturating_sub(SHOWN), " processes")
}

fn committed(entries: &[CommitTouches]) -> String {
    let right = ["Committed", "Touched", "Untouched"].map(|name| (name, Align::Right));
    let mut table = Table::new(right.into_iter().chain(["Process", "Responsible caller"].map(|name| (name, Align::Left))));
    let lives = entries.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    for (entry, process) in entries.iter().zip(text::process_names(lives)).take(SHOWN) {
        let untouched = entry.committed_bytes.saturating_sub(entry.touched_bytes);
        let bytes = [entry.committed_bytes, entry.touched_bytes, untouched].map(format::bytes);
        table.line(bytes.into_iter().chain([process, entry.responsible.clone()]).collect(), Vec::new());
    }
    table.text() + &text::more(entries.len().saturating_sub(SHOWN), " callers")
}

fn touches(entries: &[CallerTouches]) -> String {
    let right = ["Pages", "Bytes"].map(|name| (name, Align::Right));
    let mut table = Table::new(right.into_iter().chain(["Process", "Responsible caller"].map(|name| (name, Align::Left))));
    let lives = entries.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    for (entry, process) in entries.iter().zip(text::process_names(lives)).take(SHOWN) {
        let cells = [format::count(entry.count), format::bytes(entry.bytes), process, entry.responsible.clone()];
        table.line(cells.into(), Vec::new());
    }
    table.text() + &text::more(entries.len().saturating_sub(SHOWN), " callers")
}
