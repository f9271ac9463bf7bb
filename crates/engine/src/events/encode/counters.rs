//! Payloads of counter events; layouts as in the reader's `counters`.

use super::Payload;
use crate::etl::HeaderKind;
use crate::events::hooks::hook;
use crate::events::{CounterEvent, RangeChange};
use crate::units::Pid;

/// Version of MemInfoWS whose entries have eight words.
pub(crate) const WIDE_VERSION: u16 = 2;

/// Puts the payload and returns the event's hook; `pid` is the heap's process.
pub fn counter(out: &mut Payload, pid: Pid, event: &CounterEvent) -> u16 {
    match event {
        CounterEvent::Memory(lists) => {
            out.words(&[lists.zero, lists.free, lists.modified, lists.modified_no_write, lists.bad]);
            // Standby by priority, what was taken from it, and the page file's part of the modified pages.
            out.words(&lists.standby).words(&[0; 8]).word(lists.modified);
            hook::MEM_INFO
        }
        CounterEvent::Processes(all) | CounterEvent::Chosen(all) => {
            out.u32(all.len() as u32);
            for p in all {
                out.u32(p.pid.0).words(&[p.working_set, p.commit, p.virtual_size, p.private_working_set, 0, 0, 0, 0]);
            }
            hook::MEM_INFO_WS
        }
        CounterEvent::HeapRange { heap, change } => range(out, pid, *heap, change),
        CounterEvent::HeapSize { heap, committed } => {
            out.words(&[*heap, 0, *heap, 0, *committed, *committed]).u32(0).word(*committed);
            hook::HEAP_EXPAND
        }
    }
}

/// The header kind of a counter event: those that the system samples have no thread.
pub fn header(event: &CounterEvent) -> HeaderKind {
    match event {
        CounterEvent::Memory(_) | CounterEvent::Processes(_) | CounterEvent::Chosen(_) => HeaderKind::PerfInfo,
        CounterEvent::HeapRange { .. } | CounterEvent::HeapSize { .. } => HeaderKind::System,
    }
}

fn range(out: &mut Payload, pid: Pid, heap: u64, change: &RangeChange) -> u16 {
    const FLAGS: u32 = 2;
    out.word(heap);
    match change {
        RangeChange::Rundown(ranges) => {
            out.u32(FLAGS).u32(pid.0).u32(ranges.len() as u32).u32(0);
            for (address, size) in ranges {
                out.word(*address).word(*size);
            }
            hook::HEAP_RANGE_RUNDOWN
        }
        RangeChange::Create(size) => {
            out.word(*size).u32(FLAGS);
            hook::HEAP_RANGE_CREATE
        }
        RangeChange::Reserve(address, size) => {
            out.word(*address).word(*size);
            hook::HEAP_RANGE_RESERVE
        }
        RangeChange::Release(address, size) => {
            out.word(*address).word(*size);
            hook::HEAP_RANGE_RELEASE
        }
        RangeChange::Destroy => hook::HEAP_RANGE_DESTROY,
    }
}
