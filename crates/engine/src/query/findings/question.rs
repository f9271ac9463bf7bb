//! The query that all detectors answer.

use crate::model::{HeapId, SiteId};
use crate::names::Names;
use crate::query::alive::alive_at;
use crate::query::{Bucket, ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Totals, totals};
use crate::units::{Interval, Ticks};

/// The query that all detectors answer.
pub(super) struct Question<'a> {
    pub(super) index: &'a Index,
    pub(super) interval: Interval,
    pub(super) totals: &'a Totals,
    pub(super) mask: &'a Mask,
    /// Whether all rows are included.
    pub(super) is_everything: bool,
    pub(super) names: &'a Names,
    pub(super) cancel: &'a Cancel,
}

/// Numbers of some sites in an interval.
pub(super) struct PlaceNumbers {
    pub(super) impacting: i64,
    /// Rows allocated in the interval and still alive at its end.
    pub(super) stayed: u64,
    /// Rows alive at the start of the interval and freed in it.
    pub(super) went: u64,
}

impl Question<'_> {
    /// Computes the numbers of some sites in a part of the interval.
    pub(super) fn numbers(&self, sites: &[SiteId], interval: Interval) -> Result<PlaceNumbers, Cancelled> {
        let totals = totals(self.index, interval, self.cancel)?;
        let mut sum = ByClass::default();
        sites.iter().for_each(|&site| sum.add(totals.of(site)));
        let count = |class| sum.get(class).count;
        let impacting = sum.numbers().impacting;
        Ok(PlaceNumbers { impacting, stayed: count(LifetimeClass::Aifo), went: count(LifetimeClass::Aofi) })
    }

    /// Returns for each site the blocks alive at the moment of its heap; none if the heap has no moment.
    pub(super) fn held(&self, moments: &[Option<Ticks>]) -> Result<Vec<Bucket>, Cancelled> {
        let wanted = |i: usize, heap: HeapId| moments[heap.0 as usize].filter(|_| self.mask.classes(SiteId(i as u32)) != 0);
        let sites = self.index.trace().sites.iter().enumerate();
        let of_site: Vec<Ticks> = sites.map(|(i, site)| wanted(i, site.heap).unwrap_or(Ticks::BEFORE_TRACE)).collect();
        alive_at(self.index, &of_site, self.cancel)
    }

    pub(super) fn seconds(&self, interval: Interval) -> f64 {
        let clock = &self.index.trace().clock;
        clock.seconds(interval.to) - clock.seconds(interval.from)
    }
}
