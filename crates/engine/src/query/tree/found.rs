//! The matches of a search.

use crate::model::HeapId;
use crate::query::LifetimeClass;

/// Number of levels above the frames.
pub(super) const FRAME_LEVEL: usize = 5;

/// The matches of a search.
pub(super) struct Found {
    /// For each heap the level of the uppermost matching node on the path to it.
    pub(super) heaps: Vec<Option<usize>>,
    /// For each class the level of the uppermost match among its impacting type and type.
    pub(super) classes: [Option<usize>; 4],
    /// For each site the depth of its outermost matching frame, the thread start being 1; 0 without one, or if the heap
    /// matches.
    pub(super) frames: Vec<u32>,
}

impl Found {
    /// Returns the level of the uppermost matching node on the path to sites of this heap and class. The level of
    /// frames stands for everything below the types.
    pub(super) fn level(&self, heap: HeapId, class: LifetimeClass) -> usize {
        self.heaps[heap.0 as usize].or(self.classes[class as usize]).unwrap_or(FRAME_LEVEL)
    }

    /// Returns the depths of matching frames by site, if nothing above them matches.
    pub(super) fn frames(&self, heap: HeapId, class: LifetimeClass) -> Option<&[u32]> {
        (self.level(heap, class) >= FRAME_LEVEL).then_some(&self.frames)
    }
}
