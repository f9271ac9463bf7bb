//! Where something is missing in a capture, and from when on its totals are bounds.

use std::sync::Arc;

use super::Trace;
use crate::events::Lost;
pub use crate::events::LostWhat;
use crate::units::{Interval, Ticks};

/// Something that did not reach the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// It was lost at some moment in here, edges included; an end at
    /// [`Ticks::NEVER`] is not known.
    pub interval: Interval,
    /// The file, as the user named it; empty where an event in the trace tells of it.
    pub file: Arc<str>,
    /// What.
    pub what: LostWhat,
    /// How many, if it is known.
    pub count: Option<u64>,
    /// Whose stream, if it is known.
    pub processor: Option<u16>,
}

/// Losses that events tell of are kept up to this number.
pub(super) const MAX_REPORTED: usize = 4096;

impl Loss {
    /// One that an event tells of at `at`: it was before, but after `since`.
    pub(super) fn reported(lost: Lost, since: Ticks, at: Ticks) -> Self {
        let count = lost.details.map(|(_, count)| count.into());
        Self { interval: Interval::new(since, at), file: Arc::from(""), what: lost.what, count, processor: None }
    }

    /// Both, by time; shared where there is nothing to add.
    pub(super) fn all(placed: Arc<[Self]>, reported: &[Self]) -> Arc<[Self]> {
        if reported.is_empty() {
            return placed;
        }
        let mut all: Vec<Self> = placed.iter().chain(reported).cloned().collect();
        all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
        all.into()
    }
}

impl Trace {
    /// The moment up to which nothing was lost. After it totals are bounds: of what
    /// was allocated and freed lower ones, and what is outstanding can be too high
    /// (a free is missing) or too low (an allocation is). `None` if nothing was lost.
    /// A loss that no buffer tells the place of can have been at any time.
    pub fn exact_until(&self) -> Option<Ticks> {
        let placed = self.losses.iter().map(|loss| loss.interval.from).min();
        let lost = self.quality.events_lost + self.quality.buffers_lost > 0;
        placed.or(lost.then_some(self.span.from))
    }
}
