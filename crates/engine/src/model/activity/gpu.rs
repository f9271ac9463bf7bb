//! GPU memory of processes: which counters belong together.
//!
//! The numbers themselves are [counters](crate::model::Counter), which keep the lives of processes apart and have the bounds.
//! They are beside the rows and in no layer: what a program allocates from the GPU may lie in the machine's memory, too.
//!
//! Cost: a pass over the counters per publication.

use crate::events::{Adapter, GpuKind, SegmentGroup};
use crate::model::{Counter, CounterId, CounterKind, CounterOwner, ProcessId};
use crate::tables::KeyedMap;
use crate::units::Pid;

/// GPU memory of one process on one adapter, in one segment group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GpuSeries {
    /// Id of the process.
    pub pid: Pid,
    /// Its life, if an event named it.
    pub process: Option<ProcessId>,
    /// The adapter.
    pub adapter: Adapter,
    /// Where the memory is.
    pub group: SegmentGroup,
    /// Bytes resident.
    pub usage: Option<CounterId>,
    /// Bytes that may be resident.
    pub budget: Option<CounterId>,
    /// Bytes committed.
    pub commitment: Option<CounterId>,
}

/// All series, in the order in which their first counters came, so that their places stay while a trace grows.
pub(super) fn series(counters: &[Counter]) -> Vec<GpuSeries> {
    let mut all: Vec<GpuSeries> = Vec::new();
    let mut index = KeyedMap::default();
    for (id, counter) in (0..).map(CounterId).zip(counters) {
        let (CounterKind::Gpu(kind, group), CounterOwner::Gpu(pid, adapter)) = (counter.kind, counter.owner) else { continue };
        let at = *index.entry((pid, counter.life, adapter, group)).or_insert(all.len());
        if at == all.len() {
            let process = counter.process;
            all.push(GpuSeries { pid, process, adapter, group, usage: None, budget: None, commitment: None });
        }
        let series = &mut all[at];
        match kind {
            GpuKind::Usage => series.usage = Some(id),
            GpuKind::Budget => series.budget = Some(id),
            GpuKind::Commitment => series.commitment = Some(id),
        }
    }
    all
}
