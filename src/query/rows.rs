//! Single allocations, in the order of one of their columns.
//!
//! Cost: one parallel pass over the rows that take part; of more than are wanted only those
//! that come first are kept, so memory does not grow with the trace.

use rayon::prelude::*;

use super::row_set::lifetime;
use super::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::model::{Chunk, RowId};
use crate::units::{Interval, Ticks};

/// What single allocations can be sorted by.
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

/// An order of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowSort {
    /// By what.
    pub column: RowColumn,
    /// Largest, or latest, first.
    pub descending: bool,
}

impl Default for RowSort {
    fn default() -> Self {
        Self { column: RowColumn::default(), descending: true }
    }
}

impl RowSort {
    /// The order when a user clicks on a column: once more turns it round.
    pub fn by(self, column: RowColumn) -> Self {
        let again = self.column == column;
        let numbers_first = matches!(column, RowColumn::Size | RowColumn::Lifetime);
        Self { column, descending: if again { !self.descending } else { numbers_first } }
    }
}

/// The rows that come first, and of how many.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowTable {
    /// In order; equal ones by number.
    pub rows: Vec<RowId>,
    /// All that take part.
    pub count: u64,
}

/// What decides a row's place, smaller first, and the row.
type Ranked = (u64, RowId);

/// The rows of an interval that `mask` wants, at most `most` of them.
pub fn rows(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    sort: RowSort,
    most: usize,
    cancel: &Cancel,
) -> Result<RowTable, Cancelled> {
    let new = || (Vec::<Ranked>::new(), 0u64);
    let parts = index.fold(cancel, new, |(list, count), visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let classes = mask.classes(sites[at]);
            if classes == 0 {
                return;
            }
            let class = LifetimeClass::of(chunk.birth(at), chunk.death(at), interval);
            if class.is_some_and(|class| classes >> class as u8 & 1 != 0) {
                *count += 1;
                list.push((rank(chunk, at, sort), chunk.id(at)));
                if list.len() >= most.saturating_mul(2).max(1024) {
                    keep_first(list, most);
                }
            }
        });
    })?;
    cancel.check()?;
    let count = parts.iter().map(|(_, count)| count).sum();
    let mut list: Vec<Ranked> = parts.into_iter().flat_map(|(list, _)| list).collect();
    keep_first(&mut list, most);
    list.par_sort_unstable();
    Ok(RowTable { rows: list.into_iter().map(|(_, row)| row).collect(), count })
}

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
        // What was never freed lives longest.
        RowColumn::Lifetime => signed(lifetime(chunk, at).unwrap_or(Ticks::NEVER.0)),
        RowColumn::Thread => chunk.thread(at).0.into(),
    };
    if sort.descending { !rank } else { rank }
}
