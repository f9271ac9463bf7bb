//! Frees of blocks that were not alive, and their stacks: what to look at when a
//! trace began too late or lost events.
//!
//! All are counted; so many are kept as have room ([`MOST`] in heaps of which
//! nothing is known, as many again for each shard of the matching).

use super::super::matching::Unmatched;
use super::super::stack::StackRef;
use super::{Builder, Origin};
use crate::model::trace::UnmatchedFree;
use crate::units::Layer;

/// Kept with their details.
const MOST: usize = 1 << 14;

/// What is known apart from the matching.
#[derive(Debug, Default)]
pub(super) struct UnmatchedFrees {
    /// Frees in heaps of which nothing is known.
    pub(super) count: u64,
    kept: Vec<(UnmatchedFree, StackRef)>,
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

    /// All stacks.
    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.kept.iter_mut().map(|(_, stack)| stack)
    }
}

impl Builder {
    /// Those that were kept here and by the matching, by time.
    pub(super) fn unmatched(&mut self, found: &[Unmatched]) -> Vec<UnmatchedFree> {
        let mut all = self.unmatched_frees.kept.clone();
        for found in found {
            let heap = &self.heaps.list[found.heap.0 as usize];
            let free = UnmatchedFree {
                time: found.time,
                pid: self.processes.list[heap.process.0 as usize].pid,
                layer: heap.layer,
                handle: heap.handle,
                address: found.address,
                heap: Some(found.heap),
                ..UnmatchedFree::default()
            };
            all.push((free, found.stack));
        }
        all.sort_by_key(|(free, _)| (free.time, free.address));
        all.into_iter().map(|(free, stack)| UnmatchedFree { stack: self.stacks.resolve(stack), ..free }).collect()
    }
}
