//! Reasons to doubt the numbers of a trace: lost events, a cut, forgotten blocks, a partial capture, damaged or
//! incomplete files, a start in the middle. An empty list is a promise.
//!
//! Doubts that depend on names are in [`super::unnamed`].

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::Mask;
use crate::format;
use crate::model::{ProcessId, SiteId, Trace, UnmatchedFree};
use crate::problem::{Problem, ProblemKind};
use crate::units::{Layer, Ticks};

/// Largest number of files and kinds of damage that are listed individually.
const MOST_TOLD: usize = 8;

/// Largest number of processes that are named.
const MOST_NAMED: usize = 3;

/// Why sums can be too low and changes unknown.
const SATURATED: &str = "Sums exceed 64 bits: they stop at 2^64 \u{2212} 1, and changes that do not fit are unknown";

/// Returns a sentence for each reason why numbers up to `to` can be wrong, whatever the query.
pub fn doubts(trace: &Trace, to: Ticks) -> Vec<String> {
    let mut doubts = Vec::new();
    let moment = |at: Ticks| short(trace.clock.seconds(at));
    doubts.extend(losses(trace, to));
    if let Some(cut) = trace.cut {
        doubts.push(format!("Only the trace up to {} was read, as memory was used up", moment(cut.at)));
    }
    if let Some(since) = trace.forgotten {
        doubts.push(format!("Blocks freed before {} were dropped, as memory was used up", moment(since)));
    }
    if trace.quality.sums_saturate {
        doubts.push(SATURATED.to_owned());
    }
    if !trace.complete {
        doubts.push("The trace is still being loaded".to_owned());
    }
    if !trace.scope.is_all() {
        doubts.push("Only a part of the capture was read".to_owned());
    }
    doubts.extend(input_doubts(&trace.problems));
    doubts
}

/// Returns the doubts about numbers for the sites of a mask.
pub fn doubts_about(trace: &Trace, mask: &Mask, to: Ticks) -> Vec<String> {
    let mut all = doubts(trace, to);
    all.extend(started_in_the_middle(trace, mask));
    all
}

/// Describes lost events before `to`.
pub fn losses(trace: &Trace, to: Ticks) -> Option<String> {
    let until = trace.exact_until().filter(|&until| until < to)?;
    let quality = trace.quality;
    let lost = match (quality.events_lost, quality.buffers_lost) {
        (0, 0) => "Events were lost".to_owned(),
        (events, buffers) => format::were_lost(events, buffers),
    };
    Some(format!("{lost}: after {} sizes can be too high or too low", short(trace.clock.seconds(until))))
}

/// Returns a sentence for each file with problems, and each kind of problem in it.
pub fn input_doubts(problems: &[Problem]) -> Vec<String> {
    let mut told: Vec<(&Problem, u64)> = Vec::new();
    let mut others = 0;
    for problem in problems.iter().filter(|problem| is_doubt(problem.kind)) {
        let is_like = |(first, _): &(&Problem, u64)| (first.kind, &first.file) == (problem.kind, &problem.file);
        match told.iter().position(is_like) {
            Some(at) => told[at].1 += 1,
            None if told.len() < MOST_TOLD => told.push((problem, 1)),
            None => others += 1,
        }
    }
    let sentence = |(problem, count): (&Problem, u64)| {
        let more = match count - 1 {
            0 => String::new(),
            1 => " (and once more)".to_owned(),
            n => format!(" (and {} times more)", format::count(n)),
        };
        let Problem { kind, file, detail, .. } = problem;
        match kind {
            ProblemKind::UnreadableFile | ProblemKind::ClockMismatch => {
                format!("A part of the capture is missing: {}{more}", format::plain(detail))
            }
            _ => format!("{}: {}{more}", format::plain(file), format::plain(detail)),
        }
    };
    let mut all: Vec<String> = told.into_iter().map(sentence).collect();
    if others > 0 {
        all.push(format!("{} more problems with the files: see highwater info", format::count(others)));
    }
    all
}

/// Returns whether problems of this kind make numbers doubtful. Limits of this program that affect memory have a doubt
/// of their own, and a capture without memory events has no numbers.
pub fn is_doubt(kind: ProblemKind) -> bool {
    !matches!(kind, ProblemKind::NoMemoryEvents | ProblemKind::LimitReached)
}

