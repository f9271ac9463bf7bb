//! Events of which only the kernel part of the stack is known, by thread.
//!
//! Windows writes the user part of a stack when the thread returns to user mode, once for all kernel
//! parts that were written since it had left that, and under the time of one of these events, mostly
//! the first (so PerfView reads it; in public traces one user part completes up to 113 kernel parts).
//! So the thread's next user part completes all of them.
//!
//! Bounded: two generations of fragments; when the younger is full, the older one is dropped. Cost: a
//! hash operation for each kernel part, and for each user part while any thread has fragments.

use std::collections::hash_map::Entry;

use super::pending::EventNumber;
use crate::model::pairing::returns_to_user_mode;
use crate::tables::{self, KeyedMap};
use crate::units::{Pid, Tid};

/// Most fragments of one generation.
const GENERATION: usize = 1 << 15;

/// A thread in one life of a process id; lives are counted while fragments wait.
type ThreadLife = (Pid, u32, Tid);

/// The events of one thread, mostly a single one.
#[derive(Debug)]
struct Collected {
    first: EventNumber,
    more: Vec<EventNumber>,
}

/// Kernel parts that wait for the user part.
#[derive(Debug, Default)]
pub(super) struct KernelFragments {
    young: KeyedMap<ThreadLife, Collected>,
    old: KeyedMap<ThreadLife, Collected>,
    /// Fragments of the younger generation.
    count: usize,
    /// Whether any fragment waits in either: heap events ask, so one word must answer.
    any: bool,
    /// Starts and ends of processes while fragments waited.
    lives: KeyedMap<Pid, u32>,
}

impl KernelFragments {
    /// Whether no fragment waits.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Adds an event of which the kernel part was written and the user part is to come.
    pub(super) fn add(&mut self, pid: Pid, tid: Tid, event: EventNumber) {
        if !returns_to_user_mode(pid) {
            return;
        }
        if self.count >= GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.count = 0;
        }
        self.count += 1;
        self.any = true;
        let thread = self.thread(pid, tid);
        match self.young.entry(thread) {
            Entry::Occupied(mut collected) => collected.get_mut().more.push(event),
            Entry::Vacant(place) => {
                place.insert(Collected { first: event, more: Vec::new() });
            }
        }
    }

    /// Takes out all waiting events of a thread that returns to user mode, in the order of their kernel
    /// parts.
    pub(super) fn take(&mut self, pid: Pid, tid: Tid) -> impl Iterator<Item = EventNumber> + use<> {
        let thread = self.thread(pid, tid);
        let (old, young) = (self.old.remove(&thread), self.young.remove(&thread));
        self.count -= young.as_ref().map_or(0, |young| 1 + young.more.len());
        self.any = !self.young.is_empty() || !self.old.is_empty();
        old.into_iter().chain(young).flat_map(|Collected { first, more }| std::iter::once(first).chain(more))
    }

    /// A process starts or ends: forgets the fragments of threads with its id.
    pub(super) fn forget_process(&mut self, pid: Pid) {
        if self.is_empty() {
            tables::empty(&mut self.lives);
        } else {
            *self.lives.entry(pid).or_default() += 1;
        }
    }

    /// A thread starts: forgets the fragments of another with its id.
    pub(super) fn forget_thread(&mut self, pid: Pid, tid: Tid) {
        drop(self.take(pid, tid));
    }

    fn thread(&self, pid: Pid, tid: Tid) -> ThreadLife {
        (pid, self.lives.get(&pid).copied().unwrap_or(0), tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: Pid = Pid(7);
    const NOTHING: [EventNumber; 0] = [];

    fn taken(fragments: &mut KernelFragments, pid: Pid, tid: u32) -> Vec<EventNumber> {
        fragments.take(pid, Tid(tid)).collect()
    }

    #[test]
    fn a_thread_gets_back_what_it_collected_and_no_other_does() {
        let mut fragments = KernelFragments::default();
        for (tid, event) in [(1, 10), (2, 11), (1, 12)] {
            fragments.add(PID, Tid(tid), event);
        }
        assert_eq!(taken(&mut fragments, Pid(8), 1), NOTHING);
        assert_eq!(taken(&mut fragments, PID, 1), [10, 12]);
        assert_eq!(taken(&mut fragments, PID, 1), NOTHING);
        assert!(!fragments.is_empty());
        assert_eq!(taken(&mut fragments, PID, 2), [11]);
        assert!(fragments.is_empty());
    }

    #[test]
    fn another_life_of_the_ids_gets_nothing() {
        let mut fragments = KernelFragments::default();
        fragments.add(PID, Tid(1), 10);
        fragments.forget_process(PID);
        assert_eq!(taken(&mut fragments, PID, 1), NOTHING);
        fragments.add(PID, Tid(1), 11);
        fragments.forget_process(Pid(8));
        assert_eq!(taken(&mut fragments, PID, 1), [11]);
        fragments.add(PID, Tid(1), 12);
        fragments.forget_thread(PID, Tid(1));
        assert_eq!(taken(&mut fragments, PID, 1), NOTHING);
    }

    #[test]
    fn threads_that_never_return_wait_for_nothing() {
        let mut fragments = KernelFragments::default();
        fragments.add(Pid(4), Tid(1), 10);
        fragments.add(Pid(0), Tid(0), 11);
        assert!(fragments.is_empty());
    }

    #[test]
    fn what_waits_too_long_is_given_up() {
        let mut fragments = KernelFragments::default();
        let many = 2 * GENERATION as u64;
        for event in 0..=many {
            let tid = if event % 2 == 0 { 2 } else { event as u32 + 4 };
            fragments.add(PID, Tid(tid), event);
        }
        assert!(fragments.young.len() + fragments.old.len() <= 2 * GENERATION);
        let taken = taken(&mut fragments, PID, 2);
        assert!(taken.first().is_some_and(|&first| first >= many / 2) && taken.last() == Some(&many), "{taken:?}");
        assert!(taken.is_sorted());
    }
}
