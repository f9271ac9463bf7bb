//! Counters beside heap traffic: address ranges and committed sizes of the heaps as they grow, and now and then
//! samples of the memory lists and of all processes.
//!
//! They are derived from the traffic and use no random numbers, so the traffic is the same with and without them.

use crate::events::{CounterEvent, Event, MemoryLists, PAGE, ProcessMemory, RangeChange};
use crate::units::Pid;

/// Bytes that a heap reserves at a time.
pub(super) const SEGMENT: u64 = 1 << 20;
/// Bytes that it commits at a time.
const STEP: u64 = 64 << 10;
/// Pages of the machine's memory: 16 GB.
const MACHINE: u64 = (16 << 30) / PAGE;
/// Number of samples in a trace.
pub(super) const SAMPLES: u64 = 200;

/// Sizes of one heap, as its last events have them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeapSizes {
    pub(super) reserved: u64,
    pub(super) committed: u64,
}

impl HeapSizes {
    /// The events of a heap that needs `used` bytes from its handle on.
    pub(super) fn grow(&mut self, heap: u64, used: u64) -> Vec<CounterEvent> {
        let mut told = Vec::new();
        let reserved = used.next_multiple_of(SEGMENT);
        if reserved > self.reserved {
            let change = match self.reserved {
                0 => RangeChange::Create(reserved),
                old => RangeChange::Reserve(heap + old, reserved - old),
            };
            self.reserved = reserved;
            told.push(CounterEvent::HeapRange { heap, change });
        }
        let committed = used.next_multiple_of(STEP);
        if committed > self.committed {
            self.committed = committed;
            told.push(CounterEvent::HeapSize { heap, committed });
        }
        told
    }
}

/// The samples that the system writes of processes with these commit charges in bytes.
pub(super) fn sample(processes: &[(u32, u64)]) -> [Event; 2] {
    let pages = |bytes: u64| bytes / PAGE + 300;
    let one = |&(pid, bytes): &(u32, u64)| ProcessMemory {
        pid: Pid(pid),
        working_set: pages(bytes) * 3 / 4 + 200,
        commit: pages(bytes),
        virtual_size: pages(bytes) * 4 + 0x1_0000,
        private_working_set: pages(bytes) * 3 / 4,
    };
    let all: Vec<ProcessMemory> = processes.iter().map(one).collect();
    let used: u64 = all.iter().map(|p| p.private_working_set).sum();
    let left = MACHINE.saturating_sub(used);
    let standby = [left / 64; 8];
    let lists = MemoryLists { zero: left / 2, free: left / 16, modified: left / 32, modified_no_write: 0, bad: 0, standby };
    [CounterEvent::Memory(lists), CounterEvent::Processes(all)].map(|event| Event::Counter(Box::new(event)))
}