/// Names processes that ran before the trace, whose earlier blocks are unknown. For commit, a rundown provides them.
fn started_in_the_middle(trace: &Trace, mask: &Mask) -> Option<String> {
    let has_rundown =
        LazyCell::new(|| trace.rows.chunks().any(|chunk| (0..chunk.len()).any(|at| chunk.birth(at) == Ticks::BEFORE_TRACE)));
    let is_early = |id: SiteId| {
        let heap = trace.heap(trace.site(id).heap);
        let is_early = !heap.is_created && trace.process(heap.process).start.is_none();
        (is_early && !(heap.layer == Layer::Commit && *has_rundown)).then_some(heap.process)
    };
    let sites = (0..trace.sites.len() as u32).map(SiteId).filter(|&id| mask.classes(id) != 0);
    let processes: BTreeSet<_> = sites.filter_map(is_early).collect();
    let names: Vec<String> = processes.iter().take(MOST_NAMED).map(|&id| format::plain(&trace.process(id).label())).collect();
    let names = match processes.len() - names.len() {
        _ if names.is_empty() => return None,
        0 => names.join(", "),
        1 => format!("{} and 1 more process", names.join(", ")),
        n => format!("{} and {n} more processes", names.join(", ")),
    };
    let freed = freed_early(trace, &processes).map_or_else(String::new, |freed| format!(" ({freed}: report --unmatched)"));
    Some(format!("{names} ran before the trace began: blocks allocated before that are not known{freed}"))
}

/// Says how many blocks and pages some processes freed whose allocation is not known, if they freed any.
fn freed_early(trace: &Trace, processes: &BTreeSet<ProcessId>) -> Option<String> {
    let (mut blocks, mut bytes) = (0, 0_u64);
    let is_theirs = |free: &&UnmatchedFree| trace.process_of_free(free).is_some_and(|process| processes.contains(&process));
    for free in trace.unmatched.iter().filter(is_theirs) {
        blocks += u64::from(free.size.is_none());
        bytes = bytes.saturating_add(free.size.unwrap_or(0));
    }
    let pages = (bytes > 0).then(|| format!("up to {} of pages", format::bytes(bytes)));
    match (blocks, pages) {
        (0, None) => None,
        (0, Some(pages)) => Some(format!("{pages} were freed")),
        (blocks, pages) => {
            let were = if blocks == 1 { "was" } else { "were" };
            let pages = pages.map_or_else(String::new, |pages| format!(", and {pages}"));
            Some(format!("{} of them {were} freed{pages}", format::count(blocks)))
        }
    }
}

/// Formats seconds with about three digits.
pub(super) fn short(seconds: f64) -> String {
    match seconds.abs() {
        s if s >= 100.0 => format!("{seconds:.0} s"),
        s if s >= 10.0 => format!("{seconds:.1} s"),
        s if s >= 1.0 => format!("{seconds:.2} s"),
        _ => format::duration(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: ProblemKind, file: &str, detail: &str) -> Problem {
        Problem { kind, file: file.to_owned(), offset: 0, detail: detail.to_owned() }
    }

    #[test]
    fn each_file_and_each_kind_of_damage_is_a_sentence_and_no_more_than_a_few() {
        let damaged = |n: usize| problem(ProblemKind::DamagedEvent, &format!("{n}.etl"), "an event is damaged");
        let told = input_doubts(&[damaged(0), damaged(1), damaged(0), damaged(0)]);
        assert_eq!(told, ["0.etl: an event is damaged (and 2 times more)", "1.etl: an event is damaged"]);
        let missing = problem(ProblemKind::UnreadableFile, "a.etl", "a.etl: there is no such file");
        assert_eq!(input_doubts(&[missing]), ["A part of the capture is missing: a.etl: there is no such file"]);
        let many: Vec<Problem> = (0..20).map(damaged).collect();
        let told = input_doubts(&many);
        assert_eq!(told.len(), MOST_TOLD + 1);
        assert!(told[MOST_TOLD].starts_with("12 more problems"), "{}", told[MOST_TOLD]);
    }

    #[test]
    fn what_does_not_touch_the_numbers_is_no_doubt() {
        let other = [ProblemKind::NoMemoryEvents, ProblemKind::LimitReached].map(|kind| problem(kind, "a.etl", "x"));
        assert!(input_doubts(&other).is_empty());
    }
}
