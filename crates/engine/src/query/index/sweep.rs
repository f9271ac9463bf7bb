//! Peaks of arbitrary lines from one pass over the events of an interval: workers process stretches of it, each
//! starting from 0, and the stretches are combined in order.

use std::sync::Arc;

use rayon::prelude::*;

use super::climb::{Climb, Rise};
use super::feed::{Feed, NOBODY};
use super::order::{EventOrder, EventPosition};
use super::{Index, Ordered};
use crate::model::{Row, RowId, SiteId};
use crate::query::line_tree::LineTree;
use crate::query::peaks::ByClassLines;
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, LifetimeClass, RowSet};
use crate::units::Interval;

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
        let pick = self.picker(interval, nodes_of);
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

    /// Summarizes the rows for which `pick` returns a number in each of several parts of time, event by event. `pick` gets a row,
    /// its site, and whether it is born. Returns an empty list if there is no event order because sums could overflow.
    pub(in crate::query) fn walk(
        &self,
        parts: &[Interval],
        pick: &(impl Fn(RowId, SiteId, bool) -> u32 + Sync),
        cancel: &Cancel,
    ) -> Result<Vec<Summary<i64>>, Cancelled> {
        let Some(Ordered { order, .. }) = &self.prepared.ordered else { return Ok(Vec::new()) };
        let walk = |part: &Interval| {
            let mut sketch = Sketch::default();
            let mut feed = Feed::new(&self.trace.rows, pick, self.chosen.as_deref());
            feed.run(self.edges(order, *part), cancel, |item| sketch.change(item.at, item.delta))?;
            Ok(sketch.take())
        };
        parts.par_iter().map(walk).collect()
    }

    /// Returns the function that picks the node of a birth or death inside the interval. It looks up whether the row's
    /// other end is inside only if that makes a difference.
    pub(in crate::query) fn picker<'a>(
        &'a self,
        interval: Interval,
        nodes_of: &'a [ByClassLines],
    ) -> impl Fn(RowId, SiteId, bool) -> u32 + Sync + 'a {
        use LifetimeClass::{Aifi, Aifo, Aofi};
        let rows = &self.trace.rows;
        let first = self.prepared.ordered.as_ref().map_or(0, |ordered| ordered.order.place(rows, interval.from).birth);
        move |row, site, is_birth| {
            let nodes = nodes_of[site.0 as usize];
            let both_inside = nodes[Aifi as usize];
            let other = nodes[if is_birth { Aifo } else { Aofi } as usize];
            let is_inside = || match is_birth {
                true => rows.death(row) < interval.to,
                false if rows.is_out_of_order(row) => rows.birth(row) >= interval.from,
                false => row.0 >= first,
            };
            if both_inside == other || is_inside() { both_inside } else { other }
        }
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
                let mut climb = Climb::new(line_tree, part[0].distance(part[1]));
                Feed::new(rows, pick, wanted).run((part[0], part[1]), cancel, |item| climb.add(item.at, item.of, item.delta))?;
                Ok(climb.finish())
            })
            .collect();
        let (mut now, mut rises) = (vec![0; line_tree.len()], vec![0; line_tree.len()]);
        for Rise { line, sum, high } in stretches?.into_iter().flatten() {
            let (now, rise): (&mut i128, &mut i128) = (&mut now[line as usize], &mut rises[line as usize]);
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
