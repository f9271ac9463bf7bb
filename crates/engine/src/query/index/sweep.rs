//! Peaks of arbitrary lines from one pass over the events of an interval: workers process stretches of it, each
//! starting from 0, and the stretches are combined in order.

use std::sync::Arc;

use rayon::prelude::*;

use super::climb::{Climb, Rise};
use super::feed::{Feed, NOBODY};
use super::groups::Groups;
use super::order::{EventOrder, EventPosition};
use super::{Bucket, Index, Ordered, Surveys};
use crate::model::{Row, RowId, SiteId};
use crate::query::changes::Change;
use crate::query::line_tree::LineTree;
use crate::query::peaks::{ByClassLines, class_of, has_own_node};
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, LifetimeClass, RowSet};
use crate::units::{Interval, Ticks};

/// Least events in an interval whose rows are read apart if an edge cuts them, least of these events for each such row, and most such
/// rows: they are kept in memory.
const MANY: u64 = 1 << 20;
const FEW: u64 = 8;
const MOST_CUT: u64 = 1 << 21;

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
        let Some(Ordered { order, by_site: Some(by_site), .. }) = self.prepared.ordered.as_deref() else { return Ok(None) };
        let wants: Vec<bool> = nodes_of.iter().map(|nodes| *nodes != [NOBODY; 4]).collect();
        let are_few = are_few(by_site, &wants);
        if self.splits(interval) && !(are_few && self.surveys() == Surveys::IfTheyPay) {
            let wants = |site: SiteId, class| has_own_node(&nodes_of[site.0 as usize], class);
            let Some(changes) = self.edge_changes(interval, wants, cancel)? else { return Ok(None) };
            return self.rises_with(interval, nodes_of, &changes, line_tree, cancel);
        }
        let edges = self.edges(order, interval);
        let wanted = self.wanted(edges, &wants, are_few, cancel)?;
        let pick = self.picker(interval, nodes_of);
        self.sweep(order, edges, &pick, wanted.as_deref(), (line_tree, &[]), cancel).map(Some)
    }

    /// Returns whether the rows that an edge of the interval cuts are read apart from those that are born and die in it: if there are
    /// few of them among many events.
    pub(in crate::query) fn splits(&self, interval: Interval) -> bool {
        let pays = || {
            let Some((births, deaths, alive)) = self.counts(interval) else { return false };
            let cut = alive + (alive + births).saturating_sub(deaths);
            births + deaths >= MANY && cut <= MOST_CUT.min((births + deaths) / FEW)
        };
        match self.surveys() {
            Surveys::Never => false,
            Surveys::IfTheyPay => pays(),
            Surveys::Always => true,
        }
    }

    /// Returns the rises as [`Index::node_rises`] does. `changes` are those of rows that an edge cuts, with their sites as numbers: at
    /// least of all whose node is not that of transient rows of their site. So the node of an event follows from its site alone.
    pub(in crate::query) fn rises_with(
        &self,
        interval: Interval,
        nodes_of: &[ByClassLines],
        changes: &[Change],
        line_tree: &LineTree,
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, by_site: Some(by_site), .. }) = self.prepared.ordered.as_deref() else { return Ok(None) };
        let transient = |nodes: &ByClassLines| nodes[LifetimeClass::Aifi as usize];
        let node = |nodes: &ByClassLines| Some(transient(nodes)).filter(|&node| node != NOBODY);
        let swept = Groups::new(nodes_of.iter().map(node), line_tree.nodes());
        let others = changes.iter().flat_map(|change| {
            let nodes = &nodes_of[change.of as usize];
            let (own, swept) = (nodes[class_of(change) as usize], transient(nodes));
            let both = [change.undone().counted_for(swept), change.counted_for(own)];
            both.into_iter().filter(move |change| own != swept && change.of != NOBODY)
        });
        let others: Vec<Change> = others.collect();
        let wants: Vec<bool> = nodes_of.iter().map(|nodes| node(nodes).is_some()).collect();
        let mut edges = self.edges(order, interval);
        if !wants.contains(&true) {
            edges.0 = edges.1;
        }
        let wanted = self.wanted(edges, &wants, are_few(by_site, &wants), cancel)?;
        let pick = |_: RowId, site: SiteId, _: bool| swept.of(site);
        self.sweep(order, edges, &pick, wanted.as_deref(), (line_tree, &others), cancel).map(Some)
    }

    /// Returns the highest rise of each group, for arbitrary groups of rows.
    pub(in crate::query) fn group_rises(
        &self,
        interval: Interval,
        group_of: &(impl Fn(&Row) -> u32 + Sync),
        line_tree: &LineTree,
        cancel: &Cancel,
    ) -> Result<Option<Vec<i128>>, Cancelled> {
        let Some(Ordered { order, .. }) = self.prepared.ordered.as_deref() else { return Ok(None) };
        let pick = |row: RowId, _: SiteId, _: bool| group_of(&self.trace.rows.get(row));
        self.sweep(order, self.edges(order, interval), &pick, self.chosen.as_deref(), (line_tree, &[]), cancel).map(Some)
    }

    /// Summarizes the rows for which `pick` returns a number in each of several parts of time, event by event. `pick` gets a row,
    /// its site, and whether it is born. Returns an empty list if there is no event order because sums could overflow.
    pub(in crate::query) fn walk(
        &self,
        parts: &[Interval],
        pick: &(impl Fn(RowId, SiteId, bool) -> u32 + Sync),
        cancel: &Cancel,
    ) -> Result<Vec<Summary<i64>>, Cancelled> {
        let Some(Ordered { order, .. }) = self.prepared.ordered.as_deref() else { return Ok(Vec::new()) };
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
        (line_tree, others): (&LineTree, &[Change]),
        cancel: &Cancel,
    ) -> Result<Vec<i128>, Cancelled> {
        let rows = &self.trace.rows;
        let mut cuts = order.cuts(rows, from, to, 4 * rayon::current_num_threads());
        cuts.insert(0, (Ticks::BEFORE_TRACE, from));
        cuts.push((Ticks::NEVER, to));
        let stretches: Result<Vec<Vec<Rise>>, Cancelled> = cuts
            .par_windows(2)
            .map(|part| {
                let [(from, start), (to, end)] = [part[0], part[1]];
                let others = &others[others.partition_point(|change| change.at < from)..];
                let mut others = others[..others.partition_point(|change| change.at < to)].iter().peekable();
                let mut climb = Climb::new(line_tree, start.distance(end));
                let add = |climb: &mut Climb<'_>, change: &Change| climb.add(change.at, change.of, change.delta() as i64);
                Feed::new(rows, pick, wanted).run((start, end), cancel, |item| {
                    while let Some(change) = others.next_if(|change| change.at <= item.at) {
                        add(&mut climb, change);
                    }
                    climb.add(item.at, item.of, item.delta);
                })?;
                others.for_each(|change| add(&mut climb, change));
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

    /// Returns the rows that count, if knowing them before reading deaths pays: those that the user chose, else those of the sites in
    /// `wants`, if these rows are few.
    fn wanted(
        &self,
        (from, to): (EventPosition, EventPosition),
        wants: &[bool],
        are_few: bool,
        cancel: &Cancel,
    ) -> Result<Option<Arc<RowSet>>, Cancelled> {
        let rows = &self.trace.rows;
        if let Some(chosen) = &self.chosen {
            return Ok(Some(Arc::clone(chosen)));
        }
        if !are_few || from.distance(to) < rows.len() as u64 / 2 {
            return Ok(None);
        }
        RowSet::filled(rows, cancel, |chunk, at| wants[chunk.sites()[at].0 as usize]).map(|rows| Some(Arc::new(rows)))
    }
}

/// Returns whether less than half of all rows are of the sites in `wants`.
fn are_few(by_site: &[Bucket], wants: &[bool]) -> bool {
    let wanted: u64 = by_site.iter().zip(wants).filter(|(_, wants)| **wants).map(|(sum, _)| sum.count).sum();
    2 * wanted < by_site.iter().map(|sum| sum.count).sum::<u64>()
}
