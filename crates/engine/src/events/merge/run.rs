//! Runs, which are parts of streams between two moments, and places in them.

use std::ops::Range;
use std::sync::Arc;

use crate::events::{Batch, Entry, Item};

/// Where an entry of a slice is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Raw time.
    pub(super) time: i64,
    /// Number of its run.
    pub(super) run: u32,
    /// Its number in the run's batch.
    pub(super) at: u32,
}

impl Place {
    /// Raw time of the entry.
    pub fn time(self) -> i64 {
        self.time
    }
}

/// The entries of one stream between two moments.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Number of its file among all.
    pub(super) file: u64,
    pub(super) batch: Arc<Batch>,
    pub(super) range: Range<usize>,
}

impl Run {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.batch.entries[self.range.clone()]
    }
}

/// The entry at a place of some runs.
pub(super) fn entry(runs: &[Run], place: Place) -> &Entry {
    &runs[place.run as usize].batch.entries[place.at as usize]
}

/// The item at a place of some runs.
pub(super) fn item(runs: &[Run], place: Place) -> Item<'_> {
    let batch = &runs[place.run as usize].batch;
    batch.item(&batch.entries[place.at as usize])
}

/// Number of the file of a place of some runs.
pub(super) fn file(runs: &[Run], place: Place) -> u64 {
    runs[place.run as usize].file
}
