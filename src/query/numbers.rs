//! Counts and sizes by lifetime class, and the numbers that follow from them.

use serde::Serialize;

use super::LifetimeClass;

/// Number of rows and their bytes; sums saturate.
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
        self.size -= size;
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
        let all = get(Aifi).plus(get(Aifo)).plus(get(Aofi)).plus(get(Aofo));
        Numbers {
            count: all.count,
            size: all.size,
            impacting: difference(get(Aifo).size, get(Aofi).size),
            outstanding_from: get(Aofi).size.saturating_add(get(Aofo).size),
            outstanding_to: get(Aifo).size.saturating_add(get(Aofo).size),
            allocated: get(Aifi).plus(get(Aifo)),
        }
    }
}

/// `a − b`, clamped to what a signed number holds.
fn difference(a: u64, b: u64) -> i64 {
    (i128::from(a) - i128::from(b)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What one line of the table says of an interval, in rows and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Rows alive at some moment of the interval.
    pub count: u64,
    /// Their bytes.
    pub size: u64,
    /// Change of what is outstanding, from edge to edge.
    pub impacting: i64,
    /// Bytes alive at the left edge.
    pub outstanding_from: u64,
    /// Bytes alive at the right edge.
    pub outstanding_to: u64,
    /// What began in the interval.
    pub allocated: Bucket,
}
