//! Memory of sums that are no longer used, for the next ones: to get megabytes from the system takes as long as to fill them.

use std::sync::Mutex;

use rayon::prelude::*;

use super::lock::lock;
use crate::query::ByClass;

/// Sums of all sites whose values nobody needs any more.
#[derive(Default, Debug)]
pub(in crate::query) struct SpareSums(Mutex<Vec<ByClass>>);

impl SpareSums {
    /// Keeps sums for the next [`SpareSums::take`].
    pub(in crate::query) fn give(&self, sums: Vec<ByClass>) {
        *lock(&self.0) = sums;
    }

    /// Returns sums of so many sites, with any values.
    pub(super) fn take(&self, sites: usize) -> Vec<ByClass> {
        let sums = std::mem::take(&mut *lock(&self.0));
        if sums.len() == sites { sums } else { rayon::iter::repeat_n(ByClass::default(), sites).collect() }
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        lock(&self.0).capacity() * size_of::<ByClass>()
    }
}
