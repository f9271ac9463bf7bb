//! What happens at one tick in several streams: a block that one of them frees and
//! another allocates was freed first; otherwise files and processors come in order.
//!
//! Cost: ties are small and common, and such blocks rare, so that one look at most of
//! them is enough. Circles of streams that wait for each other are cut.

use std::ops::{ControlFlow, Range};

use rustc_hash::FxHashMap;

use super::{CallStack, Merge};
use crate::events::{Event, Item};
use crate::units::Layer;

/// Ties larger than this are left in stream order.
const MAX_TIE: usize = 1 << 16;

impl Merge<'_> {
    /// Records of all streams at one time, frees of an address first.
    pub(super) fn run_tie<B>(
        &mut self,
        time: i64,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut ranges = std::mem::take(&mut self.tie);
        ranges.extend(self.heads.at(time).map(|index| (index, self.streams[index].tie_range(time))));
        if self.may_conflict(&ranges) {
            for (index, at) in self.tie_order(&ranges) {
                self.emit(index, at..at + 1, sink)?;
            }
        } else {
            for (index, range) in &ranges {
                self.emit(*index, range.clone(), sink)?;
            }
        }
        for (index, range) in ranges.drain(..) {
            self.streams[index].at = range.end;
            self.requeue(index);
        }
        self.tie = ranges;
        ControlFlow::Continue(())
    }

    /// Whether one stream of a tie may allocate what another frees. Ties are small
    /// and common, and such blocks rare, so this is worth its own look.
    fn may_conflict(&self, ranges: &[(usize, Range<usize>)]) -> bool {
        const SMALL: usize = 8;
        if ranges.iter().map(|(_, range)| range.len()).sum::<usize>() > SMALL {
            return true;
        }
        let events = |(index, range): &(usize, Range<usize>)| {
            let (index, range) = (*index, range.clone());
            range.map(move |at| (index, self.item(index, at)))
        };
        ranges.iter().flat_map(events).any(|(index, item)| {
            let Some(block) = allocated(item) else { return false };
            ranges.iter().flat_map(events).any(|(other, item)| other != index && freed(item) == Some(block))
        })
    }

    /// The order of records that have the same time in several streams.
    fn tie_order(&self, ranges: &[(usize, Range<usize>)]) -> Vec<(usize, usize)> {
        let total: usize = ranges.iter().map(|(_, r)| r.len()).sum();
        let mut order = Vec::with_capacity(total);
        let mut waiting = if total <= MAX_TIE { self.pending_frees(ranges) } else { FxHashMap::default() };
        if waiting.is_empty() {
            order.extend(ranges.iter().flat_map(|(index, range)| range.clone().map(|at| (*index, at))));
            return order;
        }
        let mut heads: Vec<(usize, Range<usize>)> = ranges.to_vec();
        while !heads.is_empty() {
            // A circle of streams that wait for each other is cut at the first.
            let next = heads.iter().position(|(index, range)| !self.must_wait(*index, range.start, &waiting)).unwrap_or(0);
            let (index, range) = &mut heads[next];
            let (index, at) = (*index, range.start);
            range.start += 1;
            if range.start == range.end {
                heads.remove(next);
            }
            if let Some(count) = freed(self.item(index, at)).and_then(|block| waiting.get_mut(&(block, index))) {
                *count -= 1;
            }
            order.push((index, at));
        }
        order
    }

    /// How many frees of each block each stream still has in a tie; empty if no
    /// other stream allocates any of them.
    fn pending_frees(&self, ranges: &[(usize, Range<usize>)]) -> FxHashMap<(Block, usize), usize> {
        let items = || ranges.iter().flat_map(|(index, range)| range.clone().map(|at| (*index, self.item(*index, at))));
        let mut frees: FxHashMap<(Block, usize), usize> = FxHashMap::default();
        for (index, item) in items() {
            if let Some(block) = freed(item) {
                *frees.entry((block, index)).or_default() += 1;
            }
        }
        let matters = !frees.is_empty()
            && items().any(|(index, item)| {
                allocated(item)
                    .is_some_and(|block| ranges.iter().any(|(other, _)| *other != index && frees.contains_key(&(block, *other))))
            });
        if matters { frees } else { FxHashMap::default() }
    }

    fn item(&self, index: usize, at: usize) -> Item<'_> {
        let batch = &self.streams[index].current;
        batch.item(&batch.entries[at])
    }

    fn must_wait(&self, index: usize, at: usize, waiting: &FxHashMap<(Block, usize), usize>) -> bool {
        let Some(block) = allocated(self.item(index, at)) else { return false };
        (0..self.streams.len()).any(|other| other != index && waiting.get(&(block, other)).is_some_and(|&n| n > 0))
    }
}

/// What makes two events speak of the same block: layer, heap and address.
type Block = (Layer, u64, u64);

fn freed(item: Item<'_>) -> Option<Block> {
    if let Some(block) = item.block() {
        return block.size.is_none().then_some((block.layer, block.heap, block.address));
    }
    match item.record().event {
        Event::Realloc { layer, heap, old, .. } => Some((layer, heap, old)),
        Event::VirtualFree(range) => Some((Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}

fn allocated(item: Item<'_>) -> Option<Block> {
    if let Some(block) = item.block() {
        return block.size.map(|_| (block.layer, block.heap, block.address));
    }
    match item.record().event {
        Event::Realloc { layer, heap, new, .. } => Some((layer, heap, new)),
        Event::VirtualAlloc(range) => Some((Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}
