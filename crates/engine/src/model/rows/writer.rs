//! Appends rows, on a single thread. Deaths are different: any thread that has the column may write
//! them. Sites are apart ([`RowSites`]).

use std::sync::Arc;

use super::deaths::{ASIDE_BYTES, FAR_BYTES};
use super::{CHUNK, CHUNK_BITS, Columns, DeathColumn, FAR, LARGE, MORE, Row, RowId, RowSites, Rows, split};
use crate::model::renumbering::Renumbering;
use crate::model::{RowList, SiteId};
use crate::tables::KeyedMap;
use crate::units::{Ticks, Tid};

/// Appends rows and changes rows.
#[derive(Debug)]
pub(in crate::model) struct RowWriter {
    pub(super) sealed: Vec<Arc<Columns>>,
    /// The chunk that is being filled.
    pub(super) open: Columns,
    threads: Arc<Vec<Tid>>,
    /// Number of values that are kept aside, in all chunks.
    aside: u64,
    /// Sum of all sizes that are kept aside.
    large: u128,
    /// Rows born before this are out of order.
    pub(super) passed: Ticks,
    /// Rows of sealed chunks with births of 64 bits.
    wide_births: u64,
    /// Rows out of order by birth, and those that came since the last publication.
    out_of_order: RowList,
    late: Vec<RowId>,
    thread_index: KeyedMap<Tid, u16>,
    /// A cache of the latest threads, in front of the index.
    latest_threads: [(Tid, u16); LATEST],
}

const LATEST: usize = 1 << LATEST_BITS;
const LATEST_BITS: u32 = 6;

impl RowWriter {
    /// A writer, and the column of the first chunk's deaths.
    pub(in crate::model) fn new() -> (Self, DeathColumn) {
        let open = Columns::new(Ticks(0), Ticks(0));
        let column = open.death.clone();
        let writer = Self {
            sealed: Vec::new(),
            open,
            threads: Arc::default(),
            aside: 0,
            large: 0,
            passed: Ticks::BEFORE_TRACE,
            wide_births: 0,
            out_of_order: RowList::default(),
            late: Vec::new(),
            thread_index: KeyedMap::default(),
            latest_threads: [(Tid::NONE, MORE); LATEST],
        };
        (writer, column)
    }

    /// Deaths before a moment, in no order.
    pub(in crate::model) fn deaths_before(&self, until: Ticks) -> Vec<Ticks> {
        let all = self.sealed.iter().map(Arc::as_ref).chain([&self.open]);
        let deaths = all.flat_map(|columns| (0..columns.len()).map(|at| columns.death.get(at)));
        deaths.filter(|&death| death < until).collect()
    }

    /// Drops all rows that died before a moment; the others get new numbers, and their deaths go into
    /// new columns.
    pub(in crate::model) fn forget(&mut self, until: Ticks, columns: &mut Vec<DeathColumn>) -> Renumbering {
        let (new, first) = Self::new();
        let mut old = std::mem::replace(self, new);
        columns.push(first);
        let mut numbers = Renumbering::default();
        let nothing = Arc::new(Columns::default());
        for id in (0..old.len() as u32).map(RowId) {
            let death = old.death(id);
            numbers.push(id, death >= until);
            if death >= until
                && let Some(new) = self.push(&old.get(id), |column| columns.push(column))
            {
                self.take_life(new, &old, id);
            }
            // Chunks that nobody else holds are freed one by one.
            let (chunk, at) = split(id);
            if let (Some(sealed), true) = (old.sealed.get_mut(chunk), at + 1 == CHUNK) {
                *sealed = Arc::clone(&nothing);
            }
        }
        numbers
    }

    /// Number of rows.
    pub(in crate::model) fn len(&self) -> usize {
        (self.sealed.len() << CHUNK_BITS) + self.open.size.len()
    }

    /// Whether the sizes of all rows may add up to more than a signed number of 64 bits holds.
    pub(in crate::model) fn sums_may_saturate(&self) -> bool {
        self.large + self.len() as u128 * u128::from(LARGE) > i64::MAX as u128
    }

