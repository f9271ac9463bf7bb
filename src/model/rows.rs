//! Allocation rows in columns: 28 bytes a row, 32 with its place in the order of
//! deaths, in chunks that published traces share.
//!
//! Rows stand in the order of their births, but for few ([`Rows::out_of_order`]).
//! A published [`Rows`] never changes: deaths at or after its horizon are not seen
//! through it, and a [`RowWriter`] that changes anything else of a sealed chunk
//! copies that.

mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::SiteId;
use super::deaths::DeathOrder;
use crate::units::{Ticks, Tid};

pub(super) use writer::RowWriter;

/// Index of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u32);

/// Rows of one chunk: large enough to amortise its head, small enough to copy.
const CHUNK_BITS: u32 = 16;
/// Rows of a full chunk.
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// Sizes from here on are kept aside: commit ranges can exceed 4 GiB, blocks hardly do.
const LARGE: u32 = u32::MAX;

/// Upper 16 of 48 bits that stand for an address kept aside.
const FAR: u16 = u16::MAX;

/// Index that stands for a thread kept aside.
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
    /// Who allocated it where.
    pub site: SiteId,
    /// Allocating thread.
    pub thread: Tid,
}

/// Sites of one chunk.
type SiteColumn = Arc<Vec<SiteId>>;

/// Deaths of one chunk, written by whoever finds the free and read by everybody.
pub(super) type DeathColumn = Arc<[AtomicI64]>;

/// Columns of up to [`CHUNK`] rows, all of one length but for `death`, which has room for all.
#[derive(Clone, Debug)]
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
    /// Indices in [`Aside::threads`].
    thread: Vec<u16>,
}

impl Columns {
    fn new(base: Ticks) -> Self {
        Self {
            base,
            birth: Vec::with_capacity(CHUNK),
            birth_high: Vec::new(),
            death: (0..CHUNK).map(|_| AtomicI64::new(Ticks::NEVER.0)).collect(),
            size: Vec::with_capacity(CHUNK),
            address: Vec::with_capacity(CHUNK),
            address_high: Vec::with_capacity(CHUNK),
            thread: Vec::with_capacity(CHUNK),
        }
    }

    /// In the place of columns that are not needed any more.
    fn empty() -> Self {
        Self {
            base: Ticks(0),
            birth: Vec::new(),
            birth_high: Vec::new(),
            death: Arc::default(),
            size: Vec::new(),
            address: Vec::new(),
            address_high: Vec::new(),
            thread: Vec::new(),
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

/// What has no room in the columns.
#[derive(Clone, Debug, Default)]
struct Aside {
    sizes: BTreeMap<u32, u64>,
    addresses: BTreeMap<u32, u64>,
    /// Threads by index, and those of rows whose thread has none.
    threads: Vec<Tid>,
    more_threads: BTreeMap<u32, Tid>,
}

impl Aside {
    fn size(&self, id: u32) -> u64 {
        self.sizes.get(&id).copied().unwrap_or(LARGE.into())
    }

    fn address(&self, id: RowId, columns: &Columns, at: usize) -> u64 {
        let high = columns.address_high[at];
        let near = u64::from(high) << 32 | u64::from(columns.address[at]);
        if high == FAR { self.addresses.get(&id.0).copied().unwrap_or(near) } else { near }
    }

    fn thread(&self, id: RowId, columns: &Columns, at: usize) -> Tid {
        match columns.thread[at] {
            MORE => self.more_threads.get(&id.0).copied().unwrap_or(Tid::NONE),
            index => self.threads[index as usize],
        }
    }
}

/// All rows of a trace.
#[derive(Clone, Debug)]
pub struct Rows {
    chunks: Vec<Arc<Columns>>,
    /// The chunks' sites, which may change when the rest does not.
    sites: Vec<SiteColumn>,
    aside: Arc<Aside>,
    len: u32,
    /// Deaths from here on are those of later publications.
    horizon: Ticks,
    /// Rows born before one that stands before them, by birth.
    out_of_order: Arc<[RowId]>,
    by_death: Arc<DeathOrder>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            sites: Vec::new(),
            aside: Arc::default(),
            len: 0,
            horizon: Ticks::NEVER,
            out_of_order: Arc::default(),
            by_death: Arc::default(),
        }
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the rows take in memory.
    pub fn heap_bytes(&self) -> usize {
        let columns = |c: &Arc<Columns>| c.birth.capacity() * 20 + c.birth_high.capacity() * 4 + CHUNK * 8;
        let wide = self.aside.sizes.len() + self.aside.addresses.len() + self.aside.more_threads.len();
        let aside = wide * 24 + self.out_of_order.len() * 4;
        self.chunks.iter().map(columns).sum::<usize>() + aside + self.by_death.heap_bytes()
    }

    /// One row. Panics if there is no such row, as indexing does.
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
        self.visible(self.chunks[chunk].death[at].load(Ordering::Relaxed))
    }

    /// Size of one row.
    #[inline]
    pub fn size(&self, id: RowId) -> u64 {
        let (chunk, at) = split(id);
        self.widen(self.chunks[chunk].size[at], id.0)
    }

    /// Chunks in order, for scans on several workers; all but the last have [`CHUNK`] rows.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = Chunk<'_>> {
        (0..self.chunks.len()).map(|i| self.chunk(i))
    }

