//! Where something is missing in a capture, and from when on its totals are only bounds.

use std::sync::Arc;

use crate::events::Lost;
pub use crate::events::LostWhat;
use crate::stored::stored;
use crate::units::{Interval, Ticks};

/// Something that did not reach the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// It was lost at some moment in this interval, edges included; an end at [`Ticks::NEVER`] is not
    /// known.
    pub interval: Interval,
    /// The file, as the user named it; empty if an event in the trace reports the loss.
    pub file: Arc<str>,
    /// Its kind.
    pub what: LostWhat,
    /// How many events or buffers, if it is known.
    pub count: Option<u64>,
    /// Processor of its stream, if it is known.
    pub processor: Option<u16>,
}

stored!(struct Loss { interval, file, what, count, processor });

/// Most losses reported by events that are kept.
pub(super) const MAX_REPORTED: usize = 4096;

impl Loss {
    /// A loss that an event reports at `at`: it was before that, but after `since`.
    pub(super) fn reported(lost: Lost, since: Ticks, at: Ticks) -> Self {
        let count = lost.details.map(|(_, count)| count.into());
        Self { interval: Interval::new(since, at), file: Arc::from(""), what: lost.what, count, processor: None }
    }

    /// All losses, by time; shared if nothing was reported.
    pub(super) fn all(placed: Arc<[Self]>, reported: &[Self]) -> Arc<[Self]> {
        if reported.is_empty() {
            return placed;
        }
        let mut all: Vec<Self> = placed.iter().chain(reported).cloned().collect();
        all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
        all.into()
    }
}
