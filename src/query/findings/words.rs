//! Findings in a sentence, and what speaks against them.

use super::claim::Claim;
use super::{FindingKind, Question};
use crate::format;
use crate::query::doubts::short;
use crate::query::layer_label;
use crate::units::{Layer, Ticks};

/// One sentence with a number. `function` is the place, if there is one.
pub(super) fn sentence(question: &Question<'_>, claim: &Claim, function: Option<&str>) -> String {
    let place = place(question, claim, function);
    let (bytes, count) = (format::bytes(claim.bytes), format::count(claim.count));
    let blocks = if claim.count == 1 { "block" } else { "blocks" };
    let lasted = short(question.seconds(claim.interval));
    let rate = || format::bytes(claim.rate.unwrap_or(0.0).max(0.0) as u64);
    let start = moment(question, claim.interval.from);
    match claim.kind {
        FindingKind::Growth => format!("Steady growth of {}/s in {place}: {bytes} in {lasted}", rate()),
        FindingKind::Step if claim.is_fall => format!("Down by {bytes} at {start} and lasting, in {place}"),
        FindingKind::Step => format!("Up by {bytes} at {start} and lasting, in {place}"),
        FindingKind::Spikes => match (claim.repeats.unwrap_or(1), claim.period) {
            (n, Some(period)) => format!("{n} spikes of {bytes} in {place}, one every {}", short(period)),
            _ => format!("A spike of {bytes} at {start} in {place}, for {lasted}"),
        },
        FindingKind::Peak => {
            let most = format::bytes(claim.part.unwrap_or(0));
            let process = question.index.trace().process(claim.process).label();
            let at = function.map_or_else(|| "without a stack".to_owned(), |function| format!("from {function}"));
            format!("{process} was at its most at {start}: {bytes} in {}, {most} of it {at}", layer_label(claim.layer))
        }
        FindingKind::AtExit => format!("{bytes} in {count} {blocks} still there when the process ended, from {place}"),
        FindingKind::Churn => format!("{bytes} in {count} {blocks} allocated and freed again in {place}"),
        FindingKind::UnexplainedCommit => {
            let function = function.map_or_else(String::new, |function| format!(", most of it from {function}"));
            format!("{bytes} of commit hold no block of any heap or tracker{function}")
        }
    }
}

/// Heap and function.
fn place(question: &Question<'_>, claim: &Claim, function: Option<&str>) -> String {
    let heap = question.index.trace().heap(claim.heap);
    let heap = match heap.key() {
        None => "commit".to_owned(),
        Some(key) if heap.layer == Layer::Heap => format!("heap {key}"),
        Some(key) => key,
    };
    match function {
        // The module of a name stands in the stack.
        Some(function) => {
            let name = function.split_once('!').map_or(function, |(_, name)| name);
            format!("{heap} \u{b7} {}", if name.starts_with("+0x") { function } else { name })
        }
        None => heap,
    }
}

/// What speaks against it.
pub(super) fn doubts(question: &Question<'_>, claim: &Claim) -> Vec<String> {
    let trace = question.index.trace();
    let mut doubts = crate::query::doubts(trace, claim.interval.to);
    let process = trace.process(claim.process);
    if process.start.is_none() {
        doubts.push("The process ran before the trace began: blocks that it had then are not seen".to_owned());
    }
    if claim.kind == FindingKind::UnexplainedCommit {
        doubts.push("A lower bound: ranges beside those that hold blocks are taken for theirs".to_owned());
    }
    doubts
}

fn moment(question: &Question<'_>, at: Ticks) -> String {
    short(question.index.trace().clock.seconds(at))
}
