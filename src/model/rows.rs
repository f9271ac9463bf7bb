//! Allocation rows in columns: 26 bytes a row, 30 with its place in the order of
//! frees, in chunks that published traces share.
//!
//! Rows stand in the order of their births, but for few ([`Rows::out_of_order`]).
//! One thread appends rows; any thread that holds a [`DeathColumn`] can end one.
//! A published [`Rows`] never changes: deaths at or after its horizon are not seen
//! through it, and a builder that changes anything else of a sealed chunk copies it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::SiteId;
use super::deaths::DeathOrder;
use crate::units::Ticks;

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
}

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
    site: Vec<SiteId>,
    address: Vec<u32>,
    address_high: Vec<u16>,
}

impl Columns {
    fn new(base: Ticks) -> Self {
        Self {
            base,
            birth: Vec::with_capacity(CHUNK),
            birth_high: Vec::new(),
            death: (0..CHUNK).map(|_| AtomicI64::new(Ticks::NEVER.0)).collect(),
            size: Vec::with_capacity(CHUNK),
            site: Vec::with_capacity(CHUNK),
            address: Vec::with_capacity(CHUNK),
            address_high: Vec::with_capacity(CHUNK),
        }
    }

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

/// All rows of a trace.
#[derive(Clone, Debug)]
pub struct Rows {
    chunks: Vec<Arc<Columns>>,
    /// Sizes and addresses too wide for their columns.
    large: Arc<BTreeMap<u32, u64>>,
    far: Arc<BTreeMap<u32, u64>>,
    len: u32,
    /// Deaths from here on are those of later publications.
    horizon: Ticks,
    latest_birth: Ticks,
    /// Rows born before one that stands before them; by birth once complete.
    out_of_order: Arc<Vec<RowId>>,
    /// Complete traces only.
    by_death: Option<Arc<DeathOrder>>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            large: Arc::default(),
            far: Arc::default(),
            len: 0,
            horizon: Ticks::NEVER,
            latest_birth: Ticks::BEFORE_TRACE,
            out_of_order: Arc::default(),
            by_death: None,
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
        let columns = |c: &Arc<Columns>| c.birth.capacity() * 18 + c.birth_high.capacity() * 4 + CHUNK * 8;
        let aside = (self.large.len() + self.far.len()) * 24 + self.out_of_order.len() * 4;
        self.chunks.iter().map(columns).sum::<usize>() + aside + self.by_death.as_ref().map_or(0, |d| d.heap_bytes())
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
        self.chunks[chunk].site[at]
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
        Chunk { rows: self, columns: &self.chunks[index], first: RowId((index << CHUNK_BITS) as u32) }
    }

    /// Rows that stand behind a row which was born later than they (parts of split
    /// commit ranges, late events), ordered by birth in complete traces. All other
    /// rows stand in the order of birth.
    pub fn out_of_order(&self) -> &[RowId] {
        &self.out_of_order
    }

    /// The rows in the order of their deaths; `None` while the trace grows.
    pub fn by_death(&self) -> Option<&DeathOrder> {
        self.by_death.as_deref()
    }

    #[inline]
    fn visible(&self, death: i64) -> Ticks {
        if death >= self.horizon.0 { Ticks::NEVER } else { Ticks(death) }
    }

    #[inline]
    fn widen(&self, size: u32, id: u32) -> u64 {
        if size == LARGE { self.large.get(&id).copied().unwrap_or(u64::from(LARGE)) } else { size.into() }
    }
}

/// A view of one chunk's rows.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    rows: &'a Rows,
    columns: &'a Columns,
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
        &self.columns.site
    }

    /// Address by place.
    pub fn address(&self, at: usize) -> u64 {
        let high = self.columns.address_high[at];
        let near = u64::from(high) << 32 | u64::from(self.columns.address[at]);
        if high == FAR { self.rows.far.get(&self.id(at).0).copied().unwrap_or(near) } else { near }
    }

    /// Whole row by place.
    pub fn row(&self, at: usize) -> Row {
        Row {
            address: self.address(at),
            size: self.size(at),
            birth: self.birth(at),
            death: self.death(at),
            site: self.columns.site[at],
        }
    }

    /// All rows with their ids, in order.
    pub fn rows(self) -> impl Iterator<Item = (RowId, Row)> + 'a {
        (0..self.len()).map(move |at| (self.id(at), self.row(at)))
    }
}

/// What the builder does.
impl Rows {
    /// Appends a row that is alive; `None` when no more rows can be numbered.
    pub(super) fn push(&mut self, row: Row) -> Option<RowId> {
        let id = self.len;
        if id == u32::MAX {
            return None;
        }
        self.len += 1;
        if id as usize & (CHUNK - 1) == 0 {
            self.chunks.push(Arc::new(Columns::new(row.birth)));
        }
        if row.birth < self.latest_birth {
            Arc::make_mut(&mut self.out_of_order).push(RowId(id));
        } else {
            self.latest_birth = row.birth;
        }
        let size = self.narrow_size(id, row.size);
        let (low, high) = self.narrow_address(id, row.address);
        let columns = Arc::make_mut(self.chunks.last_mut()?);
        columns.push_birth(row.birth);
        columns.size.push(size);
        columns.site.push(row.site);
        columns.address.push(low);
        columns.address_high.push(high);
        if row.death != Ticks::NEVER {
            columns.death[id as usize & (CHUNK - 1)].store(row.death.0, Ordering::Relaxed);
        }
        Some(RowId(id))
    }

