//! The rows that outlive the strip between two checkpoints in which they were born. They are few, and if a walk only needs rows
//! that last longer than the strip, it looks at no others.
//!
//! Rows lie in memory in the order of births, so the dead ones of a strip are scattered. Site and size of those that outlived
//! their strip are therefore kept in the order of deaths, unless there are very many.
//!
//! Cost: a bit for each birth and one for each death, and 8 bytes for each death that is kept: at most 2 bytes a row. To build it
//! takes a parallel pass over both.

use std::ops::Range;

use rayon::prelude::*;

use super::checkpoints::{Checkpoints, Moment};
use super::order::in_row_order;
use crate::model::{CHUNK, Chunk, OUTLIVING_A_ROW, RowId, Rows, SiteId};
use crate::query::row_set::each_bit;
use crate::query::{Cancel, Cancelled};

/// The births and deaths of rows that are alive at a checkpoint.
#[derive(Debug)]
pub(super) struct Outliving {
    /// A bit for each row: alive at the checkpoint after its birth. That of a row out of order has no meaning.
    births: Vec<u64>,
    /// A bit for each death in order: alive at the checkpoint before it.
    deaths: Vec<u64>,
    /// Site and size of the rows of these deaths, in the same order; `None` if they would take too much memory.
    dead: Option<Dead>,
}

/// Site and size of the rows of some deaths, in order.
#[derive(Debug)]
struct Dead {
    /// The size in 32 bits, or [`LARGE`].
    rows: Vec<(SiteId, u32)>,
    /// Number of rows before each [`WORDS`] words of bits.
    starts: Vec<u32>,
}

/// Stands for sizes from this one on.
const LARGE: u32 = u32::MAX;

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
            let (mut strip, mut at) = (checkpoints.strip_of_birth(first), 0);
            while at < chunk.len() {
                let (tick, end) = checkpoints.at(strip + 1);
                let to = chunk.len().min(end.birth.saturating_sub(first) as usize);
                fill(words, at, (at..to).map(|at| chunk.death(at) >= tick));
                (strip, at) = (strip + 1, to.max(at));
            }
            Ok(())
        })?;
        let all_in_order = rows.out_of_order().is_empty();
        let mut deaths = vec![0; rows.by_death().len().div_ceil(64)];
        deaths.par_chunks_mut(WORDS).enumerate().try_for_each(|(i, words)| {
            cancel.check()?;
            let first = (i * CHUNK) as u32;
            let end = rows.by_death().len().min((i + 1) * CHUNK) as u32;
            let (mut strip, mut at) = (checkpoints.strip_of_death(first), 0);
            for mut ids in rows.by_death().parts(first..end) {
                while !ids.is_empty() {
                    let (before, behind) = (checkpoints.at(strip), checkpoints.at(strip + 1).1.death);
                    let count = ids.len().min((behind.saturating_sub(first) as usize).saturating_sub(at));
                    let (of_strip, others) = ids.split_at(count);
                    match all_in_order {
                        true => fill(words, at, of_strip.iter().map(|id| id.0 < before.1.birth)),
                        false => fill(words, at, of_strip.iter().map(|&id| is_born_before(rows, id, before))),
                    }
                    (at, ids) = (at + count, others);
                    strip += usize::from(!ids.is_empty());
                }
            }
            Ok(())
        })?;
        let dead = Dead::new(rows, &deaths, cancel)?;
        Ok(Self { births, deaths, dead })
    }

    /// Calls `each` with the indices of those rows of a chunk that are in a range and outlive their strips.
    #[inline]
    pub(super) fn births(&self, chunk: &Chunk<'_>, places: Range<usize>, each: impl FnMut(usize)) {
        each_bit(&self.births[chunk.first().0 as usize / 64..], places, each);
    }

    /// Calls `put` with site and size of the rows that died in a range of deaths inside one strip, and outlived the strip in which
    /// they were born. If `before` is given, only rows born before that moment count.
    pub(super) fn deaths(&self, rows: &Rows, places: Range<u32>, before: Option<Moment>, mut put: impl FnMut(SiteId, u64)) {
        let mut id_at = rows.by_death().reader();
        let places = places.start as usize..places.end as usize;
        let Some(dead) = &self.dead else {
            let mut ids = Vec::new();
            each_bit(&self.deaths, places, |at| ids.push(id_at(at as u32)));
            keep_born_before(rows, &mut ids, before);
            return each_in_row_order(rows, &ids, put);
        };
        let mut kept = dead.from(&self.deaths, places.start);
        each_bit(&self.deaths, places, |at| {
            let Some(&(site, size)) = kept.next() else { return };
            if before.is_none_or(|before| is_born_before(rows, id_at(at as u32), before)) {
                let size = if size == LARGE { rows.size(id_at(at as u32)) } else { size.into() };
                put(site, size);
            }
        });
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let dead = self.dead.as_ref().map_or(0, |dead| dead.rows.capacity() * 8 + dead.starts.capacity() * 4);
        (self.births.capacity() + self.deaths.capacity()) * 8 + dead
    }
}

