//! Some rows of one layer looked at closer: their numbers, their outstanding size over time,
//! and how their sizes and lifetimes are distributed.
//!
//! Cost: three scans of the rows, and one over the events of the interval.

use std::sync::Arc;

use super::{Cancel, Cancelled, Histogram, Index, LifetimeClass, Mask, Numbers, RowSet, Series, SeriesOf};
use super::{histogram, series, totals};
use crate::units::{Interval, Layer};

/// What some rows come to in an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct Details {
    /// Their sums.
    pub numbers: Numbers,
    /// Their outstanding size over time, with its peak.
    pub line: Series,
    /// By size and by lifetime.
    pub histogram: Histogram,
}

/// Of the rows of a layer that take part in an interval, among those that the index chooses
/// and the mask wants. The line is drawn in `bins` bins.
pub fn details(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    layer: Layer,
    bins: usize,
    cancel: &Cancel,
) -> Result<Details, Cancelled> {
    let trace = index.trace();
    let mut wanted = Mask::of_sites(trace, |_, site| trace.layer_of(site) == layer);
    wanted.and(mask);
    let chosen = index.chosen().cloned();
    let rows = RowSet::filled(&trace.rows, cancel, |chunk, at| {
        let class = LifetimeClass::of(chunk.birth(at), chunk.death(at), interval);
        class.is_some_and(|class| wanted.has(chunk.sites()[at], class))
            && chosen.as_ref().is_none_or(|chosen| chosen.has(chunk.id(at)))
    })?;
    let index = index.choosing(Some(Arc::new(rows)));
    let totals = totals(&index, interval, cancel)?;
    let all = Mask::all(trace);
    let mut lines = series(&index, &totals, &SeriesOf::new(trace, 1, |_| Some(0)), bins, cancel)?;
    Ok(Details {
        numbers: totals.sum(&all).numbers(),
        line: lines.pop().unwrap_or_default(),
        histogram: histogram(&index, interval, &all, layer, cancel)?,
    })
}
