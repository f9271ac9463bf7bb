//! Activity of programs while memory changed, as a trace keeps it: marks, presented frames, code and
//! heaps of the .NET runtime, CPU samples. None of it changes a number of memory.
//!
//! Memory: each kind has a bound of its own, and all of it counts towards the budget; refused entries
//! are counted and reported. Publications share all that does not change. Cost: nothing where there is
//! none of it; else a hash operation or two for each event.

mod chunked;
mod gpu;
mod managed;
mod marks;
mod presents;
mod samples;

use std::sync::Arc;

pub use chunked::Chunked;
pub use gpu::GpuSeries;
pub use managed::{ManagedCode, Method};
pub use marks::{Mark, MarkProvider, Marks};
pub use presents::{OtherWindows, PresentLane};
pub use samples::{IntervalOrigin, Sample, Samples};
pub(super) use samples::{NO_HEAP, NOBODY, SampleTable};

use super::Site;
use super::counters::{Counter, CounterTable};
use super::world::ProcessTable;
use crate::events::{ActivityEvent, ManagedEvent, Record};
use crate::units::Ticks;
use managed::ManagedTable;
use marks::MarkTable;
use presents::PresentTable;

/// All activity in a published trace.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Moments to which somebody gave a text, and garbage collections.
    pub marks: Marks,
    /// Presented frames, by swap chain.
    pub presents: Vec<PresentLane>,
    /// Where the .NET runtime put the code of each method.
    pub managed: Arc<ManagedCode>,
    /// CPU samples.
    pub samples: Samples,
    /// GPU memory of processes, by adapter and segment group.
    pub gpu: Vec<GpuSeries>,
}

/// Collects activity in time order.
#[derive(Debug, Default)]
pub(super) struct ActivityTable {
    marks: MarkTable,
    presents: PresentTable,
    managed: ManagedTable,
    pub(super) samples: SampleTable,
}

impl ActivityTable {
    /// Applies a record of the time `at`, on a clock of `frequency` ticks a second.
    pub(super) fn apply(
        &mut self,
        record: &Record,
        event: &ActivityEvent,
        (at, frequency): (Ticks, u64),
        processes: &mut ProcessTable,
        counters: &mut CounterTable,
    ) {
        match event {
            ActivityEvent::Mark(mark) => {
                let process = processes.find(record.pid);
                self.marks.add(mark, (at, frequency), process, record.tid);
            }
            ActivityEvent::Schema(schema) => self.marks.describe(schema),
            ActivityEvent::Present(present) => {
                let process = processes.find_or_add(record.pid, at);
                self.presents.apply(present, (process, record.tid), (at, frequency));
            }
            ActivityEvent::Managed(event) => {
                let process = processes.find_or_add(record.pid, at);
                match event {
                    ManagedEvent::Method(change, method) => self.managed.change(process, *change, method, at),
                    ManagedEvent::Module { id, path } => self.managed.module(process, *id, path),
                    ManagedEvent::CollectionStart(collection) => {
                        self.marks.collection_starts(collection, at, process, record.tid);
                    }
                    ManagedEvent::CollectionEnd(id) => self.marks.collection_ends(process, *id, at),
                    ManagedEvent::Heaps(heaps) => counters.managed_heaps(record.pid, heaps, at, processes),
                }
            }
            ActivityEvent::SampleInterval(interval) => self.samples.set_interval(*interval),
            ActivityEvent::Gpu(memory) => counters.gpu_memory(record.pid, memory, at, processes),
        }
    }

    /// The activity that is known now; after it was published as complete, nothing changes. `sites` are
    /// those of samples, `counters` all published ones.
    pub(super) fn publish(&mut self, is_complete: bool, frequency: u64, sites: Vec<Site>, counters: &[Counter]) -> Activity {
        Activity {
            gpu: gpu::series(counters),
            marks: self.marks.publish(is_complete),
            presents: self.presents.publish(),
            managed: self.managed.publish(),
            samples: self.samples.publish(frequency, sites),
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.marks.bytes() + self.presents.bytes() + self.managed.bytes() + self.samples.bytes()
    }

    /// One sentence for each kind of which something was left out.
    pub(super) fn left_out(&self) -> Vec<String> {
        let parts = [self.marks.left_out(), self.presents.left_out(), self.managed.left_out(), self.samples.left_out()];
        parts.into_iter().flatten().collect()
    }
}
