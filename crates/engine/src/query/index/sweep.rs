//! Peaks of arbitrary lines from one pass over the events of an interval: workers process stretches of it, each
//! starting from 0, and the stretches are combined in order.

use std::sync::Arc;

use rayon::prelude::*;

use super::feed::{Feed, Item, NOBODY};
use super::order::{EventOrder, EventPosition};
use super::{Index, Ordered};
use crate::model::{Row, RowId, SiteId, Trace};
use crate::query::line_tree::LineTree;
use crate::query::peaks::ByClassLines;
use crate::query::series_of::SeriesOf;
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, LifetimeClass, RowSet};
use crate::units::{Interval, Ticks};

/// The effect of a stretch on a node: its change, and its highest rise above the start of the stretch.
struct Rise {
    node: u32,
    sum: i64,
    high: i64,
}

impl Index {
    /// Returns the highest rise of each node inside `interval`. A row counts for its node, which `nodes_of` has by
    /// site, and for all nodes above it; changes at one tick count together. `None` while the trace grows, or if sums
    /// could overflow.
    pub(in crate::query) fn node_rises(
        &self,
        interval: Interval,
        nodes_of: &[ByClassLines],
        line_tree: &LineTree,
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, by_site: Some(by_site), .. }) = &self.prepared.ordered else { return Ok(None) };
        let (from, to) = self.edges(order, interval);
        let wanted = match &self.chosen {
            Some(chosen) => Some(Arc::clone(chosen)),
            None => self.wanted(by_site, from, to, nodes_of, cancel)?.map(Arc::new),
        };
        let pick = picker(&self.trace, interval, from, nodes_of);
        self.sweep(order, (from, to), &pick, wanted.as_deref(), line_tree, cancel).map(Some)
    }

    /// Returns the highest rise of each group, for arbitrary groups of rows.
    pub(in crate::query) fn group_rises(
        &self,
        interval: Interval,
        group_of: &(impl Fn(&Row) -> u32 + Sync),
        line_tree: &LineTree,
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, .. }) = &self.prepared.ordered else { return Ok(None) };
        let pick = |row: RowId, _: SiteId, _: bool| group_of(&self.trace.rows.get(row));
        self.sweep(order, self.edges(order, interval), &pick, self.chosen.as_deref(), line_tree, cancel).map(Some)
    }

    /// Summarizes one series in each of several parts of time, event by event. Returns an empty list if there is no
    /// event order because sums could overflow.
    pub(in crate::query) fn walk(
        &self,
        parts: &[Interval],
        of: &SeriesOf,
        series: u32,
        cancel: &Cancel,
    ) -> Result<Vec<Summary<i64>>, Cancelled> {
        let Some(Ordered { order, .. }) = &self.prepared.ordered else { return Ok(Vec::new()) };
        let pick = |_: RowId, site: SiteId, _: bool| if of.site[site.0 as usize] == Some(series) { 0 } else { NOBODY };
        let walk = |part: &Interval| {
            let mut sketch = Sketch::default();
            let mut feed = Feed::new(&self.trace.rows, &pick, self.chosen.as_deref());
            feed.run(self.edges(order, *part), cancel, |item| sketch.change(item.at, item.delta))?;
            Ok(sketch.take())
        };
        parts.par_iter().map(walk).collect()
    }

    fn edges(&self, order: &EventOrder, interval: Interval) -> (EventPosition, EventPosition) {
        (order.place(&self.trace.rows, interval.from), order.place(&self.trace.rows, interval.to))
    }

    fn sweep(
        &self,
        order: &EventOrder,
        (from, to): (EventPosition, EventPosition),
        pick: &(impl Fn(RowId, SiteId, bool) -> u32 + Sync),
        wanted: Option<&RowSet>,
        line_tree: &LineTree,
        cancel: &Cancel,
    ) -> Result<Vec<i128>, Cancelled> {
        let rows = &self.trace.rows;
        let mut places = vec![from];
        let cuts = order.cuts(rows, from, to, 4 * rayon::current_num_threads());
        places.extend(cuts.into_iter().map(|(_, place)| place));
        places.push(to);
        let stretches: Result<Vec<Vec<Rise>>, Cancelled> = places
            .par_windows(2)
            .map(|part| {
                let mut climb = Climb::new(line_tree);
                Feed::new(rows, pick, wanted).run((part[0], part[1]), cancel, |item| climb.add(item))?;
                Ok(climb.finish())
            })
            .collect();
        let (mut now, mut rises) = (vec![0; line_tree.len()], vec![0; line_tree.len()]);
        for Rise { node, sum, high } in stretches?.into_iter().flatten() {
            let (now, rise): (&mut i128, &mut i128) = (&mut now[node as usize], &mut rises[node as usize]);
            *rise = (*rise).max(*now + i128::from(high));
            *now += i128::from(sum);
        }
        Ok(rises)
    }

    /// Returns the rows that have a node, if knowing them before reading deaths pays.
    fn wanted(
        &self,
        by_site: &[super::Bucket],
        from: EventPosition,
        to: EventPosition,
        nodes_of: &[ByClassLines],
        cancel: &Cancel,
    ) -> Result<Option<RowSet>, Cancelled> {
        let rows = &self.trace.rows;
        if from.distance(to) < rows.len() as u64 / 2 {
            return Ok(None);
        }
        let wants: Vec<bool> = nodes_of.iter().map(|nodes| *nodes != [NOBODY; 4]).collect();
        let count: u64 = by_site.iter().zip(&wants).filter(|(_, wants)| **wants).map(|(sum, _)| sum.count).sum();
        let is_few = count < rows.len() as u64 / 2;
        is_few.then(|| RowSet::filled(rows, cancel, |chunk, at| wants[chunk.sites()[at].0 as usize])).transpose()
    }
}

