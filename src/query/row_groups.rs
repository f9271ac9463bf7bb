//! Groups by what rows have of their own (thread, size, lifetime) in the form that a table of
//! one layer shows.
//!
//! Cost: a parallel scan of the rows; with peaks another one, and a pass over the events.

use rustc_hash::FxHashMap;

use super::grouping::{Grouped, Groups};
use super::tree::sort_lines;
use super::{By, ByClass, Cancel, Cancelled, Index, Mask, NodeKey, Numbers, Sort};
use crate::model::{ProcessId, SiteId};
use crate::units::{Interval, Layer, Tid};

/// What tells the groups apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowGrouping {
    /// The thread that allocated.
    Thread,
    /// Powers of two.
    Size,
    /// Decades of seconds.
    Lifetime,
}

impl RowGrouping {
    fn by(self) -> By {
        match self {
            Self::Thread => By::Thread,
            Self::Size => By::Size,
            Self::Lifetime => By::Lifetime,
        }
    }
}

/// One group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowGroup {
    /// Which.
    pub key: NodeKey,
    /// Its numbers.
    pub numbers: Numbers,
    /// Its largest size, if that was asked.
    pub peak: Option<u64>,
}

/// The rows that a question is about.
#[derive(Clone, Copy, Debug)]
pub struct RowsAsked<'a> {
    /// Sees the rows that are chosen.
    pub index: &'a Index,
    /// The interval.
    pub interval: Interval,
    /// Sites and classes.
    pub mask: &'a Mask,
    /// The layer.
    pub layer: Layer,
}

/// The groups in which rows take part, in order; equal ones by their keys. And the numbers of
/// all together.
pub fn row_groups(
    asked: RowsAsked<'_>,
    grouping: RowGrouping,
    sort: Sort,
    with_peaks: bool,
    cancel: &Cancel,
) -> Result<(Vec<RowGroup>, Numbers), Cancelled> {
    let (trace, by) = (asked.index.trace(), [grouping.by()]);
    // Threads are those of their processes.
    let mut callers: FxHashMap<ProcessId, u32> = FxHashMap::default();
    let mut list = Vec::new();
    let of_site = (0..).zip(&trace.sites).map(|(i, site)| {
        if trace.layer_of(site) != asked.layer || asked.mask.classes(SiteId(i)) == 0 {
            return None;
        }
        let process = if grouping == RowGrouping::Thread { site.caller } else { ProcessId(0) };
        Some(*callers.entry(process).or_insert_with(|| {
            list.push(process);
            list.len() as u32 - 1
        }))
    });
    let of_site: Vec<Option<u32>> = of_site.collect();
    let grouped = Grouped { index: asked.index, interval: asked.interval, mask: asked.mask, by: &by, freed: None, totals: None };
    let groups = Groups::new(grouped, &of_site, list.len(), cancel)?;
    let peaks = if with_peaks {
        let place: Vec<Option<u32>> = (0..groups.keys.len() as u32).map(Some).collect();
        let now: Vec<u64> = groups.sums.iter().map(|sums| sums.numbers().outstanding_from).collect();
        groups.peaks(&place, &now, cancel)?
    } else {
        Vec::new()
    };
    let described = groups.keys.iter().zip(&groups.sums).enumerate().filter(|(_, (_, sums))| !sums.is_empty());
    let described = described.map(|(i, ((caller, row), sums))| {
        let thread = || NodeKey::Thread(list[*caller as usize], row.thread.unwrap_or(Tid::NONE));
        let key = row.size.map(NodeKey::Size).or(row.lifetime.map(NodeKey::Lifetime)).unwrap_or_else(thread);
        RowGroup { key, numbers: sums.numbers(), peak: peaks.get(i).copied() }
    });
    let mut described: Vec<RowGroup> = described.collect();
    sort_lines(&mut described, sort, |group| group.numbers, |group| group.key);
    let mut whole = ByClass::default();
    groups.sums.iter().for_each(|sums| whole.add(sums));
    Ok((described, whole.numbers()))
}
