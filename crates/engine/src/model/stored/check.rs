//! Checks that all numbers in a restored trace name something that is there.

use crate::model::activity::NOBODY;
use crate::model::{Activity, HeapId, NodeId, ProcessId, Site, Trace};
use crate::stored::Damaged;

/// Checks everything but the rows and stacks, which were checked when they were read.
pub(super) fn check(trace: &Trace) -> Result<(), Damaged> {
    let Trace { clock, span, heaps, sites, free_sites, rows, thread_names, counters, unmatched, copies, .. } = trace;
    let has_process = |id: ProcessId| (id.0 as usize) < trace.processes.len();
    let may_have_process = |id: Option<ProcessId>| id.is_none_or(has_process);
    let has_heap = |id: HeapId| (id.0 as usize) < heaps.len();
    let has_node = |id: NodeId| (id.0 as usize) < trace.stacks.len();
    let is_site = |site: &Site| has_heap(site.heap) && has_node(site.stack) && has_process(site.caller);
    let is_good = clock.frequency > 0
        && span.from <= span.to
        && heaps.iter().all(|heap| has_process(heap.process))
        && sites.iter().chain(free_sites).all(is_site)
        && rows.sums_saturate() == trace.quality.sums_saturate
        && thread_names.keys().all(|&(process, _)| has_process(process))
        && counters.iter().all(|counter| may_have_process(counter.process))
        && unmatched.iter().all(|free| free.heap.is_none_or(has_heap) && has_node(free.stack))
        && trace.reservations.iter().all(|range| has_process(range.process))
        && trace.thread_stacks.iter().all(|seen| has_process(seen.process))
        && copies.iter().all(|file| file.copy_of.is_none_or(|original| original < copies.len()))
        && activity_is_good(trace, has_process, has_node);
    if is_good { Ok(()) } else { Err(Damaged) }
}

fn activity_is_good(trace: &Trace, has_process: impl Fn(ProcessId) -> bool, has_node: impl Fn(NodeId) -> bool) -> bool {
    let Activity { marks, presents, managed, samples, faults, gpu: _, views } = &trace.activity;
    let may_have_process = |id: Option<ProcessId>| id.is_none_or(&has_process);
    // The heaps of these sites mean nothing.
    let is_site = |site: &Site| has_node(site.stack) && (site.caller == NOBODY || has_process(site.caller));
    marks.list.iter().all(|mark| usize::from(mark.provider) < marks.providers.len() && may_have_process(mark.process))
        && presents.iter().all(|lane| has_process(lane.process))
        && managed.processes().into_iter().all(&has_process)
        && samples.sites.iter().all(is_site)
        && samples.list.iter().all(|sample| (sample.site.0 as usize) < samples.sites.len())
        && faults.list.iter().all(|fault| (fault.site.0 as usize) < samples.sites.len())
        && views.iter().all(|view| has_process(view.process))
}
