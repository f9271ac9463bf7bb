//! Texts of findings, and the reasons to doubt them.

use super::claim::Claim;
use super::habits::Habit;
use super::kind::FindingKind;
use super::question::Question;
use crate::format::{self, plain};
use crate::query::doubts::short;
use crate::query::{PAGE, SourceLine, known_part, layer_label};
use crate::units::{Layer, Ticks};

/// Bytes of addresses of a 64-bit process of Windows: no process has more memory at once.
const ADDRESS_SPACE: u64 = 1 << 47;

/// Describes a claim in one sentence with a number. `function` is the responsible caller, if there is one, and `source`
/// its line.
pub(super) fn sentence(question: &Question<'_>, claim: &Claim, function: Option<&str>, source: Option<&SourceLine>) -> String {
    let place = place(question, claim, function, source);
    let (bytes, count) = (format::bytes(claim.bytes), format::count(claim.count));
    let blocks = if claim.count == 1 { "block" } else { "blocks" };
    let lasted = short(question.seconds(claim.interval));
    let rate = || format::bytes(claim.rate.unwrap_or(0.0).max(0.0) as u64);
    let start = moment(question, claim.interval.from);
    let from = |function: &str| format!("{function}{}", line(source));
    let what = match claim.kind {
        FindingKind::Growth => format!("steady growth of about {}/s in {place}: {bytes} in {lasted}", rate()),
        FindingKind::Step if claim.is_fall => format!("step of \u{2212}{bytes} at {start} in {place}"),
        FindingKind::Step => format!("step of +{bytes} at {start} in {place}, not released"),
        FindingKind::Spikes => match (claim.repeats.unwrap_or(1), claim.period) {
            (n, Some(period)) => format!("{n} spikes of {bytes} in {place}, one every {}", short(period)),
            _ => format!("spike of {bytes} at {start} in {place}, for {lasted}"),
        },
        FindingKind::Peak => {
            let most = format::bytes(claim.part.unwrap_or(0));
            let at = function.map_or_else(|| "without a stack".to_owned(), |function| format!("from {}", from(function)));
            format!("peak of {bytes} at {start} in {}, {most} of it {at}", layer_label(claim.layer))
        }
        FindingKind::AtExit => format!("{bytes} in {count} {blocks} not freed at exit, from {place}"),
        FindingKind::Churn => format!("{bytes} in {count} {blocks} allocated and freed again in {place}"),
        FindingKind::UnexplainedCommit => {
            let function = function.map_or_else(String::new, |function| format!(", most of it from {}", from(function)));
            let owner = |(owner, bytes): &(String, u64)| format!("{} {}", format::bytes(*bytes), plain(owner));
            let owners: Vec<String> = claim.owners.iter().map(owner).collect();
            let owners = if owners.is_empty() { String::new() } else { format!(" ({})", owners.join(", ")) };
            let charge = claim.charge.map_or_else(String::new, |(known, charge)| format!(". {}", known_part(known, charge)));
            format!("{bytes} of committed memory outside of all heaps and trackers{owners}{function}{charge}")
        }
        FindingKind::Fragmentation => {
            let all = format::bytes(claim.count.saturating_mul(PAGE));
            let live = format::bytes(claim.part.unwrap_or(0));
            let pinned = claim.repeats.unwrap_or(0);
            let keeps = match function.filter(|_| pinned > 0) {
                Some(function) => format!("; blocks from {} alone keep {}", from(function), format::count(pinned)),
                None => String::new(),
            };
            format!("{count} nearly empty pages in {}: {live} of blocks keep {all} in use{keeps}", heap(question, claim))
        }
        FindingKind::Habit => habit(claim, &place),
    };
    format!("{}: {what}", question.index.trace().process_name(claim.process))
}

