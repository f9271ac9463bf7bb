//! CPU samples (SampledProfile).
//!
//! The payload names the thread, the header does not. The process follows from the thread, or from the
//! stack, which comes as for any kernel event. A sample of thread 0 is from an idle CPU.

use super::super::{Event, Record};
use crate::etl::{RawEvent, address_at, u16_at, u32_at};
use crate::units::{Pid, Tid};

/// The source of timer samples; other sources count events of the CPU.
pub const TIMER: u32 = 0;

/// Interval between samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleInterval {
    /// Source of the samples, [`TIMER`] or an event that is counted.
    pub source: u32,
    /// Interval from now on; for the timer in units of 100 ns.
    pub interval: u32,
}

/// Reads a sample.
pub(in crate::events) fn sample(raw: &RawEvent<'_>) -> Option<Record> {
    let p = raw.pointer.bytes();
    let event = Event::Sample { address: address_at(raw.payload, 0, raw.pointer)?, count: u16_at(raw.payload, p + 4)?.max(1) };
    Some(Record { time: raw.time, pid: Pid::NONE, tid: Tid(u32_at(raw.payload, p)?), event })
}

/// Reads the interval between samples, valid at the start or from now on.
pub(super) fn interval(raw: &RawEvent<'_>) -> Option<SampleInterval> {
    Some(SampleInterval { source: u32_at(raw.payload, 0)?, interval: u32_at(raw.payload, 4)? })
}
