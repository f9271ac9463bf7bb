//! The largest outstanding sizes of lines of a table or groups of a report: the one
//! number that needs the changes in order.

use super::changes::{Change, changes};
use super::{Cancel, Cancelled, Index};
use crate::model::SiteId;
use crate::units::Interval;

/// The largest values inside `interval` of lines that begin at `now`. A row counts
/// for the line that `lines_of` its site names for its class, and for all that
/// `parent` names above; changes at one tick count together. Cost: a pass over the
/// events of the interval; for growing traces a sort of them.
pub(super) fn line_peaks(
    index: &Index,
    interval: Interval,
    now: Vec<i128>,
    lines_of: impl Fn(SiteId) -> [Option<u32>; 4] + Sync,
    parent: impl Fn(u32) -> Option<u32> + Sync,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let peaks = match index.peaks(interval, &now, &lines_of, &parent, cancel)? {
        Some(peaks) => {
            debug_assert!(
                index.trace().rows.len() > 4096
                    || scan(index, interval, now, lines_of, parent, &Cancel::default()).as_ref() == Ok(&peaks),
                "peaks contradict the sorted changes of {interval:?}"
            );
            peaks
        }
        None => scan(index, interval, now, lines_of, parent, cancel)?,
    };
    Ok(peaks.into_iter().map(|p| u64::try_from(p).unwrap_or(u64::MAX)).collect())
}

fn scan(
    index: &Index,
    interval: Interval,
    now: Vec<i128>,
    lines_of: impl Fn(SiteId) -> [Option<u32>; 4] + Sync,
    parent: impl Fn(u32) -> Option<u32>,
    cancel: &Cancel,
) -> Result<Vec<i128>, Cancelled> {
    let changes = changes(index.trace(), interval, cancel, |row, class| lines_of(row.site)[class as usize])?;
    Ok(climb(&changes, now, parent))
}

fn climb(changes: &[Change], mut now: Vec<i128>, parent: impl Fn(u32) -> Option<u32>) -> Vec<i128> {
    let mut peak = now.clone();
    let up = |of: u32| std::iter::successors(Some(of), |&of| parent(of));
    for tick in changes.chunk_by(|a, b| a.at == b.at) {
        for change in tick {
            up(change.of).for_each(|of| now[of as usize] += change.delta());
        }
        for of in tick.iter().flat_map(|change| up(change.of)) {
            let of = of as usize;
            peak[of] = peak[of].max(now[of]);
        }
    }
    peak
}
