//! Frees of blocks that were not alive, and their stacks: helpful when a trace began too late or lost
//! events.
//!
//! All are counted. Details are kept of at most [`MOST`] in heaps of which nothing is known, and of some for each shard
//! of the matching ([`MAX_KEPT`](super::shard::MAX_KEPT)).

use super::shard::Unmatched;
use crate::model::origin::Origin;
use crate::model::stack::{Interner, StackRef};
use crate::model::trace::UnmatchedFree;
use crate::model::world::World;
use crate::units::Layer;

/// Most frees that are kept with their details.
const MOST: usize = 1 << 18;

/// Unmatched frees that are not those of the matching.
#[derive(Debug, Default)]
pub(super) struct UnmatchedFrees {
    /// Frees in heaps of which nothing is known.
    pub(super) count: u64,
    kept: Vec<(UnmatchedFree, StackRef)>,
}

impl UnmatchedFrees {
    /// Adds a free in a heap of which nothing is known; returns its number if it is kept.
    pub(super) fn add(&mut self, from: Origin, (layer, handle, address): (Layer, u64, u64), size: Option<u64>) -> Option<u32> {
        self.count += 1;
        let number = Some(self.kept.len()).filter(|&number| number < MOST)?;
        let free = UnmatchedFree { time: from.time, pid: from.pid, layer, handle, address, size, ..UnmatchedFree::default() };
        self.kept.push((free, StackRef::NONE));
        Some(number as u32)
    }

    /// Sets the stack of a free that is kept.
    pub(super) fn set_stack(&mut self, number: u32, stack: StackRef) {
        self.kept[number as usize].1 = stack;
    }

    /// Bytes of the details.
    pub(super) fn bytes(&self) -> u64 {
        (self.kept.len() * size_of::<(UnmatchedFree, StackRef)>()) as u64
    }

    /// All stacks.
    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.kept.iter_mut().map(|(_, stack)| stack)
    }

    /// These frees and those that the matching kept, by time.
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
