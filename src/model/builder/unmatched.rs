//! Frees of blocks that were not alive, and their stacks: what to look at when a
//! trace began too late or lost events.
//!
//! All are counted; so many are kept as have room ([`MOST`] in heaps of which
//! nothing is known, as many again for each shard of the matching).

use rustc_hash::FxHashMap;

use super::super::matching::Unmatched;
use super::super::stack::StackRef;
use super::{Builder, Origin};
use crate::model::trace::UnmatchedFree;
use crate::units::{Layer, Tid};

/// Kept with their details.
const MOST: usize = 1 << 14;

/// Frees that a stack may still find, at most; the older half of them goes at once.
const RECENT: usize = 1 << 12;

/// Stacks that came apart from their frees.
const MOST_STACKS: usize = 1 << 16;

/// What is known apart from the matching.
#[derive(Debug, Default)]
pub(super) struct UnmatchedFrees {
    /// Frees in heaps of which nothing is known.
    pub(super) count: u64,
    kept: Vec<(UnmatchedFree, StackRef)>,
    /// The latest frees without a stack: raw time, thread and place.
    recent: Vec<(i64, Tid, u32)>,
    /// Their stacks by place.
    stacks: FxHashMap<u32, StackRef>,
}

impl UnmatchedFrees {
    /// A free in a heap of which nothing is known.
    pub(super) fn add(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, stack: StackRef) {
        self.count += 1;
        if self.kept.len() < MOST {
            let free = UnmatchedFree { time: from.time, pid: from.pid, layer, handle, address, ..UnmatchedFree::default() };
            self.kept.push((free, stack));
        }
    }

    /// The stack of a free may come apart from it.
    #[inline(always)]
    pub(super) fn await_stack(&mut self, from: Origin, place: u32) {
        if self.recent.last().is_some_and(|(raw, ..)| *raw > from.raw) {
            return; // out of order: could not be found again
        }
        if self.recent.len() >= RECENT {
            self.recent.drain(..RECENT / 2);
        }
        self.recent.push((from.raw, from.tid, place));
    }

    /// The place of the free that a stack belongs to, if it is one's.
    pub(super) fn owner_of(&self, owner: i64, tid: Tid) -> Option<u32> {
        let first = self.recent.partition_point(|(raw, ..)| *raw < owner);
        let mut at_once = self.recent[first..].iter().take_while(|(raw, ..)| *raw == owner);
        let wants = |place: &u32| !self.stacks.contains_key(place);
        at_once.find(|(_, t, place)| *t == tid && wants(place)).map(|(.., place)| *place)
    }

    /// All stacks.
    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.kept.iter_mut().map(|(_, stack)| stack).chain(self.stacks.values_mut())
    }

    pub(super) fn give_stack(&mut self, place: u32, stack: StackRef) {
        if self.stacks.len() < MOST_STACKS {
            self.stacks.insert(place, stack);
        }
    }
}

impl Builder {
    /// Those that were kept here and by the matching, by time.
    pub(super) fn unmatched(&mut self, found: &[Unmatched]) -> Vec<UnmatchedFree> {
        let mut all = self.unmatched_frees.kept.clone();
        for found in found {
            let heap = &self.heaps.list[found.heap.0 as usize];
            let late = self.unmatched_frees.stacks.get(&found.place).copied();
            let free = UnmatchedFree {
                time: found.time,
                pid: self.processes.list[heap.process.0 as usize].pid,
                layer: heap.layer,
                handle: heap.handle,
                address: found.address,
                heap: Some(found.heap),
                ..UnmatchedFree::default()
            };
            all.push((free, late.unwrap_or(found.stack)));
        }
        all.sort_by_key(|(free, _)| (free.time, free.address));
        all.into_iter().map(|(free, stack)| UnmatchedFree { stack: self.stacks.resolve(stack), ..free }).collect()
    }
}
