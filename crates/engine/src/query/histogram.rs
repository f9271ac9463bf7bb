//! Distributions of row sizes and lifetimes in one layer; layers nest, so there is no distribution over several.
//!
//! Cost: one parallel scan of the rows born before the end of the interval.

use super::buckets::Decades;
use super::{ByClass, Cancel, Cancelled, Index, LifetimeBucket, Mask, SizeBucket};
use crate::model::SiteId;
use crate::units::{Interval, Layer};

/// Distributions by size and by lifetime: counts and bytes by lifetime class.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    /// By [`SizeBucket::index`].
    pub by_size: Vec<ByClass>,
    /// By [`LifetimeBucket::index`].
    pub by_lifetime: Vec<ByClass>,
}

impl Histogram {
    fn new() -> Self {
        let none = |count| vec![ByClass::default(); count];
        Self { by_size: none(SizeBucket::COUNT), by_lifetime: none(LifetimeBucket::COUNT) }
    }

    fn add(&mut self, other: &Self) {
        let add = |ours: &mut [ByClass], theirs: &[ByClass]| ours.iter_mut().zip(theirs).for_each(|(a, b)| a.add(b));
        add(&mut self.by_size, &other.by_size);
        add(&mut self.by_lifetime, &other.by_lifetime);
    }
}

/// Computes the distributions over the rows of a layer that overlap an interval, among those that the index and the
/// mask select.
pub fn histogram(index: &Index, interval: Interval, mask: &Mask, layer: Layer, cancel: &Cancel) -> Result<Histogram, Cancelled> {
    let trace = index.trace();
    let decades = Decades::new(&trace.clock);
    let is_in_layer: Vec<bool> = trace.heaps.iter().map(|heap| heap.layer == layer).collect();
    let classes = |(site, of): (SiteId, &crate::model::Site)| match is_in_layer[of.heap.0 as usize] {
        true => mask.classes(site),
        false => 0,
    };
    let wanted: Vec<u8> = (0..).map(SiteId).zip(&trace.sites).map(classes).collect();
    let visit = index.visit();
    let parts = visit.fold_evenly(&visit.born_before(interval.to), cancel, Histogram::new, |histogram, visited| {
        let (chunk, sites) = (visited.chunk, visited.chunk.sites());
        visited.each_in(interval, |at, class| {
            if wanted[sites[at].0 as usize] >> class as u8 & 1 == 0 {
                return;
            }
            let size = chunk.size(at);
            let lifetime = decades.of(chunk.birth(at), chunk.death(at));
            histogram.by_size[SizeBucket::of(size).index()].get_mut(class).add_row(size);
            histogram.by_lifetime[lifetime.index()].get_mut(class).add_row(size);
        });
    })?;
    let mut sum = Histogram::new();
    parts.iter().for_each(|part| sum.add(part));
    Ok(sum)
}
