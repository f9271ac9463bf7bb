//! The largest outstanding size of each shown line: the one number of the table
//! that needs the changes in order, so it comes after the others, and sorting by
//! it is a step of its own.

use super::Tree;
use crate::model::SiteId;
use crate::query::peaks::line_peaks;
use crate::query::{Cancel, Cancelled, Index};
use crate::units::Interval;

/// Peaks by line of `tree`, which must be of the same trace and interval. Cost: a
/// pass over the events of the interval, and the depth of the tree for each.
pub fn peaks(index: &Index, interval: Interval, tree: &Tree, cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    let now = tree.rows.iter().map(|row| row.numbers.outstanding_from.into()).collect();
    let lines_of = |site: SiteId| tree.deepest[site.0 as usize];
    let peaks = line_peaks(index, interval, now, lines_of, |line| tree.parents[line as usize], cancel)?;
    let of_line = |(i, peak): (usize, u64)| match tree.rows[i].allocation {
        Some((_, row)) if row.birth == row.death => 0, // never outstanding at any tick
        Some((_, row)) => row.size,
        None => peak,
    };
    Ok(peaks.into_iter().enumerate().map(of_line).collect())
}

/// The same tree, and its peaks, with the lines below each node in the order of
/// their peaks; equal peaks keep their order.
pub fn sort_by_peak(tree: &Tree, peaks: &[u64], descending: bool) -> (Tree, Vec<u64>) {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); tree.rows.len() + 1];
    for (line, parent) in tree.parents.iter().enumerate() {
        children[parent.map_or(tree.rows.len(), |p| p as usize)].push(line as u32);
    }
    for lines in &mut children {
        lines.sort_by_key(|&line| if descending { u64::MAX - peaks[line as usize] } else { peaks[line as usize] });
    }
    let mut order = Vec::with_capacity(tree.rows.len());
    let mut open: Vec<u32> = children[tree.rows.len()].iter().rev().copied().collect();
    while let Some(line) = open.pop() {
        order.push(line);
        open.extend(children[line as usize].iter().rev());
    }
    let mut moved_to = vec![0; tree.rows.len()];
    order.iter().enumerate().for_each(|(to, &from)| moved_to[from as usize] = to as u32);
    let moved = |line: Option<u32>| line.map(|l| moved_to[l as usize]);
    let sorted = Tree {
        rows: order.iter().map(|&line| tree.rows[line as usize].clone()).collect(),
        parents: order.iter().map(|&line| moved(tree.parents[line as usize])).collect(),
        deepest: tree.deepest.iter().map(|lines| lines.map(moved)).collect(),
    };
    let peaks = order.iter().map(|&line| peaks[line as usize]).collect();
    (sorted, peaks)
}
