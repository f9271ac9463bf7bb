//! Counters that the system samples or that ntdll reports for its heaps: memory lists (MemInfo), each
//! process's commit and working set (MemInfoWS and the same events of Microsoft-Windows-Kernel-Memory),
//! address ranges and sizes of heaps.
//!
//! No public trace holds any of them. Layouts are those of System Informer's `ntwmi.h`, PerfView's
//! parser and the manifest of Kernel-Memory; all are packed. Fields whose place no source gives for
//! certain are not read: the four words about the system's own commit that may trail MemInfo. Two
//! things are assumptions: that a heap's first range is reported only by its creation, and that the
//! range events always name their process in the header.

use super::hooks::{hook, kernel_memory};
use super::{Event, Record, memory};
use crate::etl::{RawEvent, address_at, u8_at, u32_at};
use crate::units::{Pid, PointerSize};

/// Bytes of a page: counters count pages of this size, whatever else the machine can map.
pub const PAGE: u64 = 4096;

/// Contents of a counter event. For heaps, the record's process is the heap's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CounterEvent {
    /// Lengths of the system's page lists.
    Memory(MemoryLists),
    /// Memory of all processes at one moment.
    Processes(Vec<ProcessMemory>),
    /// Memory of the processes that a recorder was asked for: commit charge and working set, the rest
    /// is zero.
    Chosen(Vec<ProcessMemory>),
    /// A heap's address ranges.
    HeapRange {
        /// Handle.
        heap: u64,
        /// The change.
        change: RangeChange,
    },
    /// A heap grew, shrank or was described.
    HeapSize {
        /// Handle.
        heap: u64,
        /// Bytes committed for it now.
        committed: u64,
    },
}

/// Page lists, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryLists {
    /// Filled with zeros.
    pub zero: u64,
    /// Free.
    pub free: u64,
    /// To be written before they can be used again.
    pub modified: u64,
    /// Modified, but not to be written yet.
    pub modified_no_write: u64,
    /// Found broken.
    pub bad: u64,
    /// Standby, by priority.
    pub standby: [u64; 8],
}

/// Memory of one process, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessMemory {
    /// Its id.
    pub pid: Pid,
    /// Physical memory mapped, shared pages included.
    pub working_set: u64,
    /// Commit charge.
    pub commit: u64,
    /// Address space in use.
    pub virtual_size: u64,
    /// Physical memory that no other process shares.
    pub private_working_set: u64,
}

/// A change of the address ranges of a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RangeChange {
    /// The list of all ranges: first byte and bytes.
    Rundown(Vec<(u64, u64)>),
    /// The heap was created with a first range of this many bytes.
    Create(u64),
    /// A range was added: first byte and bytes.
    Reserve(u64, u64),
    /// A range was given back: first byte and bytes.
    Release(u64, u64),
    /// The heap is gone.
    Destroy,
}

/// Reads a counter event of the kernel; `Some(None)` for other events, or one without numbers. `None`
/// if the payload is too short.
pub(super) fn kernel(hook: u16, raw: &RawEvent<'_>) -> Option<Option<Record>> {
    let event = match hook {
        hook::MEM_INFO => CounterEvent::Memory(memory(raw.payload, raw.pointer, 0, 8)?),
        hook::MEM_INFO_WS => listed(processes(raw)?),
        hook::HEAP_RANGE_RUNDOWN => return range_rundown(raw),
        hook::HEAP_RANGE_CREATE..=hook::HEAP_RANGE_DESTROY => range(hook, raw)?,
        hook::HEAP_EXPAND | hook::HEAP_SNAPSHOT | hook::HEAP_CONTRACT => return heap_size(hook, raw),
        _ => return Some(None),
    };
    Some(Some(record(raw, raw.pid, event)))
}