    /// Ends a row, not before its birth.
    pub(super) fn kill(&mut self, id: RowId, at: Ticks) {
        let (chunk, i) = split(id);
        let columns = &self.chunks[chunk];
        columns.death[i].store(at.max(columns.birth(i)).0, Ordering::Relaxed);
    }

    pub(super) fn set_site(&mut self, id: RowId, site: SiteId) {
        let (chunk, i) = split(id);
        Arc::make_mut(&mut self.chunks[chunk]).site[i] = site;
    }

    /// Shrinks a row to a part of its range.
    pub(super) fn set_range(&mut self, id: RowId, address: u64, size: u64) {
        let (chunk, i) = split(id);
        let size = self.narrow_size(id.0, size);
        let (low, high) = self.narrow_address(id.0, address);
        let columns = Arc::make_mut(&mut self.chunks[chunk]);
        columns.address[i] = low;
        columns.address_high[i] = high;
        columns.size[i] = size;
    }

    /// The rows as they are now, for a publication that sees deaths before `horizon`.
    pub(super) fn publish(&self, horizon: Ticks) -> Self {
        Self { horizon, ..self.clone() }
    }

    /// The rows of a complete trace: with all deaths, and the order in which they came.
    pub(super) fn complete(&self, by_death: DeathOrder) -> Self {
        let mut out_of_order = self.out_of_order.to_vec();
        out_of_order.sort_by_key(|&id| self.birth(id));
        Self { horizon: Ticks::NEVER, out_of_order: Arc::new(out_of_order), by_death: Some(Arc::new(by_death)), ..self.clone() }
    }

    fn narrow_size(&mut self, id: u32, size: u64) -> u32 {
        match u32::try_from(size) {
            Ok(size) if size != LARGE => size,
            _ => {
                Arc::make_mut(&mut self.large).insert(id, size);
                LARGE
            }
        }
    }

    fn narrow_address(&mut self, id: u32, address: u64) -> (u32, u16) {
        match u16::try_from(address >> 32) {
            Ok(high) if high != FAR => (address as u32, high),
            _ => {
                Arc::make_mut(&mut self.far).insert(id, address);
                (address as u32, FAR)
            }
        }
    }
}

fn split(id: RowId) -> (usize, usize) {
    ((id.0 >> CHUNK_BITS) as usize, id.0 as usize & (CHUNK - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: u64) -> Row {
        Row { address: 0x1000, size, birth: Ticks(5), death: Ticks::NEVER, site: SiteId(0) }
    }

    #[test]
    fn values_of_any_width_come_back() {
        let mut rows = Rows::default();
        for size in [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, u64::MAX] {
            let id = rows.push(row(size)).unwrap();
            assert_eq!(rows.get(id).size, size);
        }
        for address in [0, 0xFFFE_FFFF_FFFF, 0xFFFF_0000_0000, 1 << 48, u64::MAX] {
            let id = rows.push(Row { address, ..row(1) }).unwrap();
            assert_eq!(rows.get(id).address, address);
        }
        for birth in [5, 6, 5 + (1 << 32), 7 + (1 << 40), i64::MAX - 2, 4, i64::MIN, 0] {
            let id = rows.push(Row { birth: Ticks(birth), ..row(1) }).unwrap();
            assert_eq!(rows.get(id).birth, Ticks(birth));
        }
        assert_eq!(rows.out_of_order().len(), 3);
        rows.set_range(RowId(4), 0x2000, 7);
        assert_eq!((rows.get(RowId(4)).size, rows.get(RowId(4)).address), (7, 0x2000));
    }

    #[test]
    fn a_published_copy_does_not_change() {
        let mut rows = Rows::default();
        let id = rows.push(row(8)).unwrap();
        let published = rows.publish(Ticks(6));
        rows.kill(id, Ticks(6));
        rows.set_site(id, SiteId(1));
        rows.push(row(9)).unwrap();
        assert_eq!(published.get(id).death, Ticks::NEVER);
        assert_eq!(published.get(id).site, SiteId(0));
        assert_eq!(published.len(), 1);
        assert_eq!(rows.get(id).death, Ticks(6));
    }

    #[test]
    fn nothing_dies_before_it_is_born() {
        let mut rows = Rows::default();
        let id = rows.push(row(8)).unwrap();
        rows.kill(id, Ticks(3));
        assert_eq!(rows.get(id).death, Ticks(5));
    }
}
