//! Deaths of the rows of a chunk: 4 bytes a row, counted from when its first row came.
//!
//! Any thread that finds a free writes, and all threads read. A death that is too far away for 32 bits
//! (seven minutes with the usual clock) has its upper half in a second column, which the first such
//! death of the chunk adds; one that no real trace has is kept aside. The part that says that a row
//! ended is written last, so that no reader sees half of a time.
//!
//! Until its death, a row has its allocating thread there, so that the free can tell whether another thread
//! frees it. That is a bit in a column of its own, which exists in chunks with such rows.
//!
//! Cost: a check for the second column, and one for the threads. Memory: 4 bytes a row, 6 in chunks with far
//! deaths; an eighth of a byte in chunks with frees by other threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::chunk_size::CHUNK;
use crate::stored::stored;
use crate::units::{Ticks, Tid};

/// Lower halves from this one on are those of rows that are alive: their lower bits are the allocating thread.
pub(super) const ALIVE: u32 = 0xF000_0000;

/// Lower bits of a row whose allocating thread is not known. Windows has no thread with such an id: the table of
/// its ids is smaller.
const NO_THREAD: u32 = !ALIVE;

/// Ticks for each step of an upper half: as many as lower halves below [`ALIVE`] can express.
const STEP: u64 = ALIVE as u64;

/// Upper half of a time that is kept aside.
const ASIDE: u16 = u16::MAX;

/// Bytes of a row, besides the lower half, in a chunk with far deaths.
pub(super) const FAR_BYTES: u64 = 2;

/// Bytes of a time that is kept aside, approximately.
pub(super) const ASIDE_BYTES: u64 = 48;

/// The deaths of one chunk. Copies share them.
#[derive(Clone, Debug)]
pub(in crate::model) struct DeathColumn(Arc<Deaths>);

#[derive(Debug)]
struct Deaths {
    /// Time from which deaths count, not before the trace start.
    base: Ticks,
    low: Box<[AtomicU32]>,
    high: OnceLock<Box<[AtomicU16]>>,
    aside: RwLock<BTreeMap<u16, Ticks>>,
    /// A bit for each row that another thread freed than allocated it.
    cross_thread: OnceLock<Box<[AtomicU64]>>,
}

/// The time from which the deaths of a chunk count, those that are kept aside, and a bit for each row that another thread
/// freed than allocated it (none if there is no such row).
#[derive(Debug)]
pub(super) struct DeathsAside {
    base: Ticks,
    aside: BTreeMap<u16, Ticks>,
    cross_thread: Vec<u64>,
}
stored!(struct DeathsAside { base, aside, cross_thread });

impl DeathsAside {
    /// The time from which deaths count.
    pub(super) fn base(&self) -> Ticks {
        self.base
    }

    /// Whether there are bits for none or for all of so many rows.
    pub(super) fn has_bits_for(&self, rows: usize) -> bool {
        self.cross_thread.is_empty() || self.cross_thread.len() == rows.div_ceil(64)
    }
}

impl Default for DeathColumn {
    fn default() -> Self {
        Self::of(Ticks(0), 0)
    }
}

impl DeathColumn {
    /// A column for rows that are alive, the first of which came at a moment.
    pub(super) fn new(first: Ticks) -> Self {
        Self::of(first, CHUNK)
    }

    fn of(first: Ticks, rows: usize) -> Self {
        let low = (0..rows).map(|_| AtomicU32::new(alive(Tid::NONE))).collect();
        let (high, aside, cross_thread) = Default::default();
        Self(Arc::new(Deaths { base: first.max(Ticks(0)), low, high, aside, cross_thread }))
    }

    /// Notes the allocating threads of rows that are alive, from a place on.
    #[inline(always)]
    pub(super) fn begin(&self, first: usize, threads: impl Iterator<Item = Tid>) {
        for (low, thread) in self.0.low[first..].iter().zip(threads) {
            low.store(alive(thread), Ordering::Relaxed);
        }
    }

