//! Finding text in the names of nodes without building the whole tree.

use rustc_hash::FxHashMap;

use super::FRAME_LEVEL;
use crate::model::{HeapId, NodeId, ProcessId, Site, Trace};
use crate::query::{LifetimeClass, frame_label, heap_label, layer_label};

/// Tells for each site on which level the search finds it.
pub(super) struct Hits<'a> {
    trace: &'a Trace,
    wanted: String,
    heaps: FxHashMap<HeapId, Option<usize>>,
    /// Depth of the outermost found frame on the way to a node.
    frames: FxHashMap<(ProcessId, NodeId), Option<usize>>,
}

impl<'a> Hits<'a> {
    pub(super) fn new(trace: &'a Trace, search: &str) -> Self {
        Self { trace, wanted: search.trim().to_lowercase(), heaps: FxHashMap::default(), frames: FxHashMap::default() }
    }

    fn found(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.wanted)
    }

    /// Level of the uppermost node with the text on the way to this site and class,
    /// counted from the top of the tree; `None` if there is none. An empty search
    /// finds everything at the top.
    pub(super) fn level_of(&mut self, site: &Site, class: LifetimeClass) -> Option<usize> {
        if self.wanted.is_empty() {
            return Some(0);
        }
        let upper = match self.heaps.get(&site.heap) {
            Some(&level) => level,
            None => {
                let level = self.heap_level(site.heap);
                self.heaps.insert(site.heap, level);
                level
            }
        };
        upper
            .or_else(|| self.found(class.impacting().name()).then_some(3))
            .or_else(|| self.found(class.name()).then_some(4))
            .or_else(|| self.frame_depth(site).map(|depth| FRAME_LEVEL + depth - 1))
    }

    fn heap_level(&self, heap: HeapId) -> Option<usize> {
        let heap = self.trace.heap(heap);
        let process = self.trace.process(heap.process);
        let names = [format!("{} ({})", process.label(), process.pid), layer_label(heap.layer).to_owned(), heap_label(heap)];
        names.iter().position(|name| self.found(name))
    }

    /// Depth of the outermost frame with the text, the thread's start being 1.
    fn frame_depth(&mut self, site: &Site) -> Option<usize> {
        let (trace, process) = (self.trace, site.caller);
        let mut above = None;
        for (i, node) in trace.stacks.path(site.stack).into_iter().enumerate() {
            above = match self.frames.get(&(process, node)) {
                Some(&known) => known,
                None => {
                    let here =
                        || self.found(&frame_label(trace, process, trace.stacks.address(node), site.first)).then_some(i + 1);
                    let depth = above.or_else(here);
                    self.frames.insert((process, node), depth);
                    depth
                }
            };
        }
        above
    }
}
