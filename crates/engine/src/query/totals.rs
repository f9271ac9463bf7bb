//! Totals of an interval: sums by site and lifetime class, from which the totals of every grouping follow. They come
//! from checkpoints, for growing traces from queries of the previous publication, and without prepared data from one
//! scan of the rows.

use std::sync::Arc;

use rayon::prelude::*;

use super::index::{SiteParts, SpareSums};
use super::scan::scan;
use super::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Numbers, RowSet, SeriesOf};
use crate::model::SiteId;
use crate::units::Interval;

/// Bytes and rows that each site allocated, freed and kept in an interval.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The interval.
    pub interval: Interval,
    by_site: Arc<Vec<ByClass>>,
    /// The rows that were added up; `None` for all.
    chosen: Option<Arc<RowSet>>,
    /// Takes the sums when nobody needs them any more.
    spare: Option<Arc<SpareSums>>,
    /// The parts of the rows in which each site occurs, if they are known.
    parts: Option<Arc<SiteParts>>,
}

impl Drop for Totals {
    fn drop(&mut self) {
        if let (Some(spare), Some(sums)) = (&self.spare, Arc::get_mut(&mut self.by_site)) {
            spare.give(std::mem::take(sums));
        }
    }
}

impl Totals {
    /// Returns the parts of the rows in which each site occurs, if they are known.
    pub(super) fn parts(&self) -> Option<&SiteParts> {
        self.parts.as_deref()
    }

    /// Returns the rows that were added up; `None` for all.
    pub fn chosen(&self) -> Option<&Arc<RowSet>> {
        self.chosen.as_ref()
    }

    /// Returns the bytes that totals of so many sites take.
    pub fn bytes_of(sites: usize) -> usize {
        sites * size_of::<ByClass>()
    }

    /// Returns the bytes that they take.
    pub fn bytes(&self) -> usize {
        Self::bytes_of(self.by_site.len())
    }

    /// Returns the buckets of one site.
    pub fn of(&self, site: SiteId) -> &ByClass {
        &self.by_site[site.0 as usize]
    }

    /// Returns the sites that have rows, with their buckets.
    pub fn sites(&self) -> impl Iterator<Item = (SiteId, &ByClass)> {
        self.by_site.iter().enumerate().filter(|(_, b)| !b.is_empty()).map(|(i, b)| (SiteId(i as u32), b))
    }

    /// Returns the sum of one number for each series, saturating.
    pub(super) fn by_series(&self, of: &SeriesOf, number: impl Fn(Numbers) -> u64 + Sync) -> Vec<u64> {
        let of_part = |(buckets, series): (&[ByClass], &[Option<u32>])| {
            let mut sums = vec![0u64; of.count];
            for (buckets, series) in buckets.iter().zip(series) {
                if let Some(i) = series.filter(|_| !buckets.is_empty()) {
                    let number = number(buckets.numbers());
                    of.reach(i).for_each(|i| sums[i as usize] = sums[i as usize].saturating_add(number));
                }
            }
            sums
        };
        let parts = self.by_site.par_chunks(GRAIN).zip(of.site.par_chunks(GRAIN)).map(of_part);
        parts.reduce(
            || vec![0; of.count],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = a.saturating_add(b));
                a
            },
        )
    }

    /// Returns the sum over the sites and classes that `mask` includes.
    pub fn sum(&self, mask: &Mask) -> ByClass {
        let mut sum = ByClass::default();
        for (site, buckets) in self.sites() {
            sum.add(&buckets.only(mask.classes(site)));
        }
        sum
    }
}

/// Computes the totals of an interval.
pub fn totals(index: &Index, interval: Interval, cancel: &Cancel) -> Result<Totals, Cancelled> {
    let parts = index.site_parts().cloned();
    let Some(by_site) = index.totals(interval, cancel)? else {
        let by_site = Arc::new(scan(index.visit(), index.trace().sites.len(), interval, cancel)?);
        return Ok(Totals { interval, by_site, chosen: index.chosen().cloned(), spare: None, parts });
    };
    let totals = Totals { interval, by_site, chosen: None, spare: index.spare_sums().cloned(), parts };
    debug_assert!(totals.agree_with(index), "sums from checkpoints contradict the order of events in {interval:?}");
    Ok(totals)
}

/// Number of sites that one worker adds up at a time.
const GRAIN: usize = 1 << 14;

impl Totals {
    /// Returns whether the numbers of rows allocated, freed and kept match the events in the interval; and for small
    /// traces, whether a scan gives the same sums.
    fn agree_with(&self, index: &Index) -> bool {
        use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
        let mut sum = ByClass::default();
        self.by_site.iter().for_each(|site| sum.add(site));
        let count = |a: LifetimeClass, b: LifetimeClass| sum.get(a).count + sum.get(b).count;
        let counts = (count(Aifi, Aifo), count(Aifi, Aofi), count(Aofi, Aofo));
        let numbers = sum.numbers();
        let change = i128::from(numbers.outstanding_to) - i128::from(numbers.outstanding_from);
        let sites = self.by_site.len();
        let scanned = || scan(index.visit(), sites, self.interval, &Cancel::default()).is_ok_and(|scan| scan == *self.by_site);
        index.counts(self.interval).is_none_or(|expected| expected == counts)
            && (numbers.impacting == super::UNKNOWN_CHANGE || i128::from(numbers.impacting) == change)
            && (!index.is_checked() || scanned())
    }
}