/// Reads an event of Microsoft-Windows-Kernel-Memory; its id is known to be that of a counter event.
pub(super) fn provider(id: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let event = match id {
        kernel_memory::MEM_INFO => {
            let levels = u8_at(raw.payload, 0)?;
            CounterEvent::Memory(memory(raw.payload, raw.pointer, 1, levels)?)
        }
        _ => listed(processes(raw)?),
    };
    Some(record(raw, raw.pid, event))
}

fn record(raw: &RawEvent<'_>, pid: Pid, event: CounterEvent) -> Record {
    Record { time: raw.time, pid, tid: raw.tid, event: Event::Counter(Box::new(event)) }
}

/// Layout: five lists from `at` on, then standby by priority in `levels` words.
fn memory(bytes: &[u8], pointer: PointerSize, at: usize, levels: u8) -> Option<MemoryLists> {
    let word = |index: usize| address_at(bytes, at + index * pointer.bytes(), pointer);
    let mut lists = MemoryLists {
        zero: word(0)?,
        free: word(1)?,
        modified: word(2)?,
        modified_no_write: word(3)?,
        bad: word(4)?,
        standby: [0; 8],
    };
    for level in 0..usize::from(levels) {
        let pages = word(5 + level)?;
        let slot = &mut lists.standby[level.min(7)];
        *slot = slot.saturating_add(pages);
    }
    Some(lists)
}

/// Tells the system's list of all processes from a recorder's list of chosen ones. The system's list
/// has the address space of each process, which is never zero; recorders leave it out.
fn listed(list: Vec<ProcessMemory>) -> CounterEvent {
    match list.iter().all(|process| process.virtual_size == 0) && !list.is_empty() {
        true => CounterEvent::Chosen(list),
        false => CounterEvent::Processes(list),
    }
}

/// Layout: a count, then entries of a process id and four words, or eight from version 2 on.
fn processes(raw: &RawEvent<'_>) -> Option<Vec<ProcessMemory>> {
    let p = raw.pointer.bytes();
    let count = u32_at(raw.payload, 0)? as usize;
    let room = raw.payload.len() - 4;
    let (narrow, wide) = (4 + 4 * p, 4 + 8 * p);
    // The length decides where it can, because the version was never seen. Only padding may follow
    // entries of either size, so that half a list never passes for a whole one.
    let fits = |entry: usize| count.checked_mul(entry).and_then(|size| room.checked_sub(size)).is_some_and(|rest| rest < 8);
    let entry = match (fits(wide), fits(narrow)) {
        (true, false) => wide,
        (false, true) => narrow,
        (true, true) => {
            if raw.version < 2 {
                narrow
            } else {
                wide
            }
        }
        (false, false) => return None,
    };
    let one = |bytes: &[u8]| {
        let word = |index: usize| address_at(bytes, 4 + index * p, raw.pointer);
        Some(ProcessMemory {
            pid: Pid(u32_at(bytes, 0)?),
            working_set: word(0)?,
            commit: word(1)?,
            virtual_size: word(2)?,
            private_working_set: word(3)?,
        })
    };
    raw.payload[4..].chunks_exact(entry).take(count).map(one).collect()
}

fn range(hook: u16, raw: &RawEvent<'_>) -> Option<CounterEvent> {
    let word = |index: usize| address_at(raw.payload, index * raw.pointer.bytes(), raw.pointer);
    let change = match hook {
        hook::HEAP_RANGE_CREATE => RangeChange::Create(word(1)?),
        hook::HEAP_RANGE_RESERVE => RangeChange::Reserve(word(1)?, word(2)?),
        hook::HEAP_RANGE_RELEASE => RangeChange::Release(word(1)?, word(2)?),
        _ => RangeChange::Destroy,
    };
    Some(CounterEvent::HeapRange { heap: word(0)?, change })
}