/// Returns the function that picks the node of a birth or death inside the interval. It looks up whether the row's
/// other end is inside only if that makes a difference.
fn picker<'a>(
    trace: &'a Trace,
    interval: Interval,
    from: EventPosition,
    nodes_of: &'a [ByClassLines],
) -> impl Fn(RowId, SiteId, bool) -> u32 + Sync + 'a {
    use LifetimeClass::{Aifi, Aifo, Aofi};
    move |row, site, is_birth| {
        let nodes = nodes_of[site.0 as usize];
        let both_inside = nodes[Aifi as usize];
        let other = nodes[if is_birth { Aifo } else { Aofi } as usize];
        let is_inside = || match is_birth {
            true => trace.rows.death(row) < interval.to,
            false if trace.rows.is_out_of_order(row) => trace.rows.birth(row) >= interval.from,
            false => row.0 >= from.birth,
        };
        if both_inside == other || is_inside() { both_inside } else { other }
    }
}

/// State of the nodes while events are processed in time order.
struct Climb<'a> {
    line_tree: &'a LineTree,
    now: Vec<i64>,
    high: Vec<i64>,
    has: Vec<bool>,
    touched: Vec<u32>,
    /// The current tick, and the nodes that changed at it.
    at: Ticks,
    tick: Vec<u32>,
}

impl<'a> Climb<'a> {
    fn new(line_tree: &'a LineTree) -> Self {
        let (now, high, has) = (vec![0; line_tree.len()], vec![0; line_tree.len()], vec![false; line_tree.len()]);
        Self { line_tree, now, high, has, touched: Vec::new(), at: Ticks::BEFORE_TRACE, tick: Vec::new() }
    }

    #[inline]
    fn add(&mut self, item: &Item) {
        if item.at != self.at {
            self.end_tick();
            self.at = item.at;
        }
        self.change(item.of, item.delta);
    }

    fn finish(mut self) -> Vec<Rise> {
        self.end_tick();
        let Self { now, high, touched, .. } = self;
        touched.into_iter().map(|node| Rise { node, sum: now[node as usize], high: high[node as usize] }).collect()
    }

    #[inline]
    fn change(&mut self, node: u32, delta: i64) {
        if self.tick.last() != Some(&node) {
            self.tick.push(node);
        }
        for node in self.line_tree.up(node) {
            let i = node as usize;
            if !self.has[i] {
                self.has[i] = true;
                self.touched.push(node);
            }
            self.now[i] += delta;
        }
    }

    /// Updates the maxima; only at the end of a tick are its changes complete.
    #[inline]
    fn end_tick(&mut self) {
        for node in self.tick.drain(..).flat_map(|node| self.line_tree.up(node)) {
            let i = node as usize;
            self.high[i] = self.high[i].max(self.now[i]);
        }
    }
}
