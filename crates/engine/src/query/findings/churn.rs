//! Places that allocate and free far more bytes than they ever hold.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::source::Sources;
use crate::model::SiteId;
use crate::query::{Bucket, LifetimeClass};

/// How many times the source's peak must be allocated and freed, in how many blocks at a place, and the share of it
/// that the place must have.
const TURNOVERS: f64 = 10.0;
const LEAST_COUNT: u64 = 500;
const LEAST_PART: f64 = 0.25;

pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Vec<Claim> {
    let mut claims = Vec::new();
    for source in &sources.list {
        let churned = |site: SiteId| question.totals.of(site).get(LifetimeClass::Aifi);
        let amounts: Vec<f64> = source.places.sites.iter().map(|&site| churned(site).size as f64).collect();
        let whole: f64 = amounts.iter().sum();
        if whole < TURNOVERS * source.series.peak as f64 {
            continue;
        }
        for (place, amount) in source.places.own_amounts(&amounts) {
            let sites = source.places.own(place).to_vec();
            let mut sum = Bucket::default();
            sites.iter().for_each(|&site| sum.add(churned(site)));
            if amount >= LEAST_PART * whole && sum.count >= LEAST_COUNT {
                let seconds = question.seconds(source.life);
                claims.push(Claim {
                    bytes: sum.size,
                    count: sum.count,
                    rate: (seconds > 0.0).then(|| sum.size as f64 / seconds),
                    interval: source.life,
                    sites,
                    ..Claim::at(FindingKind::Churn, source, place)
                });
            }
        }
    }
    claims
}
