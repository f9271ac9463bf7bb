//! The sums of an interval, by site and lifetime class: the one scan over the rows
//! from which every total of every grouping follows.

use rayon::prelude::*;

use super::{ByClass, Cancel, Cancelled, LifetimeClass, Mask};
use crate::model::{SiteId, Trace};
use crate::units::Interval;

/// What each site allocated, freed and kept in an interval.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The interval.
    pub interval: Interval,
    by_site: Vec<ByClass>,
}

impl Totals {
    /// The buckets of one site.
    pub fn of(&self, site: SiteId) -> &ByClass {
        &self.by_site[site.0 as usize]
    }

    /// Sites in which rows take part, with their buckets.
    pub fn sites(&self) -> impl Iterator<Item = (SiteId, &ByClass)> {
        self.by_site.iter().enumerate().filter(|(_, b)| !b.is_empty()).map(|(i, b)| (SiteId(i as u32), b))
    }

    /// The sum over the sites and classes that `mask` wants.
    pub fn sum(&self, mask: &Mask) -> ByClass {
        let mut sum = ByClass::default();
        for (site, buckets) in self.sites() {
            sum.add(&buckets.only(mask.classes(site)));
        }
        sum
    }
}

/// Classifies all rows. Parallel; each worker keeps sums of its own.
pub fn totals(trace: &Trace, interval: Interval, cancel: &Cancel) -> Result<Totals, Cancelled> {
    let chunks: Vec<_> = trace.rows.chunks().collect();
    let per_worker = chunks.len().div_ceil(rayon::current_num_threads()).max(1);
    let parts: Result<Vec<Vec<ByClass>>, Cancelled> = chunks
        .par_chunks(per_worker)
        .map(|chunks| {
            let mut sums = vec![ByClass::default(); trace.sites.len()];
            for chunk in chunks {
                cancel.check()?;
                for (_, row) in chunk.rows() {
                    if let Some(class) = LifetimeClass::of(row.birth, row.death, interval) {
                        sums[row.site.0 as usize].get_mut(class).add_row(row.size);
                    }
                }
            }
            Ok(sums)
        })
        .collect();
    let mut parts = parts?.into_iter();
    let mut by_site = parts.next().unwrap_or_else(|| vec![ByClass::default(); trace.sites.len()]);
    for part in parts {
        by_site.iter_mut().zip(&part).for_each(|(a, b)| a.add(b));
    }
    Ok(Totals { interval, by_site })
}
