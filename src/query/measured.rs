//! The groups of a report with what limits are about beside its numbers: how fast each grows,
//! and what was alive of it when its processes ended.
//!
//! Cost: a report; a pass over the rows for each of the two, if it is asked for.

use std::sync::Arc;

use super::alive::{alive_at, exits};
use super::growth::slopes;
use super::report::list_of_sites;
use super::{Bucket, By, Cancel, Cancelled, Fold, Group, Index, Mask, ReportFilter, ReportRequest, Totals};
use crate::symbols::Names;
use crate::units::{Interval, Ticks};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRequest<'a> {
    /// The interval.
    pub interval: Interval,
    /// What makes a group, besides the layer. What follows from rows alone (thread, size,
    /// lifetime, who freed) is not possible.
    pub by: &'a [By],
    /// Which sites; all classes of each.
    pub mask: &'a Mask,
    /// By function and module: whether the allocator's innermost frames are left out.
    pub fold: Fold,
    /// Whether growth is asked for.
    pub growth: bool,
    /// Whether blocks at exit are asked for.
    pub at_exit: bool,
    /// The sums of the interval.
    pub totals: &'a Arc<Totals>,
}

/// The answer; lists go by group.
#[derive(Debug)]
pub struct Measured {
    /// As a report has them.
    pub groups: Vec<Group>,
    /// Bytes a second, by least squares over the time in which its processes lived; `None` where
    /// none of them lived in the interval. Empty if it was not asked for.
    pub growth: Vec<Option<f64>>,
    /// What was alive when its processes ended; `None` where none of them ended in the
    /// interval, and of pages. Empty if it was not asked for.
    pub at_exit: Vec<Option<Bucket>>,
    /// By site its group.
    pub(super) of_site: Vec<Option<u32>>,
    /// By group the time over which its growth is measured.
    pub(super) spans: Vec<Interval>,
    /// By site what was alive at exit.
    pub(super) left: Vec<Bucket>,
}

impl Measured {
    /// Answers a request.
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

/// By group the part of an interval from the first start of its processes to their last end. It ends
/// before it begins where none of them lived then (what they left behind is still there).
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
