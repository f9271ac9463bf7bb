//! The lines of committed bytes in the lanes of heaps and trackers: what their reservations have committed, beside what is
//! live in them.
//!
//! Cost: two passes over the rows for each view with reservations and such lanes.

use super::query_cache::CommittedKey;
use super::{Part, Query, QueryContext};
use crate::app::state::answers::CommittedLine;
use crate::app::state::graph::{Arrangement, GraphLine, LineOf, Split};
use crate::model::{Heap, HeapId, SiteId, Trace};
use crate::query::{Cancelled, MOST_MOMENTS, Series, committed_over_time};
use crate::units::{Interval, Layer, Ticks};

/// Sends the lines, as far as they have changed; none if the filters leave parts of heaps, to which no reservation belongs.
pub(super) fn picture(query: &Query, context: &mut QueryContext<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let lanes = if shows_lines(query) { query.lanes.clone() } else { Vec::new() };
    let key = CommittedKey { view: query.view, lanes, filters: query.filters.clone() };
    if context.cache.committed.as_ref() == Some(&key) {
        return Ok(());
    }
    let lines = if key.lanes.is_empty() { Vec::new() } else { lines(query, context)? };
    tell(Part::Committed(lines));
    context.cache.committed = Some(key);
    Ok(())
}

fn shows_lines(query: &Query) -> bool {
    let is_of_lanes = (query.split, query.arrangement) == (Split::Sources, Arrangement::Lanes);
    is_of_lanes && query.filters.leave_whole_heaps() && query.trace.reservations.iter().next().is_some()
}

fn lines(query: &Query, context: &QueryContext<'_>) -> Result<Vec<CommittedLine>, Cancelled> {
    let trace = context.trace();
    let mut is_left = vec![false; trace.heaps.len()];
    for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
        is_left[site.heap.0 as usize] |= context.mask.classes(id) != 0;
    }
    let layers: Vec<LineOf> = query.lanes.iter().map(|lane| LineOf::Layer(lane.of.0, lane.of.1)).collect();
    let heaps: Vec<LineOf> = query.lanes.iter().flat_map(|lane| &lane.heaps).map(|&heap| LineOf::Heap(heap)).collect();
    let mut lines =
        drawn(layers, |id, heap| is_left[id.0 as usize].then_some(LineOf::Layer(heap.process, heap.layer)), query, context)?;
    lines.extend(drawn(heaps, |id, _| Some(LineOf::Heap(id)), query, context)?);
    Ok(lines)
}

/// The lines with these subjects; `line_of` is the subject to which a heap belongs.
fn drawn(
    mut subjects: Vec<LineOf>,
    line_of: impl Fn(HeapId, &Heap) -> Option<LineOf>,
    query: &Query,
    context: &QueryContext<'_>,
) -> Result<Vec<CommittedLine>, Cancelled> {
    let trace = context.trace();
    subjects.retain(|line| !matches!(line, LineOf::Layer(_, Layer::Commit)));
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let place = |(id, heap)| {
        let line = line_of(id, heap)?;
        subjects.iter().position(|subject| *subject == line).map(|place| place as u32)
    };
    let of_heap: Vec<Option<u32>> = (0..).map(HeapId).zip(&trace.heaps).map(place).collect();
    let moments = moments(query.view);
    let values = committed_over_time(context.all_rows(), &of_heap, subjects.len(), &moments, context.cancel)?;
    let line = |(of, values): (LineOf, Vec<Option<u64>>)| CommittedLine { parts: parts(trace, &of, &moments, &values), of };
    Ok(subjects.into_iter().zip(values).map(line).filter(|line| !line.parts.is_empty()).collect())
}

/// Moments across a view, both edges included.
fn moments(view: Interval) -> Vec<Ticks> {
    let last = MOST_MOMENTS as i128 - 1;
    let at = |n: i128| Ticks((i128::from(view.from.0) + i128::from(view.len()) * n / last) as i64);
    let mut moments: Vec<Ticks> = (0..=last).map(at).collect();
    moments.dedup();
    moments
}

/// The parts of a line in which the bytes are known.
fn parts(trace: &Trace, of: &LineOf, moments: &[Ticks], values: &[Option<u64>]) -> Vec<GraphLine> {
    let points: Vec<(Ticks, Option<u64>)> = moments.iter().copied().zip(values.iter().copied()).collect();
    let known = points.split(|(_, value)| value.is_none()).filter(|part| part.len() > 1);
    let line = |part: &[(Ticks, Option<u64>)]| {
        let points: Vec<(Ticks, u64)> = part.iter().filter_map(|&(at, value)| Some((at, value?))).collect();
        let (peak_at, peak) =
            points.iter().copied().max_by_key(|&(at, value)| (value, std::cmp::Reverse(at))).unwrap_or_default();
        let last = points.last().map_or(0, |(_, value)| *value);
        GraphLine::new(trace.clock, of.clone(), Series { points, peak, peak_at, last })
    };
    known.map(line).collect()
}
