//! Allocation rows in columns: 24 bytes a row, 28 with its place in the order of deaths, 32 if frees
//! have stacks, and a bit if other threads free, in chunks that published traces share.
//!
//! Rows are in the order of their births, except for a few ([`Rows::out_of_order`]). A published
//! [`Rows`] never changes: it does not show deaths at or after its horizon, and a [`RowWriter`] that
//! changes anything else of a sealed chunk copies that chunk.

mod append;
mod chunk_size;
mod deaths;
mod freed;
mod sites;
mod stored;
mod writer;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{RowId, RowList, SiteId};
use crate::units::{Ticks, Tid};

pub(super) use append::{NewRows, PlacedThread, is_plain};
pub use chunk_size::CHUNK;
use chunk_size::{CHUNK_BITS, split};
pub(super) use deaths::DeathColumn;
use freed::FreedColumn;
pub(super) use sites::RowSites;
pub(super) use stored::Sites;
pub(super) use writer::RowWriter;

/// Sizes from this one on are kept aside: commit ranges can exceed 4 GiB, blocks hardly ever do.
const LARGE: u32 = u32::MAX;

/// Upper 16 of 48 bits of an address that is kept aside.
const FAR: u16 = u16::MAX;

/// Index of a thread that is kept aside.
const MORE: u16 = u16::MAX;

/// One life of one block or committed range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// First byte.
    pub address: u64,
    /// Requested bytes.
    pub size: u64,
    /// When it was allocated; [`Ticks::BEFORE_TRACE`] if a rundown reported it.
    pub birth: Ticks,
    /// When it was freed; [`Ticks::NEVER`] if it was not.
    pub death: Ticks,
    /// Site at which it was allocated.
    pub site: SiteId,
    /// Allocating thread.
    pub thread: Tid,
    /// Site at which it was freed, if that is known, in
    /// [`Trace::free_sites`](super::Trace::free_sites).
    pub freed_at: Option<SiteId>,
    /// Whether a block was freed by another thread than allocated it. If the event of either does not name its
    /// thread, it counts as the same.
    pub is_cross_thread: bool,
}

/// Sites of one chunk.
type SiteColumn = Arc<Vec<SiteId>>;

/// Columns of up to [`CHUNK`] rows, all of one length except for `death`, which has room for all.
#[derive(Clone, Debug, Default)]
struct Columns {
    /// Birth of the first row; the others count from it, modulo 2^64.
    base: Ticks,
    birth: Vec<u32>,
    /// Upper halves of the births, empty as long as all of them are 0.
    birth_high: Vec<u32>,
    death: DeathColumn,
    size: Vec<u32>,
    address: Vec<u32>,
    address_high: Vec<u16>,
    /// Indices in [`Rows::threads`].
    thread: Vec<u16>,
    /// A bit for each row that is out of order, up to the last such row.
    late: Vec<u64>,
    aside: Aside,
}

impl Columns {
    /// Columns of rows whose births count from `base`, and their deaths from `deaths`.
    fn new(base: Ticks, deaths: Ticks) -> Self {
        Self {
            base,
            birth: Vec::with_capacity(CHUNK),
            death: DeathColumn::new(deaths),
            size: Vec::with_capacity(CHUNK),
            address: Vec::with_capacity(CHUNK),
            address_high: Vec::with_capacity(CHUNK),
            thread: Vec::with_capacity(CHUNK),
            ..Self::default()
        }
    }

    #[inline(always)]
    fn push_birth(&mut self, birth: Ticks) {
        let offset = birth.0.wrapping_sub(self.base.0) as u64;
        if offset > u64::from(u32::MAX) && self.birth_high.is_empty() {
            self.birth_high.resize(self.birth.len(), 0);
        }
        if offset > u64::from(u32::MAX) || !self.birth_high.is_empty() {
            self.birth_high.push((offset >> 32) as u32);
        }
        self.birth.push(offset as u32);
    }

    #[inline]
    fn birth(&self, at: usize) -> Ticks {
        let high = if self.birth_high.is_empty() { 0 } else { self.birth_high[at] };
        Ticks(self.base.0.wrapping_add((u64::from(high) << 32 | u64::from(self.birth[at])) as i64))
    }
}

/// Values that do not fit into the columns, by place.
#[derive(Clone, Debug, Default)]
struct Aside {
    sizes: BTreeMap<u16, u64>,
    addresses: BTreeMap<u16, u64>,
    /// Threads that have no index.
    threads: BTreeMap<u16, Tid>,
}

impl Aside {
    fn len(&self) -> usize {
        self.sizes.len() + self.addresses.len() + self.threads.len()
    }
}

impl Columns {
    fn len(&self) -> usize {
        self.size.len()
    }

    #[inline]
    fn size(&self, at: usize) -> u64 {
        match self.size[at] {
            LARGE => self.aside.sizes.get(&(at as u16)).copied().unwrap_or(LARGE.into()),
            size => size.into(),
        }
    }

