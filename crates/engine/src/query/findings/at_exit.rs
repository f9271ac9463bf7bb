//! Blocks alive when their process ended. Commit is not counted: Windows reclaims it at exit.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::source::Sources;
use crate::query::alive::exits;
use crate::query::{Bucket, Cancelled};
use crate::units::Interval;

/// Smallest share of its layer's peak that a place must leave behind, and largest number of places per source.
const LEAST_SHARE: f64 = 0.01;
const MOST: usize = 5;

pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Result<Vec<Claim>, Cancelled> {
    let ends = exits(question.index.trace(), question.interval);
    if ends.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let held = question.held(&ends)?;
    let mut claims = Vec::new();
    for source in &sources.list {
        let Some(end) = ends[source.heap.0 as usize] else { continue };
        let size = |site: &crate::model::SiteId| held[site.0 as usize].size as f64;
        let amounts: Vec<f64> = source.places.sites.iter().map(size).collect();
        let mut places = source.places.own_amounts(&amounts);
        places.retain(|(_, amount)| *amount >= LEAST_SHARE * source.layer_peak as f64);
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (place, _) in places.into_iter().take(MOST) {
            let sites = source.places.own(place).to_vec();
            let mut sum = Bucket::default();
            sites.iter().for_each(|site| sum.add(held[site.0 as usize]));
            claims.push(Claim {
                bytes: sum.size,
                count: sum.count,
                interval: Interval { from: end, to: end.next() },
                sites,
                ..Claim::at(FindingKind::AtExit, source, place)
            });
        }
    }
    Ok(claims)
}
