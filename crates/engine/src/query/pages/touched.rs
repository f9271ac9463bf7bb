//! Pages in which live blocks begin or end, with their live bytes, and ranges of pages that blocks cover whole.

use rayon::prelude::*;
use serde::Serialize;

use super::PAGE;
use crate::tables::KeyedMap;

/// Pages with fewer live bytes are sparse: a tenth of a page, rounded up.
const SPARSE: u32 = 410;

/// Group of a page with blocks of several groups.
const SEVERAL: u32 = u32::MAX;

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct Block {
    /// Number of its heap.
    pub(super) heap: u32,
    /// First byte.
    pub(super) first: u64,
    /// Last byte, or the first if it has none. Addresses end at 2^64, and so does a block that would run beyond.
    last: u64,
    is_empty: bool,
}

impl Block {
    pub(in crate::query) fn new(heap: u32, address: u64, size: u64) -> Self {
        let last = address.saturating_add(size.saturating_sub(1));
        Self { heap, first: address, last, is_empty: size == 0 }
    }

    /// Number of its bytes.
    pub(in crate::query) fn bytes(&self) -> u64 {
        if self.is_empty { 0 } else { (self.last - self.first).saturating_add(1) }
    }
}

/// Live bytes of a page and the group of its blocks.
#[derive(Clone, Copy, Debug)]
struct PageSum {
    /// Saturating: only whether it is below [`SPARSE`] matters beyond a page.
    bytes: u32,
    group: u32,
}

impl PageSum {
    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        if self.group != other.group {
            self.group = SEVERAL;
        }
    }
}

/// Numbers of pages of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::query) struct PageCounts {
    pub(in crate::query) touched: u64,
    pub(in crate::query) sparse: u64,
    /// Live bytes on sparse pages.
    pub(in crate::query) sparse_bytes: u64,
}

/// Sparse pages whose live blocks are all of one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct PinnedPages {
    pub pages: u64,
    pub live_bytes: u64,
}

/// The touched pages of all heaps, by number of the heap.
#[derive(Default, Debug)]
pub(in crate::query) struct TouchedPages {
    /// Pages in which a block begins or ends.
    edges: KeyedMap<(u32, u64), PageSum>,
    /// Pages that a block covers whole: heap, first page, and the page behind the last.
    inner: Vec<(u32, u64, u64)>,
}

impl TouchedPages {
    #[inline]
    pub(in crate::query) fn add(&mut self, block: &Block, group: u32) {
        let (from, to) = (block.first / PAGE, block.last / PAGE);
        // At most a page, since both ends are in it.
        let bytes = |first: u64, last: u64| if block.is_empty { 0 } else { (last - first) as u32 + 1 };
        if from == to {
            return self.add_edge((block.heap, from), PageSum { bytes: bytes(block.first, block.last), group });
        }
        self.add_edge((block.heap, from), PageSum { bytes: bytes(block.first, from * PAGE + (PAGE - 1)), group });
        self.add_edge((block.heap, to), PageSum { bytes: bytes(to * PAGE, block.last), group });
        if from + 1 < to {
            self.inner.push((block.heap, from + 1, to));
        }
    }

    #[inline]
    fn add_edge(&mut self, place: (u32, u64), sum: PageSum) {
        self.edges.entry(place).and_modify(|page| page.add(sum)).or_insert(sum);
    }

    /// Adds what another worker found, whose groups have other numbers.
    pub(super) fn join(&mut self, other: Self, number: impl Fn(u32) -> u32) {
        let numbered = |group| if group == SEVERAL { SEVERAL } else { number(group) };
        let edges = other.edges.into_iter();
        edges.for_each(|(place, sum)| self.add_edge(place, PageSum { group: numbered(sum.group), ..sum }));
        self.inner.extend(other.inner);
    }

    /// Numbers of pages of each heap, and the sparse pages that each group pins.
    pub(in crate::query) fn counts(self, heaps: usize, groups: usize) -> (Vec<PageCounts>, Vec<PinnedPages>) {
        let mut edges: Vec<((u32, u64), PageSum)> = self.edges.into_iter().collect();
        edges.par_sort_unstable_by_key(|(place, _)| *place);
        let inner = joined(self.inner);
        let (mut counts, mut pinned) = (vec![PageCounts::default(); heaps], vec![PinnedPages::default(); groups]);
        inner.iter().for_each(|(heap, from, to)| counts[*heap as usize].touched += to - from);
        let mut ranges = inner.iter().peekable();
        for ((heap, page), sum) in edges {
            while ranges.next_if(|(of, _, to)| (*of, *to) <= (heap, page)).is_some() {}
            if ranges.peek().is_some_and(|(of, from, _)| (*of, *from) <= (heap, page)) {
                continue; // covered whole by another block
            }
            let counts = &mut counts[heap as usize];
            counts.touched += 1;
            if sum.bytes >= SPARSE {
                continue;
            }
            counts.sparse += 1;
            counts.sparse_bytes += u64::from(sum.bytes);
            if let Some(pinned) = pinned.get_mut(sum.group as usize) {
                pinned.pages += 1;
                pinned.live_bytes += u64::from(sum.bytes);
            }
        }
        (counts, pinned)
    }
}

/// The ranges in order, those of a heap that overlap or touch as one.
fn joined(mut ranges: Vec<(u32, u64, u64)>) -> Vec<(u32, u64, u64)> {
    ranges.par_sort_unstable();
    ranges.dedup_by(|(heap, from, to), (before, _, end)| {
        let is_one = heap == before && *from <= *end;
        if is_one {
            *end = (*end).max(*to);
        }
        is_one
    });
    ranges
}
