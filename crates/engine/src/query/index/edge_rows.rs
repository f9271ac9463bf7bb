//! Changes by the rows that an edge of an interval cuts: births in it of rows that outlive it, and deaths in it of rows that were
//! there before.
//!
//! Cost: a sequential access to each birth and death in the interval; only rows that are found cost more.

use rayon::prelude::*;

use super::order::{EventPosition, by_chunk, in_row_order};
use super::outliving::keep_born_before;
use super::{Index, Ordered};
use crate::model::{CHUNK, SiteId};
use crate::query::changes::Change;
use crate::query::line_tree::NOBODY;
use crate::query::peaks::ByClassLines;
use crate::query::{Cancel, Cancelled, LifetimeClass};
use crate::units::Interval;

/// Number of deaths that one worker reads at a time.
const DEATHS: u32 = 1 << 16;

impl Index {
    /// Returns the changes in time order, of the rows for whose site and class `numbers` has one. `None` if sums could overflow.
    pub(in crate::query) fn edge_changes(
        &self,
        interval: Interval,
        numbers: &[ByClassLines],
        cancel: &Cancel,
    ) -> Result<Option<Vec<Change>>, Cancelled> {
        let Some(Ordered { order, .. }) = self.ordered() else { return Ok(None) };
        let (from, to) = (order.place(&self.trace.rows, interval.from), order.place(&self.trace.rows, interval.to));
        let number = |site: SiteId, class: LifetimeClass| numbers[site.0 as usize][class as usize];
        let mut changes = self.births(interval, (from, to), |site| number(site, LifetimeClass::Aifo), cancel)?;
        changes.extend(self.deaths((from, to), |site| number(site, LifetimeClass::Aofi), interval, cancel)?);
        // Both lists are in order, apart from rows that are not.
        changes.sort_by_key(|change| change.at);
        Ok(Some(changes))
    }

    /// Returns the births of rows that outlive the interval.
    fn births(
        &self,
        interval: Interval,
        (from, to): (EventPosition, EventPosition),
        number: impl Fn(SiteId) -> u32 + Sync,
        cancel: &Cancel,
    ) -> Result<Vec<Change>, Cancelled> {
        let rows = &self.trace.rows;
        let chunks: Vec<_> = by_chunk(from.birth, to.birth).collect();
        let parts: Result<Vec<Vec<Change>>, Cancelled> = (chunks.into_par_iter())
            .map(|range| {
                cancel.check()?;
                let chunk = rows.chunk(range.start as usize / CHUNK);
                let first = chunk.first().0;
                let mut births = Vec::new();
                chunk.each_lasting((range.start - first) as usize..(range.end - first) as usize, interval.to, |at| {
                    let of = number(chunk.sites()[at]);
                    if of != NOBODY && !chunk.is_out_of_order(at) {
                        births.push(Change::birth(chunk.birth(at), of, chunk.size(at)));
                    }
                });
                Ok(births)
            })
            .collect();
        let mut births = parts?.concat();
        let late = rows.out_of_order().range(from.late..to.late).filter(|&id| rows.death(id) >= interval.to);
        let change = |id| Change::birth(rows.birth(id), number(rows.site(id)), rows.size(id));
        births.extend(late.map(change).filter(|change| change.of != NOBODY));
        Ok(births)
    }

    /// Returns the deaths of rows that were born before the interval.
    fn deaths(
        &self,
        (from, to): (EventPosition, EventPosition),
        number: impl Fn(SiteId) -> u32 + Sync,
        interval: Interval,
        cancel: &Cancel,
    ) -> Result<Vec<Change>, Cancelled> {
        let rows = &self.trace.rows;
        let starts: Vec<u32> = (from.death..to.death).step_by(DEATHS as usize).collect();
        let parts: Result<Vec<Vec<Change>>, Cancelled> = (starts.into_par_iter())
            .map(|start| {
                cancel.check()?;
                let mut ids = rows.by_death().range(start..start.saturating_add(DEATHS).min(to.death)).collect();
                keep_born_before(rows, &mut ids, Some((interval.from, from)));
                let mut changes = vec![Change::default(); ids.len()];
                for (id, place) in in_row_order(ids.iter().copied()) {
                    changes[place as usize] = Change::death(rows.death(id), number(rows.site(id)), rows.size(id));
                }
                changes.retain(|change| change.of != NOBODY);
                Ok(changes)
            })
            .collect();
        Ok(parts?.concat())
    }
}
