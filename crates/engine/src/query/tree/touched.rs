//! Touched bytes of the visible lines. As peaks they are computed after the other numbers.

use std::cmp::Reverse;

use super::lines::{At, NONE, Tree};
use super::peaks::deepest;
use crate::model::RowId;
use crate::query::touched::{TouchedPages, add_up, dense};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, TouchedBytes};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// Touched bytes of the lines of a tree.
#[derive(Clone, Debug)]
pub struct TouchedLines {
    /// By node; sums of several layers are those of commit.
    nodes: Vec<TouchedBytes>,
    /// Those of listed allocations.
    rows: KeyedMap<RowId, TouchedBytes>,
}

impl TouchedLines {
    /// Returns the bytes of a line; `None` if nothing of it was committed in the trace and is at the end of the interval.
    pub fn of(&self, tree: &Tree, index: usize) -> Option<TouchedBytes> {
        let bytes = match tree.at(index)? {
            At::Node(line) => self.nodes.get(line as usize)?,
            At::Allocation(_, id) => self.rows.get(&id)?,
        };
        (bytes.committed > 0).then_some(*bytes)
    }

    /// Returns the touched bytes of the nodes, to [sort](super::sort_nodes) by.
    pub fn of_nodes(&self) -> Vec<u64> {
        self.nodes.iter().map(|bytes| bytes.touched).collect()
    }

    /// Returns the bytes after the nodes were [reordered](super::sort_nodes).
    pub fn reordered(mut self, order: &[u32]) -> Self {
        self.nodes = order.iter().map(|&line| self.nodes[line as usize]).collect();
        self
    }

    /// Sorts the listed allocations below each node; equal ones keep their order.
    pub fn sort_listings(&self, tree: &mut Tree, descending: bool) {
        let touched = |id: &RowId| self.rows.get(id).map_or(0, |bytes| bytes.touched);
        for listing in &mut tree.listings {
            let mut rows = listing.rows.to_vec();
            match descending {
                true => rows.sort_by_key(|id| Reverse(touched(id))),
                false => rows.sort_by_key(touched),
            }
            listing.rows = rows.into();
        }
    }
}

/// Returns the touched bytes of the lines of `tree`, which must be of the same trace and interval; `None` if the trace does not
/// [show](crate::query::shows_touches) what was touched. Cost: that of [`touched_sites`](crate::query::touched_sites).
pub fn touched_lines(index: &Index, interval: Interval, tree: &Tree, cancel: &Cancel) -> Result<Option<TouchedLines>, Cancelled> {
    let trace = index.trace();
    let Some(pages) = TouchedPages::before(trace, interval.to, cancel)? else { return Ok(None) };
    let deepest = deepest(trace, tree);
    let sums = pages.by_group(
        index,
        |row| {
            let class = LifetimeClass::of(row.birth, row.death, interval)?;
            Some(deepest[row.site.0 as usize][class as usize]).filter(|&line| line != NONE)
        },
        cancel,
    )?;
    let mut nodes = dense(tree.lines.len(), sums);
    add_up(&mut nodes, |line| Some(tree.lines[line].parent).filter(|&line| line != NONE));
    let listed = tree.listings.iter().flat_map(|listing| listing.rows.iter());
    let rows = listed.filter_map(|&id| Some((id, pages.of_row(trace, &trace.rows.get(id))?))).collect();
    Ok(Some(TouchedLines { nodes, rows }))
}
