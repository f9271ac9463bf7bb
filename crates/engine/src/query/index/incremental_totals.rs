//! Totals of a growing trace, derived from the totals that were queried in the previous publication.
//!
//! The sums of an interval that ends before the horizon of a publication stay valid in later ones, except for rows that
//! have another site since, were split, or arrived later with a birth before it. These rows are found by comparing the
//! chunks that the two publications do not share, and the sums are corrected; then the events between the old and the
//! new edges are walked.
//!
//! Cost: the new rows, and a pass over the sites; the rows of the incomplete last chunk are compared each time. An
//! interval that is far from all earlier ones costs a scan.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::checkpoints::Moment;
use super::edges::{ChangeColumns, EdgeWalk, Known, SumChanges};
use super::lock::lock;
use super::order::EventOrder;
use super::table::{GRAIN, classes};
use super::words::{Full, Word};
use crate::model::{Rows, SiteId, Trace};
use crate::query::fold::Visit;
use crate::query::scan::scan;
use crate::query::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};
use crate::units::{Interval, Ticks};

/// Number of intervals whose sums are kept.
const KEPT: usize = 4;

/// If more than one `WALKED`th of the rows would have to be walked, a scan is faster.
const WALKED: u64 = 4;

/// Sums of recent queries of a growing trace.
#[derive(Debug, Default)]
pub(super) struct IncrementalTotals {
    /// Kept sums, the latest first.
    sums: Mutex<Vec<Sums>>,
    /// Number of rows and events visited.
    looks: AtomicU64,
}

/// Sums of an interval that ends at the horizon or before it.
#[derive(Clone, Debug)]
struct Sums {
    interval: Interval,
    by_site: Arc<Vec<ByClass>>,
    /// Whether they were computed for this publication.
    is_new: bool,
}

/// A row that counts differently than in an earlier publication.
struct Changed {
    birth: Ticks,
    death: Ticks,
    before: Option<(SiteId, u64)>,
    now: (SiteId, u64),
}

impl IncrementalTotals {
    /// Moves the sums to `trace`, which continues an earlier one, and leaves this object empty.
    pub(super) fn on(&self, earlier: &Rows, trace: &Trace) -> Self {
        let mut sums = std::mem::take(&mut *lock(&self.sums));
        let totals_now = Self::default();
        if !sums.is_empty() {
            let changed = totals_now.changed(earlier, &trace.rows);
            sums.par_iter_mut().for_each(|sums| sums.put_right(&changed, trace.sites.len()));
        }
        *lock(&totals_now.sums) = sums;
        totals_now
    }

    /// Returns the rows that are new or changed and that count in intervals ending at the earlier horizon or before it.
    fn changed(&self, earlier: &Rows, rows: &Rows) -> Vec<Changed> {
        let mut changed = Vec::new();
        for (i, chunk) in rows.chunks().enumerate() {
            let old = (i * crate::model::CHUNK < earlier.len()).then(|| earlier.chunk(i));
            if old.is_some_and(|old| chunk.is_shared_with(&old)) {
                continue;
            }
            self.looked_at(chunk.len() as u64);
            for (at, &site) in chunk.sites().iter().enumerate() {
                let before = old.filter(|old| at < old.len()).map(|old| (old.sites()[at], old.size(at)));
                let (birth, now) = (chunk.birth(at), (site, chunk.size(at)));
                if birth < earlier.horizon() && before != Some(now) {
                    changed.push(Changed { birth, death: chunk.death(at), before, now });
                }
            }
        }
        changed
    }

    /// Returns the sums of all sites, by lifetime class.
    pub(super) fn totals(
        &self,
        trace: &Trace,
        order: &EventOrder,
        interval: Interval,
        cancel: &Cancel,
    ) -> Result<Arc<Vec<ByClass>>, Cancelled> {
        let horizon = trace.rows.horizon();
        let settled = Interval { from: interval.from.min(horizon), to: interval.to.min(horizon) };
        let sums = self.settled(trace, order, settled, cancel)?;
        if settled == interval {
            return Ok(sums.by_site);
        }
        self.walk(trace, &sums, &sums.to(trace, order, interval), cancel)
    }

