//! Merges runs, each in order of time, into one list; equal times in the order of the runs.
//!
//! Cost: for up to [`FEW`] runs a look at the next entry of each for every entry; more are sorted by a
//! sort that finds the runs, at some instructions for every doubling of their number.

use std::ops::Range;

use super::run::{Place, Run};
use crate::events::Entry;

/// Up to this many runs are merged by a look at each of them.
const FEW: usize = 8;

/// Bits of a run's number, below those of a time, in one word: the least of several such words gives
/// the first entry, and of equal times that of the first run.
const RUN_BITS: u32 = 8;

/// A run that has ended.
const ENDED: u64 = u64::MAX;

/// Appends all entries of the runs to `order`, and to `ties` the ranges of entries that share their
/// time.
pub(super) fn put(runs: &[Run], order: &mut Vec<Place>, ties: &mut Vec<Range<usize>>) {
    let first = runs.iter().filter_map(|run| run.entries().first()).map(|entry| entry.time).min();
    let last = runs.iter().filter_map(|run| run.entries().last()).map(|entry| entry.time).max();
    let (Some(first), Some(last)) = (first, last) else { return };
    let fits = last.abs_diff(first) < ENDED >> RUN_BITS;
    match runs.len() {
        1 if fits => merged::<1>(runs, first, order, ties),
        2 if fits => merged::<2>(runs, first, order, ties),
        3..=4 if fits => merged::<4>(runs, first, order, ties),
        5..=FEW if fits => merged::<FEW>(runs, first, order, ties),
        _ => sorted(runs, order, ties),
    }
}

/// Merges at most N runs, always with the first entry of all.
#[inline(never)]
fn merged<const N: usize>(runs: &[Run], first: i64, order: &mut Vec<Place>, ties: &mut Vec<Range<usize>>) {
    let word = |entries: &[Entry], at: u32, run: usize| match entries.get(at as usize) {
        Some(entry) => (entry.time.wrapping_sub(first) as u64) << RUN_BITS | run as u64,
        None => ENDED,
    };
    let (mut words, mut at, mut entries): ([u64; N], [u32; N], [&[Entry]; N]) = ([ENDED; N], [0; N], [&[]; N]);
    for (i, run) in runs.iter().enumerate().take(N) {
        (at[i], entries[i]) = (run.range.start as u32, &run.batch.entries[..run.range.end]);
        words[i] = word(entries[i], at[i], i);
    }
    let mut before = ENDED;
    loop {
        let least = words.iter().fold(ENDED, |least, &word| least.min(word));
        let run = (least & ((1 << RUN_BITS) - 1)) as usize;
        if run >= N {
            return; // all have ended
        }
        if (least ^ before) >> RUN_BITS == 0 {
            tie(ties, order.len());
        }
        before = least;
        order.push(Place { time: first.wrapping_add((least >> RUN_BITS) as i64), run: run as u32, at: at[run] });
        at[run] += 1;
        words[run] = word(entries[run], at[run], run);
    }
}

/// Notes that the entry at `at` has the time of the one before it.
#[cold]
fn tie(ties: &mut Vec<Range<usize>>, at: usize) {
    match ties.last_mut().filter(|tie| tie.end == at) {
        Some(tie) => tie.end = at + 1,
        None => ties.push(at - 1..at + 1),
    }
}

#[inline(never)]
fn sorted(runs: &[Run], order: &mut Vec<Place>, ties: &mut Vec<Range<usize>>) {
    for (number, run) in (0..).zip(runs) {
        let entries = (run.range.start as u32..).zip(run.entries());
        order.extend(entries.map(|(at, entry)| Place { time: entry.time, run: number, at }));
    }
    order.sort_by_key(|place| place.time); // stable: equal times keep the order of their streams
    for (at, places) in (1..).zip(order.windows(2)) {
        if places[0].time == places[1].time {
            tie(ties, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::events::{Batch, BlockEvent};
    use crate::units::{Layer, Pid, Tid};

    fn run((times, skip): (Vec<i64>, usize)) -> Run {
        let mut batch = Batch::default();
        let block = |time| BlockEvent { time, pid: Pid(1), tid: Tid(1), layer: Layer::Heap, heap: 1, address: 1, size: None };
        times.iter().for_each(|&time| batch.push_block(&block(time)));
        batch.sort();
        let skip = skip.min(times.len());
        Run { file: 0, batch: Arc::new(batch), range: skip..times.len() }
    }

    proptest! {
        #[test]
        fn few_runs_are_merged_as_many_are_sorted(
            runs in prop::collection::vec((prop::collection::vec(prop_oneof![0i64..30, Just(i64::MAX), Just(i64::MIN)], 0..40), 0usize..4), 0..10),
        ) {
            let runs: Vec<Run> = runs.into_iter().map(run).collect();
            let (mut one, mut ties) = (Vec::new(), Vec::new());
            put(&runs, &mut one, &mut ties);
            let (mut other, mut expected) = (Vec::new(), Vec::new());
            sorted(&runs, &mut other, &mut expected);
            prop_assert_eq!((&one, &ties), (&other, &expected));
            let groups: Vec<usize> = other.chunk_by(|a, b| a.time == b.time).map(<[Place]>::len).filter(|&len| len > 1).collect();
            prop_assert_eq!(ties.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(), groups);
        }
    }
}