    fn address(&self, at: usize) -> u64 {
        let high = self.address_high[at];
        let near = u64::from(high) << 32 | u64::from(self.address[at]);
        if high == FAR { self.aside.addresses.get(&(at as u16)).copied().unwrap_or(near) } else { near }
    }

    fn thread(&self, at: usize, threads: &[Tid]) -> Tid {
        match self.thread[at] {
            MORE => self.aside.threads.get(&(at as u16)).copied().unwrap_or(Tid::NONE),
            index => threads[index as usize],
        }
    }

    #[inline]
    fn is_late(&self, at: usize) -> bool {
        self.late.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }
}

/// All rows of a trace.
#[derive(Clone, Debug)]
pub struct Rows {
    chunks: Vec<Arc<Columns>>,
    /// Sites of the chunks, which may change when the rest does not.
    sites: Vec<SiteColumn>,
    /// Sites of frees, by chunk, up to the last that has any.
    freed: Vec<FreedColumn>,
    /// Threads by index.
    threads: Arc<Vec<Tid>>,
    len: u32,
    /// Deaths from this moment on are those of later publications.
    horizon: Ticks,
    /// Rows born before one that stands before them, by birth.
    out_of_order: RowList,
    by_death: RowList,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            sites: Vec::new(),
            freed: Vec::new(),
            threads: Arc::default(),
            len: 0,
            horizon: Ticks::NEVER,
            out_of_order: RowList::default(),
            by_death: RowList::default(),
        }
    }
}

impl Rows {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the rows take in memory.
    pub fn heap_bytes(&self) -> usize {
        let columns = |c: &Arc<Columns>| {
            let others = c.birth_high.capacity() * 4 + c.late.capacity() * 8 + c.aside.len() * 24;
            c.birth.capacity() * 20 + c.death.heap_bytes() + others
        };
        let freed = self.freed.iter().map(FreedColumn::heap_bytes).sum::<usize>();
        self.chunks.iter().map(columns).sum::<usize>() + freed + self.out_of_order.heap_bytes() + self.by_death.heap_bytes()
    }

    /// The moment before which everything is known; deaths from it on are those of later publications,
    /// and so may be births.
    pub fn horizon(&self) -> Ticks {
        self.horizon
    }

    /// The sizes of all rows together. Cost: a pass over them.
    pub(super) fn bytes_of_all(&self) -> u128 {
        self.chunks().map(|chunk| (0..chunk.len()).map(|at| u128::from(chunk.size(at))).sum::<u128>()).sum()
    }

    /// One row. Panics if there is no such row, as indexing does.
    #[inline]
    pub fn get(&self, id: RowId) -> Row {
        let (chunk, at) = split(id);
        self.chunk(chunk).row(at)
    }

    /// Site of one row.
    #[inline]
    pub fn site(&self, id: RowId) -> SiteId {
        let (chunk, at) = split(id);
        self.sites[chunk][at]
    }

    /// Birth of one row.
    #[inline]
    pub fn birth(&self, id: RowId) -> Ticks {
        let (chunk, at) = split(id);
        self.chunks[chunk].birth(at)
    }

    /// Death of one row.
    #[inline]
    pub fn death(&self, id: RowId) -> Ticks {
        let (chunk, at) = split(id);
        self.visible(self.chunks[chunk].death.get(at))
    }

    /// Site of one row's free, in [`Trace::free_sites`](super::Trace::free_sites); `None` if it was not
    /// freed, or its free has no stack.
    #[inline]
    pub fn freed_at(&self, id: RowId) -> Option<SiteId> {
        let (chunk, at) = split(id);
        self.chunk(chunk).freed_at(at)
    }

    /// Size of one row.
    #[inline]
    pub fn size(&self, id: RowId) -> u64 {
        let (chunk, at) = split(id);
        self.chunks[chunk].size(at)
    }

    /// Chunks in order, for scans on several workers; all but the last have [`CHUNK`] rows.
    #[inline]
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = Chunk<'_>> {
        (0..self.chunks.len()).map(|i| self.chunk(i))
    }

    /// One chunk. Panics if there is no such chunk.
    #[inline]
    pub fn chunk(&self, index: usize) -> Chunk<'_> {
        let first = RowId((index << CHUNK_BITS) as u32);
        Chunk { rows: self, columns: &self.chunks[index], sites: &self.sites[index], freed: self.freed.get(index), first }
    }

    /// Rows that stand behind a row which was born later (parts of split commit ranges, rundowns),
    /// ordered by birth. All other rows are in the order of birth.
    pub(crate) fn out_of_order(&self) -> &RowList {
        &self.out_of_order
    }

    /// Whether a row is out of order.
    #[inline]
    pub(crate) fn is_out_of_order(&self, id: RowId) -> bool {
        let (chunk, at) = split(id);
        self.chunks[chunk].is_late(at)
    }

    /// The rows that died, in the order of their deaths; those of one tick in any order.
    pub fn by_death(&self) -> &RowList {
        &self.by_death
    }

    #[inline]
    fn visible(&self, death: Ticks) -> Ticks {
        if death >= self.horizon { Ticks::NEVER } else { death }
    }
}

