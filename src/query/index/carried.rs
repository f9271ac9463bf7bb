//! Totals of a trace that grows, from those that were asked of the publication before.
//!
//! Sums of an interval that ends before the horizon of a publication are those of all
//! later ones too, but for rows that have got another site since, were split, or came with
//! a birth before it. Those are found by comparing the chunks that both do not share, and
//! put right; then the events between the edges then and now are walked through.
//!
//! Cost: what came, and a pass over the sites; the rows of the chunk that was not full
//! are compared each time. An interval of which nothing near was asked before costs a scan.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::checkpoints::Moment;
use super::edges::{ChangeColumns, EdgeWalk, SumChanges};
use super::lock;
use super::order::EventOrder;
use super::table::{GRAIN, classes};
use super::words::{Full, Word};
use crate::model::{Rows, SiteId, Trace};
use crate::query::fold::Visit;
use crate::query::scan::scan;
use crate::query::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};
use crate::units::{Interval, Ticks};

/// Sums of so many intervals are kept.
const KEPT: usize = 4;

/// Where more than this part of the rows would have to be walked through, a scan is faster.
const WALKED: u64 = 4;

/// What is known of a growing trace.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// The latest first.
    sums: Mutex<Vec<Sums>>,
    /// Rows and events that were looked at.
    looks: AtomicU64,
}

/// Sums of an interval that ends at the horizon or before.
#[derive(Clone, Debug)]
struct Sums {
    interval: Interval,
    by_site: Arc<Vec<ByClass>>,
    /// Whether this publication was asked for them.
    is_new: bool,
}

/// A row that counts otherwise than in an earlier publication.
struct Changed {
    birth: Ticks,
    death: Ticks,
    before: Option<(SiteId, u64)>,
    now: (SiteId, u64),
}

impl Carried {
    /// For `trace`, which continues an earlier one. Nothing is left of what that had.
    pub(super) fn on(&self, earlier: &Rows, trace: &Trace) -> Self {
        let mut sums = std::mem::take(&mut *lock(&self.sums));
        let carried = Self::default();
        if !sums.is_empty() {
            let changed = carried.changed(earlier, &trace.rows);
            sums.par_iter_mut().for_each(|sums| sums.put_right(&changed, trace.sites.len()));
        }
        *lock(&carried.sums) = sums;
        carried
    }

    /// The rows that count in intervals that end at the earlier horizon or before, and were
    /// not there, or not the same.
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

    /// The classes of all sites.
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

    /// The sums of an interval that ends at the horizon or before.
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

    /// The sums at the end of a walk from known ones.
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

    /// How many rows and events were looked at since it was made.
    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        lock(&self.sums).iter().map(|sums| sums.by_site.capacity() * size_of::<ByClass>()).sum()
    }
}

impl Sums {
    /// Rows count otherwise than they did.
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

    /// The way from here to another interval.
    fn to(&self, trace: &Trace, order: &EventOrder, interval: Interval) -> EdgeWalk {
        let moment = |t: Ticks| -> Moment { (t, order.place(&trace.rows, t)) };
        let (from, to) = (moment(self.interval.from), moment(self.interval.to));
        EdgeWalk::new([from, to], (from, to), moment(interval.from), moment(interval.to))
    }
}

/// What was born before the edges, counted from the first, is alive at them, and lives through.
fn words(sums: &ByClass) -> [Full; 5] {
    use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
    let both = |a, b| Full::of(Bucket::plus(sums.get(a), sums.get(b)));
    [Full::default(), both(Aifi, Aifo), both(Aofi, Aofo), both(Aifo, Aofo), Full::of(sums.get(Aofo))]
}
