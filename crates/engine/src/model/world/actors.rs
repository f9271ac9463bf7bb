//! The heap and process that an event's ids stand for, remembered from one event to the next: a small
//! table in front of two others.

use super::{HeapId, ProcessId};
use crate::units::{Layer, Pid};

/// Entries; a power of two.
const ENTRIES: usize = 256;

type Known = (Pid, Layer, u64, (HeapId, ProcessId));

/// The last heaps in which processes allocated.
#[derive(Debug, Default)]
pub(super) struct Actors {
    entries: Vec<Option<Known>>,
    /// How often the entries were dropped.
    generation: u64,
}

impl Actors {
    #[inline(always)]
    pub(super) fn get(&self, pid: Pid, layer: Layer, handle: u64) -> Option<(HeapId, ProcessId)> {
        match self.entries.get(entry_of(pid, handle)) {
            Some(Some((p, l, h, known))) if (*p, *l, *h) == (pid, layer, handle) => Some(*known),
            _ => None,
        }
    }

    pub(super) fn put(&mut self, pid: Pid, layer: Layer, handle: u64, known: (HeapId, ProcessId)) {
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, None);
        }
        self.entries[entry_of(pid, handle)] = Some((pid, layer, handle, known));
    }

    /// A number that changes whenever ids may stand for something else.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Called when a process or a heap began or ended: ids may stand for something else now.
    pub(super) fn forget(&mut self) {
        self.entries.clear();
        self.generation += 1;
    }
}

#[inline(always)]
fn entry_of(pid: Pid, handle: u64) -> usize {
    let mixed = (handle ^ u64::from(pid.0) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as usize % ENTRIES
}
