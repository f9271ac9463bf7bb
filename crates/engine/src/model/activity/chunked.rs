//! A list that only grows, in chunks that publications share: a shared list that grows copies its last
//! chunk, and no other.

use std::ops::Range;
use std::sync::Arc;

use crate::stored::{Damaged, In, Out, Stored};

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// A list in chunks.
#[derive(Clone, Debug)]
pub struct Chunked<T> {
    /// All chunks but the last are full.
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunked<T> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One entry.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at >> CHUNK_BITS)?.get(at & (CHUNK - 1))
    }

    /// The last entry.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    /// All entries.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The entries in a range of places, as slices that are each in one piece.
    pub fn runs(&self, range: Range<usize>) -> impl Iterator<Item = &[T]> {
        let Range { start, end } = range;
        let (start, end) = (start.min(self.len), end.min(self.len));
        let chunks = if start < end { start >> CHUNK_BITS..((end - 1) >> CHUNK_BITS) + 1 } else { 0..0 };
        chunks.map(move |chunk| {
            let first = chunk << CHUNK_BITS;
            &self.chunks[chunk][start.saturating_sub(first)..(end - first).min(CHUNK)]
        })
    }

    /// The entries in a range of places.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &T> {
        self.runs(range).flatten()
    }

    /// Number of entries at the beginning for which `is_before` holds, if all of them stand before all
    /// others.
    pub fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&mut is_before));
        let inside = self.chunks.get(chunk).map_or(0, |entries| entries.partition_point(is_before));
        // The last chunk need not be full.
        ((chunk << CHUNK_BITS) + inside).min(self.len)
    }
}

impl<T: Clone> Chunked<T> {
    /// Appends an entry.
    pub(crate) fn push(&mut self, entry: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::default());
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(entry);
            self.len += 1;
        }
    }

    /// Takes the last entry away.
    pub(super) fn pop(&mut self) -> Option<T> {
        let entry = Arc::make_mut(self.chunks.last_mut()?).pop()?;
        self.len -= 1;
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.pop();
        }
        Some(entry)
    }

    /// Takes the last entry away, if there are more than `kept`.
    pub(super) fn pop_beyond(&mut self, kept: usize) -> Option<T> {
        if self.len > kept { self.pop() } else { None }
    }

    /// One entry to change; copies its chunk if that is shared.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(at >> CHUNK_BITS)?).get_mut(at & (CHUNK - 1))
    }

    /// All entries to change.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flat_map(|chunk| Arc::make_mut(chunk).iter_mut())
    }
}

impl<T: Stored + Clone> Stored for Chunked<T> {
    fn put(&self, out: &mut Out) {
        out.count(self.len);
        self.iter().for_each(|entry| entry.put(out));
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        let mut list = Self::default();
        for _ in 0..from.count()? {
            list.push(T::get(from)?);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_found_and_shared() {
        let mut list = Chunked::default();
        for n in 0..3 * CHUNK + 5 {
            list.push(n);
        }
        let published = list.clone();
        *list.get_mut(7).unwrap() = 70;
        assert_eq!(list.pop(), Some(3 * CHUNK + 4));
        list.push(1 << 40);
        list.push(1 << 41);
        assert_eq!((published.len(), published.get(7), published.last()), (3 * CHUNK + 5, Some(&7), Some(&(3 * CHUNK + 4))));
        assert!(Arc::ptr_eq(&published.chunks[1], &list.chunks[1]) && !Arc::ptr_eq(&published.chunks[0], &list.chunks[0]));
        assert_eq!((list.get(7), list.last(), list.len()), (Some(&70), Some(&(1 << 41)), 3 * CHUNK + 6));
        for (from, to) in
            [(0, 0), (5, 5), (0, CHUNK), (CHUNK - 1, CHUNK + 1), (3, 3 * CHUNK + 1), (CHUNK, 9 * CHUNK), (9 * CHUNK, 1)]
        {
            let all: Vec<usize> = published.range(from..to).copied().collect();
            assert_eq!(all, (0..published.len()).collect::<Vec<_>>().get(from..to.min(published.len())).unwrap_or_default());
        }
        for n in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 4, 9 * CHUNK] {
            assert_eq!(published.partition_point(|&entry| entry < n), n.min(published.len()));
        }
        let mut short = Chunked::default();
        (0..=CHUNK).for_each(|n| short.push(n));
        assert_eq!((short.pop(), short.pop(), short.len()), (Some(CHUNK), Some(CHUNK - 1), CHUNK - 1));
        short.push(9);
        assert_eq!((short.last(), short.len()), (Some(&9), CHUNK));
    }
}