    /// Ends a row like [`Self::set`], freed by a thread.
    #[inline(always)]
    pub(in crate::model) fn end(&self, at: usize, death: Ticks, by: Tid) {
        // The thread that adds rows wrote it before it sent the free.
        let born = self.0.low[at].load(Ordering::Relaxed).wrapping_sub(ALIVE);
        if born < NO_THREAD && by.0 < NO_THREAD && born != by.0 {
            self.set_cross_thread(at);
        }
        self.set(at, death);
    }

    #[inline(never)]
    fn set_cross_thread(&self, at: usize) {
        let words = || (0..self.0.low.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let bits = self.0.cross_thread.get_or_init(words);
        bits[at / 64].fetch_or(1 << (at % 64), Ordering::Relaxed);
    }

    /// Whether a row that ended was freed by another thread than allocated it; both are known.
    #[inline]
    pub(super) fn is_cross_thread(&self, at: usize) -> bool {
        self.0.cross_thread.get().is_some_and(|bits| bits[at / 64].load(Ordering::Relaxed) >> (at % 64) & 1 != 0)
    }

    /// Makes a row one of another column: as alive as that, with its death and its threads.
    pub(super) fn take_over(&self, at: usize, other: &Self, from: usize) {
        let death = other.get(from);
        if death == Ticks::NEVER {
            let low = other.0.low[from].load(Ordering::Relaxed);
            return self.0.low[at].store(low, Ordering::Relaxed);
        }
        if other.is_cross_thread(from) {
            self.set_cross_thread(at);
        }
        self.set(at, death);
    }

    /// Death of a row, by place; [`Ticks::NEVER`] if it is alive.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Ticks {
        let Deaths { base, low, high, .. } = &*self.0;
        let low = low[at].load(Ordering::Acquire);
        if low >= ALIVE {
            return Ticks::NEVER;
        }
        match high.get() {
            None => Ticks(base.0.wrapping_add(low.into())),
            Some(high) => self.far(low, high[at].load(Ordering::Relaxed), at),
        }
    }

    /// Calls `each` with the places in a range of rows that die at `t` or later, or not at all. Whether a row does can hardly be
    /// predicted, so the places are collected without a branch for it.
    #[inline]
    pub(super) fn each_from(&self, places: Range<usize>, t: Ticks, mut each: impl FnMut(usize)) {
        const BLOCK: usize = 256;
        let Deaths { base, low, high, .. } = &*self.0;
        // Lower halves from here on are those of such rows, if there are no upper halves.
        let least = (i128::from(t.0) - i128::from(base.0)).clamp(0, ALIVE.into()) as u32;
        for start in places.clone().step_by(BLOCK) {
            let block = start..places.end.min(start + BLOCK);
            let (mut found, mut count) = ([0; BLOCK], 0);
            let mut look = |at: usize, is_found: bool| {
                found[count] = at;
                count += usize::from(is_found);
            };
            match high.get() {
                None => (block.clone().zip(&low[block])).for_each(|(at, low)| look(at, low.load(Ordering::Acquire) >= least)),
                Some(_) => block.for_each(|at| look(at, self.get(at) >= t)),
            }
            found[..count].iter().for_each(|&at| each(at));
        }
    }

    #[inline(never)]
    fn far(&self, low: u32, high: u16, at: usize) -> Ticks {
        if high == ASIDE {
            let aside = self.0.aside.read().unwrap_or_else(PoisonError::into_inner);
            return aside.get(&(at as u16)).copied().unwrap_or(Ticks::NEVER);
        }
        Ticks(self.0.base.0.wrapping_add((u64::from(high) * STEP + u64::from(low)) as i64))
    }

    /// Sets the death of a row, by place.
    #[inline(always)]
    pub(in crate::model) fn set(&self, at: usize, death: Ticks) {
        let offset = death.0.wrapping_sub(self.0.base.0) as u64;
        if offset < STEP && self.0.high.get().is_none() {
            self.0.low[at].store(offset as u32, Ordering::Release);
        } else {
            self.set_far(at, death);
        }
    }

