//! The order of deaths: 4 bytes for each row that died.
//!
//! While a trace is loaded, every free that may end a row has a slot in order of time, into which the
//! thread that finds the row writes it ([`DeathSlots`]). A publication moves the deaths before its time
//! into a list that all later ones share ([`DeathLog`]), and inserts the rows that ended without a free
//! of their own (a heap is destroyed, an address is allocated again).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rayon::prelude::*;

use crate::model::{RowId, RowList};
use crate::units::Ticks;

/// Slots of one part of the order.
const PART: usize = 1 << 16;

/// Number of parts that are put into order, and released, at a time.
const TOGETHER: usize = 64;

/// A slot at which no row ended.
const NOBODY: u32 = u32::MAX;

/// A free's place in the order of deaths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::model) struct DeathSlot(pub(super) u32);

impl DeathSlot {
    pub(super) fn number(self) -> u32 {
        self.0
    }

    fn split(self) -> (usize, usize) {
        (self.0 as usize / PART, self.0 as usize % PART)
    }
}

/// Slots in the order of deaths, in parts that threads share.
#[derive(Debug, Default)]
pub(super) struct DeathSlots {
    parts: RwLock<Vec<Arc<[AtomicU32]>>>,
}

/// One thread's view of the slots.
#[derive(Debug, Default)]
pub(super) struct SlotsView(Vec<Arc<[AtomicU32]>>);

impl SlotsView {
    pub(super) fn set(&self, slot: DeathSlot, row: RowId) {
        let (part, at) = slot.split();
        self.0[part][at].store(row.0, Ordering::Relaxed);
    }

    /// The row that ended at a slot, if it is known; rows in parts that were released are not.
    pub(super) fn get(&mut self, slots: &DeathSlots, slot: DeathSlot) -> Option<RowId> {
        let (part, at) = slot.split();
        if part >= self.0.len() {
            self.refresh(slots);
        }
        self.0.get(part)?.get(at).and_then(found)
    }

    /// Sees the parts that were added.
    pub(super) fn refresh(&mut self, slots: &DeathSlots) {
        let parts = slots.parts.read().unwrap_or_else(PoisonError::into_inner);
        self.0.extend(parts[self.0.len()..].iter().cloned());
    }
}

impl DeathSlots {
    /// Makes room for a slot; all slots before it must have room.
    #[inline]
    pub(super) fn make_room(&self, slot: DeathSlot) {
        if (slot.0 as usize).is_multiple_of(PART) {
            self.add_part();
        }
    }

    #[inline(never)]
    fn add_part(&self) {
        let part = (0..PART).map(|_| AtomicU32::new(NOBODY)).collect();
        self.parts.write().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    /// The parts in a range.
    fn parts(&self, range: Range<usize>) -> Vec<Arc<[AtomicU32]>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)[range].to_vec()
    }

    /// Releases parts that are no longer needed.
    fn forget(&self, range: Range<usize>) {
        self.parts.write().unwrap_or_else(PoisonError::into_inner)[range].fill_with(Arc::default);
    }

    /// The slot behind the last whose row `is_over`, and behind empty ones after it: they will stay
    /// empty.
    fn over_before(&self, slots: Range<u32>, is_over: impl Fn(RowId) -> bool) -> u32 {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        let mut end = slots.end;
        for slot in slots.rev() {
            match found(&parts[slot as usize / PART][slot as usize % PART]).map(&is_over) {
                Some(true) => break,
                Some(false) => end = slot,
                None => {}
            }
        }
        end
    }

    /// Gives rows their new numbers; slots of rows without one become empty.
    fn renumber(&self, number: impl Fn(RowId) -> Option<RowId>) {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        for slot in parts.iter().flat_map(|part| part.iter()) {
            let new = found(slot).and_then(&number);
            slot.store(new.map_or(NOBODY, |row| row.0), Ordering::Relaxed);
        }
    }
}

/// Time and number of a row that ended without a slot of its own.
pub(super) type Extra = (Ticks, RowId);

/// Deaths in their final order, because everything before a moment has been done: publications share
/// them.
#[derive(Debug, Default)]
pub(super) struct DeathLog {
    sealed: RowList,
    /// Rows behind those, not enough for a block.
    open: Vec<RowId>,
    /// The first slot that may not have been taken over.
    next: u32,
    /// Rows without a slot that ended after that moment.
    extra: Vec<Extra>,
}

impl DeathLog {
    /// All deaths that it has.
    pub(super) fn list(&self) -> RowList {
        let mut list = self.sealed.clone();
        list.push(self.open.as_slice());
        list
    }