    /// One chunk. Panics if there is no such chunk.
    pub fn chunk(&self, index: usize) -> Chunk<'_> {
        let first = RowId((index << CHUNK_BITS) as u32);
        Chunk { rows: self, columns: &self.chunks[index], sites: &self.sites[index], first }
    }

    /// Rows that stand behind a row which was born later than they (parts of split
    /// commit ranges, rundowns), ordered by birth. All other rows stand in the order of
    /// birth.
    pub fn out_of_order(&self) -> &[RowId] {
        &self.out_of_order
    }

    /// The rows in the order of their deaths.
    pub fn by_death(&self) -> &DeathOrder {
        &self.by_death
    }

    #[inline]
    fn visible(&self, death: i64) -> Ticks {
        if death >= self.horizon.0 { Ticks::NEVER } else { Ticks(death) }
    }

    #[inline]
    fn widen(&self, size: u32, id: u32) -> u64 {
        if size == LARGE { self.aside.size(id) } else { size.into() }
    }
}

/// A view of one chunk's rows.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    rows: &'a Rows,
    columns: &'a Columns,
    sites: &'a [SiteId],
    first: RowId,
}

impl<'a> Chunk<'a> {
    /// Id of the first row.
    pub fn first(&self) -> RowId {
        self.first
    }

    /// Number of rows; never 0.
    pub fn len(&self) -> usize {
        self.columns.size.len()
    }

    /// Whether there are none.
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
        self.rows.visible(self.columns.death[at].load(Ordering::Relaxed))
    }

    /// Size by place.
    #[inline]
    pub fn size(&self, at: usize) -> u64 {
        self.rows.widen(self.columns.size[at], self.first.0 + at as u32)
    }

    /// All sites of the chunk.
    pub fn sites(&self) -> &'a [SiteId] {
        self.sites
    }

    /// Address by place.
    pub fn address(&self, at: usize) -> u64 {
        self.rows.aside.address(self.id(at), self.columns, at)
    }

    /// Allocating thread by place.
    pub fn thread(&self, at: usize) -> Tid {
        self.rows.aside.thread(self.id(at), self.columns, at)
    }

    /// Whole row by place.
    pub fn row(&self, at: usize) -> Row {
        Row {
            address: self.address(at),
            size: self.size(at),
            birth: self.birth(at),
            death: self.death(at),
            site: self.sites[at],
            thread: self.thread(at),
        }
    }

    /// All rows with their ids, in order.
    pub fn rows(self) -> impl Iterator<Item = (RowId, Row)> + 'a {
        (0..self.len()).map(move |at| (self.id(at), self.row(at)))
    }
}

fn split(id: RowId) -> (usize, usize) {
    ((id.0 >> CHUNK_BITS) as usize, id.0 as usize & (CHUNK - 1))
}
