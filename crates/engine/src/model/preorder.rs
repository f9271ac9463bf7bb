//! Any tree whose parents come before their children, in preorder: all nodes under a node are one
//! range. Cost: some passes, no comparisons, no recursion.

use std::ops::Range;

/// A tree by the numbers of its nodes in preorder, their *places*.
#[derive(Clone, Debug)]
pub(crate) struct Preorder {
    /// Place by node.
    pub(crate) place: Vec<u32>,
    /// By place, the place behind the last one under it.
    pub(crate) end: Vec<u32>,
    /// Node by place.
    pub(crate) node: Vec<u32>,
}

impl Preorder {
    /// Orders nodes under node 0, each of which has a parent with a smaller number. Children keep their
    /// order.
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
    /// Places in order, by the place of the parent.
    places: Vec<u32>,
    /// By place, where its children begin in `places`; then the end of the last.
    first: Vec<u32>,
}

impl Children {
    /// `parent` is a function of places, and is not asked for place 0.
    pub(crate) fn of(count: usize, parent: impl Fn(usize) -> usize) -> Self {
        let places: Vec<u32> = (1..count as u32).collect();
        let (places, first) = distribute(&places, count, |at| parent(at as usize));
        Self { places, first }
    }

    /// The places directly under one place, in order.
    pub(crate) fn under(&self, place: u32) -> &[u32] {
        &self.places[range(&self.first, place as usize)]
    }
}

/// Sorts items by bucket, keeping the order within each, and returns where each bucket begins.
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
