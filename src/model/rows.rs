//! Allocation rows in columns: 32 bytes a row, in chunks that published traces share.
//!
//! A published [`Rows`] never changes; a builder that goes on copies only the
//! chunks it touches again (a late free), at most once per publication.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::SiteId;
use crate::units::Ticks;

/// Index of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u32);

/// Rows of one chunk: large enough to amortise its head, small enough to copy.
const CHUNK_BITS: u32 = 16;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Sizes from here on are kept aside: commit ranges can exceed 4 GiB, blocks hardly do.
const LARGE: u32 = u32::MAX;

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

/// Columns of up to 65,536 rows, all of one length.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// First bytes.
    pub address: Vec<u64>,
    /// Births.
    pub birth: Vec<Ticks>,
    /// Deaths.
    pub death: Vec<Ticks>,
    /// Sizes; `u32::MAX` stands for one that [`Rows::size`] knows.
    size: Vec<u32>,
    /// Sites.
    pub site: Vec<SiteId>,
}

/// All rows of a trace. Rows come roughly, not strictly, in the order of birth:
/// pieces of a split commit range are appended with the birth of the whole.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    chunks: Vec<Arc<Chunk>>,
    large: Arc<BTreeMap<u32, u64>>,
    len: u32,
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
        self.len() * 32 + self.large.len() * 12
    }

    /// One row. Panics if there is no such row, as indexing does.
    pub fn get(&self, id: RowId) -> Row {
        let (chunk, at) = split(id);
        let columns = &self.chunks[chunk];
        Row {
            address: columns.address[at],
            size: self.widen(columns.size[at], id.0),
            birth: columns.birth[at],
            death: columns.death[at],
            site: columns.site[at],
        }
    }

    /// Chunks with the id of their first row, for scans on several workers.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = (RowId, &Chunk)> {
        self.chunks.iter().enumerate().map(|(i, chunk)| (RowId((i << CHUNK_BITS) as u32), chunk.as_ref()))
    }

    /// The rows of one chunk, in order.
    pub fn rows_of<'a>(&'a self, first: RowId, chunk: &'a Chunk) -> impl Iterator<Item = (RowId, Row)> + 'a {
        (0..chunk.address.len()).map(move |at| {
            let id = RowId(first.0 + at as u32);
            let row = Row {
                address: chunk.address[at],
                size: self.widen(chunk.size[at], id.0),
                birth: chunk.birth[at],
                death: chunk.death[at],
                site: chunk.site[at],
            };
            (id, row)
        })
    }

    fn widen(&self, size: u32, id: u32) -> u64 {
        if size == LARGE { self.large.get(&id).copied().unwrap_or(u64::from(LARGE)) } else { size.into() }
    }

    /// Appends a row; `None` when no more rows can be numbered.
    pub(super) fn push(&mut self, row: Row) -> Option<RowId> {
        let id = self.len;
        self.len = self.len.checked_add(1)?;
        if self.chunks.last().is_none_or(|chunk| chunk.address.len() == CHUNK) {
            self.chunks.push(Arc::default());
        }
        let narrow = self.narrow_size(id, row.size);
        let chunk = Arc::make_mut(self.chunks.last_mut()?);
        chunk.address.push(row.address);
        chunk.birth.push(row.birth);
        chunk.death.push(row.death);
        chunk.size.push(narrow);
        chunk.site.push(row.site);
        Some(RowId(id))
    }

    /// Ends a row, not before its birth.
    pub(super) fn kill(&mut self, id: RowId, at: Ticks) {
        let (chunk, i) = split(id);
        let chunk = Arc::make_mut(&mut self.chunks[chunk]);
        chunk.death[i] = at.max(chunk.birth[i]);
    }

    pub(super) fn set_site(&mut self, id: RowId, site: SiteId) {
        let (chunk, i) = split(id);
        Arc::make_mut(&mut self.chunks[chunk]).site[i] = site;
    }

    /// Shrinks a row to a part of its range.
    pub(super) fn set_range(&mut self, id: RowId, address: u64, size: u64) {
        let (chunk, i) = split(id);
        let narrow = self.narrow_size(id.0, size);
        let chunk = Arc::make_mut(&mut self.chunks[chunk]);
        chunk.address[i] = address;
        chunk.size[i] = narrow;
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
    fn sizes_of_any_width_come_back() {
        let mut rows = Rows::default();
        for size in [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, u64::MAX] {
            let id = rows.push(row(size)).unwrap();
            assert_eq!(rows.get(id).size, size);
        }
        rows.set_range(RowId(4), 0x2000, 7);
        assert_eq!(rows.get(RowId(4)).size, 7);
    }

    #[test]
    fn a_published_copy_does_not_change() {
        let mut rows = Rows::default();
        let id = rows.push(row(8)).unwrap();
        let published = rows.clone();
        rows.kill(id, Ticks(3));
        rows.push(row(9)).unwrap();
        assert_eq!(published.get(id).death, Ticks::NEVER);
        assert_eq!(published.len(), 1);
        assert_eq!(rows.get(id).death, Ticks(5), "nothing dies before it is born");
    }
}
