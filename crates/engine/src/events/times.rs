//! Times of events, found without decoding payloads.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::etl::{BufferInfo, EventId, ReadBuffer, TraceFile};
use crate::problem::Problems;

/// Raw times of the first and last event of a buffer. Damage is not reported here, but by the code that
/// decodes the buffer.
pub(super) fn times_in(file: &TraceFile, buffer: &BufferInfo, scratch: &mut ReadBuffer) -> Option<(i64, i64)> {
    file.read_buffer(buffer, scratch, &mut Problems::default());
    let times = scratch.events().filter(|event| event.id != EventId::Opaque).map(|event| event.time);
    times.fold(None, |range, t| Some(range.map_or((t, t), |(first, last): (i64, i64)| (first.min(t), last.max(t)))))
}

/// Raw time of the latest event, from the last buffer of each processor.
pub fn latest_time(file: &TraceFile) -> Option<i64> {
    let mut last: BTreeMap<u16, &BufferInfo> = BTreeMap::new();
    for buffer in &file.buffers {
        let latest = last.entry(buffer.processor).or_insert(buffer);
        if latest.order() < buffer.order() {
            *latest = buffer;
        }
    }
    let last: Vec<&BufferInfo> = last.into_values().collect();
    let time = |scratch: &mut ReadBuffer, buffer: &&BufferInfo| times_in(file, buffer, scratch).map(|(_, last)| last);
    last.par_iter().map_init(ReadBuffer::default, time).flatten().max()
}
