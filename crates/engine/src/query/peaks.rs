//! Peaks of outstanding bytes, for lines of a table or groups of a report: the only number that depends on the order of
//! changes. Cost: a pass over the events of the interval, in which each event takes a step per node above it
//! ([`LineTree`]); for growing traces a sort of the events.

mod whole_heaps;

use super::changes::{Change, changes};
use super::line_tree::{LineTree, NOBODY};
use super::{Cancel, Cancelled, Index, LifetimeClass};
use crate::model::Row;
use crate::units::Interval;

/// Line of a site's rows by lifetime class, or [`NOBODY`].
pub(super) type ByClassLines = [u32; 4];

/// Returns the peaks inside `interval` of lines that start at `now`. A row counts for the line that `lines_of` has for
/// its site and class, and for all its ancestors by `parent`, which must have smaller numbers. Changes at one tick
/// count together.
pub(super) fn line_peaks(
    index: &Index,
    interval: Interval,
    now: &[u64],
    mut lines_of: Vec<ByClassLines>,
    parent: impl Fn(u32) -> Option<u32>,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let own = lines_of.iter().flatten().copied().filter(|&line| line != NOBODY);
    let line_tree = LineTree::new(now.len(), own, parent);
    lines_of.iter_mut().flatten().filter(|line| **line != NOBODY).for_each(|line| *line = line_tree.of(*line));
    line_tree_peaks(index, interval, now, &lines_of, &line_tree, cancel)
}

/// Returns the peaks of lines, where `nodes_of` already has nodes of `line_tree`.
pub(super) fn line_tree_peaks(
    index: &Index,
    interval: Interval,
    now: &[u64],
    nodes_of: &[ByClassLines],
    line_tree: &LineTree,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let swept = match whole_heaps::rises(index, interval, nodes_of, line_tree, cancel)? {
        Some(rises) => Some(rises),
        None => index.node_rises(interval, nodes_of, line_tree, cancel)?,
    };
    let of = |row: &Row, class: LifetimeClass| nodes_of[row.site.0 as usize][class as usize];
    finish(index, interval, swept, now, of, line_tree, cancel)
}

/// Returns whether the rows of a class of a site have another node than those that are born and die in the interval.
pub(super) fn has_own_node(nodes: &ByClassLines, class: LifetimeClass) -> bool {
    nodes[class as usize] != nodes[LifetimeClass::Aifi as usize]
}

/// Returns the class of a row that an edge of the interval cuts, from its change inside.
pub(super) fn class_of(change: &Change) -> LifetimeClass {
    if change.is_birth() { LifetimeClass::Aifo } else { LifetimeClass::Aofi }
}

/// Returns the peaks of groups of rows that are not groups of sites.
pub(super) fn row_peaks(
    index: &Index,
    interval: Interval,
    now: &[u64],
    group_of: impl Fn(&Row) -> Option<u32> + Sync,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let line_tree = LineTree::side_by_side(now.len());
    let of = |row: &Row| group_of(row).unwrap_or(NOBODY);
    let swept = index.group_rises(interval, &of, &line_tree, cancel)?;
    finish(index, interval, swept, now, |row, _| of(row), &line_tree, cancel)
}

/// Converts rises to peaks. Without rises from the index, they are computed by sorting the changes.
fn finish(
    index: &Index,
    interval: Interval,
    swept: Option<Vec<i128>>,
    now: &[u64],
    of: impl Fn(&Row, LifetimeClass) -> u32 + Sync,
    line_tree: &LineTree,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let known = |row: &Row, class| Some(of(row, class)).filter(|&node| node != NOBODY);
    let scan = |cancel| changes(index, interval, cancel, known).map(|changes| climb(&changes, line_tree));
    let rises = match swept {
        Some(rises) => {
            debug_assert!(
                !index.is_checked() || scan(&Cancel::default()).as_ref() == Ok(&rises),
                "peaks contradict the sorted changes of {interval:?}"
            );
            rises
        }
        None => scan(cancel)?,
    };
    let rise = |line: u32| rises.get(line_tree.of(line) as usize).copied().unwrap_or(0);
    Ok((0..).zip(now).map(|(line, &now)| u64::try_from(i128::from(now) + rise(line)).unwrap_or(u64::MAX)).collect())
}

/// Returns the highest rise of each node above its start.
fn climb(changes: &[Change], line_tree: &LineTree) -> Vec<i128> {
    let mut now = vec![0; line_tree.len()];
    let mut rise = now.clone();
    for tick in changes.chunk_by(|a, b| a.at == b.at) {
        for change in tick {
            line_tree.up(change.of).for_each(|node| now[node as usize] += change.delta());
        }
        for node in tick.iter().flat_map(|change| line_tree.up(change.of)) {
            let node = node as usize;
            rise[node] = rise[node].max(now[node]);
        }
    }
    rise
}
