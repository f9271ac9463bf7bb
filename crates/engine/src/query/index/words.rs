//! Words for a count and a size in few bytes: 4 if a site's rows are few and small, which is common (up to 255 rows and
//! 16 MiB), 8 up to 16 M rows and 1 TiB, else 16.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::query::Bucket;

/// A count and a size in one word. Intermediate sums may overflow without harm: words wrap, and the kind of a site's
/// word is large enough for the sum of all its rows.
pub(super) trait Word: Copy + Default + Send + Sync {
    /// The atomic form, shared by several threads.
    type Shared: Default + Send + Sync;

    fn of(bucket: Bucket) -> Self;
    fn row(size: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn bucket(self) -> Bucket;
    fn add_to(self, shared: &Self::Shared);
    fn unshared(shared: Self::Shared) -> Self;
}

const NARROW: u32 = 24;
const WIDE: u32 = 40;

impl Word for u32 {
    type Shared = AtomicU32;

    fn of(bucket: Bucket) -> Self {
        (bucket.count as u32) << NARROW | bucket.size as u32
    }
    fn row(size: u64) -> Self {
        1 << NARROW | size as u32
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn bucket(self) -> Bucket {
        Bucket { count: (self >> NARROW).into(), size: (self & ((1 << NARROW) - 1)).into() }
    }
    fn add_to(self, shared: &AtomicU32) {
        shared.fetch_add(self, Ordering::Relaxed);
    }
    fn unshared(shared: AtomicU32) -> Self {
        shared.into_inner()
    }
}

impl Word for u64 {
    type Shared = AtomicU64;

    fn of(bucket: Bucket) -> Self {
        bucket.count << WIDE | bucket.size
    }
    fn row(size: u64) -> Self {
        1 << WIDE | size
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn bucket(self) -> Bucket {
        Bucket { count: self >> WIDE, size: self & ((1 << WIDE) - 1) }
    }
    fn add_to(self, shared: &AtomicU64) {
        shared.fetch_add(self, Ordering::Relaxed);
    }
    fn unshared(shared: AtomicU64) -> Self {
        shared.into_inner()
    }
}

/// Count and size as separate numbers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Full(u64, u64);

impl Word for Full {
    type Shared = (AtomicU64, AtomicU64);

    fn of(bucket: Bucket) -> Self {
        Self(bucket.count, bucket.size)
    }
    fn row(size: u64) -> Self {
        Self(1, size)
    }
    fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0), self.1.wrapping_add(other.1))
    }
    fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0), self.1.wrapping_sub(other.1))
    }
    fn bucket(self) -> Bucket {
        Bucket { count: self.0, size: self.1 }
    }
    fn add_to(self, shared: &Self::Shared) {
        shared.0.fetch_add(self.0, Ordering::Relaxed);
        shared.1.fetch_add(self.1, Ordering::Relaxed);
    }
    fn unshared((count, size): Self::Shared) -> Self {
        Self(count.into_inner(), size.into_inner())
    }
}

/// Sums of all sites of one kind, one layer after another.
#[derive(Debug)]
pub(super) struct SumLayers<W> {
    pub(super) sites: usize,
    pub(super) born: Vec<W>,
    pub(super) lasting: Vec<W>,
}

/// The smallest kind of word that can hold the sum of all rows of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WordKind {
    Narrow,
    Wide,
    Full,
    /// The site has no rows.
    None,
}

impl WordKind {
    /// Returns the kind for the sum of all rows of a site.
    pub(super) fn of(sum: Bucket) -> Self {
        match sum {
            Bucket { count: 0, .. } => Self::None,
            _ if u32::of(sum).bucket() == sum => Self::Narrow,
            _ if u64::of(sum).bucket() == sum => Self::Wide,
            _ => Self::Full,
        }
    }
}