    /// Bytes that the rows take; a chunk that is not full counts as far as it is filled. Deaths count
    /// with the most that they may take by `now`, whether they are written yet or not.
    pub(in crate::model) fn bytes(&self, now: Ticks) -> u64 {
        /// Bytes of an entry of a tree, approximately.
        const ENTRY: u64 = 32;
        let late = self.out_of_order.len() + self.late.len();
        let others = self.threads.len() as u64 * 32 + late as u64 * 4;
        self.len() as u64 * 24 + self.len() as u64 / 8 + self.far_deaths(now) + self.wide_births * 4 + self.aside * ENTRY + others
    }

    /// Bytes of deaths that are too far away from the time from which those of their chunk count. Cost:
    /// a search through the chunks, whose times are in order.
    fn far_deaths(&self, now: Ticks) -> u64 {
        let rows = |is_so: fn((bool, bool)) -> bool| {
            let full = self.sealed.partition_point(|columns| is_so(columns.death.may_be_far(now)));
            let open = if is_so(self.open.death.may_be_far(now)) { self.open.len() } else { 0 };
            (full * CHUNK + open) as u64
        };
        rows(|(is_far, _)| is_far) * FAR_BYTES + rows(|(_, is_aside)| is_aside) * ASIDE_BYTES
    }

    /// Makes rows out of order that come from now on with an earlier birth.
    pub(in crate::model) fn pass(&mut self, now: Ticks) {
        self.passed = self.passed.max(now);
    }

    /// Appends a row as alive and without its sites, whatever it says of these; `None` when no more rows
    /// can be numbered. A new chunk's column of deaths goes to `opened`.
    #[inline(always)]
    pub(in crate::model) fn push(&mut self, row: &Row, opened: impl FnOnce(DeathColumn)) -> Option<RowId> {
        let id = u32::try_from(self.len()).ok().filter(|&id| id != u32::MAX)?;
        if self.open.size.len() == CHUNK {
            opened(self.seal(row.birth));
        } else if id == 0 {
            self.open.base = row.birth;
        }
        if row.birth < self.passed {
            self.push_late(id);
        } else {
            self.passed = row.birth;
        }
        let size = self.narrow_size(id, row.size);
        let (low, high) = self.narrow_address(id, row.address);
        let thread = self.thread_index(id, row.thread);
        let columns = &mut self.open;
        columns.death.begin(columns.size.len(), std::iter::once(row.thread));
        columns.push_birth(row.birth);
        columns.size.push(size);
        columns.address.push(low);
        columns.address_high.push(high);
        columns.thread.push(thread);
        Some(RowId(id))
    }

    #[inline(never)]
    fn push_late(&mut self, id: u32) {
        self.late.push(RowId(id));
        let (_, at) = split(RowId(id));
        self.open.late.resize(at / 64 + 1, 0);
        self.open.late[at / 64] |= 1 << (at % 64);
    }

    /// Seals the open chunk, which is full; births of the next count from `base`. Returns the next
    /// one's column of deaths.
    #[inline(never)]
    pub(super) fn seal(&mut self, base: Ticks) -> DeathColumn {
        self.wide_births += self.open.birth_high.len() as u64;
        let next = Columns::new(base, base.max(self.passed));
        self.sealed.push(Arc::new(std::mem::replace(&mut self.open, next)));
        self.open.death.clone()
    }

    /// One row as it is now, without its death and its sites.
    pub(in crate::model) fn get(&self, id: RowId) -> Row {
        let (columns, at) = self.columns(id);
        Row {
            address: columns.address(at),
            size: columns.size(at),
            birth: columns.birth(at),
            death: Ticks::NEVER,
            site: SiteId::UNKNOWN,
            thread: columns.thread(at, &self.threads),
            freed_at: None,
            is_cross_thread: false,
        }
    }

    /// Death of one row, if it was written already.
    pub(in crate::model) fn death(&self, id: RowId) -> Ticks {
        let (columns, at) = self.columns(id);
        columns.death.get(at)
    }

