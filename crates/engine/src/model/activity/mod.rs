//! Activity of programs while memory changed, as a trace keeps it: marks, presented frames, code and
//! heaps of the .NET runtime, CPU samples, page faults, PIX's scopes and counters, mapped views. None of it changes a
//! number of memory.
//!
//! Memory: each kind has a bound of its own, and all of it counts towards the budget; refused entries
//! are counted and reported. Publications share all that does not change. Cost: nothing where there is
//! none of it; else a hash operation or two for each event.

mod chunked;
mod faults;
mod gpu;
mod managed;
mod marks;
mod pix;
mod placed;
mod presents;
mod samples;
mod views;

use std::sync::Arc;

pub use chunked::Chunked;
pub(super) use faults::FaultTable;
pub use faults::{Fault, Faults, PageRead};
pub use gpu::GpuSeries;
pub use managed::{ManagedCode, Method};
pub use marks::{Mark, MarkProvider, Marks};
pub(super) use placed::PlacedEvent;
pub use presents::{OtherWindows, PresentLane};
pub use samples::{IntervalOrigin, Sample, Samples};
pub(super) use samples::{NO_HEAP, NOBODY, SampleTable};
pub use views::MappedView;

use super::Site;
use super::counters::{Counter, CounterTable};
use super::world::ProcessTable;
use crate::events::{ActivityEvent, EventSchema, ManagedEvent, PixEvent, Record, ViewChange};
use crate::stored::{Damaged, In, Out, Stored};
use crate::units::Ticks;
use managed::ManagedTable;
use marks::MarkTable;
use pix::PixTable;
use presents::PresentTable;
use views::ViewTable;

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
    /// Page faults.
    pub faults: Faults,
    /// GPU memory of processes, by adapter and segment group.
    pub gpu: Vec<GpuSeries>,
    /// Views of files and of shared memory.
    pub views: Chunked<MappedView>,
}

impl Activity {
    /// Writes it as stored values.
    pub(super) fn put(&self, out: &mut Out) {
        let Self { marks, presents, managed, samples, faults, gpu: _, views } = self;
        marks.put(out);
        presents.put(out);
        managed.put(out);
        samples.put(out);
        faults.put(out);
        views.put(out);
    }

    /// Reads it from stored values; `counters` are all of the trace.
    pub(super) fn get(from: &mut In<'_>, counters: &[Counter]) -> Result<Self, Damaged> {
        Ok(Self {
            marks: Stored::get(from)?,
            presents: Stored::get(from)?,
            managed: Stored::get(from)?,
            samples: Stored::get(from)?,
            faults: Stored::get(from)?,
            views: Stored::get(from)?,
            gpu: gpu::series(counters),
        })
    }
}

/// Collects activity in time order.
#[derive(Debug, Default)]
pub(super) struct ActivityTable {
    marks: MarkTable,
    presents: PresentTable,
    managed: ManagedTable,
    pix: PixTable,
    views: ViewTable,
    pub(super) samples: SampleTable,
    pub(super) faults: FaultTable,
}

impl ActivityTable {
    /// Applies a record of the time `at`, on a clock of `frequency` ticks a second; the trace starts at the raw time `start`.
    pub(super) fn apply(
        &mut self,
        record: &Record,
        event: &ActivityEvent,
        (at, frequency, start): (Ticks, u64, i64),
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
            ActivityEvent::Pix(PixEvent::Counter { name, value }) => {
                counters.value(record.pid, name, *value, at, processes);
            }
            ActivityEvent::Pix(PixEvent::Block(block)) => {
                let process = processes.find_or_add(record.pid, at);
                self.pix.block(block, process, start, &mut self.marks);
            }
            ActivityEvent::Pix(PixEvent::Unread(doubt)) => self.pix.unread(*doubt, processes.find(record.pid)),
            ActivityEvent::View(view) => {
                let process = match view.change {
                    ViewChange::Map | ViewChange::RundownStart => Some(processes.find_or_add(record.pid, at)),
                    // It may be the clearing up of a process that is over.
                    ViewChange::Unmap | ViewChange::RundownEnd => processes.find(record.pid),
                };
                process.into_iter().for_each(|process| self.views.change(process, view, at));
            }
            ActivityEvent::Gpu(memory) => counters.gpu_memory(record.pid, memory, at, processes),
        }
    }

    /// Adds a description of events that the trace may lack; its own hold.
    pub(super) fn describe(&mut self, schema: &EventSchema) {
        self.marks.describe(schema);
    }

    /// The activity that is known now; after it was published as complete, nothing changes. `sites` are
    /// those of samples and faults, `counters` all published ones.
    pub(super) fn publish(&mut self, is_complete: bool, frequency: u64, sites: Vec<Site>, counters: &[Counter]) -> Activity {
        if is_complete {
            self.pix.finish(&mut self.marks);
        }
        Activity {
            gpu: gpu::series(counters),
            marks: self.marks.publish(is_complete),
            presents: self.presents.publish(),
            managed: self.managed.publish(),
            samples: self.samples.publish(frequency, sites),
            faults: self.faults.publish(),
            views: self.views.publish(),
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let Self { marks, presents, managed, pix, views, samples, faults } = self;
        marks.bytes() + presents.bytes() + managed.bytes() + samples.bytes() + faults.bytes() + pix.bytes() + views.bytes()
    }

    /// One sentence for each kind of which something was left out; `is_complete`: whether no more comes.
    pub(super) fn left_out(&self, is_complete: bool) -> Vec<String> {
        let parts = [
            self.marks.left_out(),
            self.presents.left_out(),
            self.managed.left_out(),
            self.samples.left_out(),
            self.faults.left_out(),
            self.pix.left_out(is_complete),
            self.views.left_out(),
        ];
        parts.into_iter().flatten().collect()
    }
}