    #[inline(never)]
    fn set_far(&self, at: usize, death: Ticks) {
        let Deaths { base, low, high, aside, .. } = &*self.0;
        if death == Ticks::NEVER {
            return low[at].store(alive(Tid::NONE), Ordering::Release);
        }
        let offset = death.0.wrapping_sub(base.0) as u64;
        let high = high.get_or_init(|| (0..low.len()).map(|_| AtomicU16::new(0)).collect());
        let (upper, lower) = match u16::try_from(offset / STEP) {
            Ok(upper) if upper != ASIDE => (upper, (offset % STEP) as u32),
            _ => {
                aside.write().unwrap_or_else(PoisonError::into_inner).insert(at as u16, death);
                (ASIDE, 0)
            }
        };
        high[at].store(upper, Ordering::Relaxed);
        low[at].store(lower, Ordering::Release);
    }

    /// The deaths of the first rows: what is not in halves, lower halves, and upper halves if there are any.
    pub(super) fn halves(&self, rows: usize) -> (DeathsAside, Vec<u32>, Vec<u16>) {
        let Deaths { base, low, high, aside, cross_thread } = &*self.0;
        let low = low.iter().take(rows).map(|low| low.load(Ordering::Acquire)).collect();
        let high = high.get().into_iter().flat_map(|high| high.iter().take(rows)).map(|high| high.load(Ordering::Relaxed));
        let aside = aside.read().unwrap_or_else(PoisonError::into_inner).clone();
        let bits = cross_thread.get().into_iter().flat_map(|bits| bits.iter().take(rows.div_ceil(64)));
        let cross_thread = bits.map(|bits| bits.load(Ordering::Relaxed)).collect();
        (DeathsAside { base: *base, aside, cross_thread }, low, high.collect())
    }

    /// The column with these [halves](Self::halves); it has no room for more rows.
    pub(super) fn of_halves(aside: &DeathsAside, low: Vec<u32>, high: Vec<u16>) -> Self {
        let DeathsAside { base, aside, cross_thread } = aside;
        let low = low.into_iter().map(AtomicU32::new).collect::<Vec<_>>().into_boxed_slice();
        let upper = OnceLock::new();
        if !high.is_empty() {
            upper.get_or_init(|| high.into_iter().map(AtomicU16::new).collect::<Vec<_>>().into_boxed_slice());
        }
        let bits = OnceLock::new();
        if !cross_thread.is_empty() {
            bits.get_or_init(|| cross_thread.iter().map(|&bits| AtomicU64::new(bits)).collect::<Vec<_>>().into_boxed_slice());
        }
        Self(Arc::new(Deaths { base: *base, low, high: upper, aside: RwLock::new(aside.clone()), cross_thread: bits }))
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let Deaths { low, high, aside, cross_thread, .. } = &*self.0;
        let aside = aside.read().unwrap_or_else(PoisonError::into_inner).len();
        let bits = cross_thread.get().map_or(0, |bits| bits.len() * 8);
        low.len() * 4 + high.get().map_or(0, |high| high.len() * 2) + aside * ASIDE_BYTES as usize + bits
    }

    /// Whether a death at `now` may be so far away that it needs an upper half, or is kept aside.
    pub(super) fn may_be_far(&self, now: Ticks) -> (bool, bool) {
        let offset = now.0.wrapping_sub(self.0.base.0) as u64;
        (offset >= STEP, offset >= STEP * u64::from(ASIDE))
    }
}

