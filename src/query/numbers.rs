//! Counts and sizes by lifetime class, and the numbers that follow from them.

use serde::Serialize;

use super::LifetimeClass;

/// Number of rows and their bytes; sums saturate, and stay so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Bucket {
    /// Rows.
    pub count: u64,
    /// Bytes.
    pub size: u64,
}

impl Bucket {
    /// Adds one row.
    pub fn add_row(&mut self, size: u64) {
        self.add(Self { count: 1, size });
    }

    /// Takes one row away that was added.
    pub(super) fn take_row(&mut self, size: u64) {
        self.count -= 1;
        if self.size != u64::MAX {
            self.size -= size;
        }
    }

    /// Adds another bucket.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.size = self.size.saturating_add(other.size);
    }

    /// Both together.
    pub fn plus(mut self, other: Self) -> Self {
        self.add(other);
        self
    }
}

/// One bucket for each lifetime class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ByClass([Bucket; 4]);

impl ByClass {
    /// Of the buckets of all classes.
    pub(super) fn of(buckets: [Bucket; 4]) -> Self {
        Self(buckets)
    }

    /// The bucket of a class.
    pub fn get(&self, class: LifetimeClass) -> Bucket {
        self.0[class as usize]
    }

    /// The bucket of a class, to change.
    pub fn get_mut(&mut self, class: LifetimeClass) -> &mut Bucket {
        &mut self.0[class as usize]
    }

    /// Adds all buckets of `other`.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| a.add(*b));
    }

    /// Only the buckets whose bit is set in `classes` (see [`super::Mask`]).
    pub fn only(&self, classes: u8) -> Self {
        let mut kept = *self;
        for class in LifetimeClass::ALL {
            if classes >> class as u8 & 1 == 0 {
                *kept.get_mut(class) = Bucket::default();
            }
        }
        kept
    }

    /// Whether no row takes part.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|bucket| bucket.count == 0)
    }

    /// The numbers of the table.
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

/// A change in bytes that is not known, because a sum saturated or it does not fit.
pub const UNKNOWN_CHANGE: i64 = i64::MIN;

/// How much more one number is than another; [`UNKNOWN_CHANGE`] where that is not known.
pub(super) fn change(from: u64, to: u64) -> i64 {
    let is_sum = from != u64::MAX && to != u64::MAX;
    i64::try_from(i128::from(to) - i128::from(from)).ok().filter(|_| is_sum).unwrap_or(UNKNOWN_CHANGE)
}

/// The same of changes.
pub(super) fn change_of_changes(from: i64, to: i64) -> i64 {
    let is_known = from != UNKNOWN_CHANGE && to != UNKNOWN_CHANGE;
    to.checked_sub(from).filter(|_| is_known).unwrap_or(UNKNOWN_CHANGE)
}

/// Writes a change; null where it is not known.
pub(super) fn known_or_null<S: serde::Serializer>(change: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    Some(*change).filter(|change| *change != UNKNOWN_CHANGE).serialize(serializer)
}

/// What one line of the table says of an interval, in rows and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Rows alive at some moment of the interval.
    pub count: u64,
    /// Their bytes.
    pub size: u64,
    /// Change of what is outstanding, from edge to edge; may be [`UNKNOWN_CHANGE`].
    pub impacting: i64,
    /// Bytes alive at the left edge.
    pub outstanding_from: u64,
    /// Bytes alive at the right edge.
    pub outstanding_to: u64,
    /// What began in the interval.
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
