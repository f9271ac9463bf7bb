//! Totals of a merge, and the records that came too late for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::copied::Copies;
use crate::events::{Batch, EventCounts};
use crate::problem::Problems;

/// Most trackers of other providers whose names are kept: more are shown by their handles.
const MOST_NAMES: usize = 1 << 16;

/// Totals of all that was read so far, apart from the records.
#[derive(Debug, Default)]
pub struct Totals {
    /// Events by kind.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// Problems found.
    pub problems: Problems,
    /// Names of trackers by the handles that were made of them; at most [`MOST_NAMES`].
    pub tracker_names: BTreeMap<u64, Arc<str>>,
    /// Bytes of all files that were read.
    pub bytes: u64,
    /// Copies, which are left out of the records. Only a merge finds them.
    pub copies: Copies,
}

impl Totals {
    pub(in crate::events) fn take(&mut self, batch: &mut Batch) {
        self.counts.add(&batch.counts);
        self.problems.append(std::mem::take(&mut batch.problems));
        self.bytes += batch.bytes;
        for (handle, name) in std::mem::take(&mut batch.tracker_names) {
            if self.tracker_names.len() < MOST_NAMES {
                self.tracker_names.entry(handle).or_insert_with(|| name.into());
            }
        }
        self.times = match (self.times, batch.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// The sum of both; neither is from a merge, so they have no copies.
    pub(in crate::events) fn plus(mut self, later: Self) -> Self {
        let Self { counts, times, problems, tracker_names, bytes, copies: _ } = later;
        self.take(&mut Batch { counts, times, problems, bytes, ..Batch::default() });
        self.tracker_names.extend(tracker_names);
        self
    }
}

/// Records that arrive later than they should.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Everything up to this time went on before.
    pub(super) passed: Option<i64>,
    pub(super) late: u64,
}
