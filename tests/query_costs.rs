//! What questions cost where a capture makes them dear: deep stacks.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

#[path = "common/hostile_queries.rs"]
#[allow(dead_code, reason = "each test uses its own part")]
mod hostile_queries;

use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater::model::{Builder, Clock, InputState, Trace};
use highwater::query::{Cancel, Index, TreeRequest, peaks, totals, tree};
use hostile_queries::{START, Told, chain};

fn builder() -> Builder {
    Builder::new(Clock { frequency: 10_000_000, start_time: 0 }, START, (0, 0))
}

fn input(last: i64, complete: bool) -> InputState {
    InputState { times: Some((START, last)), complete, ..InputState::default() }
}

fn replay(records: impl Iterator<Item = Told>) -> Arc<Trace> {
    let (mut builder, mut last) = (builder(), START);
    for (record, frames) in records {
        builder.apply(&record, &frames);
        last = record.time;
    }
    Arc::new(builder.publish(input(last, true)))
}

/// How long the peaks of all open lines take.
fn time_of_peaks(index: &Index, lines: usize) -> Duration {
    let never = Cancel::default();
    let interval = index.trace().span;
    let totals = totals(index, interval, &never).unwrap();
    let tree = tree(index.trace(), &totals, &TreeRequest::default(), &never).unwrap();
    assert!(tree.len() >= lines, "{} lines are open", tree.len());
    let start = Instant::now();
    let tops = peaks(index, interval, &tree, &never).unwrap();
    let took = start.elapsed();
    assert!(tops.iter().all(|&top| top == tops[0] && top > 0), "they all hold the same");
    took
}

#[test]
fn peaks_of_a_chain_of_190_frames_cost_about_what_those_of_two_frames_cost() {
    let index = |depth| Index::for_one_question(replay(chain(depth, 60_000)), &Cancel::default()).unwrap();
    let [flat, deep] = [2, 190].map(index);
    // By turns, the best of some: the machine's noise meets both.
    let times = (0..7).map(|_| (time_of_peaks(&flat, 7), time_of_peaks(&deep, 195)));
    let best = times.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
    let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
    assert!(ratio <= 3.0, "{:?} and {:?}: {ratio:.1} times as long", best.0, best.1);
}
