//! The common way to scan the rows of a trace, or selected rows of it: on all workers, each with its own state, and
//! cancellable.
//!
//! Cost: rows that are not selected cost a bit each. Rows are visited by chunk and index, so that only the columns in
//! use are read.

use std::ops::Range;

use rayon::prelude::*;

use super::row_set::each_bit;
use super::{Cancel, Cancelled, LifetimeClass, RowSet};
use crate::model::{CHUNK, Chunk, LastDeaths, Rows};
use crate::units::{Interval, Ticks};

/// The rows to scan.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) rows: &'a Rows,
    /// Selected rows; `None` for all.
    pub(super) chosen: Option<&'a RowSet>,
}

/// The rows to visit in one chunk.
pub(super) struct VisitedChunk<'a> {
    pub(super) chunk: Chunk<'a>,
    /// The range of the rows.
    places: Range<usize>,
    words: Option<&'a [u64]>,
}

impl VisitedChunk<'_> {
    /// Calls `each` with the indices of the rows, in order.
    #[inline]
    pub(super) fn each(&self, each: impl FnMut(usize)) {
        match self.words {
            Some(words) => each_bit(words, self.places.clone(), each),
            None => self.places.clone().for_each(each),
        }
    }

    /// Calls `each` with the indices of the rows, in order, except for blocks of rows that all died before `t`.
    #[inline]
    pub(super) fn each_alive(&self, deaths: &LastDeaths, t: Ticks, mut each: impl FnMut(usize)) {
        for places in deaths.alive(&self.chunk, t) {
            let places = places.start.max(self.places.start)..places.end.min(self.places.end);
            match self.words {
                Some(words) => each_bit(words, places, &mut each),
                None => places.for_each(&mut each),
            }
        }
    }

    /// Calls `each` with the rows that overlap an interval, and their classes.
    #[inline]
    pub(super) fn each_in(&self, interval: Interval, mut each: impl FnMut(usize, LifetimeClass)) {
        self.each(|at| {
            if let Some(class) = LifetimeClass::of(self.chunk.birth(at), self.chunk.death(at), interval) {
                each(at, class);
            }
        });
    }
}

impl<'a> Visit<'a> {
    /// Calls `each` with all chunks. Each worker starts with a state from `new`. Returns the states in the order of the
    /// rows they saw; there is at least one.
    pub(super) fn fold<S: Send>(
        self,
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        self.fold_chunks(&(0..self.rows.chunks().len()).collect::<Vec<_>>(), cancel, new, each)
    }

    /// Returns the chunks that can have a row born inside an interval. Rows are sorted by birth, except those marked
    /// out of order.
    pub(super) fn born_in(&self, interval: Interval) -> Vec<usize> {
        let can_have = |i: &usize| {
            let chunk = self.rows.chunk(*i);
            let last = chunk.len() - 1;
            chunk.has_out_of_order() || chunk.birth(0) < interval.to && chunk.birth(last) >= interval.from
        };
        (0..self.rows.chunks().len()).filter(can_have).collect()
    }

    /// Returns the chunks that can have a row born before `t`.
    pub(super) fn born_before(&self, t: Ticks) -> Vec<usize> {
        self.born_in(Interval { from: Ticks::BEFORE_TRACE, to: t })
    }

    /// Folds only some chunks; see [`Visit::fold`].
    pub(super) fn fold_chunks<S: Send>(
        self,
        chunks: &[usize],
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        self.fold_ranges(&self.whole(chunks), rayon::current_num_threads(), cancel, new, each)
    }

    /// Returns the row numbers of whole chunks.
    pub(super) fn whole(&self, chunks: &[usize]) -> Vec<Range<usize>> {
        chunks.iter().map(|&i| i * CHUNK..i * CHUNK + self.rows.chunk(i).len()).collect()
    }

    /// Orders chunks so that each worker gets some from all parts of the trace, for scans that take longer in some parts.
    pub(super) fn mixed(mut chunks: Vec<usize>) -> Vec<usize> {
        chunks.sort_by_key(|chunk| chunk % rayon::current_num_threads());
        chunks
    }

    /// Folds some chunks with several states per worker, which balances unequal chunks; for states that are cheap.
    pub(super) fn fold_evenly<S: Send>(
        self,
        chunks: &[usize],
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        self.fold_ranges(&self.whole(chunks), 4 * rayon::current_num_threads(), cancel, new, each)
    }

    /// Folds only some ranges of row numbers, each inside one chunk, in so many parts; see [`Visit::fold`].
    pub(super) fn fold_ranges<S: Send>(
        self,
        ranges: &[Range<usize>],
        parts: usize,
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        let states: Result<Vec<S>, Cancelled> = ranges
            .par_chunks(ranges.len().div_ceil(parts).max(1))
            .map(|ranges| {
                let mut state = new();
                for range in ranges {
                    cancel.check()?;
                    let i = range.start / CHUNK;
                    let words = self.chosen.map(|chosen| chosen.of_chunk(i));
                    let places = range.start - i * CHUNK..range.end - i * CHUNK;
                    each(&mut state, &VisitedChunk { chunk: self.rows.chunk(i), places, words });
                }
                Ok(state)
            })
            .collect();
        let mut states = states?;
        if states.is_empty() {
            states.push(new());
        }
        Ok(states)
    }
}
