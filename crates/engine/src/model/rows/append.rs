//! Appends many rows at once, from columns that a worker has made.

use std::ops::Range;

use super::{CHUNK, DeathColumn, FAR, LARGE, MORE, RowId, RowWriter};
use crate::units::{Ticks, Tid};

/// Whether an address and a size fit into the columns.
#[inline(always)]
pub(in crate::model) fn is_plain(address: u64, size: u64) -> bool {
    size < u64::from(LARGE) && address >> 32 < u64::from(FAR)
}

/// A thread, and its index among those of all rows.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct PlacedThread {
    place: u16,
    tid: Tid,
}

/// A new row.
#[derive(Clone, Copy, Debug)]
struct NewRow {
    birth: Ticks,
    address: u64,
    size: u32,
    /// Number of a thread; the code that appends the rows knows its meaning.
    thread: u16,
}

/// New rows in the order of their births, all of them [plain](is_plain). They are added one by one, and
/// are in columns after [`NewRows::finish`].
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct NewRows {
    list: Vec<NewRow>,
    birth: Vec<Ticks>,
    size: Vec<u32>,
    address: Vec<u32>,
    address_high: Vec<u16>,
    thread: Vec<u16>,
}

impl NewRows {
    /// Adds a row; returns its number.
    #[inline(always)]
    pub(in crate::model) fn push(&mut self, birth: Ticks, (address, size): (u64, u32), thread: u16) -> u32 {
        let number = self.list.len() as u32;
        self.list.push(NewRow { birth, address, size, thread });
        number
    }

    /// Address and size of the row with a number.
    pub(in crate::model) fn address_and_size(&self, number: u32) -> (u64, u32) {
        let row = &self.list[number as usize];
        (row.address, row.size)
    }

    pub(in crate::model) fn len(&self) -> usize {
        self.list.len()
    }

    pub(in crate::model) fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Makes the columns; called after the last row.
    pub(in crate::model) fn finish(&mut self) {
        let Self { list, birth, size, address, address_high, thread } = self;
        fill(birth, list, |row| row.birth);
        fill(size, list, |row| row.size);
        fill(address, list, |row| row.address as u32);
        fill(address_high, list, |row| (row.address >> 32) as u16);
        fill(thread, list, |row| row.thread);
    }
}

fn fill<T>(column: &mut Vec<T>, rows: &[NewRow], value: impl Fn(&NewRow) -> T) {
    column.clear();
    column.extend(rows.iter().map(value));
}

impl RowWriter {
    /// A thread with its index among those of all rows; `None` if there are too many threads.
    pub(in crate::model) fn placed_thread(&mut self, tid: Tid) -> Option<PlacedThread> {
        let place = self.find_or_add_thread(tid);
        (place != MORE).then_some(PlacedThread { place, tid })
    }

    /// Whether rows born from this moment on are in order.
    pub(in crate::model) fn is_in_order(&self, birth: Ticks) -> bool {
        birth >= self.passed
    }

    /// Appends a range of `rows`, which are alive and in order, without their sites; `threads` has their
    /// threads by number. The caller knows that they can be numbered. Columns of deaths of new
    /// chunks go to `opened`. Returns the number of the first row.
    pub(in crate::model) fn append(
        &mut self,
        rows: &NewRows,
        range: Range<usize>,
        threads: &[PlacedThread],
        mut opened: impl FnMut(DeathColumn),
    ) -> RowId {
        let first = RowId(self.len() as u32);
        let mut left = range;
        while let Some(&birth) = rows.birth[left.clone()].first() {
            if self.open.size.len() == CHUNK {
                opened(self.seal(birth));
            } else if self.len() == 0 {
                self.open.base = birth;
            }
            let room = CHUNK - self.open.size.len();
            let part = left.start..left.end.min(left.start + room);
            left.start = part.end;
            self.append_to_open(rows, part, threads);
        }
        first
    }

    fn append_to_open(&mut self, rows: &NewRows, part: Range<usize>, threads: &[PlacedThread]) {
        let births = &rows.birth[part.clone()];
        let Some(&last) = births.last() else { return };
        self.passed = last;
        let columns = &mut self.open;
        let (base, span) = (columns.base, last.0.wrapping_sub(columns.base.0) as u64);
        // Earlier births are closer to the base, which is not later than any.
        if span <= u64::from(u32::MAX) && columns.birth_high.is_empty() {
            columns.birth.extend(births.iter().map(|birth| birth.0.wrapping_sub(base.0) as u32));
        } else {
            births.iter().for_each(|&birth| columns.push_birth(birth));
        }
        columns.size.extend_from_slice(&rows.size[part.clone()]);
        columns.address.extend_from_slice(&rows.address[part.clone()]);
        columns.address_high.extend_from_slice(&rows.address_high[part.clone()]);
        let placed = || rows.thread[part.clone()].iter().map(|&thread| threads[usize::from(thread)]);
        columns.death.begin(columns.thread.len(), placed().map(|thread| thread.tid));
        columns.thread.extend(placed().map(|thread| thread.place));
    }
}