    /// Returns the sums of an interval that ends at the horizon or before it.
    fn settled(&self, trace: &Trace, order: &EventOrder, interval: Interval, cancel: &Cancel) -> Result<Sums, Cancelled> {
        let known = lock(&self.sums).clone();
        if let Some(sums) = known.iter().find(|sums| sums.interval == interval && sums.is_new) {
            return Ok(sums.clone());
        }
        let walks = known.iter().map(|sums| (sums, sums.to(trace, order, interval)));
        let nearest = walks.min_by_key(|(_, walk)| walk.events());
        let near = nearest.filter(|(_, walk)| walk.events() <= trace.rows.len() as u64 / WALKED);
        let by_site = match &near {
            Some((sums, walk)) => self.walk(trace, sums, walk, cancel)?,
            None => {
                self.looked_at(trace.rows.len() as u64);
                Arc::new(scan(Visit { rows: &trace.rows, chosen: None }, trace.sites.len(), interval, cancel)?)
            }
        };
        let new = Sums { interval, by_site, is_new: true };
        let mut kept = lock(&self.sums);
        if let Some((used, _)) = near {
            kept.retain(|sums| sums.is_new || sums.interval != used.interval);
        }
        kept.insert(0, new.clone());
        kept.truncate(KEPT);
        Ok(new)
    }

    /// Returns the sums at the end of a walk that starts from known ones.
    fn walk(&self, trace: &Trace, sums: &Sums, walk: &EdgeWalk, cancel: &Cancel) -> Result<Arc<Vec<ByClass>>, Cancelled> {
        self.looked_at(walk.events());
        if walk.events() == 0 {
            return Ok(Arc::clone(&sums.by_site));
        }
        let mut by_site = Vec::clone(&sums.by_site);
        let changes = walk.run(trace, || SumChanges::Full(ChangeColumns::new(trace.sites.len())), cancel)?;
        let columns: Vec<&ChangeColumns<Full>> = changes.iter().filter_map(SumChanges::full).collect();
        by_site.par_chunks_mut(GRAIN).enumerate().for_each(|(grain, sites)| {
            for (site, sums) in (grain * GRAIN..).zip(sites) {
                let mut words = words(sums);
                columns.iter().for_each(|columns| columns.add_to(site, &mut words));
                *sums = classes(words);
            }
        });
        Ok(Arc::new(by_site))
    }

    fn looked_at(&self, count: u64) {
        self.looks.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of rows and events visited since this was created.
    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        lock(&self.sums).iter().map(|sums| sums.by_site.capacity() * size_of::<ByClass>()).sum()
    }
}

impl Sums {
    /// Corrects the sums for rows that count differently now.
    fn put_right(&mut self, changed: &[Changed], sites: usize) {
        self.is_new = false;
        if changed.is_empty() && self.by_site.len() == sites {
            return;
        }
        let by_site = Arc::make_mut(&mut self.by_site);
        by_site.resize(by_site.len().max(sites), ByClass::default());
        for Changed { birth, death, before, now } in changed {
            let Some(class) = LifetimeClass::of(*birth, *death, self.interval) else { continue };
            if let Some((site, size)) = before {
                by_site[site.0 as usize].get_mut(class).take_row(*size);
            }
            by_site[now.0.0 as usize].get_mut(class).add_row(now.1);
        }
        debug_assert!(by_site[sites..].iter().all(ByClass::is_empty), "rows of sites that are gone");
        by_site.truncate(sites);
    }

    /// Returns the walk from this interval to another one.
    fn to(&self, trace: &Trace, order: &EventOrder, interval: Interval) -> EdgeWalk<'static> {
        let moment = |t: Ticks| -> Moment { (t, order.place(&trace.rows, t)) };
        let (from, to) = (moment(self.interval.from), moment(self.interval.to));
        let known = Known { born: [from, to], alive: [from, to], through: (from, to) };
        EdgeWalk::new(None, known, moment(interval.from), moment(interval.to))
    }
}

/// Converts to the words of an edge walk: born before either edge (relative to the first), alive at either edge, and
/// alive throughout.
fn words(sums: &ByClass) -> [Full; 5] {
    use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
    let both = |a, b| Full::of(Bucket::plus(sums.get(a), sums.get(b)));
    [Full::default(), both(Aifi, Aifo), both(Aofi, Aofo), both(Aifo, Aofo), Full::of(sums.get(Aofo))]
}
