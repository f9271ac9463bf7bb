//! The sources that findings are searched in: heaps, trackers and the commit of processes, each with its places and its
//! line over time.

use rayon::prelude::*;

use super::levels::{Levels, NO_LINE};
use super::place::Places;
use super::question::Question;
use crate::model::{HeapId, NodeId, ProcessId, SiteId};
use crate::names::FrameKind;
use crate::query::callers::{CallerFrame, callers};
use crate::query::{Cancelled, Series, SeriesOf, series};
use crate::units::{Interval, Layer, Ticks};

/// A heap, a tracker, or the commit of a process.
pub(super) struct Source {
    pub(super) heap: HeapId,
    pub(super) process: ProcessId,
    pub(super) layer: Layer,
    pub(super) places: Places,
    /// First line of its sites in the table.
    first_line: usize,
    /// The part of the interval in which its process lived.
    pub(super) life: Interval,
    pub(super) series: Series,
    /// Peak of its layer in its process.
    pub(super) layer_peak: u64,
}

/// The sources of an interval, and the table of their sites' live bytes.
pub(super) struct Sources {
    pub(super) list: Vec<Source>,
    /// The heaps of the sources, then those too small to be sources, in the same order.
    pub(super) heaps: Vec<HeapId>,
    pub(super) levels: Levels,
    /// By site, the function at the address of its responsible caller.
    caller_levels: Vec<u16>,
}

/// Largest number of sources: those that allocated most bytes. Programs have some dozens of heaps.
const MOST_SOURCES: usize = 128;

/// Number of bins of a source's line over time.
pub(super) const BINS: usize = 1024;

impl Sources {
    pub(super) fn new(question: &Question<'_>) -> Result<Self, Cancelled> {
        let trace = question.index.trace();
        let mut moved = vec![0u64; trace.heaps.len()];
        let mut members: Vec<SiteId> = Vec::new();
        for (site, sums) in question.totals.sites().filter(|(site, _)| question.mask.classes(*site) != 0) {
            let heap = trace.site(site).heap.0 as usize;
            moved[heap] = moved[heap].saturating_add(sums.numbers().size);
            members.push(site);
        }
        let ids = (0..moved.len() as u32).map(HeapId);
        let mut heaps: Vec<HeapId> = ids.filter(|heap| moved[heap.0 as usize] > 0).collect();
        heaps.sort_by_key(|&heap| (std::cmp::Reverse(moved[heap.0 as usize]), heap));
        let count = heaps.len().min(MOST_SOURCES);
        let mut source_of = vec![None; trace.heaps.len()];
        (0u32..).zip(&heaps[..count]).for_each(|(i, heap)| source_of[heap.0 as usize] = Some(i));
        let of = SeriesOf::new(trace, count, |site| {
            source_of[trace.site(site).heap.0 as usize].filter(|_| question.mask.classes(site) != 0)
        });
        let lines = series(question.index, question.totals, &of, BINS, question.cancel)?;

        members.retain(|&site| source_of[trace.site(site).heap.0 as usize].is_some());
        let sites = members.par_iter().map(|&site| trace.site(site));
        let found = callers(trace, sites, question.names, FrameKind::Innermost, question.cancel)?;
        let mut folded: Vec<Vec<(NodeId, SiteId)>> = vec![Vec::new(); count];
        let mut caller_levels = vec![0; trace.sites.len()];
        for (&site, caller) in members.iter().zip(found) {
            if let Some(source) = source_of[trace.site(site).heap.0 as usize] {
                folded[source as usize].push((caller.responsible.node, site));
                caller_levels[site.0 as usize] = caller.responsible.level;
            }
        }
        let mut list = Vec::with_capacity(count);
        let mut line_of = vec![NO_LINE; trace.sites.len()];
        let mut first_line = 0;
        for ((heap, folded), series) in heaps.iter().copied().zip(folded).zip(lines) {
            question.cancel.check()?;
            let (process, layer) = (trace.heap(heap).process, trace.heap(heap).layer);
            let places = Places::new(trace, &folded);
            (first_line..).zip(&places.sites).for_each(|(line, site)| line_of[site.0 as usize] = line as u32);
            let life = life(question, process);
            list.push(Source { heap, process, layer, first_line, life, series, layer_peak: 0, places });
            first_line += folded.len();
        }
        let levels = Levels::new(question.index, question.interval, &line_of, first_line, question.cancel)?;
        Ok(Self { list, heaps, levels, caller_levels })
    }

    /// Returns the responsible caller of the own sites of a source's place, and the first of them; `None` if it has none.
    pub(super) fn caller(&self, source: &Source, place: usize) -> Option<(CallerFrame, SiteId)> {
        let &site = source.places.own(place).first()?;
        let (node, level) = (source.places.list[place].node, self.caller_levels[site.0 as usize]);
        Some((CallerFrame { node, level }, site))
    }

    /// Returns the bytes alive of a source's place at each moment of [`Sources::moments`].
    pub(super) fn alive(&self, source: &Source, place: usize) -> Vec<f64> {
        let sites = &source.places.list[place].sites;
        let lines = source.first_line + sites.start..source.first_line + sites.end;
        self.levels.sum(lines, self.moments(source))
    }

    /// Returns the moments of the table at which a source's process is alive.
    pub(super) fn moments(&self, source: &Source) -> std::ops::Range<usize> {
        let moments = &self.levels.moments;
        let first = moments.partition_point(|&t| t < source.life.from);
        let end = moments.partition_point(|&t| t <= source.life.to);
        first..end.max(first)
    }
}

/// Returns the part of the interval in which a process lived.
fn life(question: &Question<'_>, process: ProcessId) -> Interval {
    let process = question.index.trace().process(process);
    let Interval { from, to } = question.interval;
    let start = process.start.map_or(from, |start| start.max(from)).min(to);
    Interval { from: start, to: process.end.map_or(to, |end| end.min(to)).max(start) }
}

/// Returns the minima and the maxima of a line in bins of equal length.
pub(super) fn envelope(series: &Series, interval: Interval, bins: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut low, mut high) = (vec![f64::INFINITY; bins], vec![f64::NEG_INFINITY; bins]);
    let length = interval.len().max(1) as f64;
    let bin_of = |t: Ticks| (((t.0 as f64 - interval.from.0 as f64) / length * bins as f64).max(0.0) as usize).min(bins - 1);
    let mut put = |bin: usize, value: f64| {
        low[bin] = low[bin].min(value);
        high[bin] = high[bin].max(value);
    };
    let (mut last, mut now) = (0, series.value_at(interval.from) as f64);
    put(0, now);
    let inside = series.points.iter().filter(|point| interval.from <= point.0 && point.0 <= interval.to);
    for &(at, value) in inside {
        let bin = bin_of(at);
        (last + 1..=bin).for_each(|between| put(between, now));
        (last, now) = (bin, value as f64);
        put(bin, now);
    }
    (last..bins).for_each(|bin| put(bin, now));
    (low, high)
}
