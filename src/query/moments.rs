//! What sites weigh by when their rows count: the sums of a value over short stretches of an interval.
//!
//! Cost: one parallel scan of the rows. Memory: an entry for each site and stretch in which it has
//! rows, on each worker; there are fewer stretches where there are many sites or workers.

use super::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::model::SiteId;
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// The sum of one site over one stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteMoment {
    /// Where the stretch begins.
    pub at: Ticks,
    /// Which.
    pub site: SiteId,
    /// The sum, of one sign.
    pub weight: i128,
}

/// A row that takes part in an interval.
#[derive(Clone, Copy, Debug)]
pub struct RowSeen {
    /// Its class there.
    pub class: LifetimeClass,
    /// When it was allocated.
    pub birth: Ticks,
    /// When it was freed.
    pub death: Ticks,
    /// Bytes.
    pub size: u64,
}

/// Entries on all workers together, ...
const MOST: usize = 1 << 21;
/// ... and stretches.
const STRETCHES: i64 = 1 << 10;

/// The sums of what `weigh` makes of rows: a moment and a weight. Moments outside of the interval
/// count at its edges. By time, then by site; what was added and what was taken apart.
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
