//! Which process a thread is of, as the kernel tells of threads: samples name nothing else.

use std::collections::VecDeque;

use crate::tables::KeyedMap;

/// More threads than a machine has; of further ones nothing is remembered.
const MOST: usize = 1 << 18;
/// So many that have ended are remembered, for what comes of them late.
const MOST_ENDED: usize = 4096;

/// The threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    of: KeyedMap<u32, Thread>,
    /// Ids in the order in which their ends were told.
    ended: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    pid: u32,
    has_ended: bool,
}

impl Threads {
    /// Threads that are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len().max(self.ended.len())
    }

    /// Takes note of what a thread event says.
    pub(super) fn learn(&mut self, tid: u32, pid: u32, has_ended: bool) {
        if self.of.len() >= MOST && !self.of.contains_key(&tid) {
            return;
        }
        let before = self.of.insert(tid, Thread { pid, has_ended });
        if !has_ended || before.is_some_and(|thread| thread.has_ended) {
            return;
        }
        self.ended.push_back(tid);
        if self.ended.len() > MOST_ENDED
            && let Some(oldest) = self.ended.pop_front()
            && self.of.get(&oldest).is_some_and(|thread| thread.has_ended)
        {
            self.of.remove(&oldest);
        }
    }

    /// The process of a thread; `None` if it is not known.
    pub(super) fn owner(&self, tid: u32) -> Option<u32> {
        self.of.get(&tid).map(|thread| thread.pid)
    }
}
