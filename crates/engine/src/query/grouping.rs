//! Groups of rows with their sums and peaks: the basis of reports and comparisons. The key of a group depends on the
//! site ([`keys`]), and if requested on properties of the row and the stack that freed it ([`RowKey`]).
//!
//! Cost: groups of sites take the totals and a pass over the sites; groups of rows take a parallel scan of the rows
//! with a lookup each. For peaks see [`super::peaks`].

pub(super) mod keys;

use std::sync::Arc;

use super::buckets::Decades;
use super::line_tree::NOBODY;
use super::peaks::{line_peaks, row_peaks};
use super::touched::{TouchedBytes, TouchedPages, dense};
use super::{By, ByClass, Cancel, Cancelled, Index, LifetimeBucket, LifetimeClass, Mask, SeriesOf, SizeBucket, Totals};
use super::{series, totals};
use crate::model::{Clock, Row, SiteId};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks, Tid};
use keys::FreedStacks;

/// The part of a group's key that can differ between rows of one site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct RowKey {
    pub(super) thread: Option<Tid>,
    pub(super) size: Option<SizeBucket>,
    pub(super) lifetime: Option<LifetimeBucket>,
    /// Number of the freeing stack; see [`keys::FreedStacks`].
    pub(super) freed: Option<u32>,
}

/// Computes the row keys that a query needs.
pub(super) struct RowKeys<'a> {
    thread: bool,
    size: bool,
    lifetime: Option<Decades>,
    freed: Option<&'a FreedStacks>,
}

impl<'a> RowKeys<'a> {
    /// Returns `None` if the site alone determines the group.
    pub(super) fn new(by: &[By], freed: Option<&'a FreedStacks>, clock: &Clock) -> Option<Self> {
        let wants = |key| by.contains(&key);
        let lifetime = wants(By::Lifetime).then(|| Decades::new(clock));
        let keys = Self { thread: wants(By::Thread), size: wants(By::Size), lifetime, freed };
        (keys.thread || keys.size || keys.lifetime.is_some() || freed.is_some()).then_some(keys)
    }

    #[inline]
    pub(super) fn key(
        &self,
        thread: impl FnOnce() -> Tid,
        freed_at: impl FnOnce() -> Option<SiteId>,
        size: u64,
        (birth, death): (Ticks, Ticks),
    ) -> RowKey {
        RowKey {
            thread: self.thread.then(thread),
            size: self.size.then(|| SizeBucket::of(size)),
            lifetime: self.lifetime.as_ref().map(|decades| decades.of(birth, death)),
            freed: self.freed.map(|stacks| stacks.of(freed_at())),
        }
    }
}

/// The rows to group.
#[derive(Clone, Copy)]
pub(super) struct Grouped<'a> {
    pub(super) index: &'a Index,
    pub(super) interval: Interval,
    pub(super) mask: &'a Mask,
    pub(super) by: &'a [By],
    /// Freeing stacks, if they are part of the key.
    pub(super) freed: Option<&'a FreedStacks>,
    /// Totals of the interval, if known.
    pub(super) totals: Option<&'a Arc<Totals>>,
}

/// The groups with their sums. Groups without rows may be missing.
pub(super) struct Groups<'a> {
    of: Grouped<'a>,
    /// The site group of each selected site.
    of_site: &'a [Option<u32>],
    way: Way<'a>,
    /// Key of each group: its site group and its row key.
    pub(super) keys: Vec<(u32, RowKey)>,
    pub(super) sums: Vec<ByClass>,
}

/// The data that the groups were built from.
enum Way<'a> {
    Sites(Arc<Totals>),
    Rows(Box<RowKeys<'a>>, KeyedMap<(u32, RowKey), u32>),
}

/// Groups of rows as a worker encounters them.
#[derive(Default)]
struct Met {
    numbers: KeyedMap<(u32, RowKey), u32>,
    keys: Vec<(u32, RowKey)>,
    sums: Vec<ByClass>,
}

impl Met {
    fn sums(&mut self, key: (u32, RowKey)) -> &mut ByClass {
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.sums.push(ByClass::default());
            self.keys.len() as u32 - 1
        });
        &mut self.sums[number as usize]
    }
}

impl<'a> Groups<'a> {
    /// Adds up the rows of an interval. `of_site` contains numbers below `count`.
    pub(super) fn new(of: Grouped<'a>, of_site: &'a [Option<u32>], count: usize, cancel: &Cancel) -> Result<Self, Cancelled> {
        match RowKeys::new(of.by, of.freed, &of.index.trace().clock) {
            None => Self::of_sites(of, of_site, count, cancel),
            Some(keys) => Self::of_rows(of, of_site, keys, cancel),
        }
    }

