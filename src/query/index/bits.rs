//! A set of rows, one bit each.

use rayon::prelude::*;

use crate::model::{CHUNK, Chunk, RowId, Rows};

/// A set of rows; a set that was never filled has no rows and no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// These rows of `len`.
    pub(super) fn of(len: usize, rows: &[RowId]) -> Self {
        if rows.is_empty() {
            return Self::default();
        }
        let mut words = vec![0; len.div_ceil(64)];
        rows.iter().for_each(|id| words[id.0 as usize / 64] |= 1 << (id.0 % 64));
        Self { words }
    }

    /// The rows that `wants` by chunk and place. Parallel.
    pub(super) fn filled(rows: &Rows, wants: impl Fn(&Chunk<'_>, usize) -> bool + Sync) -> Self {
        let mut words = vec![0u64; rows.len().div_ceil(64)];
        words.par_chunks_mut(CHUNK / 64).enumerate().for_each(|(i, words)| {
            let chunk = rows.chunk(i);
            for (k, word) in words.iter_mut().enumerate() {
                let places = k * 64..chunk.len().min(k * 64 + 64);
                *word = places.rev().fold(0, |bits, at| bits << 1 | u64::from(wants(&chunk, at)));
            }
        });
        Self { words }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    #[inline]
    pub(super) fn has(&self, row: RowId) -> bool {
        self.words.get(row.0 as usize / 64).is_some_and(|word| word >> (row.0 % 64) & 1 != 0)
    }

    /// The last row in `[from, to)` that is not in the set.
    pub(super) fn last_missing(&self, from: u32, to: u32) -> Option<u32> {
        let mut end = to;
        while end > from {
            let last = end - 1;
            let word = self.words.get(last as usize / 64).copied().unwrap_or(0);
            // Shifted so that the row `last` is the highest bit.
            let missing = !word << (63 - last % 64);
            if missing != 0 {
                return last.checked_sub(missing.leading_zeros()).filter(|&row| row >= from);
            }
            end = last - last % 64;
        }
        None
    }

    /// How many rows before `to` are in the set.
    pub(super) fn count_before(&self, to: u32) -> u64 {
        let whole = to as usize / 64;
        let all: u64 = self.words.iter().take(whole).map(|word| u64::from(word.count_ones())).sum();
        let rest = self.words.get(whole).map_or(0, |word| (word & ((1 << (to % 64)) - 1)).count_ones());
        all + u64::from(rest)
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.words.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_outside_is_found_across_words() {
        let ids: Vec<RowId> = (10..200).map(RowId).collect();
        let bits = Bits::of(300, &ids);
        assert_eq!(bits.last_missing(0, 200), Some(9));
        assert_eq!(bits.last_missing(10, 200), None);
        assert_eq!(bits.last_missing(0, 201), Some(200));
        assert_eq!(bits.last_missing(0, 10), Some(9));
        assert_eq!(bits.last_missing(5, 5), None);
        assert_eq!(Bits::default().last_missing(3, 8), Some(7));
        assert_eq!((bits.count_before(10), bits.count_before(70), bits.count_before(300)), (0, 60, 190));
        assert!(bits.has(RowId(10)) && !bits.has(RowId(200)) && !bits.has(RowId(9)));
    }
}
