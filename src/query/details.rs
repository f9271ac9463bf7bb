//! Some rows of one layer looked at closer: their numbers, their outstanding size over time,
//! and how their sizes and lifetimes are distributed.
//!
//! Cost: three scans of the rows, and one over the events of the interval.

use std::sync::Arc;

use super::{Cancel, Cancelled, Histogram, Index, LifetimeClass, Mask, Numbers, RowSet, Series, SeriesOf, Totals};
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
    let index = taking_part(index, interval, mask, layer, cancel)?;
    let totals = totals(&index, interval, cancel)?;
    let all = Mask::all(index.trace());
    Ok(Details {
        numbers: totals.sum(&all).numbers(),
        line: only_line(&index, &totals, bins, cancel)?,
        histogram: histogram(&index, interval, &all, layer, cancel)?,
    })
}

/// The outstanding size over `view` of the rows of a layer that take part in `interval`, among
/// those that the index chooses and the mask wants, in `bins` bins. Cost: two scans of the rows,
/// and one over the events of the view.
pub fn line_of_rows(
    index: &Index,
    (interval, view): (Interval, Interval),
    mask: &Mask,
    layer: Layer,
    bins: usize,
    cancel: &Cancel,
) -> Result<Series, Cancelled> {
    let index = taking_part(index, interval, mask, layer, cancel)?;
    only_line(&index, &totals(&index, view, cancel)?, bins, cancel)
}

/// Sees only such rows.
fn taking_part(index: &Index, interval: Interval, mask: &Mask, layer: Layer, cancel: &Cancel) -> Result<Index, Cancelled> {
    let trace = index.trace();
    let mut wanted = Mask::of_sites(trace, |_, site| trace.layer_of(site) == layer);
    wanted.and(mask);
    let chosen = index.chosen().cloned();
    let rows = RowSet::filled(&trace.rows, cancel, |chunk, at| {
        let class = LifetimeClass::of(chunk.birth(at), chunk.death(at), interval);
        class.is_some_and(|class| wanted.has(chunk.sites()[at], class))
            && chosen.as_ref().is_none_or(|chosen| chosen.has(chunk.id(at)))
    })?;
    Ok(index.choosing(Some(Arc::new(rows))))
}

/// All rows that an index sees as one line.
fn only_line(index: &Index, totals: &Totals, bins: usize, cancel: &Cancel) -> Result<Series, Cancelled> {
    let mut lines = series(index, totals, &SeriesOf::new(index.trace(), 1, |_| Some(0)), bins, cancel)?;
    Ok(lines.pop().unwrap_or_default())
}