    fn of_sites(of: Grouped<'a>, of_site: &'a [Option<u32>], count: usize, cancel: &Cancel) -> Result<Self, Cancelled> {
        let totals = match of.totals {
            Some(known) => Arc::clone(known),
            None => Arc::new(totals(of.index, of.interval, cancel)?),
        };
        let mut sums = vec![ByClass::default(); count];
        for (site, buckets) in totals.sites() {
            if let Some(group) = of_site[site.0 as usize] {
                sums[group as usize].add(&buckets.only(of.mask.classes(site)));
            }
        }
        let keys = (0..count as u32).map(|group| (group, RowKey::default())).collect();
        Ok(Self { of, of_site, way: Way::Sites(totals), keys, sums })
    }

    fn of_rows(of: Grouped<'a>, of_site: &'a [Option<u32>], row_keys: RowKeys<'a>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let parts = of.index.fold(cancel, Met::default, |met, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(of.interval, |at, class| {
                let Some(group) = of_site[sites[at].0 as usize].filter(|_| of.mask.has(sites[at], class)) else { return };
                let (size, life) = (chunk.size(at), (chunk.birth(at), chunk.death(at)));
                let key = row_keys.key(|| chunk.thread(at), || chunk.freed_at(at), size, life);
                met.sums((group, key)).get_mut(class).add_row(size);
            });
        })?;
        let mut all = Met::default();
        for part in parts {
            part.keys.into_iter().zip(&part.sums).for_each(|(key, sums)| all.sums(key).add(sums));
        }
        let Met { numbers, keys, sums } = all;
        Ok(Self { of, of_site, way: Way::Rows(Box::new(row_keys), numbers), keys, sums })
    }

    /// Returns peaks. `place` maps each group to the line that its rows count for, if any; each line starts at `now`.
    pub(super) fn peaks(&self, place: &[Option<u32>], now: &[u64], cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
        let Grouped { index, interval, .. } = self.of;
        if let Way::Sites(totals) = &self.way {
            return self.site_peaks(totals, place, now, cancel);
        }
        row_peaks(index, interval, now, |row| place[self.group_of(row)? as usize], cancel)
    }

    /// Returns the touched bytes of each group; `None` if the trace does not [show](super::shows_touches) what was touched.
    pub(super) fn touched(&self, cancel: &Cancel) -> Result<Option<Vec<TouchedBytes>>, Cancelled> {
        let Grouped { index, interval, .. } = self.of;
        let Some(pages) = TouchedPages::before(index.trace(), interval.to, cancel)? else { return Ok(None) };
        Ok(Some(dense(self.keys.len(), pages.by_group(index, |row| self.group_of(row), cancel)?)))
    }

    /// Returns the group of a row that counts in the interval.
    fn group_of(&self, row: &Row) -> Option<u32> {
        let Grouped { interval, mask, .. } = self.of;
        let group = self.of_site[row.site.0 as usize]?;
        let number = match &self.way {
            Way::Sites(_) => group,
            Way::Rows(row_keys, numbers) => {
                let key = row_keys.key(|| row.thread, || row.freed_at, row.size, (row.birth, row.death));
                *numbers.get(&(group, key))?
            }
        };
        let class = LifetimeClass::of(row.birth, row.death, interval)?;
        mask.has(row.site, class).then_some(number)
    }

    /// Computes peaks from prepared data if the lines are whole heaps, else by a pass over the events.
    fn site_peaks(&self, totals: &Totals, place: &[Option<u32>], now: &[u64], cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
        let Grouped { index, interval, mask, .. } = self.of;
        let place_of = |site: SiteId| self.of_site[site.0 as usize].and_then(|group| place[group as usize]);
        let of = SeriesOf::new(index.trace(), now.len(), place_of);
        let is_partial = |site: SiteId| !matches!(mask.classes(site), 0 | super::filter::ALL_CLASSES);
        if index.knows(&of) && !(0..of.site.len() as u32).map(SiteId).any(is_partial) {
            return Ok(series(index, totals, &of, 1, cancel)?.into_iter().map(|line| line.peak).collect());
        }
        let line = |(site, place): (SiteId, &Option<u32>)| {
            LifetimeClass::ALL.map(|class| place.filter(|_| mask.has(site, class)).unwrap_or(NOBODY))
        };
        let lines_of = (0..).map(SiteId).zip(&of.site).map(line).collect();
        line_peaks(index, interval, now, lines_of, |_| None, cancel)
    }
}