    /// Gives a row the death and the threads of a row of another writer.
    fn take_life(&self, new: RowId, old: &Self, id: RowId) {
        let ((columns, at), (before, from)) = (self.columns(new), old.columns(id));
        columns.death.take_over(at, &before.death, from);
    }

    /// Ends a row that no thread frees as a block.
    pub(in crate::model) fn kill(&mut self, id: RowId, at: Ticks) {
        let (columns, i) = self.columns(id);
        columns.death.set(i, at);
    }

    pub(in crate::model) fn set_thread(&mut self, id: RowId, thread: Tid) {
        let index = self.thread_index(id.0, thread);
        let (columns, at) = self.columns_mut(id);
        columns.thread[at] = index;
    }

    /// Shrinks a row to a part of its range.
    pub(in crate::model) fn set_range(&mut self, id: RowId, address: u64, size: u64) {
        let (columns, at) = self.columns_mut(id);
        if let Some(before) = columns.aside.sizes.remove(&(at as u16)) {
            (self.aside, self.large) = (self.aside - 1, self.large - u128::from(before));
        }
        let size = self.narrow_size(id.0, size);
        let (low, high) = self.narrow_address(id.0, address);
        let (columns, at) = self.columns_mut(id);
        columns.address[at] = low;
        columns.address_high[at] = high;
        columns.size[at] = size;
    }