impl Dead {
    /// Collects the rows of those deaths whose bit is set; `None` if there are too many.
    fn new(rows: &Rows, deaths: &[u64], cancel: &Cancel) -> Result<Option<Self>, Cancelled> {
        let mut count = 0;
        let mut starts = Vec::with_capacity(deaths.len().div_ceil(WORDS));
        for words in deaths.chunks(WORDS) {
            starts.push(count);
            count += ones(words);
        }
        if count as usize * size_of::<(SiteId, u32)>() > rows.len() * OUTLIVING_A_ROW {
            return Ok(None);
        }
        let parts: Result<Vec<Vec<(SiteId, u32)>>, Cancelled> = (deaths.par_chunks(WORDS).enumerate())
            .map(|(i, words)| {
                cancel.check()?;
                let mut id_at = rows.by_death().reader();
                let mut part = Vec::with_capacity(ones(words) as usize);
                each_bit(words, 0..CHUNK, |at| {
                    let id = id_at((i * CHUNK + at) as u32);
                    part.push((rows.site(id), u32::try_from(rows.size(id)).unwrap_or(LARGE)));
                });
                Ok(part)
            })
            .collect();
        Ok(Some(Self { rows: parts?.concat(), starts }))
    }

    /// Returns the rows of the deaths from a place on.
    fn from(&self, deaths: &[u64], place: usize) -> std::slice::Iter<'_, (SiteId, u32)> {
        let (chunk, word) = (place / CHUNK, place / 64);
        let Some(&start) = self.starts.get(chunk) else { return [].iter() };
        let in_word = deaths[word] & ((1 << (place % 64)) - 1);
        let before = start + ones(&deaths[chunk * WORDS..word]) + in_word.count_ones();
        self.rows[before as usize..].iter()
    }
}

/// Returns the number of set bits.
fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Calls `put` with site and size of rows, roughly in the order in which they lie in memory.
pub(super) fn each_in_row_order(rows: &Rows, ids: &[RowId], mut put: impl FnMut(SiteId, u64)) {
    in_row_order(ids.iter().copied()).into_iter().for_each(|(id, _)| put(rows.site(id), rows.size(id)));
}

/// Returns whether a row was born before a moment.
#[inline]
fn is_born_before(rows: &Rows, id: RowId, (tick, place): Moment) -> bool {
    if rows.is_out_of_order(id) { rows.birth(id) < tick } else { id.0 < place.birth }
}

/// Removes those rows that were not born before a moment, if it is given.
pub(super) fn keep_born_before(rows: &Rows, ids: &mut Vec<RowId>, before: Option<Moment>) {
    match before {
        None => {}
        Some((_, place)) if rows.out_of_order().is_empty() => ids.retain(|id| id.0 < place.birth),
        Some(before) => ids.retain(|&id| is_born_before(rows, id, before)),
    }
}

/// Sets the bits from a place on that are `true`.
fn fill(words: &mut [u64], first: usize, bits: impl Iterator<Item = bool>) {
    (first..).zip(bits).for_each(|(at, is_set)| words[at / 64] |= u64::from(is_set) << (at % 64));
}
