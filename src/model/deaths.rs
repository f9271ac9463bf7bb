//! The order of deaths: 4 bytes for each row that died.
//!
//! While a trace is loaded, every free that may end a row has a place in order of
//! time, to which the row is written by whoever finds it ([`Places`]). Rows that
//! end without a free of their own (a heap is destroyed, an address is allocated
//! again) are put in between when all is known.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

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
    pub(super) fn make_room(&self, place: u32) {
        if (place as usize).is_multiple_of(PART) {
            let part = (0..PART).map(|_| AtomicU32::new(NOBODY)).collect();
            self.parts.write().unwrap_or_else(PoisonError::into_inner).push(part);
        }
    }

    /// The order, with `extra` rows put in by their deaths. Nobody may hold a view
    /// any more, or memory is kept twice.
    pub(super) fn finish(&self, mut extra: Vec<(Ticks, RowId)>, death: impl Fn(RowId) -> Ticks) -> DeathOrder {
        let parts = std::mem::take(&mut *self.parts.write().unwrap_or_else(PoisonError::into_inner));
        extra.sort_unstable();
        let mut extra = extra.into_iter().peekable();
        let mut rows = Vec::with_capacity(parts.len() * PART + extra.len());
        for part in parts {
            let found = part.iter().map(|place| place.load(Ordering::Relaxed)).filter(|&row| row != NOBODY).map(RowId);
            if extra.peek().is_none() {
                rows.extend(found);
                continue;
            }
            for row in found {
                let at = death(row);
                while let Some((_, row)) = extra.next_if(|(time, _)| *time < at) {
                    rows.push(row);
                }
                rows.push(row);
            }
        }
        rows.extend(extra.map(|(_, row)| row));
        rows.shrink_to_fit();
        DeathOrder { rows }
    }
}
