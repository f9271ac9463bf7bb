//! The rows that outlive the strip between two checkpoints in which they were born. They are few, and if a walk only needs rows
//! that last longer than the strip, it looks at no others.
//!
//! Cost: a bit for each birth and one for each death. To build it takes a parallel pass over both.

use std::ops::Range;

use rayon::prelude::*;

use super::checkpoints::{Checkpoints, Moment};
use crate::model::{CHUNK, Chunk, RowId, RowList, Rows};
use crate::query::row_set::each_bit;
use crate::query::{Cancel, Cancelled};

/// The births and deaths of rows that are alive at a checkpoint.
#[derive(Debug)]
pub(super) struct Outliving {
    /// A bit for each row: alive at the checkpoint after its birth. That of a row out of order has no meaning.
    births: Vec<u64>,
    /// A bit for each death in order: alive at the checkpoint before it.
    deaths: Vec<u64>,
}

/// Number of words that one worker fills at a time.
const WORDS: usize = CHUNK / 64;

impl Outliving {
    /// Finds the rows.
    pub(super) fn new(rows: &Rows, checkpoints: &Checkpoints, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut births = vec![0; rows.len().div_ceil(64)];
        births.par_chunks_mut(WORDS).enumerate().try_for_each(|(i, words)| {
            cancel.check()?;
            let chunk = rows.chunk(i);
            let first = chunk.first().0;
            let mut strip = checkpoints.strip_of_birth(first);
            fill(words, 0..chunk.len(), |at| {
                while checkpoints.at(strip + 1).1.birth <= first + at as u32 {
                    strip += 1;
                }
                chunk.death(at) >= checkpoints.at(strip + 1).0
            });
            Ok(())
        })?;
        let mut deaths = vec![0; rows.by_death().len().div_ceil(64)];
        deaths.par_chunks_mut(WORDS).enumerate().try_for_each(|(i, words)| {
            cancel.check()?;
            let first = (i * CHUNK) as u32;
            let end = rows.by_death().len().min((i + 1) * CHUNK) as u32;
            let mut strip = checkpoints.strip_of_death(first);
            let mut ids = rows.by_death().range(first..end);
            fill(words, 0..(end - first) as usize, |at| {
                while checkpoints.at(strip + 1).1.death <= first + at as u32 {
                    strip += 1;
                }
                ids.next().is_some_and(|id| is_born_before(rows, id, checkpoints.at(strip)))
            });
            Ok(())
        })?;
        Ok(Self { births, deaths })
    }

    /// Calls `each` with the indices of those rows of a chunk that are in a range and outlive their strips.
    #[inline]
    pub(super) fn births(&self, chunk: &Chunk<'_>, places: Range<usize>, each: impl FnMut(usize)) {
        each_bit(&self.births[chunk.first().0 as usize / 64..], places, each);
    }

    /// Returns the rows of those deaths in a range that were born in an earlier strip.
    pub(super) fn deaths(&self, places: Range<u32>, by_death: &RowList) -> Vec<RowId> {
        let mut ids = Vec::new();
        each_bit(&self.deaths, places.start as usize..places.end as usize, |at| ids.push(by_death.get(at as u32)));
        ids
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        (self.births.capacity() + self.deaths.capacity()) * 8
    }
}

/// Returns whether a row was born before a moment.
#[inline]
pub(super) fn is_born_before(rows: &Rows, id: RowId, (tick, place): Moment) -> bool {
    if rows.is_out_of_order(id) { rows.birth(id) < tick } else { id.0 < place.birth }
}

/// Sets the bits of the places, in order, for which `is_set` holds.
fn fill(words: &mut [u64], places: Range<usize>, mut is_set: impl FnMut(usize) -> bool) {
    places.for_each(|at| words[at / 64] |= u64::from(is_set(at)) << (at % 64));
}
