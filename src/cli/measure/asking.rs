//! Parts of a trace that questions are about, and the time that answers take.

use std::time::Instant;

use crate::model::Trace;
use crate::random::Random;
use crate::units::{Interval, Ticks};

/// Bins of the graph, as in a wide window.
pub(super) const BINS: usize = 1000;

/// A random part of a trace.
pub(super) fn interval(trace: &Trace, random: &mut Random) -> Interval {
    let mut at = || Ticks(trace.span.from.0 + random.below(trace.span.len().max(1) as u64) as i64);
    Interval::new(at(), at())
}

/// Milliseconds since a moment.
pub(super) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
