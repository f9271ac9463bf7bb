//! The largest outstanding sizes of lines of a table or groups of a report: the one
//! number that needs the changes in order. Cost: a pass over the events of the
//! interval; for growing traces a sort of them.

use super::changes::{Change, changes};
use super::{Cancel, Cancelled, Index, LifetimeClass};
use crate::model::{Row, SiteId};
use crate::units::Interval;

/// Rows of traces whose peaks debug builds look for a second time.
const SMALL: usize = 4096;

/// The largest values inside `interval` of lines that begin at `now`. A row counts
/// for the line that `lines_of` its site names for its class, and for all that
/// `parent` names above; changes at one tick count together.
pub(super) fn line_peaks(
    index: &Index,
    interval: Interval,
    now: Vec<i128>,
    lines_of: impl Fn(SiteId) -> [Option<u32>; 4] + Sync,
    parent: impl Fn(u32) -> Option<u32> + Sync,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let swept = index.line_peaks(interval, &now, &lines_of, &parent, cancel)?;
    let of = |row: &Row, class: LifetimeClass| lines_of(row.site)[class as usize];
    finish(index, interval, swept, now, of, parent, cancel)
}

/// The same for groups of rows that are no groups of sites.
pub(super) fn row_peaks(
    index: &Index,
    interval: Interval,
    now: Vec<i128>,
    group_of: impl Fn(&Row) -> Option<u32> + Sync,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let swept = index.row_peaks(interval, &now, &group_of, cancel)?;
    finish(index, interval, swept, now, |row, _| group_of(row), |_| None, cancel)
}

/// What the index says, or a sort of the changes where it says nothing.
fn finish(
    index: &Index,
    interval: Interval,
    swept: Option<Vec<i128>>,
    now: Vec<i128>,
    of: impl Fn(&Row, LifetimeClass) -> Option<u32> + Sync,
    parent: impl Fn(u32) -> Option<u32>,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let scan = |cancel| changes(index.trace(), interval, cancel, &of).map(|changes| climb(&changes, now, &parent));
    let peaks = match swept {
        Some(peaks) => {
            debug_assert!(
                index.trace().rows.len() > SMALL || scan(&Cancel::default()).as_ref() == Ok(&peaks),
                "peaks contradict the sorted changes of {interval:?}"
            );
            peaks
        }
        None => scan(cancel)?,
    };
    Ok(peaks.into_iter().map(|p| u64::try_from(p).unwrap_or(u64::MAX)).collect())
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
