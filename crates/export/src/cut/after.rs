//! State for the events behind the interval: which processes start there, and which parts of pages go there.
//!
//! A range of pages of which a part is freed later is several rows, as it was in the interval too. So where that
//! happens after the interval, what goes first goes at its end.

use crate::events::StackPart;
use crate::model::{HeapId, Row, Trace};
use crate::tables::KeyedSet;
use crate::units::{Layer, Pid, Ticks};

/// State for the events behind the interval.
#[derive(Debug)]
pub(super) struct After {
    /// Processes with pages in the interval that start after it, and when.
    pub(super) prepared: KeyedSet<(Pid, i64)>,
    /// Parts of ranges of pages, by process, that are rows of their own because they go before the rest.
    pub(super) parts: Vec<(Pid, PagePart)>,
    /// Raw time that events get.
    pub(super) time: i64,
    /// Keys that were defined at this time.
    pub(super) defined: KeyedSet<(StackPart, u64)>,
}

impl After {
    pub(super) fn new(trace: &Trace, trace_start: i64, to: Ticks) -> Self {
        let starts_later = |start: Option<Ticks>| start.is_some_and(|start| start >= to);
        let is_late: Vec<bool> = trace.processes.iter().map(|process| starts_later(process.start)).collect();
        let late = |site: usize| is_late[trace.process_of(&trace.sites[site]).0 as usize];
        let sites: Vec<bool> = (0..trace.sites.len()).map(late).collect();
        let mut prepared = KeyedSet::default();
        if sites.contains(&true) {
            let rows = trace.rows.chunks().flat_map(crate::model::Chunk::rows);
            for (_, row) in rows.filter(|(_, row)| row.birth < to && sites[row.site.0 as usize]) {
                let process = trace.process(trace.process_of(trace.site(row.site)));
                prepared.extend(process.start.map(|start| (process.pid, trace_start.saturating_add(start.0))));
            }
        }
        let time = trace_start.saturating_add(to.0).max(trace_start);
        Self { prepared, parts: parts(trace, to), time, defined: KeyedSet::default() }
    }
}

/// A row of pages that is alive at the end of the interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PagePart {
    heap: HeapId,
    birth: Ticks,
    pub(super) address: u64,
    pub(super) size: u64,
    death: Ticks,
}

/// Of rows that were one range once, those that go first.
fn parts(trace: &Trace, to: Ticks) -> Vec<(Pid, PagePart)> {
    let is_commit: Vec<bool> = trace.sites.iter().map(|site| trace.layer_of(site) == Layer::Commit).collect();
    let mut rows: Vec<PagePart> = Vec::new();
    for (_, row) in trace.rows.chunks().flat_map(crate::model::Chunk::rows) {
        if is_commit[row.site.0 as usize] && row.birth < to && row.death >= to {
            let Row { address, size, birth, death, .. } = row;
            rows.push(PagePart { heap: trace.site(row.site).heap, birth, address, size, death });
        }
    }
    rows.sort_unstable();
    let is_next = |a: &PagePart, b: &PagePart| (a.heap, a.birth, a.address.wrapping_add(a.size)) == (b.heap, b.birth, b.address);
    let mut parts = Vec::new();
    for whole in rows.chunk_by(is_next).filter(|whole| whole.len() > 1) {
        // One stays, the last to go.
        let stays = whole.iter().enumerate().max_by_key(|(_, part)| part.death).map(|(at, _)| at);
        let goes = |(at, part): &(usize, &PagePart)| Some(*at) != stays && part.death != Ticks::NEVER;
        let first = whole.iter().enumerate().filter(goes).map(|(_, part)| part);
        parts.extend(first.map(|part| (trace.process(trace.heap(part.heap).process).pid, *part)));
    }
    parts
}
