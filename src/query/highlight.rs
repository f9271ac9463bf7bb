//! When the rows of a selection were alive, as spans to paint on the graph.

use super::{Cancel, Cancelled, LifetimeClass, Mask};
use crate::model::Trace;
use crate::units::{Interval, Ticks};

/// The union of the lives of the wanted rows inside `interval`, in order. Spans
/// closer to each other than a `resolution`-th of the interval are joined, so that
/// there are never more than that.
pub fn spans(
    trace: &Trace,
    interval: Interval,
    mask: &Mask,
    resolution: usize,
    cancel: &Cancel,
) -> Result<Vec<Interval>, Cancelled> {
    let mut lives: Vec<(Ticks, Ticks)> = Vec::new();
    for chunk in trace.rows.chunks() {
        cancel.check()?;
        lives.extend(chunk.rows().filter_map(|(_, row)| {
            let class = LifetimeClass::of(row.birth, row.death, interval)?;
            mask.has(row.site, class).then(|| (row.birth.max(interval.from), row.death.min(interval.to)))
        }));
    }
    lives.sort_unstable();
    let joined = interval.len() / resolution.max(1) as i64;
    let mut spans: Vec<Interval> = Vec::new();
    for (from, to) in lives {
        match spans.last_mut() {
            Some(last) if from.0.saturating_sub(last.to.0) <= joined => last.to = last.to.max(to),
            _ => spans.push(Interval { from, to }),
        }
    }
    Ok(spans)
}
