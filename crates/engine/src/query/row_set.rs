//! A set of a trace's rows, one bit each, and the conditions that select rows.
//!
//! Cost: an eighth of a byte per row; to fill it, for each condition one parallel pass over the columns that it uses.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Cancel, Cancelled, Filter, Key, LifetimeClass, Path};
use crate::model::{CHUNK, Chunk, RowId, Rows, Trace};
use crate::units::{Interval, Ticks, Tid};

/// A half-open range that can be unbounded on either side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds<T> {
    /// Lower bound (inclusive).
    pub from: Option<T>,
    /// Upper bound (exclusive).
    pub to: Option<T>,
}

impl<T: Copy + PartialOrd> Bounds<T> {
    /// Returns `[from, to)`.
    pub fn new(from: T, to: T) -> Self {
        Self { from: Some(from), to: Some(to) }
    }

    /// Returns whether a value is inside.
    #[inline]
    pub fn contains(&self, value: T) -> bool {
        self.from.is_none_or(|from| from <= value) && self.to.is_none_or(|to| value < to)
    }

    /// Returns the range with converted bounds.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Bounds<U> {
        Bounds { from: self.from.map(&f), to: self.to.map(&f) }
    }
}

/// A condition on a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RowCondition {
    /// Allocated inside; blocks from before the trace are before any lower bound.
    Allocated(Bounds<Ticks>),
    /// Freed inside, or never if `or_never` is set.
    Freed {
        /// When the row must have been freed.
        within: Option<Bounds<Ticks>>,
        /// Whether rows that were never freed match, too.
        or_never: bool,
    },
    /// Size in bytes.
    Size(Bounds<u64>),
    /// Ticks from birth to death. Unknown lifetimes, of rows that were never freed or existed before the trace, are
    /// above any upper bound.
    Lifetime(Bounds<i64>),
    /// Allocating thread.
    Thread(Tid),
    /// One of these rows, sorted; see [`RowCondition::rows`].
    Rows(Arc<[RowId]>),
    /// All of these conditions.
    All(Arc<[RowCondition]>),
}

impl RowCondition {
    /// Creates the condition to be one of some rows.
    pub fn rows(ids: impl IntoIterator<Item = RowId>) -> Self {
        let mut ids: Vec<RowId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self::Rows(ids.into())
    }

    /// Clears the bits of the rows of a chunk that do not match.
    fn narrow(&self, chunk: &Chunk<'_>, words: &mut [u64]) {
        match self {
            Self::Allocated(bounds) => keep_inside(chunk, words, *bounds, |at| chunk.birth(at)),
            Self::Freed { within, or_never } => keep(chunk, words, |at| match chunk.death(at) {
                Ticks::NEVER => *or_never,
                death => within.is_some_and(|within| within.contains(death)),
            }),
            Self::Size(bounds) => keep_inside(chunk, words, *bounds, |at| chunk.size(at)),
            Self::Lifetime(bounds) => keep(chunk, words, |at| match lifetime(chunk, at) {
                None => bounds.to.is_none(),
                Some(ticks) => bounds.contains(ticks),
            }),
            Self::Thread(thread) => keep(chunk, words, |at| chunk.thread(at) == *thread),
            Self::Rows(ids) => keep(chunk, words, |at| ids.binary_search(&chunk.id(at)).is_ok()),
            Self::All(conditions) => conditions.iter().for_each(|condition| condition.narrow(chunk, words)),
        }
    }
}

/// Returns the ticks from birth to death; `None` if one of them was not recorded.
#[inline]
pub(super) fn lifetime(chunk: &Chunk<'_>, at: usize) -> Option<i64> {
    lifetime_of(chunk.birth(at), chunk.death(at))
}

/// Returns the ticks from a birth to a death; `None` if one of them was not recorded. The result is always less than
/// `i64::MAX`, which can therefore stand for unknown lifetimes.
#[inline]
pub(super) fn lifetime_of(birth: Ticks, death: Ticks) -> Option<i64> {
    let is_known = birth != Ticks::BEFORE_TRACE && death != Ticks::NEVER;
    is_known.then(|| death.0.saturating_sub(birth.0).min(i64::MAX - 1))
}

/// Keeps the rows whose value is inside `bounds`. The kind of bounds is determined once, outside the loop over rows.
fn keep_inside<T: Copy + PartialOrd>(chunk: &Chunk<'_>, words: &mut [u64], bounds: Bounds<T>, of: impl Fn(usize) -> T) {
    match (bounds.from, bounds.to) {
        (None, None) => {}
        (Some(from), None) => keep(chunk, words, |at| from <= of(at)),
        (None, Some(to)) => keep(chunk, words, |at| of(at) < to),
        (Some(from), Some(to)) => keep(chunk, words, |at| (from <= of(at)) & (of(at) < to)),
    }
}

fn keep(chunk: &Chunk<'_>, words: &mut [u64], wants: impl Fn(usize) -> bool) {
    for (k, word) in words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
        *word &= bits(chunk, k, &wants);
    }
}

