//! Changes of outstanding bytes inside an interval, in time order: the basis of peaks and graphs of traces without
//! prepared data. Cost: a scan of the rows and a sort of the changes.

use rayon::prelude::*;

use super::{Cancel, Cancelled, Index, LifetimeClass};
use crate::model::Row;
use crate::units::{Interval, Ticks};

/// An allocation or free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) at: Ticks,
    /// The number that the caller assigned to the row: a group, a series, a site.
    pub(super) of: u32,
    born: bool,
    size: u64,
}

impl Change {
    /// Creates the birth of a row with this number and size.
    pub(super) fn birth(at: Ticks, of: u32, size: u64) -> Self {
        Self { at, of, born: true, size }
    }

    /// Creates the death of a row with this number and size.
    pub(super) fn death(at: Ticks, of: u32, size: u64) -> Self {
        Self { at, of, born: false, size }
    }

    /// Returns whether it is a birth.
    pub(super) fn is_birth(&self) -> bool {
        self.born
    }

    /// Returns the change with another number.
    pub(super) fn counted_for(self, of: u32) -> Self {
        Self { of, ..self }
    }

    /// Returns the change that undoes it.
    pub(super) fn undone(self) -> Self {
        Self { born: !self.born, ..self }
    }

    /// Returns the bytes allocated, or freed as a negative number.
    pub(super) fn delta(&self) -> i128 {
        let size = i128::from(self.size);
        if self.born { size } else { -size }
    }
}

/// Returns the births and deaths inside `interval`, ordered by time, of the rows that `group` assigns a number.
pub(super) fn changes(
    index: &Index,
    interval: Interval,
    cancel: &Cancel,
    group: impl Fn(&Row, LifetimeClass) -> Option<u32> + Sync,
) -> Result<Vec<Change>, Cancelled> {
    let visit = index.visit();
    let parts = visit.fold_evenly(&visit.born_before(interval.to), cancel, Vec::new, |list, visited| {
        visited.each_in(interval, |at, class| {
            let row = visited.chunk.row(at);
            let Some(of) = group(&row, class) else { return };
            if interval.contains(row.birth) {
                list.push(Change::birth(row.birth, of, row.size));
            }
            if interval.contains(row.death) {
                list.push(Change::death(row.death, of, row.size));
            }
        });
    })?;
    let mut list = parts.concat();
    cancel.check()?;
    list.par_sort_by_key(|change| change.at);
    cancel.check()?;
    Ok(list)
}