    /// The rows as they are now, with these sites, for a publication that sees deaths before `horizon`;
    /// `by_death` is the order of these.
    pub(in crate::model) fn publish(&mut self, sites: &RowSites, horizon: Ticks, by_death: RowList) -> Rows {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|&id| self.birth(id));
        self.out_of_order = self.out_of_order.merged(&late, |id| self.birth(id));
        let mut chunks = self.sealed.clone();
        if self.open.len() > 0 {
            chunks.push(Arc::new(self.open.clone()));
        }
        let (sites, freed) = sites.columns();
        Rows {
            chunks,
            sites,
            freed,
            threads: Arc::clone(&self.threads),
            len: self.len() as u32,
            horizon,
            out_of_order: self.out_of_order.clone(),
            by_death,
        }
    }

    fn birth(&self, id: RowId) -> Ticks {
        let (columns, at) = self.columns(id);
        columns.birth(at)
    }

    fn columns(&self, id: RowId) -> (&Columns, usize) {
        let (chunk, at) = split(id);
        (self.sealed.get(chunk).map_or(&self.open, |columns| columns), at)
    }

    fn columns_mut(&mut self, id: RowId) -> (&mut Columns, usize) {
        let (chunk, at) = split(id);
        let columns = match self.sealed.get_mut(chunk) {
            Some(columns) => Arc::make_mut(columns),
            None => &mut self.open,
        };
        (columns, at)
    }

    #[inline(always)]
    fn narrow_size(&mut self, id: u32, size: u64) -> u32 {
        match u32::try_from(size) {
            Ok(size) if size != LARGE => size,
            _ => {
                let (columns, at) = self.columns_mut(RowId(id));
                let before = columns.aside.sizes.insert(at as u16, size);
                self.aside += u64::from(before.is_none());
                self.large += u128::from(size);
                self.large -= u128::from(before.unwrap_or(0));
                LARGE
            }
        }
    }

    #[inline(always)]
    fn narrow_address(&mut self, id: u32, address: u64) -> (u32, u16) {
        match u16::try_from(address >> 32) {
            Ok(high) if high != FAR => (address as u32, high),
            _ => {
                let (columns, at) = self.columns_mut(RowId(id));
                let is_new = columns.aside.addresses.insert(at as u16, address).is_none();
                self.aside += u64::from(is_new);
                (address as u32, FAR)
            }
        }
    }

    #[inline(always)]
    fn thread_index(&mut self, id: u32, thread: Tid) -> u16 {
        let place = (thread.0.wrapping_mul(0x9E37_79B1) >> (u32::BITS - LATEST_BITS)) as usize;
        match self.latest_threads[place] {
            (latest, index) if latest == thread && index != MORE => index,
            _ => self.new_thread_index(id, thread, place),
        }
    }

    #[inline(never)]
    fn new_thread_index(&mut self, id: u32, thread: Tid, place: usize) -> u16 {
        let index = self.find_or_add_thread(thread);
        if index == MORE {
            let (columns, at) = self.columns_mut(RowId(id));
            let is_new = columns.aside.threads.insert(at as u16, thread).is_none();
            self.aside += u64::from(is_new);
            return MORE;
        }
        self.latest_threads[place] = (thread, index);
        index
    }

    /// The index of a thread, [`MORE`] if there is no room for it.
    pub(super) fn find_or_add_thread(&mut self, thread: Tid) -> u16 {
        match self.thread_index.get(&thread) {
            Some(&index) => index,
            None if self.threads.len() >= usize::from(MORE) => MORE,
            None => {
                let index = self.threads.len() as u16;
                Arc::make_mut(&mut self.threads).push(thread);
                self.thread_index.insert(thread, index);
                index
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: u64) -> Row {
        Row {
            address: 0x1000,
            size,
            birth: Ticks(5),
            death: Ticks::NEVER,
            site: SiteId::UNKNOWN,
            thread: Tid(1),
            freed_at: None,
            is_cross_thread: false,
        }
    }

    /// Sites of so many rows.
    fn sites(rows: usize) -> RowSites {
        let mut sites = RowSites::default();
        sites.extend_to(rows);
        sites
    }

    #[test]
    fn values_of_any_width_come_back() {
        let (mut rows, _) = RowWriter::new();
        let mut put = |row: Row| {
            let id = rows.push(&row, |_| {}).unwrap();
            assert_eq!(rows.get(id), row);
            (id, row)
        };
        let mut expected = Vec::new();
        expected.extend([0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, u64::MAX].map(|size| put(row(size))));
        let addresses = [0, 0xFFFE_FFFF_FFFF, 0xFFFF_0000_0000, 1 << 48, u64::MAX];
        expected.extend(addresses.map(|address| put(Row { address, ..row(1) })));
        let births = [5, 6, 5 + (1 << 32), 7 + (1 << 40), i64::MAX - 2, 4, i64::MIN, 0];
        expected.extend(births.map(|birth| put(Row { birth: Ticks(birth), ..row(1) })));
        let threads = [0, 1, 70_000, u32::MAX];
        expected.extend(threads.map(|thread| put(Row { birth: Ticks(i64::MAX - 2), thread: Tid(thread), ..row(1) })));
        let published = rows.publish(&sites(rows.len()), Ticks::NEVER, RowList::default());
        assert!(expected.into_iter().all(|(id, row)| published.get(id) == row));
        assert_eq!(published.out_of_order().len(), 3);
        rows.set_range(RowId(4), 0x2000, 7);
        rows.set_thread(RowId(4), Tid(9));
        assert_eq!(rows.get(RowId(4)), Row { address: 0x2000, thread: Tid(9), ..row(7) });
    }

    #[test]
    fn threads_beyond_the_index_are_kept_aside() {
        let (mut rows, _) = RowWriter::new();
        let ids: Vec<_> = (0..66_000).map(|n| rows.push(&Row { thread: Tid(n), ..row(1) }, |_| {}).unwrap()).collect();
        let published = rows.publish(&sites(rows.len()), Ticks::NEVER, RowList::default());
        assert!(ids.into_iter().all(|id| published.get(id).thread == Tid(id.0)));
    }

    #[test]
    fn a_published_copy_does_not_change() {
        let (mut rows, _) = RowWriter::new();
        let id = rows.push(&row(8), |_| {}).unwrap();
        let mut sites = RowSites::default();
        sites.push(SiteId(0));
        let published = rows.publish(&sites, Ticks(6), RowList::default());
        rows.kill(id, Ticks(6));
        sites.set(id, SiteId(1));
        rows.push(&row(9), |_| {}).unwrap();
        assert_eq!(published.get(id).death, Ticks::NEVER);
        assert_eq!(published.get(id).site, SiteId(0));
        assert_eq!(published.len(), 1);
        assert_eq!(rows.death(id), Ticks(6));
    }
}
