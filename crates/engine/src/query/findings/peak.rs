//! The peak of each layer of each process, and the place that held most of it.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::source::{BINS, Source, Sources};
use crate::model::{ProcessId, SiteId};
use crate::query::sum_peaks::{SumPeak, SumsOf, sum_peaks};
use crate::query::{Bucket, Cancelled, SeriesOf};
use crate::units::{Interval, Layer, Ticks};

/// The peak of one layer of one process.
pub(super) struct Top {
    pub(super) process: ProcessId,
    pub(super) layer: Layer,
    pub(super) bytes: u64,
    /// The first moment at which this many bytes are alive.
    pub(super) moment: Ticks,
    /// The tick before that moment; empty if the peak is at the start of the interval.
    pub(super) interval: Interval,
}

/// Finds the peaks of all layers, and sets the layer peak of each source. Cost: see [`sum_peaks`].
pub(super) fn tops(question: &Question<'_>, sources: &mut Sources) -> Result<Vec<Top>, Cancelled> {
    let key = |source: &Source| (source.process, source.layer);
    let mut keys: Vec<(ProcessId, Layer)> = sources.list.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    // All heaps of these layers, including those too small to be sources. They are numbered like the sources, so that
    // sums computed for the sources' lines are reused.
    let trace = question.index.trace();
    let mut series_of_heap = vec![None; trace.heaps.len()];
    let mut sum = Vec::new();
    for &id in &sources.heaps {
        let heap = trace.heap(id);
        if let Ok(key) = keys.binary_search(&(heap.process, heap.layer)) {
            series_of_heap[id.0 as usize] = Some(sum.len() as u32);
            sum.push(key as u32);
        }
    }
    let of = SeriesOf::new(trace, sum.len(), |site| {
        series_of_heap[trace.site(site).heap.0 as usize].filter(|_| question.mask.classes(site) != 0)
    });
    let of = SumsOf { series: &of, sum: &sum, count: keys.len() };
    let found = sum_peaks(question.index, question.totals, &of, BINS, question.cancel)?;
    let top = |(&(process, layer), sum_peak): (&(ProcessId, Layer), &SumPeak)| {
        let moment = sum_peak.at.map_or(question.interval.from, Ticks::next);
        let from = sum_peak.at.unwrap_or(moment);
        Top { process, layer, bytes: sum_peak.bytes, moment, interval: Interval { from, to: moment } }
    };
    let tops: Vec<Top> = keys.iter().zip(&found).map(top).collect();
    for source in &mut sources.list {
        let peaks = || tops.iter().filter(|top| top.layer == source.layer);
        source.layer_peak = peaks().find(|top| top.process == source.process).map_or(0, |top| top.bytes);
    }
    Ok(tops)
}

/// Returns the blocks of each site at the peak of its layer.
pub(super) fn held_at(question: &Question<'_>, tops: &[Top]) -> Result<Vec<Bucket>, Cancelled> {
    let heaps = &question.index.trace().heaps;
    let moment = |(process, layer)| tops.iter().find(|top| (top.process, top.layer) == (process, layer)).map(|top| top.moment);
    let moments: Vec<_> = heaps.iter().map(|heap| moment((heap.process, heap.layer))).collect();
    question.held(&moments)
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
