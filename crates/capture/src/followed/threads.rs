//! The process of each thread, from the kernel's thread events. Samples name only the thread.

use std::collections::VecDeque;

use crate::tables::KeyedMap;

/// More threads than a machine has; further ones are ignored.
const MOST: usize = 1 << 18;
/// Number of ended threads that are kept, for late events.
const MOST_ENDED: usize = 4096;

/// The known threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    of: KeyedMap<u32, Thread>,
    /// Ids of ended threads, in the order of their end events.
    ended: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    pid: u32,
    has_ended: bool,
}

impl Threads {
    /// Number of threads in the table.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len().max(self.ended.len())
    }

    /// Learns from a thread event.
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

    /// The process of a thread, if known.
    pub(super) fn owner(&self, tid: u32) -> Option<u32> {
        self.of.get(&tid).map(|thread| thread.pid)
    }
}
