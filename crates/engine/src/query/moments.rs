//! Weights of sites over time: the sums of a value over short stretches of an interval.
//!
//! Cost: one parallel scan of the rows. Memory: an entry per worker, site and stretch with rows; with many sites or
//! workers there are fewer stretches.

use std::ops::Range;

use super::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::model::SiteId;
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// The sum of one site over one stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteMoment {
    /// Start of the stretch.
    pub at: Ticks,
    /// The site.
    pub site: SiteId,
    /// The sum of all positive or of all negative weights.
    pub weight: i128,
}

/// A row that overlaps an interval.
#[derive(Clone, Copy, Debug)]
pub struct RowSeen {
    /// Its class in the interval.
    pub class: LifetimeClass,
    /// Time of the allocation.
    pub birth: Ticks,
    /// Time of the free.
    pub death: Ticks,
    /// Bytes.
    pub size: u64,
}

/// Largest number of entries on all workers together, ...
const MOST: usize = 1 << 21;
/// ... and largest number of stretches.
const STRETCHES: i64 = 1 << 10;

/// Returns the places of rising moments at which something is alive, by the rule for outstanding rows: what was born before the
/// moment, and died at it or later.
pub(super) fn places_alive(moments: &[Ticks], birth: Ticks, death: Ticks) -> Range<usize> {
    let first = moments.partition_point(|at| *at <= birth);
    first..moments.partition_point(|at| *at <= death).max(first)
}

/// Adds up what `weigh` returns for rows: a moment and a weight. Moments outside the interval count at its edges. The
/// result is sorted by time, then by site; positive and negative weights are separate.
pub fn site_moments(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    weigh: impl Fn(RowSeen) -> Option<(Ticks, i128)> + Sync,
    cancel: &Cancel,
) -> Result<Vec<SiteMoment>, Cancelled> {
    let length = interval.to.0.saturating_sub(interval.from.0).max(1);
    let sites = index.trace().sites.len().max(1);
    let stretches = ((MOST / sites / rayon::current_num_threads()) as i64).clamp(1, STRETCHES).min(length);
    let width = length.div_euclid(stretches) + i64::from(length.rem_euclid(stretches) != 0);
    let parts = index.fold(cancel, KeyedMap::<(i64, u32, bool), i128>::default, |sums, visited| {
        let (chunk, sites) = (visited.chunk, visited.chunk.sites());
        visited.each_in(interval, |at, class| {
            let site = sites[at];
            if !mask.has(site, class) {
                return;
            }
            let seen = RowSeen { class, birth: chunk.birth(at), death: chunk.death(at), size: chunk.size(at) };
            if let Some((moment, weight)) = weigh(seen) {
                let since = moment.0.saturating_sub(interval.from.0).clamp(0, length - 1);
                *sums.entry((since / width, site.0, weight < 0)).or_default() += weight;
            }
        });
    })?;
    let mut all = KeyedMap::<(i64, u32, bool), i128>::default();
    for part in parts {
        #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (key, weight) in part {
            *all.entry(key).or_default() += weight;
        }
    }
    let mut all: Vec<_> = all.into_iter().filter(|(_, weight)| *weight != 0).collect();
    all.sort_unstable();
    let moment = |((stretch, site, _), weight)| SiteMoment {
        at: Ticks(interval.from.0.saturating_add(stretch * width)),
        site: SiteId(site),
        weight,
    };
    Ok(all.into_iter().map(moment).collect())
}