/// Returns a word of bits for the rows of a chunk that match.
fn bits(chunk: &Chunk<'_>, word: usize, wants: impl Fn(usize) -> bool) -> u64 {
    let places = word * 64..chunk.len().min(word * 64 + 64);
    places.rev().fold(0, |bits, at| bits << 1 | u64::from(wants(at)))
}

/// A selection of rows by their own properties, independent of the queried interval. A row must match all conditions,
/// even several of one kind. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RowChoice {
    /// The conditions; without any, all rows are selected.
    pub all: Vec<RowCondition>,
}

impl RowChoice {
    /// Returns whether all rows are selected.
    pub fn is_all(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the rows that match all conditions; `None` if all rows are selected.
    pub fn rows(&self, trace: &Trace, cancel: &Cancel) -> Result<Option<Arc<RowSet>>, Cancelled> {
        if self.is_all() {
            return Ok(None);
        }
        RowSet::of(trace, self, cancel).map(|rows| Some(Arc::new(rows)))
    }
}

/// Calls `each` with the indices of the set bits in a range.
#[inline]
pub(super) fn each_bit(words: &[u64], places: Range<usize>, mut each: impl FnMut(usize)) {
    for (k, word) in words.iter().enumerate().take(places.end.div_ceil(64)).skip(places.start / 64) {
        let first = k * 64;
        let before = places.start.saturating_sub(first);
        let mut rest = word >> before << before;
        while rest != 0 {
            let at = first + rest.trailing_zeros() as usize;
            if at >= places.end {
                return;
            }
            each(at);
            rest &= rest - 1;
        }
    }
}

/// A set of rows of one publication of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowSet {
    words: Vec<u64>,
}

/// Number of words of a full chunk.
const WORDS: usize = CHUNK / 64;

impl RowSet {
    /// Returns the rows that match all conditions of a choice.
    pub fn of(trace: &Trace, choice: &RowChoice, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::by_chunk(&trace.rows, cancel, |chunk, words| {
            (0..words.len()).for_each(|k| words[k] = bits(chunk, k, |_| true));
            choice.all.iter().for_each(|condition| condition.narrow(chunk, words));
        })
    }

    /// Returns the rows below a node of the tree of an interval: the rows of its sites that have its lifetime classes
    /// there; for a single allocation only that one. Cost: [`Filter::mask`] and a pass over the rows.
    pub fn under(trace: &Trace, path: &Path, interval: Interval, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mask = Filter::under(Arc::clone(path)).mask(trace);
        let only = path.iter().find_map(|key| if let Key::Row(row) = key { Some(*row) } else { None });
        Self::filled(&trace.rows, cancel, |chunk, at| {
            let site = chunk.sites()[at];
            mask.classes(site) != 0
                && only.is_none_or(|only| only == chunk.id(at))
                && LifetimeClass::of(chunk.birth(at), chunk.death(at), interval).is_some_and(|class| mask.has(site, class))
        })
    }

    /// Returns the rows that `wants` accepts, by chunk and index in it.
    pub(super) fn filled(
        rows: &Rows,
        cancel: &Cancel,
        wants: impl Fn(&Chunk<'_>, usize) -> bool + Sync,
    ) -> Result<Self, Cancelled> {
        Self::by_chunk(rows, cancel, |chunk, words| {
            (0..words.len()).for_each(|k| words[k] = bits(chunk, k, |at| wants(chunk, at)));
        })
    }

    /// Returns a set filled by `fill`, chunk by chunk. Parallel.
    fn by_chunk(rows: &Rows, cancel: &Cancel, fill: impl Fn(&Chunk<'_>, &mut [u64]) + Sync) -> Result<Self, Cancelled> {
        let mut words = vec![0u64; rows.len().div_ceil(64)];
        words.par_chunks_mut(WORDS).enumerate().try_for_each(|(i, words)| {
            cancel.check()?;
            fill(&rows.chunk(i), words);
            Ok(())
        })?;
        Ok(Self { words })
    }

    /// Keeps only the rows that are in another set, too.
    pub fn keep_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(ours, theirs)| *ours &= theirs);
    }

    /// Removes the rows of another set.
    pub fn remove_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(ours, theirs)| *ours &= !theirs);
    }

    /// Returns whether a row is in the set.
    #[inline]
    pub fn has(&self, row: RowId) -> bool {
        self.words.get(row.0 as usize / 64).is_some_and(|word| word >> (row.0 % 64) & 1 != 0)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns the bytes in memory.
    pub fn heap_bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    /// Calls `each` with the rows of the set in a range of a chunk, by index and in order.
    #[inline]
    pub(super) fn each_of_chunk(&self, index: usize, places: Range<usize>, each: impl FnMut(usize)) {
        each_bit(self.of_chunk(index), places, each);
    }

    /// Returns the bits of one chunk; rows that arrived later have none.
    pub(super) fn of_chunk(&self, index: usize) -> &[u64] {
        let start = (index * WORDS).min(self.words.len());
        &self.words[start..(start + WORDS).min(self.words.len())]
    }
}
