//! Sums at the nodes of a forest and below them. Sites are stored in the order of their nodes, so each sum is the
//! difference of two prefix sums over the sites; nothing is stored per node.
//!
//! Prefix sums that are subtracted must not overflow, so they are wider than their parts, and saturate when they are
//! converted.
//!
//! Cost: one parallel pass over the sites, 80 bytes each; then two lookups per node.

use std::ops::{AddAssign, Range, Sub};

use rayon::prelude::*;

use super::forest::Forest;
use crate::model::{SiteId, Trace};
use crate::query::{Bucket, ByClass, LifetimeClass, Mask, Numbers, Totals};
use crate::units::Layer;

/// An amount that can be added and subtracted again.
pub trait Amount: Copy + Default + Send + Sync + AddAssign + Sub<Output = Self> {}

impl<A: Copy + Default + Send + Sync + AddAssign + Sub<Output = Self>> Amount for A {}

/// Number of sites that one worker adds up at a time.
const GRAIN: usize = 1 << 13;

/// Prefix sums over a forest's sites, of one layer's sites that a mask includes.
#[derive(Clone, Debug)]
pub struct NodeSums<'a, A> {
    forest: &'a Forest,
    /// For each run of sites the sum before the run, and the sums inside the run before each site; and before the end.
    runs: Vec<(A, Vec<A>)>,
}

impl<'a, A: Amount> NodeSums<'a, A> {
    pub(super) fn new(
        forest: &'a Forest,
        trace: &Trace,
        totals: &Totals,
        mask: &Mask,
        layer: Layer,
        amount: impl Fn(&ByClass) -> A + Sync,
    ) -> Self {
        let is_in_layer: Vec<bool> = trace.heaps.iter().map(|heap| heap.layer == layer).collect();
        Self::by_place(forest, |place, site| {
            let classes = mask.classes(site);
            let counts = classes != 0 && is_in_layer[forest.heap_at(place).0 as usize];
            counts.then(|| amount(&totals.of(site).only(classes)))
        })
    }

    /// Adds up an amount for each site, given its index in the forest and its id.
    pub(in crate::query) fn by_place(forest: &'a Forest, amount: impl Fn(usize, SiteId) -> Option<A> + Sync) -> Self {
        let count = forest.sites().len();
        let run = |i: usize| {
            let mut now = A::default();
            let places = i * GRAIN..((i + 1) * GRAIN).min(count + 1);
            let before = places.map(|place| {
                let before = now;
                if let Some(amount) = forest.sites().get(place).and_then(|&site| amount(place, site)) {
                    now += amount;
                }
                before
            });
            let before: Vec<A> = before.collect();
            (now, before)
        };
        let mut runs: Vec<(A, Vec<A>)> = (0..count / GRAIN + 1).into_par_iter().map(run).collect();
        let mut all = A::default();
        for (base, _) in &mut runs {
            let run = std::mem::replace(base, all);
            all += run;
        }
        Self { forest, runs }
    }

    /// Returns the forest.
    pub fn forest(&self) -> &'a Forest {
        self.forest
    }

    /// Returns the amount at a node and below it.
    pub fn amount(&self, node: u32) -> A {
        self.within(self.forest.places_under(node))
    }

    /// Returns the amount at a node itself.
    pub fn own(&self, node: u32) -> A {
        self.within(self.forest.places(node))
    }

    fn within(&self, places: Range<usize>) -> A {
        self.before(places.end) - self.before(places.start)
    }

    fn before(&self, place: usize) -> A {
        let (base, run) = &self.runs[place / GRAIN];
        let mut sum = *base;
        sum += run[place % GRAIN];
        sum
    }
}

/// Prefix sums of counts and sizes by lifetime class. Rows have 32-bit numbers, so 32-bit counts suffice.
#[derive(Clone, Copy, Default, Debug)]
struct Wide {
    sizes: [u128; 4],
    counts: [u32; 4],
}

impl AddAssign for Wide {
    fn add_assign(&mut self, other: Self) {
        for class in 0..4 {
            self.sizes[class] += other.sizes[class];
            self.counts[class] = self.counts[class].wrapping_add(other.counts[class]);
        }
    }
}

impl Sub for Wide {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        for class in 0..4 {
            self.sizes[class] -= other.sizes[class];
            self.counts[class] = self.counts[class].wrapping_sub(other.counts[class]);
        }
        self
    }
}

