//! The order of deaths: 4 bytes for each row that died.
//!
//! While a trace is loaded, every free that may end a row has a place in order of
//! time, to which the row is written by whoever finds it ([`Places`]). Rows that
//! end without a free of their own (a heap is destroyed, an address is allocated
//! again) are put in between when the order is asked for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rayon::prelude::*;

use super::RowId;
use crate::units::Ticks;

/// Row ids by death; those of one tick in any order.
#[derive(Clone, Debug, Default)]
pub struct DeathOrder {
    rows: Vec<RowId>,
}

impl DeathOrder {
    /// Number of rows that died.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none died.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes in memory.
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * 4
    }

    /// All rows that died, in order.
    pub fn rows(&self) -> &[RowId] {
        &self.rows
    }
}

/// Places of one part of the order.
const PART: usize = 1 << 16;

/// Nothing ended here.
const NOBODY: u32 = u32::MAX;

/// Places in the order of deaths, in parts that threads share.
#[derive(Debug, Default)]
pub(super) struct Places {
    parts: RwLock<Vec<Arc<[AtomicU32]>>>,
}

/// One thread's view of the places.
#[derive(Debug, Default)]
pub(super) struct PlacesView(Vec<Arc<[AtomicU32]>>);

impl PlacesView {
    pub(super) fn set(&self, place: u32, row: RowId) {
        self.0[place as usize / PART][place as usize % PART].store(row.0, Ordering::Relaxed);
    }

    /// Sees the parts that were added.
    pub(super) fn refresh(&mut self, places: &Places) {
        let parts = places.parts.read().unwrap_or_else(PoisonError::into_inner);
        self.0.extend(parts[self.0.len()..].iter().cloned());
    }
}

impl Places {
    /// Makes room for place number `place`, all before it having room.
    #[inline]
    pub(super) fn make_room(&self, place: u32) {
        if (place as usize).is_multiple_of(PART) {
            self.add_part();
        }
    }

    #[inline(never)]
    fn add_part(&self) {
        let part = (0..PART).map(|_| AtomicU32::new(NOBODY)).collect();
        self.parts.write().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    /// Rows have new numbers, or none; parts in which nobody is left take no room any
    /// more, the latest apart. Returns how many do.
    pub(super) fn renumber(&self, number: impl Fn(RowId) -> Option<RowId>) -> usize {
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        let latest = parts.len().saturating_sub(1);
        for (i, part) in parts.iter_mut().enumerate() {
            let mut is_empty = true;
            for place in part.iter() {
                let row = place.load(Ordering::Relaxed);
                if row != NOBODY {
                    let row = number(RowId(row)).map_or(NOBODY, |row| row.0);
                    is_empty &= row == NOBODY;
                    place.store(row, Ordering::Relaxed);
                }
            }
            if is_empty && i < latest {
                *part = Arc::default();
            }
        }
        parts.iter().filter(|part| !part.is_empty()).count()
    }

    /// Bytes of a part.
    pub(super) const PART_BYTES: u64 = PART as u64 * 4;

    /// The order, with `extra` rows put in by their deaths. Nobody may hold a view
    /// any more, or memory is kept twice.
    pub(super) fn finish(&self, extra: Vec<(Ticks, RowId)>, death: impl Fn(RowId) -> Ticks + Sync) -> DeathOrder {
        let parts = std::mem::take(&mut *self.parts.write().unwrap_or_else(PoisonError::into_inner));
        DeathOrder::of(parts, extra, death)
    }

    /// The order of the deaths before a moment, when everything up to it has been done.
    /// A later one begins with the same rows, but for the order within a tick.
    pub(super) fn so_far(&self, horizon: Ticks, extra: Vec<(Ticks, RowId)>, death: impl Fn(RowId) -> Ticks + Sync) -> DeathOrder {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut order = DeathOrder::of(parts, extra, &death);
        order.rows.truncate(order.rows.partition_point(|&row| death(row) < horizon));
        order
    }
}

impl DeathOrder {
    fn of(parts: Vec<Arc<[AtomicU32]>>, mut extra: Vec<(Ticks, RowId)>, death: impl Fn(RowId) -> Ticks + Sync) -> Self {
        extra.sort_unstable();
        if let [part] = parts.as_slice() {
            // Little work: not worth to wait for workers that may be busy.
            let mut rows = vec![RowId(NOBODY); found(part).count() + extra.len()];
            put_in(part, &extra, &mut rows, death);
            return Self { rows };
        }
        let counted: Vec<(usize, usize)> = parts
            .par_iter()
            .map(|part| {
                // Before its last death belongs all that died earlier.
                let last = found(part).next_back().map(&death);
                (found(part).count(), last.map_or(0, |at| extra.partition_point(|(time, _)| *time < at)))
            })
            .collect();
        let all = counted.iter().map(|(found, _)| found).sum::<usize>() + extra.len();
        let mut rows: Vec<RowId> = (0..all).into_par_iter().map(|_| RowId(NOBODY)).collect();
        let (mut rest, mut put) = (rows.as_mut_slice(), 0);
        let mut tasks = Vec::with_capacity(parts.len());
        for (part, (found, before)) in parts.into_iter().zip(counted) {
            let extra = &extra[put..before.max(put)];
            put += extra.len();
            let (out, later) = rest.split_at_mut(found + extra.len());
            rest = later;
            tasks.push((part, extra, out));
        }
        rest.iter_mut().zip(&extra[put..]).for_each(|(out, (_, row))| *out = *row);
        tasks.into_par_iter().for_each(|(part, extra, out)| put_in(&part, extra, out, &death));
        Self { rows }
    }
}

/// The rows of a part.
fn found(part: &[AtomicU32]) -> impl DoubleEndedIterator<Item = RowId> {
    part.iter().map(|place| place.load(Ordering::Relaxed)).filter(|&row| row != NOBODY).map(RowId)
}

/// Fills `out` with the rows of a part and those of `extra` in the order of their deaths.
fn put_in(part: &[AtomicU32], extra: &[(Ticks, RowId)], out: &mut [RowId], death: impl Fn(RowId) -> Ticks) {
    let mut out = out.iter_mut();
    let mut put = |row| {
        if let Some(place) = out.next() {
            *place = row;
        }
    };
    let mut extra = extra.iter().peekable();
    for row in found(part) {
        if extra.peek().is_some() {
            let at = death(row);
            while let Some((_, row)) = extra.next_if(|(time, _)| *time < at) {
                put(*row);
            }
        }
        put(row);
    }
    extra.for_each(|(_, row)| put(*row));
}
