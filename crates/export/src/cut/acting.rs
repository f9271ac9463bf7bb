//! In which heaps processes have allocated: that alone can tell one life of a process id from the next
//! (`model::world`), so one block of each heap is written even where all of them are gone.

use crate::events::{Event, Record};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Layer, Pid, Tid};

/// The heaps in which each process is known to have allocated.
#[derive(Debug, Default)]
pub(super) struct Acting(KeyedMap<Pid, KeyedSet<(Layer, u64)>>);

impl Acting {
    /// An event that is written.
    pub(super) fn note(&mut self, record: &Record) {
        match record.event {
            ref event if event.is_failed_realloc() => {}
            Event::Process(..) => drop(self.0.remove(&record.pid)),
            Event::Alloc { layer, heap, .. } | Event::Realloc { layer, heap, .. } | Event::HeapOpen { layer, heap, .. } => {
                self.0.entry(record.pid).or_default().insert((layer, heap));
            }
            _ => {}
        }
    }

    /// An event that is not written because its block is gone: what is written instead, if it is the first in its heap.
    pub(super) fn instead(&mut self, record: &Record) -> Option<[Record; 2]> {
        let (layer, heap, address, size) = match record.event {
            Event::Alloc { layer, heap, address, size } => (layer, heap, address, size),
            ref event if event.is_failed_realloc() => return None,
            Event::Realloc { layer, heap, new, size, .. } => (layer, heap, new, size),
            _ => return None,
        };
        let is_first = record.pid.is_known() && self.0.entry(record.pid).or_default().insert((layer, heap));
        // By nobody: a stack at this tick is that of another event.
        let of = |event| Record { event, tid: Tid(0), ..record.clone() };
        is_first.then(|| [of(Event::Alloc { layer, heap, address, size }), of(Event::Free { layer, heap, address })])
    }
}
