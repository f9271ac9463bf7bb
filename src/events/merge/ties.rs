//! What happens at one tick in several streams: a block that one of them frees and
//! another allocates was freed first; otherwise files and processors come in order.
//!
//! Cost: ties are small and common, and such blocks rare, so that one look at most of
//! them is enough; see [`Turns`] for the others.

use std::ops::{ControlFlow, Range};

use super::turns::{Block, Touched, Turns};
use super::{CallStack, Merge};
use crate::events::{Event, Item};
use crate::units::Layer;

/// Ties larger than this are left in stream order.
const MAX_TIE: usize = 1 << 16;

/// In ties up to this size all records are compared with each other.
const SMALL: usize = 8;

impl Merge<'_> {
    /// Records of all streams at one time, frees of an address first.
    pub(super) fn run_tie<B>(
        &mut self,
        time: i64,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut ranges = std::mem::take(&mut self.tie);
        ranges.extend(self.heads.at(time).map(|index| (index, self.streams[index].tie_range(time))));
        match self.turns(&ranges) {
            Some(turns) => {
                let mut left = ranges.clone();
                turns.run(|stream| {
                    let (index, range) = &mut left[stream];
                    range.start += 1;
                    self.emit(*index, range.start - 1..range.start, sink)
                })?;
            }
            None => ranges.iter().try_for_each(|(index, range)| self.emit(*index, range.clone(), sink))?,
        }
        for (index, range) in ranges.drain(..) {
            self.streams[index].at = range.end;
            self.requeue(index);
        }
        self.tie = ranges;
        ControlFlow::Continue(())
    }

    /// Whose turn it is where one stream allocates what another frees.
    fn turns(&self, ranges: &[(usize, Range<usize>)]) -> Option<Turns> {
        let total: usize = ranges.iter().map(|(_, range)| range.len()).sum();
        if total > MAX_TIE || (total <= SMALL && !self.has_contest(ranges)) {
            return None;
        }
        let lengths: Vec<usize> = ranges.iter().map(|(_, range)| range.len()).collect();
        let items = ranges.iter().flat_map(|(index, range)| range.clone().map(|at| self.item(*index, at)));
        Turns::new(&lengths, items.map(|item| Touched { freed: freed(item), allocated: allocated(item) }))
    }

    /// Whether one stream of a small tie allocates what another frees.
    fn has_contest(&self, ranges: &[(usize, Range<usize>)]) -> bool {
        let events = |(index, range): &(usize, Range<usize>)| {
            let (index, range) = (*index, range.clone());
            range.map(move |at| (index, self.item(index, at)))
        };
        ranges.iter().flat_map(events).any(|(index, item)| {
            let Some(block) = allocated(item) else { return false };
            ranges.iter().flat_map(events).any(|(other, item)| other != index && freed(item) == Some(block))
        })
    }

    fn item(&self, index: usize, at: usize) -> Item<'_> {
        let batch = &self.streams[index].current;
        batch.item(&batch.entries[at])
    }
}

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
