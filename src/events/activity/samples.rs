//! Samples of what processors run (SampledProfile).
//!
//! The payload names the thread, the header does not; the process follows from the thread, or
//! from the stack, which comes as that of any event of the kernel. A sample of thread 0 is that
//! of an idle processor.

use super::super::{Event, Record};
use crate::etl::{RawEvent, address_at, u16_at, u32_at};
use crate::units::{Pid, Tid};

/// The source of samples that is the timer; others count events of the processor.
pub const TIMER: u32 = 0;

/// How far apart samples are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleInterval {
    /// What is counted.
    pub source: u32,
    /// From now on; of the timer, 100 ns each.
    pub interval: u32,
}

/// A sample.
pub(in crate::events) fn sample(raw: &RawEvent<'_>) -> Option<Record> {
    let p = raw.pointer.bytes();
    let event = Event::Sample { address: address_at(raw.payload, 0, raw.pointer)?, count: u16_at(raw.payload, p + 4)?.max(1) };
    Some(Record { time: raw.time, pid: Pid::NONE, tid: Tid(u32_at(raw.payload, p)?), event })
}

/// How far apart they are, at the start or from now on.
pub(super) fn interval(raw: &RawEvent<'_>) -> Option<SampleInterval> {
    Some(SampleInterval { source: u32_at(raw.payload, 0)?, interval: u32_at(raw.payload, 4)? })
}
