//! Times of events, found without decoding payloads.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::etl::{BufferInfo, BufferKind, EventId, ReadBuffer, TraceFile};
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
    times_of_last(file, |_| true).into_iter().flatten().map(|(_, last)| last).max()
}

/// Raw time up to which all events are there of the processors that have a buffer in the beginning of a file: the least of
/// the times of their last events, less one, because the next buffer can begin with an event of the same time.
///
/// The header buffer does not count: it can have nothing but the header. `None` if there are no others, or if the last
/// buffer of a processor has no readable event. Cost: reads one buffer a processor.
pub fn complete_to(beginning: &TraceFile) -> Option<i64> {
    let times: Option<Vec<_>> = times_of_last(beginning, |buffer| buffer.kind == BufferKind::Events).into_iter().collect();
    times?.into_iter().map(|(_, last)| last.saturating_sub(1)).min()
}

/// Raw times of the first and last event in the last such buffer of each processor.
fn times_of_last(file: &TraceFile, is_such: impl Fn(&BufferInfo) -> bool) -> Vec<Option<(i64, i64)>> {
    let mut last: BTreeMap<u16, &BufferInfo> = BTreeMap::new();
    for buffer in file.buffers.iter().filter(|buffer| is_such(buffer)) {
        let latest = last.entry(buffer.processor).or_insert(buffer);
        if latest.order() < buffer.order() {
            *latest = buffer;
        }
    }
    let last: Vec<&BufferInfo> = last.into_values().collect();
    last.par_iter().map_init(ReadBuffer::default, |scratch, buffer| times_in(file, buffer, scratch)).collect()
}
