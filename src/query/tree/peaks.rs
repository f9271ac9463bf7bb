//! The largest outstanding size of each shown line: the one number of the table
//! that needs the changes in order, so it comes after the others.

use super::Tree;
use crate::model::Trace;
use crate::query::changes::changes;
use crate::query::{Cancel, Cancelled};
use crate::units::Interval;

/// Peaks by line of `tree`, which must be of the same trace and interval. Cost: a
/// sort of the changes, and the depth of the tree for each.
pub fn peaks(trace: &Trace, interval: Interval, tree: &Tree, cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    let mut now: Vec<i128> = tree.rows.iter().map(|row| row.numbers.outstanding_from.into()).collect();
    let mut peak = now.clone();
    let changes = changes(trace, interval, cancel, |row, class| tree.deepest[row.site.0 as usize][class as usize])?;
    for tick in changes.chunk_by(|a, b| a.at == b.at) {
        let up = |line: u32| std::iter::successors(Some(line), |&line| tree.parents[line as usize]);
        for change in tick {
            up(change.of).for_each(|line| now[line as usize] += change.delta());
        }
        for line in tick.iter().flat_map(|change| up(change.of)) {
            let line = line as usize;
            peak[line] = peak[line].max(now[line]);
        }
    }
    let of_line = |(i, &value): (usize, &i128)| match tree.rows[i].allocation {
        Some((_, row)) if row.birth == row.death => 0, // never outstanding at any tick
        Some((_, row)) => row.size,
        None => u64::try_from(value).unwrap_or(u64::MAX),
    };
    Ok(peak.iter().enumerate().map(of_line).collect())
}
