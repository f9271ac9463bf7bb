//! A count and a size in few bytes: 4 where a site's rows are few and small, as they
//! mostly are (up to 255 rows and 16 MiB), 8 up to 16 M rows and 1 TiB, else 16.

use crate::query::Bucket;

/// A count and a size in one word. Sums are right in the end whatever they are on the
/// way there: words count modulo their size, and a site's word is chosen by the sum of
/// all its rows.
pub(super) trait Word: Copy + Default + Send + Sync {
    fn row(size: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn bucket(self) -> Bucket;
}

const NARROW: u32 = 24;
const WIDE: u32 = 40;

impl Word for u32 {
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn row(size: u64) -> Self {
        1 << NARROW | size as u32
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn bucket(self) -> Bucket {
        Bucket { count: (self >> NARROW).into(), size: (self & ((1 << NARROW) - 1)).into() }
    }
}

impl Word for u64 {
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn row(size: u64) -> Self {
        1 << WIDE | size
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn bucket(self) -> Bucket {
        Bucket { count: self >> WIDE, size: self & ((1 << WIDE) - 1) }
    }
}

impl Word for [u64; 2] {
    fn minus(self, other: Self) -> Self {
        [self[0].wrapping_sub(other[0]), self[1].wrapping_sub(other[1])]
    }
    fn row(size: u64) -> Self {
        [1, size]
    }
    fn plus(self, other: Self) -> Self {
        [self[0].wrapping_add(other[0]), self[1].wrapping_add(other[1])]
    }
    fn bucket(self) -> Bucket {
        Bucket { count: self[0], size: self[1] }
    }
}

/// Where the sums of a site are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// The site has no rows.
    None,
    Narrow(u32),
    Wide(u32),
    Full(u32),
}

impl Slot {
    /// The smallest word that holds the sum of all rows of the site.
    pub(super) fn for_sum(sum: Bucket, counts: &mut [usize; 3]) -> Self {
        let fits = |bits: u32, all: u32| sum.count < 1 << (all - bits) && sum.size < 1 << bits;
        let (tier, slot): (usize, fn(u32) -> Self) = match sum.count {
            0 => return Self::None,
            _ if fits(NARROW, 32) => (0, Self::Narrow),
            _ if fits(WIDE, 64) => (1, Self::Wide),
            _ => (2, Self::Full),
        };
        counts[tier] += 1;
        slot((counts[tier] - 1) as u32)
    }
}
