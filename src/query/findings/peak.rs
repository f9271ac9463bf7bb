//! The largest outstanding size of each layer of each process, and what held most of it.

use super::claim::Claim;
use super::held::held;
use super::source::Sources;
use super::{FindingKind, Question};
use crate::model::{ProcessId, SiteId};
use crate::query::{Bucket, Cancelled, Series, SeriesOf, series};
use crate::units::{Interval, Layer, Ticks};

/// The top of one layer of one process.
pub(super) struct Top {
    pub(super) process: ProcessId,
    pub(super) layer: Layer,
    pub(super) bytes: u64,
    /// The first moment at which so much is alive.
    pub(super) moment: Ticks,
    /// The interval of one tick, or none, behind which that is.
    interval: Interval,
}

/// The tops of all layers, and what each source's layer and all processes reach.
/// Cost: a graph of one bin.
pub(super) fn tops(question: &Question<'_>, sources: &mut Sources) -> Result<Vec<Top>, Cancelled> {
    let trace = question.index.trace();
    let mut keys: Vec<(ProcessId, Layer)> = sources.list.iter().map(|source| (source.process, source.layer)).collect();
    keys.sort_unstable();
    keys.dedup();
    let of_heap: Vec<Option<u32>> =
        trace.heaps.iter().map(|heap| keys.binary_search(&(heap.process, heap.layer)).ok().map(|i| i as u32)).collect();
    let of = SeriesOf::new(trace, keys.len(), |site| {
        of_heap[trace.site(site).heap.0 as usize].filter(|_| question.mask.classes(site) != 0)
    });
    let lines = series(question.index, question.totals, &of, 1, question.cancel)?;
    let top = |(&(process, layer), line): (&(ProcessId, Layer), &Series)| {
        // A line that begins at its highest value has it at the edge already.
        let is_at_edge = line.points.first().is_some_and(|point| point.1 == line.peak);
        let moment = if is_at_edge { question.interval.from } else { line.peak_at.next() };
        let from = if is_at_edge { moment } else { line.peak_at };
        Top { process, layer, bytes: line.peak, moment, interval: Interval { from, to: moment } }
    };
    let tops: Vec<Top> = keys.iter().zip(&lines).map(top).collect();
    for source in &mut sources.list {
        let peaks = || tops.iter().filter(|top| top.layer == source.layer);
        source.layer_peak = peaks().find(|top| top.process == source.process).map_or(0, |top| top.bytes);
        source.whole_peak = peaks().fold(0, |sum, top| sum.saturating_add(top.bytes));
    }
    Ok(tops)
}

/// What every site held at the top of its layer.
pub(super) fn held_at(question: &Question<'_>, tops: &[Top]) -> Result<Vec<Bucket>, Cancelled> {
    let heaps = &question.index.trace().heaps;
    let moment = |(process, layer)| tops.iter().find(|top| (top.process, top.layer) == (process, layer)).map(|top| top.moment);
    let moments: Vec<_> = heaps.iter().map(|heap| moment((heap.process, heap.layer))).collect();
    held(question, &moments)
}

pub(super) fn find(question: &Question<'_>, sources: &Sources, tops: &[Top], held: &[Bucket]) -> Vec<Claim> {
    let trace = question.index.trace();
    let of = |site: SiteId| held[site.0 as usize];
    let mut claims = Vec::new();
    for top in tops.iter().filter(|top| top.bytes > 0) {
        let mut largest = None;
        for source in sources.list.iter().filter(|source| (source.process, source.layer) == (top.process, top.layer)) {
            let amounts: Vec<f64> = source.places.sites.iter().map(|&site| of(site).size as f64).collect();
            for (place, amount) in source.places.own_amounts(&amounts) {
                if largest.is_none_or(|(_, _, most)| amount > most) {
                    largest = Some((source, place, amount));
                }
            }
        }
        let Some((source, place, amount)) = largest else { continue };
        let mut count = 0;
        for (i, site) in trace.sites.iter().enumerate() {
            let heap = trace.heap(site.heap);
            if (heap.process, heap.layer) == (top.process, top.layer) {
                count += held[i].count;
            }
        }
        claims.push(Claim {
            bytes: top.bytes,
            count,
            part: Some(amount as u64),
            is_of_layer: true,
            interval: top.interval,
            ..Claim::at(FindingKind::Peak, source, place)
        });
    }
    claims
}
