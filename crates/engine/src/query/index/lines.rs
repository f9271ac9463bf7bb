//! Activity of each series in each bin of a graph, combined from the largest nodes of the pyramids that fit into the
//! bins. Blocks across an edge of a bin are walked event by event; they are few ([`super::Index::bins`]). So are blocks
//! without entries, which exist if too many groups are active. Parallel over parts of the bins.

use rayon::prelude::*;

use super::blocks::EventBlocks;
use super::feed::{Feed, NOBODY};
use super::groups::Groups;
use super::order::EventOrder;
use super::pyramid::Pyramid;
use crate::model::{RowId, SiteId, Trace};
use crate::query::bins::Bins;
use crate::query::series_of::SeriesOf;
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, RowSet};
use crate::units::{Interval, Ticks};

/// The bins of one series that have steps in them, in order.
pub(in crate::query) type Line = Vec<Summary<i64>>;

/// The data that lines are computed from.
pub(super) struct Source<'a> {
    pub(super) trace: &'a Trace,
    pub(super) order: &'a EventOrder,
    /// The stretches in time order.
    pub(super) stretches: Vec<(&'a EventBlocks, &'a Pyramid)>,
    /// The series of each site (as in `of`), and of each group of the pyramids.
    pub(super) of_site: &'a Groups,
    pub(super) of_group: &'a [u32],
    pub(super) of: &'a SeriesOf,
    /// The selected rows; `None` for all.
    pub(super) chosen: Option<&'a RowSet>,
}

impl Source<'_> {
    /// Returns the steps of all series inside `interval`, by series and bin.
    pub(super) fn lines(&self, interval: Interval, bins: &Bins, cancel: &Cancel) -> Result<Vec<Line>, Cancelled> {
        let mut lines = vec![Line::new(); self.of.count];
        if interval.is_empty() {
            return Ok(lines);
        }
        let count = bins.count().min(4 * rayon::current_num_threads());
        let edge = |k: usize| bins.count() * k / count;
        let parts: Result<Vec<Vec<Line>>, Cancelled> = (0..count)
            .into_par_iter()
            .map(|k| {
                let (from, to) = (bins.start(edge(k)), bins.start(edge(k + 1)));
                let part = Interval { from: from.max(interval.from), to: to.min(interval.to) };
                Pens::new(self, bins).draw(part, cancel)
            })
            .collect();
        for part in parts? {
            lines.iter_mut().zip(part).for_each(|(line, more)| line.extend(more));
        }
        Ok(lines)
    }
}

/// State while the series of one part of the bins are drawn in time order.
struct Pens<'a> {
    source: &'a Source<'a>,
    bins: &'a Bins,
    /// End of the current bin.
    bin_end: Ticks,
    /// For each series the summary of the current bin, and the events that are not part of it yet.
    sums: Vec<(Summary<i64>, Sketch<i64>)>,
    has: Vec<bool>,
    touched: Vec<u32>,
    lines: Vec<Line>,
}

impl<'a> Pens<'a> {
    fn new(source: &'a Source<'a>, bins: &'a Bins) -> Self {
        Self {
            source,
            bins,
            bin_end: Ticks::BEFORE_TRACE,
            sums: vec![Default::default(); source.of.count],
            has: vec![false; source.of.count],
            touched: Vec::new(),
            lines: vec![Line::new(); source.of.count],
        }
    }

    fn draw(mut self, part: Interval, cancel: &Cancel) -> Result<Vec<Line>, Cancelled> {
        let Source { trace, of_site, chosen, .. } = *self.source;
        let pick = |_: RowId, site: SiteId, _: bool| of_site.of(site);
        let mut feed = Feed::new(&trace.rows, &pick, chosen);
        let stretches = &self.source.stretches;
        let first = stretches.partition_point(|(blocks, _)| blocks.last() < part.from);
        for (blocks, pyramid) in stretches[first..].iter().take_while(|(blocks, _)| blocks.first() < part.to) {
            self.draw_stretch(blocks, pyramid, part, &mut feed, cancel)?;
        }
        self.end_bin();
        Ok(self.lines)
    }

    fn draw_stretch(
        &mut self,
        blocks: &EventBlocks,
        pyramid: &Pyramid,
        part: Interval,
        feed: &mut Feed<'_, impl Fn(RowId, SiteId, bool) -> u32>,
        cancel: &Cancel,
    ) -> Result<(), Cancelled> {
        let Source { trace, order, of_group, of, .. } = *self.source;
        let end = blocks.first_from(part.to);
        let mut block = blocks.first_reaching(part.from);
        while block < end {
            let (first, last) = blocks.ticks(block);
            if first >= part.from {
                self.advance(first);
                let limit = self.bin_end.min(part.to);
                if let Some(level) = pyramid.largest(block, end, |last| blocks.ticks(last).1 < limit) {
                    block = pyramid.node(blocks, level, block, |group, summary| {
                        let series = of_group[group as usize];
                        if series != NOBODY {
                            self.sum(series).0.append(summary);
                        }
                    });
                    continue;
                }
            }
            // Across an edge, or without entries: event by event, as far as they are in this part.
            let edge = |at: Ticks| order.place(&trace.rows, at);
            let from = if first < part.from { edge(part.from) } else { blocks.place(&trace.rows, block) };
            let to = if last >= part.to { edge(part.to) } else { blocks.place(&trace.rows, block + 1) };
            feed.run((from, to), cancel, |item| {
                self.advance(item.at);
                for series in of.reach(item.of) {
                    self.sum(series).1.change(item.at, item.delta);
                }
            })?;
            self.join();
            block += 1;
        }
        Ok(())
    }

    /// Ends the bin if `at` is after it.
    #[inline]
    fn advance(&mut self, at: Ticks) {
        if at >= self.bin_end {
            self.end_bin();
            self.bin_end = self.bins.end(at);
        }
    }

    #[inline]
    fn sum(&mut self, series: u32) -> &mut (Summary<i64>, Sketch<i64>) {
        let i = series as usize;
        if !self.has[i] {
            self.has[i] = true;
            self.touched.push(series);
        }
        &mut self.sums[i]
    }

    /// Appends the walked events to the summaries.
    fn join(&mut self) {
        for &series in &self.touched {
            let (sum, sketch) = &mut self.sums[series as usize];
            sum.append(&sketch.take());
        }
    }

    fn end_bin(&mut self) {
        self.join();
        for series in self.touched.drain(..) {
            self.has[series as usize] = false;
            let sum = std::mem::take(&mut self.sums[series as usize].0);
            if sum.steps > 0 {
                self.lines[series as usize].push(sum);
            }
        }
    }
}
