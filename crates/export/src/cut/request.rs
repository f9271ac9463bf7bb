//! The part that is cut out, and the files that it comes from.

use crate::etl::TraceFile;
use crate::events::TrackerProviders;
use crate::model::{Processes, Trace};
use crate::units::Interval;

/// The part to cut out, and from which files.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Files of one capture, ...
    pub files: &'a [TraceFile],
    /// ... the trace that they make, ...
    pub trace: &'a Trace,
    /// ... its raw start, ...
    pub trace_start: i64,
    /// ... and the providers whose events are blocks of trackers in it.
    pub trackers: &'a TrackerProviders,
    /// Which part.
    pub interval: Interval,
    /// Whose memory.
    pub processes: &'a Processes,
    /// Descriptions of events that the files lack (TRACE_EVENT_INFO), to be added at its end.
    pub descriptions: &'a [Vec<u8>],
    /// Whether names are replaced.
    pub anonymises: bool,
}
