//! When the rows of a selection were alive, as spans to paint on the graph.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Cancel, Cancelled, LifetimeClass, Mask};
use crate::model::{Chunk, Trace};
use crate::units::Interval;

/// The union of the lives of the wanted rows inside `interval`, in order. Spans
/// closer to each other than a `resolution`-th of the interval are joined, so that
/// there are never more than that. Cost: a parallel scan of the rows, which ends
/// with the first row that is alive all the time.
pub fn spans(
    trace: &Trace,
    interval: Interval,
    mask: &Mask,
    resolution: usize,
    cancel: &Cancel,
) -> Result<Vec<Interval>, Cancelled> {
    let joined = interval.len() / i64::try_from(resolution.max(1)).unwrap_or(i64::MAX);
    let is_covered = AtomicBool::new(false);
    let chunks: Vec<_> = trace.rows.chunks().collect();
    let parts: Result<Vec<Vec<Interval>>, Cancelled> = chunks
        .par_iter()
        .map(|chunk| {
            cancel.check()?;
            if is_covered.load(Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            let spans = of_chunk(chunk, interval, mask, joined);
            if spans.contains(&interval) {
                is_covered.store(true, Ordering::Relaxed);
            }
            Ok(spans)
        })
        .collect();
    let parts = parts?;
    if is_covered.into_inner() {
        return Ok(vec![interval]);
    }
    let mut spans = parts.concat();
    spans.sort_unstable_by_key(|span| (span.from, span.to));
    Ok(join(spans, joined))
}

/// The spans of one chunk, in any order; those that follow each other are joined.
fn of_chunk(chunk: &Chunk<'_>, interval: Interval, mask: &Mask, joined: i64) -> Vec<Interval> {
    let mut spans: Vec<Interval> = Vec::new();
    let mut late = Vec::new();
    for (at, &site) in chunk.sites().iter().enumerate().filter(|(_, site)| mask.classes(**site) != 0) {
        let (birth, death) = (chunk.birth(at), chunk.death(at));
        if !LifetimeClass::of(birth, death, interval).is_some_and(|class| mask.has(site, class)) {
            continue;
        }
        let life = Interval { from: birth.max(interval.from), to: death.min(interval.to) };
        if life == interval {
            return vec![interval];
        }
        match spans.last_mut() {
            Some(last) if life.from < last.from => late.push(life),
            Some(last) if is_near(last, life, joined) => last.to = last.to.max(life.to),
            _ => spans.push(life),
        }
    }
    spans.append(&mut late);
    spans
}

fn is_near(last: &Interval, next: Interval, joined: i64) -> bool {
    next.from.0.saturating_sub(last.to.0) <= joined
}

/// Joins spans, ordered by their beginnings, with what is near.
fn join(ordered: Vec<Interval>, joined: i64) -> Vec<Interval> {
    let mut spans: Vec<Interval> = Vec::new();
    for span in ordered {
        match spans.last_mut() {
            Some(last) if is_near(last, span, joined) => last.to = last.to.max(span.to),
            _ => spans.push(span),
        }
    }
    spans
}
