//! Decides whose turn it is among streams with records of the same time: that of the first stream whose
//! next record need not wait. An allocation waits as long as another stream has still to free its
//! block. If all streams wait (a circle), the first goes on all the same.
//!
//! Cost: a sort of the records that free or allocate; then the logarithm of the number of streams for
//! each change of the stream. A waiting stream is looked at again only when no other stream has still
//! to free its block.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::units::Layer;

/// Identity of a block: layer, heap and address.
pub(super) type Block = (Layer, u64, u64);

/// The block that a record frees, and the one that it allocates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Touched {
    pub(super) freed: Option<Block>,
    pub(super) allocated: Option<Block>,
}

/// Streams that have still to free a block that another one allocates.
#[derive(Clone, Debug, Default)]
struct Contest {
    holders: usize,
    /// The sum of their numbers; if one is left, its number.
    sum: usize,
    /// Streams whose next record waits, and some that went on meanwhile.
    waiting: Vec<usize>,
}

/// The contests in which one record takes part, by number.
#[derive(Clone, Copy, Debug)]
struct TieStep {
    /// Contest of the block if this is its stream's last free of it.
    releases: u32,
    /// Contest of the block that it allocates.
    wants: u32,
}

const NONE: u32 = u32::MAX;

/// Streams at one time, and the blocks that some free and others allocate.
#[derive(Debug)]
pub(super) struct Turns {
    /// All records, one stream behind the other.
    steps: Vec<TieStep>,
    contests: Vec<Contest>,
    /// Records of each stream that are left.
    left: Vec<Range<usize>>,
    /// The contest for whose end each stream waits.
    waits_for: Vec<u32>,
    /// Streams whose next record need not wait.
    ready: BinaryHeap<Reverse<usize>>,
}

impl Turns {
    /// For streams with these numbers of records; `records` come one stream behind the other. `None` if
    /// no stream allocates what another frees: then the streams go on in their order.
    pub(super) fn new(lengths: &[usize], records: impl Iterator<Item = Touched>) -> Option<Self> {
        let mut end = 0;
        let mut left = Vec::with_capacity(lengths.len());
        for length in lengths {
            left.push(end..end + length);
            end += length;
        }
        let mut turns = Self {
            steps: vec![TieStep { releases: NONE, wants: NONE }; end],
            contests: Vec::new(),
            waits_for: vec![NONE; left.len()],
            left,
            ready: BinaryHeap::new(),
        };
        turns.find_contests(records);
        (!turns.contests.is_empty()).then_some(turns)
    }

    fn find_contests(&mut self, records: impl Iterator<Item = Touched>) {
        // A record about a block: the block, the record's number, whether it frees the block.
        let mut touches: Vec<(Block, usize, bool)> = Vec::new();
        for (number, Touched { freed, allocated }) in records.enumerate() {
            touches.extend(freed.map(|block| (block, number, true)));
            touches.extend(allocated.map(|block| (block, number, false)));
        }
        touches.sort_unstable_by_key(|&((layer, heap, address), number, _)| (address, heap, layer, number));
        let stream_of = |number: usize| self.left.partition_point(|range| range.end <= number);
        for of_block in touches.chunk_by(|a, b| a.0 == b.0) {
            if of_block.iter().all(|&(_, _, frees)| frees == of_block[0].2) {
                continue;
            }
            // The last free of each stream; the records of a stream have consecutive numbers.
            let mut last_frees: Vec<(usize, usize)> = Vec::new();
            for &(_, number, _) in of_block.iter().filter(|touch| touch.2) {
                let stream = stream_of(number);
                match last_frees.last_mut() {
                    Some(last) if last.0 == stream => last.1 = number,
                    _ => last_frees.push((stream, number)),
                }
            }
            let wants = || of_block.iter().filter(|touch| !touch.2).map(|touch| touch.1);
            if last_frees.len() == 1 && wants().all(|number| stream_of(number) == last_frees[0].0) {
                continue;
            }
            let contest = self.contests.len() as u32;
            last_frees.iter().for_each(|&(_, number)| self.steps[number].releases = contest);
            wants().for_each(|number| self.steps[number].wants = contest);
            let sum = last_frees.iter().map(|(stream, _)| stream).sum();
            self.contests.push(Contest { holders: last_frees.len(), sum, waiting: Vec::new() });
        }
    }

