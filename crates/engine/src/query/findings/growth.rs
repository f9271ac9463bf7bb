//! Places in the code whose outstanding bytes climb through the interval.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::shape::{climb, line};
use super::source::{Source, Sources, envelope};
use crate::query::{Cancelled, SeriesOf, series};
use crate::units::Interval;

/// Smallest growth: as a share of the layer's peak, and in bytes.
const LEAST_SHARE: f64 = 0.005;
const LEAST_BYTES: f64 = 1024.0;

/// Number of bins whose minima must climb, too.
const LOW_BINS: usize = 96;

/// Largest number of places that are examined closely.
const MOST: usize = 64;

/// Finds growth. A climb between the sampled moments counts only if the minima between them climb, too: a sawtooth with
/// nearly the sampling period would look like a ramp.
pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Result<Vec<Claim>, Cancelled> {
    let mut found: Vec<(&Source, usize, f64)> = Vec::new();
    for source in &sources.list {
        question.cancel.check()?;
        let least = (LEAST_SHARE * source.layer_peak as f64).max(LEAST_BYTES);
        let rise = |place: usize| {
            let alive = sources.alive(source, place);
            let climb = climb(&alive)?;
            Some(alive[climb.to] - alive[climb.from]).filter(|&rise| rise >= least)
        };
        found.extend(source.places.choose(rise).into_iter().filter_map(|place| Some((source, place, rise(place)?))));
    }
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found.truncate(MOST);
    let mut of = SeriesOf { site: vec![None; question.index.trace().sites.len()], count: found.len(), is_stacked: false };
    for (i, (source, place, _)) in (0..).zip(&found) {
        source.places.under(*place).iter().for_each(|site| of.site[site.0 as usize] = Some(i));
    }
    let lines =
        if found.is_empty() { Vec::new() } else { series(question.index, question.totals, &of, 4 * LOW_BINS, question.cancel)? };
    let mut claims = Vec::new();
    for ((source, place, _), line) in found.into_iter().zip(&lines) {
        if climb(&envelope(line, source.life, LOW_BINS).0).is_some() {
            claims.extend(claim(question, sources, source, place)?);
        }
    }
    Ok(claims)
}

fn claim(question: &Question<'_>, sources: &Sources, source: &Source, place: usize) -> Result<Option<Claim>, Cancelled> {
    let alive = sources.alive(source, place);
    let Some(climb) = climb(&alive) else { return Ok(None) };
    let moments = &sources.levels.moments[sources.moments(source)];
    let clock = &question.index.trace().clock;
    let step = (clock.seconds(moments[climb.to]) - clock.seconds(moments[climb.from])) / (climb.to - climb.from) as f64;
    // The climb can begin and end between two moments, so its first and last moments are left out of the fit.
    let (slope, _) = line(&alive[climb.from + 1..climb.to]);
    // Extends the interval to where the rise really begins and ends.
    let from = (0..climb.from).rev().take_while(|&k| alive[k] < alive[k + 1]).last().unwrap_or(climb.from);
    let to = (climb.to + 1..alive.len()).take_while(|&k| alive[k] > alive[k - 1]).last().unwrap_or(climb.to);
    let interval = Interval { from: moments[from], to: moments[to] };
    let numbers = question.numbers(source.places.under(place), interval)?;
    let bytes = u64::try_from(numbers.impacting).unwrap_or(0);
    Ok(Some(Claim {
        bytes,
        count: numbers.stayed,
        rate: Some(slope / step),
        interval,
        ..Claim::at(FindingKind::Growth, source, place)
    }))
}