    /// Takes over the deaths before `horizon`, when everything up to it has been done: those at slots
    /// before `end`, and the `extra` ones. Releases the parts of slots that are done with. Cost: what
    /// came since.
    pub(super) fn take(
        &mut self,
        slots: &DeathSlots,
        end: u32,
        extra: Vec<Extra>,
        horizon: Ticks,
        death: impl Fn(RowId) -> Ticks + Sync,
    ) {
        self.extra.extend(extra);
        self.extra.sort_unstable();
        let later = self.extra.split_off(self.extra.partition_point(|(at, _)| *at < horizon));
        let extra = std::mem::replace(&mut self.extra, later);
        let end = slots.over_before(self.next..end, |row| death(row) < horizon);
        let mut extra = extra.as_slice();
        while self.next < end {
            let first = self.next as usize / PART;
            let to = u32::try_from((first + TOGETHER) * PART).unwrap_or(u32::MAX).min(end);
            // No lock is held while workers run.
            let parts = slots.parts(first..(to as usize).div_ceil(PART));
            let (lists, later) = in_order(&slices(&parts, first, self.next..to), extra, &death);
            lists.into_iter().for_each(|rows| self.push(rows));
            slots.forget(first..to as usize / PART);
            (self.next, extra) = (to, later);
        }
        self.push(extra.iter().map(|(_, row)| *row).collect());
    }

    fn push(&mut self, rows: Vec<RowId>) {
        if self.open.is_empty() {
            self.open = rows;
        } else {
            self.open.extend(rows);
        }
        if self.open.len() >= PART {
            self.sealed.push(std::mem::take(&mut self.open));
        }
    }

    /// Gives rows their new numbers; those without one are dropped. Returns how many slots were taken
    /// over, and how many rows of these are left.
    pub(super) fn renumber(&mut self, slots: &DeathSlots, number: impl Fn(RowId) -> Option<RowId>) -> (u32, usize) {
        self.sealed = self.sealed.renumbered(&number);
        self.open = self.open.iter().copied().filter_map(&number).collect();
        self.extra.retain_mut(|(_, row)| number(*row).map(|new| *row = new).is_some());
        slots.renumber(&number);
        (self.next, self.sealed.len() + self.open.len())
    }
}

/// The entries of each part that lie in a range of slots; `first` is the number of the first part.
fn slices(parts: &[Arc<[AtomicU32]>], first: usize, slots: Range<u32>) -> Vec<&[AtomicU32]> {
    let slice = |(part, list): (usize, _)| {
        let (start, list): (usize, &[AtomicU32]) = (part * PART, list);
        &list[(slots.start as usize).saturating_sub(start)..(slots.end as usize - start).min(list.len())]
    };
    (first..).zip(parts.iter().map(|part| &**part)).map(slice).collect()
}

/// The rows of some slots one after the other, with those of `extra` inserted by their deaths. The last
/// of `extra`, which come later, are returned.
fn in_order<'e>(
    slices: &[&[AtomicU32]],
    extra: &'e [Extra],
    death: impl Fn(RowId) -> Ticks + Sync,
) -> (Vec<Vec<RowId>>, &'e [Extra]) {
    // Rows that died before the last death of a slice belong before that.
    let before = |slice: &[AtomicU32], extra: &[Extra]| {
        let last = slice.iter().rev().find_map(found).map(&death);
        last.map_or(0, |at| extra.partition_point(|(time, _)| *time < at))
    };
    let (mut rest, mut tasks) = (extra, Vec::with_capacity(slices.len()));
    for slice in slices {
        let (put, later) = rest.split_at(before(slice, rest));
        tasks.push((*slice, put));
        rest = later;
    }
    let merged = |&(slice, extra): &(&[AtomicU32], &[Extra])| merged(slice, extra, &death);
    let rows = match tasks.as_slice() {
        // Little work: not worth waiting for workers that may be busy.
        [task] => vec![merged(task)],
        tasks => tasks.par_iter().map(merged).collect(),
    };
    (rows, rest)
}

/// The row that ended at a slot.
fn found(slot: &AtomicU32) -> Option<RowId> {
    Some(slot.load(Ordering::Relaxed)).filter(|&row| row != NOBODY).map(RowId)
}

/// The rows of some slots and those of `extra` in the order of their deaths.
fn merged(slots: &[AtomicU32], extra: &[Extra], death: impl Fn(RowId) -> Ticks) -> Vec<RowId> {
    let mut rows = Vec::with_capacity(slots.len() + extra.len());
    let mut extra = extra.iter().peekable();
    for row in slots.iter().filter_map(found) {
        if extra.peek().is_some() {
            let at = death(row);
            while let Some((_, row)) = extra.next_if(|(time, _)| *time < at) {
                rows.push(*row);
            }
        }
        rows.push(row);
    }
    rows.extend(extra.map(|(_, row)| *row));
    rows
}