    /// Gives the stream's number to `emit` for each record, in the order in which records go on.
    pub(super) fn run(mut self, mut emit: impl FnMut(usize)) {
        (0..self.left.len()).for_each(|stream| self.queue(stream));
        let mut first = 0;
        loop {
            let next = self.ready.pop().map(|Reverse(stream)| stream);
            // A circle of streams that wait for each other is cut at the first of them.
            let cut = || (first..self.left.len()).find(|&stream| !self.left[stream].is_empty());
            let Some(stream) = next.or_else(cut) else { return };
            if next.is_none() {
                first = stream;
            }
            self.waits_for[stream] = NONE;
            loop {
                emit(stream);
                let TieStep { releases, .. } = self.steps[self.left[stream].start];
                self.left[stream].start += 1;
                self.release(releases, stream);
                // Streams before it come first.
                let is_overtaken = self.ready.peek().is_some_and(|&Reverse(other)| other < stream);
                if is_overtaken || self.left[stream].is_empty() || self.must_wait(stream) {
                    break;
                }
            }
            self.queue(stream);
        }
    }

    /// Puts a stream among those that are ready, or among those that wait.
    fn queue(&mut self, stream: usize) {
        if self.left[stream].is_empty() {
            return;
        }
        if self.must_wait(stream) {
            let contest = self.steps[self.left[stream].start].wants;
            self.waits_for[stream] = contest;
            self.contests[contest as usize].waiting.push(stream);
        } else {
            self.ready.push(Reverse(stream));
        }
    }

    /// Whether another stream has still to free the block that this one's next record allocates.
    fn must_wait(&self, stream: usize) -> bool {
        let wants = self.steps[self.left[stream].start].wants;
        self.contests.get(wants as usize).is_some_and(|contest| match contest.holders {
            0 => false,
            1 => contest.sum != stream,
            _ => true,
        })
    }

    /// Notes that a stream has freed a block for the last time.
    fn release(&mut self, contest: u32, stream: usize) {
        let Some(state) = self.contests.get_mut(contest as usize) else { return };
        state.holders -= 1;
        state.sum -= stream;
        match state.holders {
            0 => std::mem::take(&mut state.waiting).into_iter().for_each(|stream| self.wake(stream, contest)),
            // The last holder need not wait for itself.
            1 => {
                let last = state.sum;
                self.wake(last, contest);
            }
            _ => {}
        }
    }

    /// Makes a stream ready, if it waits for this contest.
    fn wake(&mut self, stream: usize, contest: u32) {
        if self.waits_for[stream] == contest {
            self.waits_for[stream] = NONE;
            self.ready.push(Reverse(stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(address: u64) -> Block {
        (Layer::Heap, 1, address)
    }

    /// The rule as it is written down, with a look at all streams for each record.
    fn naive(streams: &[Vec<Touched>]) -> Vec<usize> {
        let mut at = vec![0; streams.len()];
        let mut order = Vec::new();
        loop {
            let waits = |stream: usize| {
                let wanted = streams[stream][at[stream]].allocated;
                let frees = |other: usize| streams[other][at[other]..].iter().any(|touched| touched.freed == wanted);
                wanted.is_some() && (0..streams.len()).any(|other| other != stream && frees(other))
            };
            let left = || (0..streams.len()).filter(|&stream| at[stream] < streams[stream].len());
            let Some(next) = left().find(|&stream| !waits(stream)).or_else(|| left().next()) else { return order };
            at[next] += 1;
            order.push(next);
        }
    }

    fn turns(streams: &[Vec<Touched>]) -> Option<Vec<usize>> {
        let lengths: Vec<usize> = streams.iter().map(Vec::len).collect();
        let mut order = Vec::new();
        let turns = Turns::new(&lengths, streams.iter().flatten().copied())?;
        turns.run(|stream| order.push(stream));
        Some(order)
    }

    fn touched() -> impl Strategy<Value = Touched> {
        let of = || prop::option::of((0u64..4).prop_map(block));
        prop_oneof![
            of().prop_map(|freed| Touched { freed, allocated: None }),
            of().prop_map(|allocated| Touched { freed: None, allocated }),
            (of(), of()).prop_map(|(freed, allocated)| Touched { freed, allocated }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

        #[test]
        fn the_order_is_that_of_the_rule(streams in prop::collection::vec(prop::collection::vec(touched(), 0..7), 1..7)) {
            let expected = naive(&streams);
            match turns(&streams) {
                Some(order) => prop_assert_eq!(order, expected),
                None => prop_assert!(expected.is_sorted(), "there is something to wait for"),
            }
        }
    }
}