/// A view of one chunk's rows.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    rows: &'a Rows,
    columns: &'a Columns,
    sites: &'a [SiteId],
    freed: Option<&'a FreedColumn>,
    first: RowId,
}

impl<'a> Chunk<'a> {
    /// Id of the first row.
    #[inline]
    pub fn first(&self) -> RowId {
        self.first
    }

    /// Number of rows; never 0.
    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Id of a row by its place in the chunk.
    #[inline]
    pub fn id(&self, at: usize) -> RowId {
        RowId(self.first.0 + at as u32)
    }

    /// Birth by place.
    #[inline]
    pub fn birth(&self, at: usize) -> Ticks {
        self.columns.birth(at)
    }

    /// Death by place.
    #[inline]
    pub fn death(&self, at: usize) -> Ticks {
        self.rows.visible(self.columns.death.get(at))
    }

    /// Calls `each` with the places in a range of rows that die at `t` or later, or not at all; in order.
    #[inline]
    pub fn each_lasting(&self, places: Range<usize>, t: Ticks, each: impl FnMut(usize)) {
        // A death at the horizon or later is not visible.
        self.columns.death.each_from(places, t.min(self.rows.horizon), each);
    }

    /// Site of a row's free, by place; see [`Rows::freed_at`].
    #[inline]
    pub fn freed_at(&self, at: usize) -> Option<SiteId> {
        let site = self.freed?.get(at)?;
        // The free may be one of a later publication.
        (self.death(at) != Ticks::NEVER).then_some(site)
    }

    /// Whether a row is a block that another thread freed than allocated it, by place; see [`Row`].
    #[inline]
    pub fn is_cross_thread(&self, at: usize) -> bool {
        // The free may be one of a later publication.
        self.columns.death.is_cross_thread(at) && self.death(at) != Ticks::NEVER
    }

    /// Whether the site of the free is known of any of the rows.
    pub fn has_freed_at(&self) -> bool {
        self.freed.is_some_and(FreedColumn::is_there)
    }

    /// Size by place.
    #[inline]
    pub fn size(&self, at: usize) -> u64 {
        self.columns.size(at)
    }

    /// Whether a row is [out of order](Rows::out_of_order), by place.
    #[inline]
    pub(crate) fn is_out_of_order(&self, at: usize) -> bool {
        self.columns.is_late(at)
    }

    /// Whether any row is out of order.
    pub(crate) fn has_out_of_order(&self) -> bool {
        !self.columns.late.is_empty()
    }

    /// How many of the first `count` rows are out of order.
    pub(crate) fn out_of_order_before(&self, count: usize) -> u64 {
        let late = &self.columns.late;
        let whole: u64 = late.iter().take(count / 64).map(|word| u64::from(word.count_ones())).sum();
        let rest = late.get(count / 64).map_or(0, |word| (word & ((1 << (count % 64)) - 1)).count_ones());
        whole + u64::from(rest)
    }

    /// The last of the first `count` rows that is in order.
    pub(crate) fn last_in_order(&self, count: usize) -> Option<usize> {
        let mut end = count;
        while end > 0 {
            let last = end - 1;
            let word = self.columns.late.get(last / 64).copied().unwrap_or(0);
            // Shifted so that the row `last` is the highest bit.
            let in_order = !word << (63 - last % 64);
            if in_order != 0 {
                return last.checked_sub(in_order.leading_zeros() as usize);
            }
            end = last - last % 64;
        }
        None
    }

    /// Whether both are views of the same rows, of which nothing but deaths can differ.
    pub(crate) fn is_shared_with(&self, other: &Chunk<'_>) -> bool {
        std::ptr::eq(self.columns, other.columns) && std::ptr::eq(self.sites, other.sites)
    }

    /// All sites of the chunk.
    #[inline]
    pub fn sites(&self) -> &'a [SiteId] {
        self.sites
    }

    /// Address by place.
    #[inline]
    pub fn address(&self, at: usize) -> u64 {
        self.columns.address(at)
    }

    /// Allocating thread by place.
    #[inline]
    pub fn thread(&self, at: usize) -> Tid {
        self.columns.thread(at, &self.rows.threads)
    }

    /// Whole row by place.
    #[inline]
    pub fn row(&self, at: usize) -> Row {
        Row {
            address: self.address(at),
            size: self.size(at),
            birth: self.birth(at),
            death: self.death(at),
            site: self.sites[at],
            thread: self.thread(at),
            freed_at: self.freed_at(at),
            is_cross_thread: self.is_cross_thread(at),
        }
    }

    /// All rows with their ids, in order.
    #[inline]
    pub fn rows(self) -> impl Iterator<Item = (RowId, Row)> + 'a {
        (0..self.len()).map(move |at| (self.id(at), self.row(at)))
    }
}
