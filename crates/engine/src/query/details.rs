//! A closer look at some rows of one layer: their numbers, their outstanding bytes over time, and the distributions of
//! their sizes and lifetimes.
//!
//! Cost: three scans of the rows, and one over the events of the interval.

use std::sync::Arc;

use super::{Cancel, Cancelled, Histogram, Index, LifetimeClass, Mask, Numbers, RowSet, Series, SeriesOf, Totals};
use super::{histogram, series, totals};
use crate::units::{Interval, Layer};

/// Numbers, line and histograms of some rows in an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct Details {
    /// Sums of the rows.
    pub numbers: Numbers,
    /// Outstanding bytes over time, with their peak.
    pub line: Series,
    /// Distributions by size and by lifetime.
    pub histogram: Histogram,
}

/// Computes the details of the rows of a layer that overlap an interval, among those that the index and the mask
/// select. The line is drawn in `bins` bins.
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

/// Returns the outstanding bytes over `view`, in `bins` bins, of the rows of a layer that overlap `interval`, among
/// those that the index and the mask select. Cost: two scans of the rows, and one over the events of the view.
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

/// Restricts an index to the rows of a layer that overlap an interval and that the mask selects.
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

/// Returns one line for all rows of an index.
fn only_line(index: &Index, totals: &Totals, bins: usize, cancel: &Cancel) -> Result<Series, Cancelled> {
    let mut lines = series(index, totals, &SeriesOf::new(index.trace(), 1, |_| Some(0)), bins, cancel)?;
    Ok(lines.pop().unwrap_or_default())
}
