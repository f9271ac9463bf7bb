//! Owners of reserved ranges: the NT heap, tracker or thread whose memory lies in a range.
//!
//! Cost: one parallel pass over the rows, with a search for each block that is not in the range of the block before it.
//! Nothing, if no range is known.

use std::sync::atomic::{AtomicU64, Ordering};

use super::ranges::RangeFinder;
use crate::model::{HeapId, ProcessId, Trace};
use crate::query::fold::Visit;
use crate::query::{Cancel, Cancelled};
use crate::units::{Layer, Ticks};

/// The owner of a reserved range. One of several is the least: an NT heap before a tracker, and of heaps and trackers the one
/// that the trace has first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum RangeOwner {
    /// An NT heap with a block that begins in it.
    Heap(HeapId),
    /// A tracker with a block that begins in it.
    Tracker(HeapId),
    /// A thread whose stack begins in it.
    Thread,
}

impl RangeOwner {
    /// A number that keeps the order.
    fn rank(self) -> u64 {
        match self {
            Self::Heap(heap) => heap.0.into(),
            Self::Tracker(heap) => TRACKERS | u64::from(heap.0),
            Self::Thread => THREADS,
        }
    }

    fn of_rank(rank: u64) -> Option<Self> {
        match rank {
            NOBODY => None,
            THREADS => Some(Self::Thread),
            rank if rank & TRACKERS != 0 => Some(Self::Tracker(HeapId(rank as u32))),
            rank => Some(Self::Heap(HeapId(rank as u32))),
        }
    }
}

const TRACKERS: u64 = 1 << 32;
const THREADS: u64 = 1 << 33;
const NOBODY: u64 = u64::MAX;

/// The reserved ranges of a trace and their owners. They do not depend on names, so that they hold for all queries of one
/// publication.
#[derive(Debug)]
pub struct RangeOwners {
    ranges: RangeFinder,
    ranks: Vec<AtomicU64>,
}

impl RangeOwners {
    /// Finds the owners of all ranges.
    pub fn of(trace: &Trace, cancel: &Cancel) -> Result<Self, Cancelled> {
        let ranges = RangeFinder::new(&trace.reservations);
        let ranks = (0..ranges.len()).map(|_| AtomicU64::new(NOBODY)).collect();
        let owners = Self { ranges, ranks };
        if owners.ranges.len() > 0 {
            owners.own_blocks(trace, cancel)?;
            for stack in trace.thread_stacks.iter() {
                if let Some(range) = owners.ranges.find(stack.process, stack.last, stack.at) {
                    owners.own(range, RangeOwner::Thread);
                }
            }
        }
        Ok(owners)
    }

    /// The owner of the range that has an address at a moment.
    pub(super) fn owner(&self, process: ProcessId, address: u64, at: Ticks) -> Option<RangeOwner> {
        let range = self.ranges.find(process, address, at)?;
        RangeOwner::of_rank(self.ranks[range as usize].load(Ordering::Relaxed))
    }

    fn own_blocks(&self, trace: &Trace, cancel: &Cancel) -> Result<(), Cancelled> {
        let rows = Visit { rows: &trace.rows, chosen: None };
        let nothing = || None;
        rows.fold(cancel, nothing, |latest: &mut Option<u32>, visited| {
            let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
            visited.each(|i| {
                let id = trace.site(sites[i]).heap;
                let heap = trace.heap(id);
                let owner = match heap.layer {
                    Layer::Heap => RangeOwner::Heap(id),
                    Layer::Tracker => RangeOwner::Tracker(id),
                    Layer::Commit => return,
                };
                let (address, birth) = (chunk.address(i), chunk.birth(i));
                let is_in = |range: &u32| self.ranges.has(*range, heap.process, address, birth);
                if latest.filter(is_in).is_none() {
                    *latest = self.ranges.find(heap.process, address, birth);
                }
                latest.iter().for_each(|range| self.own(*range, owner));
            });
        })?;
        Ok(())
    }

    fn own(&self, range: u32, owner: RangeOwner) {
        let (known, rank) = (&self.ranks[range as usize], owner.rank());
        if known.load(Ordering::Relaxed) > rank {
            known.fetch_min(rank, Ordering::Relaxed);
        }
    }
}
