//! Everything that a trace says, in words that can be compared.

use std::sync::Arc;

use highwater::model::{NodeId, Row, Sample, Trace};
use highwater::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
use highwater::units::Interval;
use serde_json::Value;

/// All groups, all rows and all processor samples, in words that do not depend on numbers given while loading,
/// and what the trace says of its quality.
pub fn told(trace: Trace) -> Vec<String> {
    let trace = Arc::new(trace);
    let row = |row: Row| {
        let site = trace.site(row.site);
        let heap = trace.heap(site.heap);
        let freed = row.freed_at.map(|site| &trace.free_sites[site.0 as usize]);
        let (stack, freed) =
            (frames(&trace, site.stack), freed.map(|site| (frames(&trace, site.stack), trace.process(site.caller).label())));
        let place = format!("{} {:?} {:?}", trace.process(heap.process).label(), heap.layer, heap.key());
        format!(
            "{place} {:?} {:?} {:?} {:#x} {} {stack:x?} {freed:x?} {}",
            row.birth, row.death, row.thread, row.address, row.size, row.is_cross_thread
        )
    };
    let by = vec![By::Process, By::Heap, By::Stack, By::FreedStack, By::Thread];
    let groups = groups(&trace, trace.span, by);
    let samples = &trace.activity.samples;
    let sample = |sample: &Sample| {
        let site = &samples.sites[sample.site.0 as usize];
        let whose = trace.processes.get(site.caller.0 as usize).map(|process| process.label());
        format!("sample {:?} {:?} {whose:?} {:x?}", sample.at, sample.tid, frames(&trace, site.stack))
    };
    let state = format!("{:?} {:?} {:?} {:?} {:?}", trace.span, trace.quality, trace.counts, trace.problems, trace.losses);
    let rows = trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, it)| row(it)).collect::<Vec<_>>());
    let idle = format!("{} {}", samples.idle, samples.unknown);
    let samples = samples.list.iter().map(sample);
    [state, idle].into_iter().chain(rows).chain(samples).chain(groups.iter().map(Value::to_string)).collect()
}

fn frames(trace: &Trace, stack: NodeId) -> Vec<u64> {
    trace.stacks.chain(stack).map(|node| trace.stacks.address(node)).collect()
}

/// The groups of a report.
pub fn groups(trace: &Arc<Trace>, interval: Interval, by: Vec<By>) -> Vec<Value> {
    let request = ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
    let groups = report(&Index::scan(Arc::clone(trace)), &request, &Cancel::default()).unwrap().groups;
    groups.iter().map(|group| serde_json::to_value(group).unwrap()).collect()
}

/// The first place where two traces differ.
pub fn difference(a: &[String], b: &[String]) -> Option<(String, String)> {
    let differ = || a.iter().zip(b).find(|(a, b)| a != b).map(|(a, b)| (a.clone(), b.clone()));
    differ().or_else(|| (a.len() != b.len()).then(|| (a.len().to_string(), b.len().to_string())))
}
