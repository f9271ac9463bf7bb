//! The small tables: those that the allocations of a capture refer to, the series of its heaps, and the capture itself.

use parquet::errors::ParquetError;

use super::file::{Cell, TableFile};
use super::{About, Question};
use crate::model::{Heap, HeapId, Process, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, HeapNumbers, heap_numbers, heap_series};
use crate::units::Ticks;

/// Maximum moments of a series, including its first and its last.
const MOST_MOMENTS: usize = 257;
/// Maximum numbers of all series together; limits the moments if there are many heaps.
const MOST_NUMBERS: usize = 1 << 18;

/// Writes the small tables.
pub(super) struct Dimensions<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) about: &'a About,
}

/// The outstanding bytes of each heap, and the moments of these numbers.
pub(super) struct HeapSeries {
    moments: Vec<Ticks>,
    by_heap: Vec<Vec<u64>>,
}

impl Dimensions<'_> {
    pub(super) fn trace(&self) -> &Trace {
        self.question.index.trace()
    }

    pub(super) fn seconds(&self, t: Ticks) -> f64 {
        self.trace().clock.seconds(t)
    }

    /// A time in seconds; null if it is before the trace or never.
    fn maybe_seconds(&self, t: Ticks) -> Cell<'static> {
        Cell::double(Some(t).filter(|&t| t != Ticks::BEFORE_TRACE && t != Ticks::NEVER).map(|t| self.seconds(t)))
    }

    pub(super) fn processes(&self, file: &mut TableFile) -> Result<(), ParquetError> {
        for (process, id) in self.trace().processes.iter().zip(0..) {
            let Process { pid, command_line, parent, start, end, .. } = &**process;
            file.row(&[
                Cell::Long(id),
                Cell::long(pid.is_known().then_some(pid.0.into())),
                Cell::Text(&process.label()),
                Cell::text(Some(command_line.as_str()).filter(|line| !line.is_empty())),
                Cell::long(Some(i64::from(*parent)).filter(|&parent| parent != 0)),
                start.map_or(Cell::Null, |t| self.maybe_seconds(t)),
                end.map_or(Cell::Null, |t| self.maybe_seconds(t)),
            ])?;
        }
        Ok(())
    }

    pub(super) fn modules(&self, file: &mut TableFile) -> Result<(), ParquetError> {
        for (process, id) in self.trace().processes.iter().zip(0..) {
            for module in &process.modules {
                let pdb = module.pdb.as_deref();
                file.row(&[
                    Cell::Long(id),
                    Cell::Text(module.name()),
                    Cell::Text(&module.path),
                    Cell::Long(module.base.cast_signed()),
                    Cell::count(module.size),
                    self.maybe_seconds(module.load),
                    self.maybe_seconds(module.unload),
                    Cell::Long(module.build.time_stamp.into()),
                    Cell::text(pdb.map(|pdb| pdb.path.as_str())),
                    Cell::text(pdb.map(|pdb| pdb.guid.to_string()).as_deref()),
                    Cell::long(pdb.map(|pdb| pdb.age.into())),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn heap_numbers(&self, cancel: &Cancel) -> Result<Vec<HeapNumbers>, Cancelled> {
        let Question { index, interval, mask, .. } = *self.question;
        heap_numbers(index, interval, mask, cancel)
    }

    pub(super) fn heaps(&self, numbers: &[HeapNumbers], file: &mut TableFile) -> Result<(), ParquetError> {
        for ((heap, HeapNumbers { numbers, peak }), id) in self.trace().heaps.iter().zip(numbers).zip(0..) {
            let Heap { process, layer, handle, is_default, .. } = heap;
            file.row(&[
                Cell::Long(id),
                Cell::Long(process.0.into()),
                Cell::Text(layer.name()),
                Cell::text(heap.key().as_deref()),
                Cell::Long(handle.cast_signed()),
                Cell::Bool(*is_default),
                Cell::count(numbers.outstanding_from),
                Cell::count(numbers.outstanding_to),
                Cell::count(*peak),
            ])?;
        }
        Ok(())
    }

    /// The series of all heaps; with fewer moments if there are very many heaps.
    pub(super) fn heap_series(&self, cancel: &Cancel) -> Result<HeapSeries, Cancelled> {
        let Question { index, interval, mask, .. } = *self.question;
        let steps = (MOST_NUMBERS / self.trace().heaps.len().max(1)).clamp(2, MOST_MOMENTS) as i128 - 1;
        let (from, to) = (i128::from(interval.from.0), i128::from(interval.to.0));
        let moment = |n: i128| Ticks((from + (to - from) * n / steps) as i64);
        let mut moments: Vec<Ticks> = (0..=steps).map(moment).collect();
        moments.dedup();
        let by_heap = heap_series(index, interval, mask, &moments, cancel)?;
        Ok(HeapSeries { moments, by_heap })
    }

    pub(super) fn series(&self, series: &HeapSeries, file: &mut TableFile) -> Result<(), ParquetError> {
        for (held, id) in series.by_heap.iter().zip(0..) {
            let Heap { process: ProcessId(process), layer, .. } = self.trace().heap(HeapId(id));
            if held.iter().all(|&bytes| bytes == 0) {
                continue;
            }
            for (&moment, &bytes) in series.moments.iter().zip(held) {
                file.row(&[
                    Cell::Long(id.into()),
                    Cell::Long((*process).into()),
                    Cell::Text(layer.name()),
                    Cell::Double(self.seconds(moment)),
                    Cell::count(bytes),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn capture(&self, rows: u64, file: &mut TableFile) -> Result<(), ParquetError> {
        let (trace, interval, about) = (self.trace(), self.question.interval, self.about);
        let quality = &trace.quality;
        file.row(&[
            Cell::Text(&about.name),
            Cell::Texts(&about.files),
            Cell::count(about.bytes),
            Cell::text(about.machine.as_deref()),
            Cell::Text(&about.os),
            Cell::Long(about.processors.into()),
            Cell::text(about.build.as_deref()),
            Cell::long(unix_micros(trace.clock.start_time)),
            Cell::Double(self.seconds(trace.span.to)),
            Cell::Double(self.seconds(interval.from)),
            Cell::Double(self.seconds(interval.to)),
            Cell::count(rows),
            Cell::count(quality.events_lost),
            Cell::count(quality.buffers_lost),
            trace.exact_until().map_or(Cell::Null, |t| self.maybe_seconds(t)),
            trace.cut.map_or(Cell::Null, |cut| self.maybe_seconds(cut.at)),
            Cell::count(quality.unmatched_frees),
            Cell::count(quality.superseded_allocations),
            Cell::count(quality.inferred_frees),
            Cell::count(quality.duplicate_events),
            Cell::count(quality.problems),
            Cell::Text(env!("CARGO_PKG_VERSION")),
            Cell::Map(&about.tags),
        ])
    }
}

/// Converts a FILETIME to microseconds since 1970; `None` if it is unknown.
fn unix_micros(filetime: i64) -> Option<i64> {
    /// Time from 1601 to 1970, in units of 100 ns.
    const TO_1970: i64 = 116_444_736_000_000_000;
    (filetime > 0).then(|| (filetime - TO_1970) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_count_from_1970() {
        assert_eq!(unix_micros(0), None);
        assert_eq!(unix_micros(116_444_736_000_000_010), Some(1));
        assert_eq!(unix_micros(highwater_dev::synth::START_TIME), Some(1_773_740_467_000_000)); // 2026-03-17 09:41:07
    }
}
