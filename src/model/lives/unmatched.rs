//! Frees of blocks that were not alive, and their stacks: what to look at when a
//! trace began too late or lost events.
//!
//! All are counted; so many are kept as have room ([`MOST`] in heaps of which
//! nothing is known, as many again for each shard of the matching).

use super::shard::Unmatched;
use crate::model::origin::Origin;
use crate::model::stack::{Interner, StackRef};
use crate::model::trace::UnmatchedFree;
use crate::model::world::World;
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
    pub(super) fn add(&mut self, from: Origin, (layer, handle, address): (Layer, u64, u64), stack: StackRef) {
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

    /// These and those that the matching kept, by time.
    pub(super) fn all(&self, found: &[Unmatched], world: &World, stacks: &mut Interner) -> Vec<UnmatchedFree> {
        let mut all = self.kept.clone();
        for found in found {
            let heap = world.heap(found.heap);
            let free = UnmatchedFree {
                time: found.time,
                pid: world.process_of(found.heap).pid,
                layer: heap.layer,
                handle: heap.handle,
                address: found.address,
                heap: Some(found.heap),
                ..UnmatchedFree::default()
            };
            all.push((free, found.stack));
        }
        all.sort_by_key(|(free, _)| (free.time, free.address));
        all.into_iter().map(|(free, stack)| UnmatchedFree { stack: stacks.resolve(stack), ..free }).collect()
    }
}
