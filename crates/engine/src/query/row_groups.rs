//! Groups of rows other than by stack, for the table of one layer: by site (heap, type, owner, tag), or by a property
//! of the row (thread, size, lifetime).
//!
//! Cost: by heap, type, owner or tag the totals and a pass over the sites; by thread, size or lifetime a parallel scan
//! of the rows. With peaks another scan, and a pass over the events.

use std::sync::Arc;

use super::grouping::{Grouped, Groups};
use super::touched::TouchedBytes;
use super::tree::sort_lines;
use super::{By, ByClass, Cancel, Cancelled, Index, Mask, NodeKey, Numbers, SiteNames, Sort, Totals, Types};
use crate::model::{HeapId, ProcessId, Site, SiteId};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Tid};

/// The key of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowGrouping {
    /// A heap, a tracker, or the commit of a process.
    Heap,
    /// The allocated C++ type.
    Type,
    /// The owner of the memory.
    Owner,
    /// The tag of the stack, according to the rules.
    Tag,
    /// The allocating thread.
    Thread,
    /// Size, in powers of two.
    Size,
    /// Lifetime, in decades of seconds.
    Lifetime,
}

impl RowGrouping {
    /// Returns the part of the key that can differ between rows of one site.
    fn by(self) -> &'static [By] {
        match self {
            Self::Heap | Self::Type | Self::Owner | Self::Tag => &[],
            Self::Thread => &[By::Thread],
            Self::Size => &[By::Size],
            Self::Lifetime => &[By::Lifetime],
        }
    }
}

/// The labels of sites, for groupings that depend on names.
#[derive(Clone, Debug)]
pub enum SiteLabels {
    /// Types of the sites.
    Types(Arc<Types>),
    /// Owners or tags of the sites.
    Names(Arc<SiteNames>),
}

impl SiteLabels {
    fn of_site(&self, site: SiteId) -> u32 {
        match self {
            Self::Types(types) => types.of_site(site),
            Self::Names(names) => names.of_site(site),
        }
    }

    /// Returns the name of a type, owner or tag, by its number.
    pub fn name(&self, id: u32) -> &Arc<str> {
        match self {
            Self::Types(types) => &types.key(id).name,
            Self::Names(names) => names.name(id),
        }
    }
}

/// A group of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowGroup {
    /// Its key.
    pub key: NodeKey,
    /// Its numbers.
    pub numbers: Numbers,
    /// Its peak, if requested.
    pub peak: Option<u64>,
    /// Its touched bytes of commit, if requested and known.
    pub touched: Option<TouchedBytes>,
}

/// The rows of a query.
#[derive(Clone, Copy, Debug)]
pub struct RowsAsked<'a> {
    /// The index, which determines the selected rows.
    pub index: &'a Index,
    /// The interval.
    pub interval: Interval,
    /// The sites and classes to count.
    pub mask: &'a Mask,
    /// The layer.
    pub layer: Layer,
    /// The totals of the interval, if known.
    pub totals: Option<&'a Arc<Totals>>,
    /// The types, owners or tags of all sites; without them all sites are one group.
    pub labels: Option<&'a SiteLabels>,
}

/// Returns the groups that have rows, sorted, equal ones by key; and the numbers of all groups together. `with_late` says whether
/// to add peaks and touched bytes.
pub fn row_groups(
    asked: RowsAsked<'_>,
    grouping: RowGrouping,
    sort: Sort,
    with_late: bool,
    cancel: &Cancel,
) -> Result<(Vec<RowGroup>, Numbers), Cancelled> {
    let RowsAsked { index, interval, mask, layer, totals, labels } = asked;
    let trace = index.trace();
    // Thread ids are per process.
    let part_of = |id: SiteId, site: &Site| match grouping {
        RowGrouping::Heap => site.heap.0,
        RowGrouping::Type | RowGrouping::Owner | RowGrouping::Tag => labels.map_or(0, |labels| labels.of_site(id)),
        RowGrouping::Thread => site.caller.0,
        RowGrouping::Size | RowGrouping::Lifetime => 0,
    };
    let mut parts: KeyedMap<u32, u32> = KeyedMap::default();
    let mut list = Vec::new();
    let of_site = (0..).zip(&trace.sites).map(|(i, site)| {
        if trace.layer_of(site) != layer || mask.classes(SiteId(i)) == 0 {
            return None;
        }
        let part = part_of(SiteId(i), site);
        Some(*parts.entry(part).or_insert_with(|| {
            list.push(part);
            list.len() as u32 - 1
        }))
    });
    let of_site: Vec<Option<u32>> = of_site.collect();
    let grouped = Grouped { index, interval, mask, by: grouping.by(), freed: None, totals };
    let groups = Groups::new(grouped, &of_site, list.len(), cancel)?;
    let touched = if with_late && layer == Layer::Commit { groups.touched(cancel)? } else { None };
    let peaks = if with_late {
        let place: Vec<Option<u32>> = (0..groups.keys.len() as u32).map(Some).collect();
        let now: Vec<u64> = groups.sums.iter().map(|sums| sums.numbers().outstanding_from).collect();
        groups.peaks(&place, &now, cancel)?
    } else {
        Vec::new()
    };
    let described = groups.keys.iter().zip(&groups.sums).enumerate().filter(|(_, (_, sums))| !sums.is_empty());
    let described = described.map(|(i, ((group, row), sums))| {
        let part = list[*group as usize];
        let key = match grouping {
            RowGrouping::Heap => NodeKey::Heap(HeapId(part)),
            RowGrouping::Type | RowGrouping::Owner | RowGrouping::Tag => NodeKey::Label(part),
            _ => {
                let thread = || NodeKey::Thread(ProcessId(part), row.thread.unwrap_or(Tid::NONE));
                row.size.map(NodeKey::Size).or(row.lifetime.map(NodeKey::Lifetime)).unwrap_or_else(thread)
            }
        };
        RowGroup {
            key,
            numbers: sums.numbers(),
            peak: peaks.get(i).copied(),
            touched: touched.as_ref().and_then(|touched| touched.get(i).copied()),
        }
    });
    let mut described: Vec<RowGroup> = described.collect();
    let name = |group: &RowGroup| match (group.key, labels) {
        (NodeKey::Label(id), Some(labels)) => (Some(Arc::clone(labels.name(id))), group.key),
        _ => (None, group.key),
    };
    sort_lines(&mut described, sort, |group| group.numbers, name);
    let mut whole = ByClass::default();
    groups.sums.iter().for_each(|sums| whole.add(sums));
    Ok((described, whole.numbers()))
}
