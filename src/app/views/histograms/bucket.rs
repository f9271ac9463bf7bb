//! Buckets of both kinds: their names, the chips that filter to them, and the bucket of a chip.

use crate::app::state::filters::Predicate;
use crate::format;
use crate::model::Clock;
use crate::query::{Bounds, LifetimeBounds, LifetimeBucket, RowCondition, SizeBucket};

/// The histogram that a bucket belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BucketKind {
    Size,
    Lifetime,
}

/// A bucket of either histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyBucket {
    Size(SizeBucket),
    Lifetime(LifetimeBucket),
}

impl AnyBucket {
    pub fn kind(self) -> BucketKind {
        match self {
            Self::Size(_) => BucketKind::Size,
            Self::Lifetime(_) => BucketKind::Lifetime,
        }
    }

    /// All buckets of a kind, smallest first.
    pub fn all(kind: BucketKind) -> Vec<Self> {
        match kind {
            BucketKind::Size => SizeBucket::all().map(Self::Size).collect(),
            BucketKind::Lifetime => LifetimeBucket::all().map(Self::Lifetime).collect(),
        }
    }

    /// The exact condition that the bucket's rows meet.
    fn condition(self, clock: &Clock) -> RowCondition {
        match self {
            Self::Size(bucket) => bucket.condition(),
            Self::Lifetime(bucket) => bucket.condition(clock),
        }
    }

    /// The predicate that filters to the bucket.
    pub fn predicate(self, clock: &Clock) -> Predicate {
        Predicate::Row(self.condition(clock), self.words().into())
    }

    /// Whether its bar stands apart from the axis: the bucket of lifetimes without an end.
    pub fn is_apart(self) -> bool {
        self == Self::Lifetime(LifetimeBucket::ENDLESS)
    }

    /// The range of the bucket in words.
    pub fn words(self) -> String {
        match self {
            Self::Size(bucket) => match bucket.bounds() {
                [0, _] => "size 0 B".to_owned(),
                [from, u64::MAX] => format!("size {} and more", format::rough_bytes(from)),
                [from, to] => format!("size {} to {}", format::rough_bytes(from), format::rough_bytes(to)),
            },
            Self::Lifetime(bucket) => match bucket.bounds() {
                LifetimeBounds(_, None) => "lifetime without an end".to_owned(),
                LifetimeBounds(0.0, Some(to)) => format!("lifetime below {}", format::rough_duration(to)),
                LifetimeBounds(from, Some(to)) => {
                    format!("lifetime {} to {}", format::rough_duration(from), format::rough_duration(to))
                }
            },
        }
    }

    /// The label of its left edge on the axis.
    pub fn edge(self) -> String {
        match self {
            Self::Size(bucket) => format::rough_bytes(bucket.bounds()[0]),
            Self::Lifetime(bucket) if self.is_apart() || bucket.index() == 0 => String::new(),
            Self::Lifetime(bucket) => format::rough_duration(bucket.bounds().0),
        }
    }
}

/// The bucket to which a predicate filters, if it is that of a bucket.
pub fn bucket_of(what: &Predicate, clock: &Clock) -> Option<AnyBucket> {
    let Predicate::Row(condition, _) = what else { return None };
    let bucket = match condition {
        RowCondition::Size(Bounds { from: Some(from), .. }) => AnyBucket::Size(SizeBucket::of(*from)),
        RowCondition::Lifetime(_) => {
            let mut all = LifetimeBucket::all();
            AnyBucket::Lifetime(all.find(|bucket| bucket.condition(clock) == *condition)?)
        }
        _ => return None,
    };
    (bucket.condition(clock) == *condition).then_some(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_of_buckets_are_known_again() {
        for frequency in [1, 3, 10_000_000, u64::MAX] {
            let clock = Clock { frequency, start_time: 0 };
            // Decades shorter than a tick, or longer than all time, have no lifetimes.
            let is_real = |bucket: &AnyBucket| match bucket.condition(&clock) {
                RowCondition::Lifetime(Bounds { from: Some(from), to: Some(to) }) => from < to,
                _ => true,
            };
            for kind in [BucketKind::Size, BucketKind::Lifetime] {
                for bucket in AnyBucket::all(kind).into_iter().filter(is_real) {
                    assert_eq!(bucket_of(&bucket.predicate(&clock), &clock), Some(bucket), "{frequency}");
                }
            }
        }
    }

    #[test]
    fn buckets_read_as_sizes_and_times() {
        let size = |of| AnyBucket::Size(SizeBucket::of(of)).words();
        assert_eq!([size(0), size(20), size(1 << 19)], ["size 0 B", "size 16 B to 32 B", "size 512 KB to 1 MB"]);
        assert_eq!(size(u64::MAX), "size 8 EB and more");
        let words: Vec<String> = LifetimeBucket::all().map(|bucket| AnyBucket::Lifetime(bucket).words()).collect();
        assert_eq!(words[0], "lifetime below 1 \u{b5}s");
        assert_eq!(words[3], "lifetime 100 \u{b5}s to 1 ms");
        assert_eq!(words[7], "lifetime 1 s to 10 s");
        assert_eq!(words.last().map(String::as_str), Some("lifetime without an end"));
    }
}
