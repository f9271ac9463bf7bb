//! The groups of a report with additional numbers for limits: the growth of each group, and the blocks alive when its
//! processes ended.
//!
//! Cost: a report; a pass over the rows for each of the two that is requested.

use std::sync::Arc;

use super::alive::{alive_at, exits};
use super::growth::slopes;
use super::report::list_of_sites;
use super::{Bucket, By, Cancel, Cancelled, Fold, Group, Index, Mask, ReportFilter, ReportRequest, Totals};
use crate::names::Names;
use crate::units::{Interval, Ticks};

/// A query for measured groups.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRequest<'a> {
    /// The interval.
    pub interval: Interval,
    /// Keys of the groups, besides the layer. Keys that depend on single rows (thread, size, lifetime, freeing stack)
    /// are not supported.
    pub by: &'a [By],
    /// The sites to count, with all classes of each.
    pub mask: &'a Mask,
    /// With groups by function or module, which frames are folded away.
    pub fold: Fold,
    /// Whether growth is requested.
    pub growth: bool,
    /// Whether blocks at exit are requested.
    pub at_exit: bool,
    /// The totals of the interval.
    pub totals: &'a Arc<Totals>,
}

/// The measured groups; `growth` and `at_exit` are by group.
#[derive(Debug)]
pub struct Measured {
    /// The groups as in a report.
    pub groups: Vec<Group>,
    /// Bytes per second, by least squares over the time in which the group's processes lived; `None` if none of them
    /// lived in the interval. Empty if not requested.
    pub growth: Vec<Option<f64>>,
    /// Blocks alive when the group's processes ended; `None` if none of them ended in the interval, and for commit.
    /// Empty if not requested.
    pub at_exit: Vec<Option<Bucket>>,
    /// Group of each site.
    pub(super) of_site: Vec<Option<u32>>,
    /// The time over which each group's growth is measured.
    pub(super) spans: Vec<Interval>,
    /// Blocks alive at exit, by site.
    pub(super) left: Vec<Bucket>,
}

impl Measured {
    /// Measures the groups of a request.
    pub fn of(index: &Index, asked: MeasuredRequest<'_>, names: &Names, cancel: &Cancel) -> Result<Self, Cancelled> {
        let MeasuredRequest { interval, by, mask, fold, totals, .. } = asked;
        let request =
            ReportRequest { interval, by: by.to_vec(), filter: ReportFilter::default(), top: None, fold, sources: false };
        let list = list_of_sites(index, &request, (mask, totals), names, cancel)?;
        let (groups, of_site) = (list.groups, list.of_site);
        let spans = lives(index, interval, &of_site, groups.len());
        let growth = if asked.growth { slopes(index, &of_site, &spans, cancel)? } else { Vec::new() };
        let mut measured = Self { groups, growth, at_exit: Vec::new(), of_site, spans, left: Vec::new() };
        if asked.at_exit {
            measured.add_exits(index, interval, cancel)?;
        }
        Ok(measured)
    }

    fn add_exits(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<(), Cancelled> {
        let trace = index.trace();
        let ends = exits(trace, interval);
        let end_of = |i: usize| ends[trace.sites[i].heap.0 as usize];
        let moments: Vec<Ticks> =
            (0..self.of_site.len()).map(|i| self.of_site[i].and_then(|_| end_of(i)).unwrap_or(Ticks::BEFORE_TRACE)).collect();
        self.at_exit = vec![None; self.groups.len()];
        if moments.iter().all(|&moment| moment == Ticks::BEFORE_TRACE) {
            self.left = vec![Bucket::default(); moments.len()];
            return Ok(());
        }
        self.left = alive_at(index, &moments, cancel)?;
        for (i, group) in self.of_site.iter().enumerate() {
            if let Some(group) = group.filter(|_| end_of(i).is_some()) {
                self.at_exit[group as usize].get_or_insert_default().add(self.left[i]);
            }
        }
        Ok(())
    }
}

/// Returns for each group the part of an interval from the first start of its processes to their last end. It ends
/// before it begins if none of them lived then (their unfreed memory still counts).
fn lives(index: &Index, interval: Interval, of_site: &[Option<u32>], groups: usize) -> Vec<Interval> {
    let trace = index.trace();
    let none = Interval { from: interval.to, to: interval.from };
    let mut spans = vec![none; groups];
    for (site, group) in trace.sites.iter().zip(of_site) {
        let Some(group) = group else { continue };
        let process = trace.process(trace.process_of(site));
        let from = process.start.map_or(interval.from, |start| start.max(interval.from));
        let to = process.end.map_or(interval.to, |end| end.min(interval.to));
        if from >= to {
            continue;
        }
        let span = &mut spans[*group as usize];
        *span = Interval { from: span.from.min(from), to: span.to.max(to) };
    }
    spans
}
