//! A set of rows, one bit each.

use rayon::prelude::*;

use crate::model::{CHUNK, Chunk, RowId, Rows};

/// A set of rows.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
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

    #[inline]
    pub(super) fn has(&self, row: RowId) -> bool {
        self.words.get(row.0 as usize / 64).is_some_and(|word| word >> (row.0 % 64) & 1 != 0)
    }
}
