//! Lasting changes of a source's level, up or down, and the place that caused them.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::shape::{Jump, jump, level_change, quantile};
use super::source::{Source, Sources};
use crate::query::{Cancelled, SeriesOf, series, totals};
use crate::units::{Interval, Ticks};

/// Smallest step: as a share of the source's usual level, and in bytes.
const LEAST_SHARE: f64 = 0.1;
const LEAST_BYTES: f64 = 4096.0;

/// Number of bins in which a step is located.
const BINS: usize = 512;

/// Largest number of steps of one source.
const MOST: usize = 4;

pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Result<Vec<Claim>, Cancelled> {
    let mut claims = Vec::new();
    for source in &sources.list {
        question.cancel.check()?;
        let level = sources.alive(source, 0);
        let least = (LEAST_SHARE * quantile(&level, 0.5)).max(LEAST_BYTES).max(0.01 * source.layer_peak as f64);
        let step = |place: usize| {
            let jump = jump(&sources.alive(source, place))?;
            // A change that another place compensates at the same time does not change the level.
            let shows = level_change(&level, jump.at) * jump.by.signum() >= 0.5 * jump.by.abs();
            (shows && jump.by.abs() >= least).then_some(jump)
        };
        let mut found = source.places.choose(|place| step(place).map(|jump| jump.by.abs()));
        found.truncate(MOST);
        for place in found {
            if let Some(jump) = step(place) {
                claims.push(claim(question, sources, source, place, jump)?);
            }
        }
    }
    Ok(claims)
}

fn claim(question: &Question<'_>, sources: &Sources, source: &Source, place: usize, jump: Jump) -> Result<Claim, Cancelled> {
    let moments = &sources.levels.moments[sources.moments(source)];
    let around = Interval { from: moments[jump.at], to: moments[jump.at + 2] };
    let sites = source.places.under(place);
    let mut of = SeriesOf { site: vec![None; question.index.trace().sites.len()], count: 1, is_stacked: false };
    sites.iter().for_each(|site| of.site[site.0 as usize] = Some(0));
    let sums = totals(question.index, around, question.cancel)?;
    let lines = series(question.index, &sums, &of, BINS, question.cancel)?;
    let interval = lines.first().map_or(around, |line| edges(&line.points, around));
    let numbers = question.numbers(sites, interval)?;
    let is_up = jump.by > 0.0;
    Ok(Claim {
        bytes: numbers.impacting.unsigned_abs(),
        count: if is_up { numbers.stayed } else { numbers.went },
        is_fall: !is_up,
        interval,
        ..Claim::at(FindingKind::Step, source, place)
    })
}

/// Returns the interval from where the line leaves one level to where it reaches the other.
fn edges(points: &[(Ticks, u64)], around: Interval) -> Interval {
    let value = |point: Option<&(Ticks, u64)>| point.map_or(0.0, |point| point.1 as f64);
    let (before, after) = (value(points.first()), value(points.last()));
    let height = (after - before).abs();
    let way = |share: f64| {
        let reached = points.iter().find(|point| (point.1 as f64 - before) * (after - before).signum() >= share * height);
        reached.map_or(around.from, |point| point.0)
    };
    if height == 0.0 { around } else { Interval { from: way(0.02), to: way(0.98).next() } }
}