/// Reads all ranges of a heap. Older forms count the ranges but do not list them; these give no record.
fn range_rundown(raw: &RawEvent<'_>) -> Option<Option<Record>> {
    let p = raw.pointer.bytes();
    let heap = address_at(raw.payload, 0, raw.pointer)?;
    let pid = Pid(u32_at(raw.payload, p + 4)?);
    let count = u32_at(raw.payload, p + 8)? as usize;
    let rest = raw.payload.get(p + 12..)?;
    let size = count.saturating_mul(2 * p);
    let list = match rest.len() {
        n if n >= size.saturating_add(4) => &rest[4..],
        n if n == size => rest,
        _ => return Some(None),
    };
    let one = |bytes: &[u8]| Some((address_at(bytes, 0, raw.pointer)?, address_at(bytes, p, raw.pointer)?));
    let ranges: Option<Vec<_>> = list.chunks_exact(2 * p).take(count).map(one).collect();
    Some(Some(record(raw, pid, CounterEvent::HeapRange { heap, change: RangeChange::Rundown(ranges?) })))
}

/// The committed size from a heap's expansion, contraction or snapshot.
fn heap_size(hook: u16, raw: &RawEvent<'_>) -> Option<Option<Record>> {
    let pointer = memory::heap_width(hook, raw.payload.len(), raw.pointer);
    let p = pointer.bytes();
    let heap = address_at(raw.payload, 0, pointer)?;
    let (at, pid) = match hook {
        hook::HEAP_SNAPSHOT => (2, Pid(u32_at(raw.payload, 4 * p + 4)?)),
        _ => (4, raw.pid),
    };
    let committed = address_at(raw.payload, at * p, pointer)?;
    Some(Some(record(raw, pid, CounterEvent::HeapSize { heap, committed })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::raw;

    /// Numbers of 1, 4 and 8 bytes, one behind the other.
    fn bytes(fields: &[(u64, usize)]) -> Vec<u8> {
        fields.iter().flat_map(|&(value, width)| value.to_le_bytes()[..width].to_vec()).collect()
    }

    fn told(record: Option<Option<Record>>) -> (Pid, CounterEvent) {
        let record = record.unwrap().unwrap();
        match record.event {
            Event::Counter(event) => (record.pid, *event),
            other => panic!("{other:?}"),
        }
    }

    const WIDTHS: [(PointerSize, usize); 2] = [(PointerSize::Eight, 8), (PointerSize::Four, 4)];

    #[test]
    fn page_lists_stand_one_behind_the_other() {
        let expected = MemoryLists {
            zero: 1,
            free: 2,
            modified: 3,
            modified_no_write: 4,
            bad: 5,
            standby: [10, 11, 12, 13, 14, 15, 16, 17],
        };
        for (pointer, p) in WIDTHS {
            let lists: Vec<_> = (1..6).chain(10..18).chain(20..28).map(|n| (n, p)).collect();
            let kernel_event = bytes(&lists);
            assert_eq!(kernel_event.len(), 21 * p);
            let (_, event) = told(kernel(hook::MEM_INFO, &raw(pointer, 2, &kernel_event)));
            assert_eq!(event, CounterEvent::Memory(expected));
            assert_eq!(kernel(hook::MEM_INFO, &raw(pointer, 2, &kernel_event[..13 * p - 1])), None, "too short");
            let manifest_event = [bytes(&[(8, 1)]), kernel_event].concat();
            let (_, event) = told(provider(kernel_memory::MEM_INFO, &raw(pointer, 1, &manifest_event)).map(Some));
            assert_eq!(event, CounterEvent::Memory(expected));
        }
    }

    #[test]
    fn process_entries_have_four_or_eight_words() {
        for (pointer, p) in WIDTHS {
            let entry =
                |pid: u64, words: u64| -> Vec<_> { std::iter::once((pid, 4)).chain((1..=words).map(|n| (pid + n, p))).collect() };
            let one = |pid: u64| ProcessMemory {
                pid: Pid(pid as u32),
                working_set: pid + 1,
                commit: pid + 2,
                virtual_size: pid + 3,
                private_working_set: pid + 4,
            };
            for (words, version) in [(4, 1), (8, 2), (8, 0), (4, 2)] {
                let payload = bytes(&[vec![(2, 4)], entry(100, words), entry(200, words)].concat());
                let (_, event) = told(kernel(hook::MEM_INFO_WS, &raw(pointer, version, &payload)));
                assert_eq!(event, CounterEvent::Processes(vec![one(100), one(200)]), "{words} words, version {version}");
                assert_eq!(kernel(hook::MEM_INFO_WS, &raw(pointer, version, &payload[..payload.len() - 1])), None);
            }
            let liar = bytes(&[(u64::from(u32::MAX), 4), (1, 4)]);
            assert_eq!(kernel(hook::MEM_INFO_WS, &raw(pointer, 2, &liar)), None, "more processes than bytes");
        }
    }

    #[test]
    fn heap_ranges_tell_their_heap_and_the_rundown_its_process() {
        for (pointer, p) in WIDTHS {
            let event = |hook, fields: &[(u64, usize)]| told(kernel(hook, &raw(pointer, 2, &bytes(fields))));
            let range = |heap, change| CounterEvent::HeapRange { heap, change };
            let create = event(hook::HEAP_RANGE_CREATE, &[(0x1D, p), (0x1000, p), (2, 4)]);
            assert_eq!(create, (Pid(1), range(0x1D, RangeChange::Create(0x1000))));
            let reserve = event(hook::HEAP_RANGE_RESERVE, &[(0x1D, p), (0x5000, p), (0x2000, p)]);
            assert_eq!(reserve.1, range(0x1D, RangeChange::Reserve(0x5000, 0x2000)));
            let release = event(hook::HEAP_RANGE_RELEASE, &[(0x1D, p), (0x5000, p), (0x2000, p)]);
            assert_eq!(release.1, range(0x1D, RangeChange::Release(0x5000, 0x2000)));
            assert_eq!(event(hook::HEAP_RANGE_DESTROY, &[(0x1D, p)]).1, range(0x1D, RangeChange::Destroy));
            let head = [(0x1D, p), (2, 4), (4660, 4), (2, 4)];
            let list = [(0x1000, p), (0x10, p), (0x2000, p), (0x20, p)];
            let expected = (Pid(4660), range(0x1D, RangeChange::Rundown(vec![(0x1000, 0x10), (0x2000, 0x20)])));
            assert_eq!(event(hook::HEAP_RANGE_RUNDOWN, &[&head[..], &[(0, 4)], &list].concat()), expected);
            assert_eq!(event(hook::HEAP_RANGE_RUNDOWN, &[&head[..], &list].concat()), expected, "without the reserved word");
            let counted = bytes(&head);
            assert_eq!(kernel(hook::HEAP_RANGE_RUNDOWN, &raw(pointer, 2, &counted)), Some(None), "counted, not listed");
        }
    }

    #[test]
    fn heaps_tell_what_is_committed_for_them() {
        for (pointer, p) in WIDTHS {
            // Heap, size of this step, address, free, committed, reserved, count.
            let expand = bytes(&[(0x1D, p), (0x1000, p), (0x9000, p), (5, p), (0x7000, p), (0x10000, p), (1, 4)]);
            let committed = CounterEvent::HeapSize { heap: 0x1D, committed: 0x7000 };
            for hook in [hook::HEAP_EXPAND, hook::HEAP_CONTRACT] {
                assert_eq!(told(kernel(hook, &raw(pointer, 2, &expand))), (Pid(1), committed.clone()));
            }
            // Heap, free, committed, reserved, flags, process.
            let snapshot = bytes(&[(0x1D, p), (5, p), (0x7000, p), (0x10000, p), (2, 4), (4660, 4)]);
            assert_eq!(told(kernel(hook::HEAP_SNAPSHOT, &raw(pointer, 2, &snapshot))), (Pid(4660), committed));
        }
    }
}
