//! Single allocations, sorted by one of their columns.
//!
//! Cost: one parallel pass over the rows born before the end of the interval. Only the requested number of rows is
//! kept, so memory does not grow with the trace. As soon as one worker has that many, most others are rejected by one
//! comparison.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::row_set::lifetime;
use super::{Cancel, Cancelled, Index, Mask};
use crate::model::{Chunk, RowId};
use crate::units::{Interval, Ticks};

/// The columns that single allocations can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the names are those of the columns")]
pub enum RowColumn {
    Address,
    #[default]
    Size,
    AllocTime,
    FreeTime,
    Lifetime,
    Thread,
}

/// A sort order of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowSort {
    /// The column.
    pub column: RowColumn,
    /// Whether the largest, or latest, come first.
    pub descending: bool,
}

impl Default for RowSort {
    fn default() -> Self {
        Self { column: RowColumn::default(), descending: true }
    }
}

impl RowSort {
    /// Returns the order after a click on a column; a second click reverses it.
    pub fn by(self, column: RowColumn) -> Self {
        let again = self.column == column;
        let numbers_first = matches!(column, RowColumn::Size | RowColumn::Lifetime);
        Self { column, descending: if again { !self.descending } else { numbers_first } }
    }
}

/// The first rows in order, and the number of all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowTable {
    /// The rows in order; equal ones by number.
    pub rows: Vec<RowId>,
    /// Number of all rows that overlap the interval.
    pub count: u64,
}

/// A row with its sort key; smaller keys come first.
type Ranked = (u64, RowId);

/// Returns the rows of an interval that `mask` includes, at most `most` of them.
pub fn rows(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    sort: RowSort,
    most: usize,
    cancel: &Cancel,
) -> Result<RowTable, Cancelled> {
    // Rows after this key are not needed, whichever worker finds them.
    let last = AtomicU64::new(u64::MAX);
    let full = most.saturating_add((most / 4).max(1024));
    let visit = index.visit();
    let parts = visit.fold_evenly(&visit.born_before(interval.to), cancel, FoundRow::default, |found, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        let known = (last.load(Ordering::Relaxed), RowId(u32::MAX));
        found.last = found.last.min(known);
        visited.each_in(interval, |at, class| {
            if !mask.has(sites[at], class) {
                return;
            }
            found.count += 1;
            let row = (rank(chunk, at, sort), chunk.id(at));
            if row <= found.last {
                found.list.push(row);
                if found.list.len() >= full {
                    keep_first(&mut found.list, most);
                    found.last = found.list.last().copied().unwrap_or((0, RowId(0)));
                    last.fetch_min(found.last.0, Ordering::Relaxed);
                }
            }
        });
    })?;
    cancel.check()?;
    let count = parts.iter().map(|found| found.count).sum();
    let mut list: Vec<Ranked> = parts.into_iter().flat_map(|found| found.list).collect();
    keep_first(&mut list, most);
    list.par_sort_unstable();
    Ok(RowTable { rows: list.into_iter().map(|(_, row)| row).collect(), count })
}

/// The rows found by one worker.
struct FoundRow {
    list: Vec<Ranked>,
    count: u64,
    /// Rows after this one are not needed.
    last: Ranked,
}

impl Default for FoundRow {
    fn default() -> Self {
        Self { list: Vec::new(), count: 0, last: (u64::MAX, RowId(u32::MAX)) }
    }
}

/// Keeps the first `most` rows, with the last of them at the end.
fn keep_first(list: &mut Vec<Ranked>, most: usize) {
    if list.len() > most {
        if most > 0 {
            list.select_nth_unstable(most - 1);
        }
        list.truncate(most);
    }
}

fn rank(chunk: &Chunk<'_>, at: usize, sort: RowSort) -> u64 {
    let signed = |number: i64| number as u64 ^ 1 << 63; // in the order of signed numbers
    let rank = match sort.column {
        RowColumn::Address => chunk.address(at),
        RowColumn::Size => chunk.size(at),
        RowColumn::AllocTime => signed(chunk.birth(at).0),
        RowColumn::FreeTime => signed(chunk.death(at).0),
        // Rows that were never freed live longest.
        RowColumn::Lifetime => signed(lifetime(chunk, at).unwrap_or(Ticks::NEVER.0)),
        RowColumn::Thread => chunk.thread(at).0.into(),
    };
    if sort.descending { !rank } else { rank }
}