/// Describes a habit, and the change that would end it.
fn habit(claim: &Claim, place: &str) -> String {
    let (bytes, count) = (format::bytes(claim.bytes), format::count(claim.count));
    match claim.habit {
        Some(Habit::Temporary) => {
            format!(
                "{count} blocks ({bytes}) in {place}, are freed before their thread allocates again; one buffer that is kept would do"
            )
        }
        Some(Habit::Growing) => {
            format!(
                "{count} blocks ({bytes}) in {place}, are replaced by a larger one each time a container grows; reserving its size would \
                 avoid them"
            )
        }
        Some(Habit::CrossThread) => {
            let share = 100.0 * claim.count as f64 / claim.part.unwrap_or(0).max(1) as f64;
            format!(
                "{count} blocks ({bytes}, {share:.0} % of its blocks) in {place}, are freed by another thread than allocated them; a \
                 queue that hands them back, or one pool for each thread, would avoid that"
            )
        }
        Some(Habit::EqualBlocks) => {
            let size = format::count(claim.part.unwrap_or(0));
            format!("{count} blocks of {size} bytes each in {place}; an array or a pool of them would take {bytes} less")
        }
        Some(Habit::RoundedUp) | None => {
            format!("{count} blocks just above a power of two in {place}; with that power as size they would take {bytes} less")
        }
    }
}

/// Formats the source line that follows a function name.
fn line(source: Option<&SourceLine>) -> String {
    source.map_or_else(String::new, |line| format!(" ({})", line.short()))
}

/// Formats function, line and heap.
fn place(question: &Question<'_>, claim: &Claim, function: Option<&str>, source: Option<&SourceLine>) -> String {
    let heap = heap(question, claim);
    match function {
        // The module is shown in the stack.
        Some(function) => {
            let name = function.split_once('!').map_or(function, |(_, name)| name);
            format!("{}{}, {heap}", if name.starts_with("+0x") { function } else { name }, line(source))
        }
        None => heap,
    }
}

/// Formats the heap.
fn heap(question: &Question<'_>, claim: &Claim) -> String {
    let heap = question.index.trace().heap(claim.heap);
    match heap.key() {
        None => "commit".to_owned(),
        Some(key) if heap.layer == Layer::Heap => format!("heap {key}"),
        Some(key) => key,
    }
}

/// Returns the reasons to doubt a claim.
pub(super) fn doubts(question: &Question<'_>, claim: &Claim) -> Vec<String> {
    let trace = question.index.trace();
    let mut doubts = crate::query::doubts(trace, claim.interval.to);
    let process = trace.process(claim.process);
    if process.start.is_none() {
        doubts.push("The process ran before the trace began: blocks allocated before that are not known".to_owned());
    }
    if is_implausible(claim.kind, claim.bytes, claim.count) {
        doubts.push("No process has so much memory: a damaged event gives an impossible size".to_owned());
    }
    if claim.kind == FindingKind::UnexplainedCommit {
        doubts.push(
            "This is a lower bound: committed memory (VirtualAlloc) that adjoins memory with blocks of a heap or tracker counts \
             as used by it"
                .to_owned(),
        );
    }
    doubts
}

/// Whether a number is larger than the address space of a process: its bytes at one moment, or those of each allocation if it
/// counts all in a stretch of time.
fn is_implausible(kind: FindingKind, bytes: u64, count: u64) -> bool {
    let at_once = match kind {
        FindingKind::Churn | FindingKind::Habit => bytes / count.max(1),
        _ => bytes,
    };
    at_once > ADDRESS_SPACE
}

fn moment(question: &Question<'_>, at: Ticks) -> String {
    short(question.index.trace().clock.seconds(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_an_address_space_at_once_is_implausible() {
        assert!(!is_implausible(FindingKind::Peak, ADDRESS_SPACE, 1));
        assert!(is_implausible(FindingKind::Peak, ADDRESS_SPACE + 1, 1000));
        assert!(!is_implausible(FindingKind::Churn, ADDRESS_SPACE * 3, 1000), "many small ones one after the other");
        assert!(is_implausible(FindingKind::Churn, u64::MAX, 2));
    }
}
