//! The groups of blocks that have pools or arenas of their own.

use crate::model::{ProcessId, Row, RowId, SiteId, Trace};
use crate::names::Names;
use crate::query::grouping::{RowKey, RowKeys};
use crate::query::pages::PinnedPages;
use crate::query::report::{AskedReport, describe};
use crate::query::{By, Cancel, Cancelled, Fold, Group, Index, Mask, ReportFilter, ReportRequest, main_frames};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// Times at which the frames of each process begin and end, in order.
pub(super) fn frames(trace: &Trace) -> Vec<Vec<Ticks>> {
    let times = |process| {
        let lane = main_frames(trace, Some(ProcessId(process)))?;
        Some(trace.activity.presents[lane].times.iter().copied().collect())
    };
    (0..trace.processes.len() as u32).map(|process| times(process).unwrap_or_default()).collect()
}

/// Groups sites by a key.
pub(super) struct Grouper<'a> {
    pub(super) index: &'a Index,
    pub(super) names: &'a Names,
    pub(super) mask: &'a Mask,
    pub(super) cancel: &'a Cancel,
}

/// Describes a group by one of its rows and the numbers to go with it.
pub(super) type Describe<'a> = &'a (dyn Fn(SiteId, RowKey, PinnedPages) -> Group<PinnedPages> + Sync);

impl Grouper<'_> {
    pub(super) fn group<T>(
        &self,
        by: By,
        then: impl FnOnce(Describe<'_>, Keys<'_>) -> Result<T, Cancelled>,
    ) -> Result<T, Cancelled> {
        let &Self { index, names, mask, cancel } = self;
        let interval = Interval { from: Ticks::BEFORE_TRACE, to: Ticks::NEVER };
        let filter = ReportFilter::default();
        let request = ReportRequest { interval, by: vec![by], filter, top: None, fold: Fold::Nothing, sources: false };
        let asked = AskedReport { index, request: &request, mask, totals: None, names, cancel };
        asked.site_groups(|named, sites, _| {
            let row_keys = RowKeys::new(named.by, sites.freed.as_ref(), &index.trace().clock);
            let describe = |site, row, numbers| describe(named, site, row, numbers);
            then(&describe, Keys { of_site: &sites.of_site, row_keys: row_keys.as_ref() })
        })
    }
}

/// The groups of rows by a key: of their site, and the keys by which rows of one site differ.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) of_site: &'a [Option<u32>],
    pub(super) row_keys: Option<&'a RowKeys<'a>>,
}

impl Keys<'_> {
    pub(super) fn of(&self, row: &Row) -> (u32, RowKey) {
        let group = self.of_site[row.site.0 as usize].unwrap_or(u32::MAX);
        let key = |keys: &RowKeys<'_>| keys.key(|| row.thread, || row.freed_at, row.size, (row.birth, row.death));
        (group, self.row_keys.map_or_else(RowKey::default, key))
    }
}

/// The groups of rows: by a key, or by frames.
#[derive(Clone, Copy)]
pub(super) struct Groups<'a> {
    pub(super) keys: Keys<'a>,
    /// Times between frames, by process.
    pub(super) frames: Option<&'a [Vec<Ticks>]>,
}

/// Numbers of groups, as they are met.
#[derive(Default)]
pub(super) struct Numbers {
    numbers: KeyedMap<(u32, RowKey), u32>,
    /// The first row of each.
    pub(super) first: Vec<RowId>,
}

impl Numbers {
    pub(super) fn of(&mut self, keys: Keys<'_>, id: RowId, row: &Row) -> u32 {
        *self.numbers.entry(keys.of(row)).or_insert_with(|| {
            self.first.push(id);
            self.first.len() as u32 - 1
        })
    }
}
