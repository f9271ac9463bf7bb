//! Page faults: accesses to pages that are not in the working set.
//!
//! Layouts: classes `PageFault_TypeGroup1` and `PageFault_HardFault` of Microsoft's documentation, and `PERFINFO_HARDPAGEFAULT_INFORMATION`
//! in System Informer's `ntwmi.h`. Soft faults (hooks 020A to 020F): VirtualAddress P, ProgramCounter P. Hard faults (0220):
//! InitialTime i64 (raw clock), ReadOffset u64, VirtualAddress P, FileObject P, ThreadId u32, ByteCount u32; P is the size of a
//! pointer.
//!
//! A hard fault names its thread. Other faults have the thread of their header, if that has one; else their stack, which comes
//! as for any kernel event, names it.

use super::super::hooks::hook;
use super::super::{Event, Record};
use crate::etl::{RawEvent, address_at, i64_at, u32_at};
use crate::units::{Pid, Tid};

/// Kind of a page fault, with the name of its event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultKind {
    /// Pages were read from a file or a paging file, and the thread waited for that.
    Hard,
    /// A new page was filled with zeros: the first touch of committed memory.
    DemandZero,
    /// A shared page was written, and the process got a copy of its own.
    CopyOnWrite,
    /// The page was still in memory, on the standby or modified list.
    Transition,
    /// A guard page was touched, for example at the end of a thread's stack.
    GuardPage,
    /// The page must be read. The read itself is [`FaultKind::Hard`].
    HardPage,
    /// The access was not allowed.
    AccessViolation,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Hard,
        Self::DemandZero,
        Self::CopyOnWrite,
        Self::Transition,
        Self::GuardPage,
        Self::HardPage,
        Self::AccessViolation,
    ];

    /// The kernel hook of its event.
    pub fn hook(self) -> u16 {
        match self {
            Self::Hard => hook::HARD_FAULT,
            Self::DemandZero => hook::DEMAND_ZERO_FAULT,
            Self::CopyOnWrite => hook::COPY_ON_WRITE_FAULT,
            Self::Transition => hook::TRANSITION_FAULT,
            Self::GuardPage => hook::GUARD_PAGE_FAULT,
            Self::HardPage => hook::HARD_PAGE_FAULT,
            Self::AccessViolation => hook::ACCESS_VIOLATION,
        }
    }

    /// Whether the process has a page of its own at the address afterwards, so that committed memory there is touched.
    pub fn touches(self) -> bool {
        match self {
            Self::Hard | Self::DemandZero | Self::CopyOnWrite | Self::HardPage => true,
            Self::Transition | Self::GuardPage | Self::AccessViolation => false,
        }
    }
}

/// A page fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageFault {
    /// Pages were read: [`FaultKind::Hard`].
    Hard {
        /// The address that was accessed.
        address: u64,
        /// Raw time at which the read began; it ended at the event's.
        started: i64,
        /// Bytes that were read.
        bytes: u32,
    },
    /// A fault of any other kind.
    Soft {
        /// Its kind.
        kind: FaultKind,
        /// The address that was accessed.
        address: u64,
        /// The instruction that accessed it.
        code: u64,
    },
}

impl PageFault {
    /// Its kind.
    pub fn kind(self) -> FaultKind {
        match self {
            Self::Hard { .. } => FaultKind::Hard,
            Self::Soft { kind, .. } => kind,
        }
    }

    /// The address that was accessed.
    pub fn address(self) -> u64 {
        match self {
            Self::Hard { address, .. } | Self::Soft { address, .. } => address,
        }
    }

    /// The instruction that accessed it, if the event names it.
    pub fn code(self) -> Option<u64> {
        match self {
            Self::Soft { code, .. } if code > 0 => Some(code),
            _ => None,
        }
    }
}

/// Reads a page fault; `None` if it is too short or the hook is another's.
pub(in crate::events) fn fault(hook: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let kind = FaultKind::ALL.into_iter().find(|kind| kind.hook() == hook)?;
    let p = raw.pointer.bytes();
    if kind == FaultKind::Hard {
        let address = address_at(raw.payload, 16, raw.pointer)?;
        let tid = Tid(u32_at(raw.payload, 16 + 2 * p)?);
        let fault = PageFault::Hard { address, started: i64_at(raw.payload, 0)?, bytes: u32_at(raw.payload, 16 + 2 * p + 4)? };
        // A header with a process may be that of a worker thread of the system.
        let pid = if raw.tid == tid { raw.pid } else { Pid::NONE };
        return Some(Record { time: raw.time, pid, tid, event: Event::Fault(fault) });
    }
    let [address, code] = [address_at(raw.payload, 0, raw.pointer)?, address_at(raw.payload, p, raw.pointer)?];
    let event = Event::Fault(PageFault::Soft { kind, address, code });
    Some(Record { time: raw.time, pid: raw.pid, tid: raw.tid, event })
}
