//! The lines of committed bytes in the lanes of heaps and trackers: what their reservations have committed, beside what is
//! live in them.
//!
//! Cost: two passes over the rows for each view with reservations and such lanes.

use super::ahead::PartKey;
use super::lines::{LinesOfHeaps, lines_of_heaps, lines_of_layers, shows_lanes};
use super::query_cache::CommittedKey;
use super::{Part, Query, QueryContext};
use crate::app::state::answers::CommittedLine;
use crate::app::state::graph::{GraphLine, LineOf};
use crate::model::{HeapId, SiteId};
use crate::query::{Cancelled, MOST_MOMENTS, Series, committed_over_time};
use crate::units::{Layer, Ticks};

/// Sends the lines, as far as they have changed; none if the filters leave parts of heaps, to which no reservation belongs.
pub(super) fn picture(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let lanes = if shows_lines(query) { query.lanes.clone() } else { Vec::new() };
    let has_lanes = !lanes.is_empty();
    let key = CommittedKey { view: query.view, lanes, filters: query.filters.clone() };
    context.picture(PartKey::Committed(key), |context, tell| {
        tell(Part::Committed(if has_lanes { lines(query, context)? } else { Vec::new() }));
        Ok(())
    })
}

fn shows_lines(query: &Query) -> bool {
    shows_lanes(query) && query.filters.leave_whole_heaps() && query.trace.reservations.iter().next().is_some()
}

fn lines(query: &Query, context: &QueryContext<'_>) -> Result<Vec<CommittedLine>, Cancelled> {
    let trace = context.trace();
    let mut is_left = vec![false; trace.heaps.len()];
    for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
        is_left[site.heap.0 as usize] |= context.mask.classes(id) != 0;
    }
    let lanes = || query.lanes.iter().filter(|lane| lane.of.1 != Layer::Commit);
    let (layers, mut line_of) = lines_of_layers(trace, &lanes().map(|lane| lane.of).collect::<Vec<_>>());
    line_of.iter_mut().zip(is_left).for_each(|(line, is_left)| *line = line.filter(|_| is_left));
    let heaps: Vec<HeapId> = lanes().flat_map(|lane| &lane.heaps).copied().collect();
    let mut lines = drawn((layers, line_of), query, context)?;
    lines.extend(drawn(lines_of_heaps(trace, &heaps), query, context)?);
    Ok(lines)
}

fn drawn((subjects, line_of): LinesOfHeaps, query: &Query, context: &QueryContext<'_>) -> Result<Vec<CommittedLine>, Cancelled> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let moments = query.moments(MOST_MOMENTS - 1);
    let values = committed_over_time(context.all_rows(), &line_of, subjects.len(), &moments, context.cancel)?;
    let line = |(of, values): (LineOf, Vec<Option<u64>>)| CommittedLine { parts: parts(context, &of, &moments, &values), of };
    Ok(subjects.into_iter().zip(values).map(line).filter(|line| !line.parts.is_empty()).collect())
}

/// The parts of a line in which the bytes are known.
fn parts(context: &QueryContext<'_>, of: &LineOf, moments: &[Ticks], values: &[Option<u64>]) -> Vec<GraphLine> {
    let points: Vec<(Ticks, Option<u64>)> = moments.iter().copied().zip(values.iter().copied()).collect();
    let known = points.split(|(_, value)| value.is_none()).filter(|part| part.len() > 1);
    let line = |part: &[(Ticks, Option<u64>)]| {
        let points = part.iter().filter_map(|&(at, value)| Some((at, value?))).collect();
        GraphLine::new(context.trace().clock, of.clone(), Series::of_points(points))
    };
    known.map(line).collect()
}