/// Lower half of a row that is alive, with its allocating thread.
#[inline(always)]
fn alive(thread: Tid) -> u32 {
    ALIVE | thread.0.min(NO_THREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_cross_thread_if_both_threads_are_known_and_differ() {
        let threads = [0, 1, 4_660, NO_THREAD - 1, NO_THREAD, NO_THREAD + 1, ALIVE, u32::MAX].map(Tid);
        let is_known = |thread: Tid| thread.0 < NO_THREAD;
        for death in [5, STEP as i64 - 1, STEP as i64, 1 << 60] {
            let (column, copy) = (DeathColumn::new(Ticks(0)), DeathColumn::new(Ticks(-3)));
            let pairs = threads.iter().flat_map(|&born| threads.iter().map(move |&by| (born, by)));
            let pairs: Vec<(Tid, Tid)> = pairs.collect();
            column.begin(0, pairs.iter().map(|(born, _)| *born));
            for (at, &(born, by)) in pairs.iter().enumerate() {
                assert_eq!(column.get(at), Ticks::NEVER);
                copy.take_over(at + 7, &column, at);
                column.end(at, Ticks(death), by);
                copy.end(at + 7, Ticks(death), by);
                copy.take_over(at + 1_000, &column, at);
                let expected = (Ticks(death), is_known(born) && is_known(by) && born != by);
                assert_eq!((column.get(at), column.is_cross_thread(at)), expected, "{born:?} {by:?}");
                assert_eq!((copy.get(at + 7), copy.is_cross_thread(at + 7)), expected);
                assert_eq!((copy.get(at + 1_000), copy.is_cross_thread(at + 1_000)), expected);
            }
        }
    }

    #[test]
    fn deaths_of_any_distance_come_back() {
        let step = STEP as i64;
        for base in [i64::MIN, -7, 0, 5, 1 << 40, i64::MAX - 9] {
            let column = DeathColumn::new(Ticks(base));
            let base = base.max(0);
            let near = [0, 1, step - 1].map(|offset| base.wrapping_add(offset));
            let far = [step, step + 1, 9 * step - 1, 65_534 * step + 3, 65_535 * step - 1, 65_535 * step, 1 << 60];
            let far = far.map(|offset| base.wrapping_add(offset));
            let odd = [i64::MIN, i64::MIN + 1, -1, base.wrapping_sub(1), i64::MAX - 1, i64::MAX - 2];
            let all: Vec<i64> = [&near[..], &far, &odd, &near].concat();
            for (at, &death) in all.iter().enumerate() {
                assert_eq!(column.get(at), Ticks::NEVER);
                column.set(at, Ticks(death));
                assert_eq!(column.get(at), Ticks(death), "{death} from {base}");
            }
            assert!(all.iter().enumerate().all(|(at, &death)| column.get(at) == Ticks(death)), "none changes another");
            for t in all.iter().copied().chain([i64::MIN, base, i64::MAX]).map(Ticks) {
                let mut from = Vec::new();
                column.each_from(1..all.len() + 300, t, |at| from.push(at));
                assert!(from.into_iter().eq((1..all.len() + 300).filter(|&at| column.get(at) >= t)), "{t:?} from {base}");
            }
            column.set(3, Ticks::NEVER);
            assert_eq!((column.get(3), column.get(all.len())), (Ticks::NEVER, Ticks::NEVER));
        }
    }

    #[test]
    fn a_chunk_of_short_lives_has_four_bytes_a_row() {
        let column = DeathColumn::new(Ticks(100));
        (0..CHUNK).for_each(|at| column.set(at, Ticks(100 + at as i64)));
        assert_eq!(column.heap_bytes(), CHUNK * 4);
        for (t, places, first) in [(0, 3..900, 3), (500, 3..900, 400), (500, 450..1_000, 450), (2_000, 3..900, 900)] {
            let mut from = Vec::new();
            column.each_from(places.clone(), Ticks(t), |at| from.push(at));
            assert!(from.into_iter().eq(first..places.end), "{t}");
        }
        assert_eq!(column.may_be_far(Ticks(100 + STEP as i64 - 1)), (false, false));
        column.set(9, Ticks(100 + STEP as i64));
        assert_eq!(column.heap_bytes(), CHUNK * 6);
        assert_eq!(column.may_be_far(Ticks(100 + STEP as i64)), (true, false));
    }
}
