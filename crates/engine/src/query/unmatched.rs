//! Frees of blocks that were not alive, by process, heap and call stack: blocks from before a trace that began too
//! late, or the result of lost events.
//!
//! Cost: a pass over the frees that the trace keeps with their details.

use std::cmp::Reverse;

use super::heap_label;
use crate::model::{HeapId, NodeId, ProcessId, Trace, UnmatchedFree};
use crate::tables::KeyedMap;
use crate::units::{Layer, Pid, Ticks};

/// Frees of one process in one heap with one call stack.
#[derive(Clone, PartialEq, Debug)]
pub struct UnmatchedGroup {
    /// Number of frees.
    pub count: u64,
    /// Times of the first and of the last of them.
    pub times: (Ticks, Ticks),
    /// Id of the process.
    pub pid: Pid,
    /// The process instance at the first of them, if known.
    pub process: Option<ProcessId>,
    /// The heap, if anything else is known about it.
    pub heap: Option<HeapId>,
    /// Layer and handle of the heap.
    pub place: (Layer, u64),
    /// Call stack; [`NodeId::ROOT`] if none was recorded.
    pub stack: NodeId,
}

impl UnmatchedGroup {
    fn new(trace: &Trace, free: &UnmatchedFree) -> Self {
        let process = trace.process_of_free(free);
        let (times, place) = ((free.time, free.time), (free.layer, free.handle));
        Self { count: 0, times, pid: free.pid, process, heap: free.heap, place, stack: free.stack }
    }

    /// Returns process and heap as named in the window.
    pub fn label(&self, trace: &Trace) -> String {
        let process = match self.process {
            Some(process) => trace.process(process).label(),
            None => "Unknown".to_owned(),
        };
        let heap = match (self.heap, self.place) {
            (Some(heap), _) => heap_label(trace.heap(heap)),
            (None, (Layer::Heap, handle)) => format!("Windows NT heap {handle:#x}"),
            (None, (Layer::Tracker, handle)) => format!("Tracker {handle:#x}"),
            (None, (Layer::Commit, _)) => super::layer_label(Layer::Commit).to_owned(),
        };
        format!("{process} ({}), {heap}", self.pid)
    }
}

/// Returns the groups with most frees, at most `most` of them, largest first, and the number of all groups.
pub fn unmatched_groups(trace: &Trace, most: usize) -> (Vec<UnmatchedGroup>, usize) {
    let mut index = KeyedMap::default();
    let mut groups: Vec<UnmatchedGroup> = Vec::new();
    for free in &trace.unmatched {
        // Instances of a process id have different heaps, unless nothing is known about these.
        let at = *index.entry((free.pid, free.heap, free.layer, free.handle, free.stack)).or_insert_with(|| {
            groups.push(UnmatchedGroup::new(trace, free));
            groups.len() - 1
        });
        groups[at].count += 1;
        groups[at].times.1 = free.time;
    }
    groups.sort_by_key(|group| Reverse(group.count));
    let all = groups.len();
    groups.truncate(most);
    (groups, all)
}
