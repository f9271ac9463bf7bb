//! The time spans in which the rows of a selection were alive, for highlighting on the graph.

use std::sync::atomic::{AtomicBool, Ordering};

use super::fold::VisitedChunk;
use super::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::units::Interval;

/// Returns the union of the lifetimes of the selected rows inside `interval`, in order. Spans closer to each other than
/// a `resolution`-th of the interval are joined, so that there are never more than that. Cost: a parallel scan of the
/// rows, which stops at the first row that is alive all the time.
pub fn spans(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    resolution: usize,
    cancel: &Cancel,
) -> Result<Vec<Interval>, Cancelled> {
    let joined = interval.len() / i64::try_from(resolution.max(1)).unwrap_or(i64::MAX);
    let is_covered = AtomicBool::new(false);
    let visit = index.visit();
    let parts = visit.fold_evenly(&visit.born_before(interval.to), cancel, Vec::new, |spans, visited| {
        if !is_covered.load(Ordering::Relaxed) && !add_spans(spans, visited, interval, mask, joined) {
            is_covered.store(true, Ordering::Relaxed);
        }
    })?;
    if is_covered.into_inner() {
        return Ok(vec![interval]);
    }
    let mut spans = parts.concat();
    spans.sort_unstable_by_key(|span| (span.from, span.to));
    Ok(join(spans, joined))
}

/// Adds the spans of one chunk, in any order; adjacent ones are joined. Returns whether there can be more: not if a row
/// is alive all the time.
fn add_spans(all: &mut Vec<Interval>, visited: &VisitedChunk<'_>, interval: Interval, mask: &Mask, joined: i64) -> bool {
    let (chunk, sites) = (visited.chunk, visited.chunk.sites());
    let (mut spans, mut late): (Vec<Interval>, Vec<Interval>) = Default::default();
    let mut is_covered = false;
    visited.each(|at| {
        let site = sites[at];
        if is_covered || mask.classes(site) == 0 {
            return;
        }
        let (birth, death) = (chunk.birth(at), chunk.death(at));
        if !LifetimeClass::of(birth, death, interval).is_some_and(|class| mask.has(site, class)) {
            return;
        }
        let life = Interval { from: birth.max(interval.from), to: death.min(interval.to) };
        is_covered = life == interval;
        match spans.last_mut() {
            Some(last) if life.from < last.from => late.push(life),
            Some(last) if is_near(last, life, joined) => last.to = last.to.max(life.to),
            _ => spans.push(life),
        }
    });
    all.append(&mut spans);
    all.append(&mut late);
    !is_covered
}

fn is_near(last: &Interval, next: Interval, joined: i64) -> bool {
    next.from.0.saturating_sub(last.to.0) <= joined
}

/// Joins spans that are near each other; they must be sorted by start.
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