impl Wide {
    fn of(buckets: &ByClass) -> Self {
        let bucket = |class: usize| buckets.get(LifetimeClass::ALL[class]);
        Self {
            sizes: std::array::from_fn(|class| bucket(class).size.into()),
            counts: std::array::from_fn(|class| bucket(class).count as u32),
        }
    }

    /// Converts to 64-bit sums, saturating.
    fn told(self) -> ByClass {
        let mut told = ByClass::default();
        for (i, class) in LifetimeClass::ALL.into_iter().enumerate() {
            let size = u64::try_from(self.sizes[i]).unwrap_or(u64::MAX);
            *told.get_mut(class) = Bucket { count: self.counts[i].into(), size };
        }
        told
    }
}

impl Forest {
    /// Returns sums at each node and below it, from sums by site.
    pub fn sums_of(&self, by_site: &[ByClass]) -> ForestSums<'_> {
        ForestSums::of_sites(self, by_site)
    }

    /// Returns sums at each node and below it, of the sites of `layer` that `mask` includes.
    pub fn sums(&self, trace: &Trace, totals: &Totals, mask: &Mask, layer: Layer) -> ForestSums<'_> {
        ForestSums::new(self, trace, totals, mask, layer)
    }

    /// Returns sums like [`Forest::sums`], of the amounts that `amount` computes for each site.
    pub fn amounts<A: Amount>(
        &self,
        trace: &Trace,
        totals: &Totals,
        mask: &Mask,
        layer: Layer,
        amount: impl Fn(&ByClass) -> A + Sync,
    ) -> NodeSums<'_, A> {
        NodeSums::new(self, trace, totals, mask, layer, amount)
    }
}

/// Sums at each node and below it, by lifetime class.
#[derive(Clone, Debug)]
pub struct ForestSums<'a> {
    sums: NodeSums<'a, Wide>,
    /// Whether each node is hidden.
    hidden: Option<Vec<bool>>,
}

impl<'a> ForestSums<'a> {
    pub(super) fn new(forest: &'a Forest, trace: &Trace, totals: &Totals, mask: &Mask, layer: Layer) -> Self {
        Self { sums: NodeSums::new(forest, trace, totals, mask, layer, Wide::of), hidden: None }
    }

    /// Adds up sums by site.
    pub(super) fn of_sites(forest: &'a Forest, by_site: &[ByClass]) -> Self {
        Self { sums: NodeSums::by_place(forest, |_, site| by_site.get(site.0 as usize).map(Wide::of)), hidden: None }
    }

    /// Returns the forest.
    pub fn forest(&self) -> &'a Forest {
        self.sums.forest
    }

    /// Returns the sums of a node; zero if it is hidden.
    pub fn of(&self, node: u32) -> ByClass {
        if self.is_hidden(node) { ByClass::default() } else { self.sums.amount(node).told() }
    }

    /// Returns the numbers of a node.
    pub fn numbers(&self, node: u32) -> Numbers {
        self.of(node).numbers()
    }

    /// Returns whether a node has no rows, or is hidden.
    pub fn is_empty(&self, node: u32) -> bool {
        self.is_hidden(node) || self.sums.amount(node).counts == [0; 4]
    }

    /// Hides nodes; the flags are by node. The sums of their ancestors do not change.
    pub fn hide(&mut self, hidden: Vec<bool>) {
        self.hidden = Some(hidden);
    }

    fn is_hidden(&self, node: u32) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden[node as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_are_too_large_saturate_and_their_parts_stay_exact() {
        let of = |size| {
            let mut buckets = ByClass::default();
            buckets.get_mut(LifetimeClass::Aofi).add_row(size);
            Wide::of(&buckets)
        };
        let mut upto = vec![Wide::default()];
        for size in [7, u64::MAX, u64::MAX, 5] {
            let mut next = upto[upto.len() - 1];
            next += of(size);
            upto.push(next);
        }
        let between = |from: usize, to: usize| (upto[to] - upto[from]).told().get(LifetimeClass::Aofi);
        assert_eq!(between(0, 4), Bucket { count: 4, size: u64::MAX });
        assert_eq!(between(1, 2), Bucket { count: 1, size: u64::MAX });
        assert_eq!(between(3, 4), Bucket { count: 1, size: 5 });
        assert_eq!(between(2, 2), Bucket::default());
    }
}
