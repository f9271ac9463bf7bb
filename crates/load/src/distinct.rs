//! Estimates the number of distinct values from a sample.
//!
//! The estimator is Chao2 for sampling without replacement (A. Chao and C.-W. Lin, "Nonparametric lower bounds for
//! species richness and shared species richness under sampling without replacement", Biometrics 68, 2012): the number
//! of values seen in only one sample indicates how many were not seen at all. It is a lower bound that is close if most
//! values occur often, as stacks do.

use std::hash::Hash;

use crate::tables::KeyedMap;

/// Counts the samples in which each value occurs.
#[derive(Clone, Debug)]
pub(super) struct Distinct<T> {
    seen: KeyedMap<T, u32>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { seen: KeyedMap::default() }
    }
}

impl<T: Hash + Eq> Distinct<T> {
    /// Adds the values of one sample, each once.
    pub(super) fn add(&mut self, sample: impl IntoIterator<Item = T>) {
        sample.into_iter().for_each(|thing| *self.seen.entry(thing).or_default() += 1);
    }

    /// Estimates the number of distinct values if `samples` of `all` equal parts were read.
    pub(super) fn estimate(&self, samples: usize, all: usize) -> f64 {
        let seen = self.seen.len() as f64;
        if samples >= all || samples == 0 {
            return seen;
        }
        let often = |n: u32| self.seen.values().filter(|&&count| count == n).count() as f64;
        let (once, twice) = (often(1), often(2));
        let (samples, all) = (samples as f64, all as f64);
        let part = samples / all;
        let w = if samples > 1.0 { samples / (samples - 1.0) } else { 1.0 };
        // If no value was seen twice, calculates as if one had been.
        let unseen = once * once / (2.0 * w * twice.max(1.0) + part / (1.0 - part) * once);
        if once == 0.0 { seen } else { (seen + unseen).min(seen / part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn sampled(kinds: u64, each: usize, samples: usize, all: usize) -> f64 {
        let mut random = Random::new(5);
        let mut distinct = Distinct::default();
        for _ in 0..samples {
            let sample: std::collections::BTreeSet<u64> = (0..each).map(|_| random.below(kinds)).collect();
            distinct.add(sample);
        }
        distinct.estimate(samples, all)
    }

    #[test]
    fn what_is_not_seen_is_estimated() {
        for (kinds, each) in [(100, 50), (2_000, 100), (20_000, 100), (100_000, 200)] {
            let estimate = sampled(kinds, each, 64, 6_400);
            let ratio = estimate / kinds as f64;
            assert!((0.7..1.4).contains(&ratio), "{estimate} of {kinds}");
        }
    }

    #[test]
    fn what_was_looked_at_whole_is_counted() {
        let mut distinct = Distinct::default();
        distinct.add([1, 2, 3]);
        distinct.add([3, 4]);
        assert_eq!(distinct.estimate(2, 2), 4.0);
        assert!(distinct.estimate(2, 3) <= 6.0, "no more than in proportion");
        assert_eq!(Distinct::<u8>::default().estimate(0, 9), 0.0);
    }
}
