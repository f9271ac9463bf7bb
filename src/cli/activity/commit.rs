//! Committed memory by what it is for, as text.

use super::SHOWN;
use crate::cli::text::{self, Align, Table};
use crate::format::{self, plain};
use crate::query::{CommitEntry, MappedEntry, known_part};

/// The commit of each process: how much is known, and its parts.
pub(super) fn describe(entries: &[CommitEntry]) -> String {
    let lives = entries.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    let described = entries.iter().zip(text::process_names(lives)).take(SHOWN);
    let text: Vec<String> = described.map(|(entry, process)| describe_process(entry, &process)).collect();
    text.join("\n") + &text::more(entries.len().saturating_sub(SHOWN), " processes")
}

fn describe_process(entry: &CommitEntry, process: &str) -> String {
    let mut table = Table::new([("Bytes", Align::Right), ("Part", Align::Left), ("Name", Align::Left)]);
    for part in entry.parts.iter().take(SHOWN) {
        table.line(vec![format::bytes(part.bytes), part.part.replace('_', " "), part.name.clone()], Vec::new());
    }
    let more = text::more(entry.parts.len().saturating_sub(SHOWN), " parts");
    let mapped = entry.mapped.map(mapped).unwrap_or_default();
    format!("{} at {}. {}\n{}{more}{mapped}", plain(process), text::seconds(entry.at_s), known(entry), table.text())
}

/// Mapped views, which are no part.
fn mapped(MappedEntry { views, bytes }: MappedEntry) -> String {
    let (bytes, views) = (format::bytes(bytes), format::plural(views, "view"));
    format!(
        "Not in the total: {bytes} in {views} of mapped files and shared memory. Files are not committed, and shared memory is committed \
         once for all processes\n"
    )
}

/// How much of the commit charge is known.
fn known(entry: &CommitEntry) -> String {
    let bytes = format::bytes(entry.known_bytes);
    match entry.total_bytes {
        Some(total) if total >= entry.known_bytes => known_part(entry.known_bytes, total),
        // Samples are rare, and pages may be committed since the last.
        Some(total) => format!("Known: {bytes}; the commit charge was {} when Windows sampled it last", format::bytes(total)),
        None => format!("Known: {bytes}; the commit charge was not sampled"),
    }
}
