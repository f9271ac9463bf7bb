//! Trackers of blocks whose events do not say which they are of: the one that has a block at the address, as in the replay.

use crate::events::{Batch, Event, Record, shared_handle};
use crate::tables::KeyedMap;
use crate::units::Pid;

/// Trackers of live blocks, by process, provider and address.
#[derive(Debug, Default)]
pub(super) struct SharedTrackers {
    handles: KeyedMap<(Pid, u64, u64), u64>,
}

impl SharedTrackers {
    /// Gives the first record of an event its tracker, if the event does not say which it is of.
    pub(super) fn tell(&mut self, batch: &mut Batch) {
        let Some(mut record) = batch.items().next().map(|(item, _)| item.record().into_owned()) else { return };
        if self.tell_record(&mut record) {
            batch.replace_first(record);
        }
    }

    /// Gives a record its tracker, and notes what it begins and ends; returns whether it changed.
    fn tell_record(&mut self, record: &mut Record) -> bool {
        let pid = record.pid;
        let (layer, heap, ends, begins) = match &mut record.event {
            Event::Alloc { layer, heap, address, .. } => (*layer, heap, None, Some(*address)),
            Event::Free { layer, heap, address } => (*layer, heap, Some(*address), None),
            Event::Realloc { layer, heap, old, new, .. } => (*layer, heap, Some(*old), Some(*new)),
            _ => return false,
        };
        let Some(provider) = shared_handle(layer, *heap) else { return false };
        let mut is_told = false;
        if let Some(address) = ends {
            let there = self.handles.get(&(pid, provider, address)).copied();
            if *heap == provider {
                is_told = there.is_some();
                *heap = there.unwrap_or(provider);
            }
            if there == Some(*heap) {
                self.handles.remove(&(pid, provider, address));
            }
        }
        if let Some(address) = begins {
            self.handles.insert((pid, provider, address), *heap);
        }
        is_told
    }
}
