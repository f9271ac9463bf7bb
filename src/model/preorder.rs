//! Any tree whose parents come before their children, in preorder: all that is under a
//! node stands in one range. Cost: some passes, no comparisons, no recursion.

use std::ops::Range;

/// Nodes under each other, by their number in preorder, their *place*.
#[derive(Clone, Debug)]
pub(crate) struct Preorder {
    /// By node.
    pub(crate) place: Vec<u32>,
    /// By place: behind the last place under it.
    pub(crate) end: Vec<u32>,
    /// By place.
    pub(crate) node: Vec<u32>,
}

impl Preorder {
    /// Of nodes under node 0, each of which has a parent with a smaller number. Children
    /// keep their order.
    pub(crate) fn of(count: usize, parent: impl Fn(usize) -> usize) -> Self {
        let mut size = vec![1u32; count];
        for i in (1..count).rev() {
            size[parent(i)] += size[i];
        }
        let mut place = vec![0u32; count];
        let mut end = vec![0u32; count];
        let mut node = vec![0u32; count];
        // The place of the next child of each node.
        let mut next = vec![1u32; count];
        end[0] = count as u32;
        for i in 1..count {
            let at = next[parent(i)];
            next[parent(i)] += size[i];
            next[i] = at + 1;
            place[i] = at;
            end[at as usize] = at + size[i];
            node[at as usize] = i as u32;
        }
        Self { place, end, node }
    }
}

/// The places directly under each place.
#[derive(Clone, Debug)]
pub(crate) struct Children {
    /// In order, by the place of the parent.
    places: Vec<u32>,
    /// By place: where its children begin; and the end of the last.
    first: Vec<u32>,
}

impl Children {
    /// `parent` is a function of places, and is not asked for place 0.
    pub(crate) fn of(count: usize, parent: impl Fn(usize) -> usize) -> Self {
        let places: Vec<u32> = (1..count as u32).collect();
        let (places, first) = distribute(&places, count, |at| parent(at as usize));
        Self { places, first }
    }

    /// Those of one place, in order.
    pub(crate) fn under(&self, place: u32) -> &[u32] {
        &self.places[range(&self.first, place as usize)]
    }
}

/// Puts items into the order of their buckets, otherwise as they stood, and tells
/// where each bucket begins.
pub(crate) fn distribute<T: Copy>(items: &[T], buckets: usize, bucket: impl Fn(T) -> usize) -> (Vec<T>, Vec<u32>) {
    let mut starts = vec![0u32; buckets + 1];
    for &item in items {
        starts[bucket(item) + 1] += 1;
    }
    for i in 0..buckets {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut out = items.to_vec();
    for &item in items {
        let at = &mut next[bucket(item)];
        out[*at as usize] = item;
        *at += 1;
    }
    (out, starts)
}

/// The range of a bucket.
pub(crate) fn range(starts: &[u32], bucket: usize) -> Range<usize> {
    starts[bucket] as usize..starts[bucket + 1] as usize
}
