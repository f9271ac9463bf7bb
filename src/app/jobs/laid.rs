//! Draws the lines of another trace over those of the graph, in the time of the open trace.
//!
//! Cost: once for each other trace a pass over the sizes of its rows; for each view its totals, and a pass over its events.

use std::sync::Arc;

use super::ahead::PartKey;
use super::query_cache::LaidKey;
use super::{Part, Query, QueryContext};
use crate::app::state::alignment::{Alignment, Laid, counterpart};
use crate::app::state::answers::LayerOf;
use crate::app::state::graph::{GraphLine, LineOf};
use crate::model::{SiteId, Trace};
use crate::query::{Cancelled, Index, Series, SeriesOf, series, totals};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// Sends the lines, as far as they have changed.
pub(super) fn picture(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let Some((theirs, alignment)) = &query.laid else {
        context.cache.other = None;
        context.cache.sent.forget_laid();
        return Ok(());
    };
    let lanes = query.lanes.iter().map(|lane| lane.of).collect();
    let key = LaidKey { of: Arc::downgrade(theirs), alignment: alignment.clone(), view: query.view, bins: query.bins, lanes };
    context.picture(PartKey::Laid(key), |context, tell| {
        let known = context.cache.other.take().filter(|index| Arc::ptr_eq(index.shared_trace(), theirs));
        let index = match known {
            Some(index) => index,
            None => Arc::new(Index::for_one_question(Arc::clone(theirs), context.cancel)?),
        };
        context.cache.other = Some(Arc::clone(&index));
        let lines = lines(query, context, &index, alignment)?;
        tell(Part::Laid(Laid { of: Arc::downgrade(theirs), lines }));
        Ok(())
    })
}

fn lines(
    query: &Query,
    context: &QueryContext<'_>,
    index: &Index,
    alignment: &Alignment,
) -> Result<Vec<(LayerOf, GraphLine)>, Cancelled> {
    let (ours, theirs) = (context.trace(), index.trace());
    let Some((here, there)) = alignment.moment(ours).zip(alignment.moment(theirs)) else { return Ok(Vec::new()) };
    let shift = Shift { ours, theirs, here, there };
    let matched = query.lanes.iter().filter_map(|lane| Some((lane.of, counterpart(ours, theirs, lane.of)?)));
    let (of, others): (Vec<LayerOf>, Vec<LayerOf>) = matched.unzip();
    let place: KeyedMap<LayerOf, u32> = others.iter().copied().zip(0..).collect();
    let line_of: Vec<Option<u32>> = theirs.heaps.iter().map(|heap| place.get(&(heap.process, heap.layer)).copied()).collect();
    let view = Interval::new(shift.there(query.view.from), shift.there(query.view.to));
    let view = Interval { from: view.from.max(theirs.span.from), to: view.to.min(theirs.span.to) };
    if view.from >= view.to {
        return Ok(Vec::new());
    }
    let sums = totals(index, view, context.cancel)?;
    let site = |site: SiteId| line_of[theirs.site(site).heap.0 as usize];
    let lines = series(index, &sums, &SeriesOf::new(theirs, others.len(), site), query.bins, context.cancel)?;
    let line = |(of, line): (LayerOf, Series)| (of, GraphLine::new(ours.clock, LineOf::Layer(of.0, of.1), shift.line(&line)));
    Ok(of.into_iter().zip(lines).map(line).collect())
}

/// The step between the times of two traces, whose clocks can differ.
struct Shift<'a> {
    ours: &'a Trace,
    theirs: &'a Trace,
    here: Ticks,
    there: Ticks,
}

impl Shift<'_> {
    /// The time in the open trace of a time in the other one.
    fn here(&self, at: Ticks) -> Ticks {
        between((self.theirs, self.there), (self.ours, self.here), at)
    }

    /// The time in the other trace of a time in the open one.
    fn there(&self, at: Ticks) -> Ticks {
        between((self.ours, self.here), (self.theirs, self.there), at)
    }

    fn line(&self, line: &Series) -> Series {
        let points = line.points.iter().map(|&(at, value)| (self.here(at), value)).collect();
        Series { points, peak_at: self.here(line.peak_at), peak: line.peak, last: line.last }
    }
}

fn between((from, origin): (&Trace, Ticks), (to, target): (&Trace, Ticks), at: Ticks) -> Ticks {
    let (frequency, other) = (i128::from(from.clock.frequency.max(1)), i128::from(to.clock.frequency));
    let ticks = (i128::from(at.0) - i128::from(origin.0)) * other / frequency + i128::from(target.0);
    Ticks(ticks.clamp(i128::from(i64::MIN + 1), i128::from(i64::MAX - 1)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Capture, Input, Unwatched, load};

    #[test]
    fn times_of_other_clocks_have_the_same_distance_in_seconds() {
        let ours = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
        let mut theirs = ours.clone();
        theirs.clock.frequency = ours.clock.frequency * 3;
        let shift = Shift { ours: &ours, theirs: &theirs, here: Ticks(1000), there: Ticks(50) };
        assert_eq!((shift.there(Ticks(1100)), shift.here(Ticks(350))), (Ticks(350), Ticks(1100)));
        let layer = (ours.heaps[0].process, ours.heaps[0].layer);
        assert_eq!(counterpart(&ours, &theirs, layer), Some(layer));
        assert!(Alignment::offered(&ours, &theirs, Some(5)).contains(&Alignment::Frame(5)));
    }
}
