//! Counts and sizes by lifetime class, and the numbers that follow from them.

use serde::Serialize;

use super::LifetimeClass;

/// Number of rows and their bytes. Sums saturate and stay saturated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Bucket {
    /// Rows.
    pub count: u64,
    /// Bytes.
    pub size: u64,
}

impl Bucket {
    /// Adds one row.
    #[inline]
    pub(crate) fn add_row(&mut self, size: u64) {
        self.add(Self { count: 1, size });
    }

    /// Subtracts a row that was added before.
    pub(super) fn take_row(&mut self, size: u64) {
        self.count -= 1;
        if self.size != u64::MAX {
            self.size -= size;
        }
    }

    /// Adds another bucket.
    #[inline]
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.size = self.size.saturating_add(other.size);
    }

    /// Returns the sum of both.
    #[inline]
    pub fn plus(mut self, other: Self) -> Self {
        self.add(other);
        self
    }
}

/// One bucket per lifetime class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ByClass([Bucket; 4]);

impl ByClass {
    /// Creates it from the buckets of all classes.
    pub(super) fn of(buckets: [Bucket; 4]) -> Self {
        Self(buckets)
    }

    /// Returns the bucket of a class.
    #[inline]
    pub fn get(&self, class: LifetimeClass) -> Bucket {
        self.0[class as usize]
    }

    /// Returns the bucket of a class, mutably.
    #[inline]
    pub fn get_mut(&mut self, class: LifetimeClass) -> &mut Bucket {
        &mut self.0[class as usize]
    }

    /// Adds all buckets of `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| a.add(*b));
    }

    /// Returns only the buckets whose bit is set in `classes` (see [`super::Mask`]).
    pub fn only(&self, classes: u8) -> Self {
        let mut kept = *self;
        for class in LifetimeClass::ALL {
            if classes >> class as u8 & 1 == 0 {
                *kept.get_mut(class) = Bucket::default();
            }
        }
        kept
    }

    /// Returns whether there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|bucket| bucket.count == 0)
    }

    /// Returns the numbers shown in the table.
    pub fn numbers(&self) -> Numbers {
        use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
        let get = |class| self.get(class);
        let (kept, given_back, stayed) = (get(Aifo).size, get(Aofi).size, get(Aofo).size);
        let all = get(Aifi).plus(get(Aifo)).plus(get(Aofi)).plus(get(Aofo));
        Numbers {
            count: all.count,
            size: all.size,
            impacting: change(given_back.saturating_add(stayed), kept.saturating_add(stayed)),
            outstanding_from: given_back.saturating_add(stayed),
            outstanding_to: kept.saturating_add(stayed),
            allocated: get(Aifi).plus(get(Aifo)),
        }
    }
}

/// An unknown change in bytes, because a sum saturated or the change does not fit.
pub const UNKNOWN_CHANGE: i64 = i64::MIN;

/// Returns `to` minus `from`; [`UNKNOWN_CHANGE`] if that is unknown.
pub(super) fn change(from: u64, to: u64) -> i64 {
    let is_sum = from != u64::MAX && to != u64::MAX;
    i64::try_from(i128::from(to) - i128::from(from)).ok().filter(|_| is_sum).unwrap_or(UNKNOWN_CHANGE)
}

/// Returns `to` minus `from` for two changes; [`UNKNOWN_CHANGE`] if that is unknown.
pub(super) fn change_of_changes(from: i64, to: i64) -> i64 {
    let is_known = from != UNKNOWN_CHANGE && to != UNKNOWN_CHANGE;
    to.checked_sub(from).filter(|_| is_known).unwrap_or(UNKNOWN_CHANGE)
}

/// Serializes a change; null if it is unknown.
pub(super) fn known_or_null<S: serde::Serializer>(change: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    Some(*change).filter(|change| *change != UNKNOWN_CHANGE).serialize(serializer)
}

/// The numbers of one line of the table for an interval, in rows and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Rows alive at any moment of the interval.
    pub count: u64,
    /// Bytes of those rows.
    pub size: u64,
    /// Change of outstanding bytes from edge to edge; may be [`UNKNOWN_CHANGE`].
    pub impacting: i64,
    /// Bytes alive at the left edge.
    pub outstanding_from: u64,
    /// Bytes alive at the right edge.
    pub outstanding_to: u64,
    /// Rows allocated in the interval.
    pub allocated: Bucket,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_difference_of_what_is_outstanding_or_unknown() {
        use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
        const HALF: u64 = 1 << 63;
        let sizes = [0, 1, 100, HALF - 1, HALF, u64::MAX - 1, u64::MAX];
        for (kept, given_back, stayed) in sizes.iter().flat_map(|&a| sizes.iter().flat_map(move |&b| sizes.map(|c| (a, b, c)))) {
            let mut sums = ByClass::default();
            for (class, size) in [(Aifo, kept), (Aofi, given_back), (Aofo, stayed), (Aifi, 7)] {
                sums.get_mut(class).add_row(size);
            }
            let numbers = sums.numbers();
            let exact = i128::from(kept) - i128::from(given_back);
            let fits = kept.checked_add(stayed).is_some_and(|to| to != u64::MAX)
                && given_back.checked_add(stayed).is_some_and(|from| from != u64::MAX)
                && i64::try_from(exact).is_ok_and(|change| change != UNKNOWN_CHANGE);
            match fits {
                true => assert_eq!(i128::from(numbers.impacting), exact),
                false => assert_eq!(numbers.impacting, UNKNOWN_CHANGE, "{kept} {given_back} {stayed}"),
            }
        }
    }

    #[test]
    fn what_saturated_stays_so() {
        let mut bucket = Bucket::default();
        [u64::MAX, 10, 20].into_iter().for_each(|size| bucket.add_row(size));
        bucket.take_row(10);
        assert_eq!(bucket, Bucket { count: 2, size: u64::MAX });
    }
}
